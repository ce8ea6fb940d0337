//! Registers and logs of flash, in eMMC, SD cards and NVMe drives. They are stored as the device
//! returned them and decoded when they are read, so that later versions can decode more of a stored
//! identity.
//!
//! [`DeviceIdentity::raw`](crate::storage::DeviceIdentity::raw) holds them as hexadecimal, byte 0
//! of the specification's table first.
//!
//! To add a register: add its name and decoder here, request it in `assay_engine::registers` and
//! `assay_agent::inspect`, and add its words in `assay_report::words::registers`.
//!
//! Sources:
//!
//! - JESD84-B51: EXT_CSD of eMMC in 7.4 (each name here is followed by its byte).
//! - NVM Express Base Specification 2.0: Identify Controller in figure 275, SMART / Health
//!   Information in figure 207.
//! - SD Physical Layer Simplified Specification: SD Status in 4.10.2, CSD in 5.3, SCR in 5.6.

use crate::units::{Bytes, KIB, MIB};

/// EXT_CSD of an eMMC, 512 bytes.
pub const EXT_CSD: &str = "ext_csd";
/// SD Status of a card, 64 bytes; the kernel's name.
pub const SD_STATUS: &str = "ssr";
/// SD Configuration Register, 8 bytes; the kernel's name.
pub const SCR: &str = "scr";
/// Card-Specific Data of eMMC and SD, 16 bytes; the kernel's name.
pub const CSD: &str = "csd";
/// NVMe Identify Controller data, 4096 bytes.
pub const NVME_IDENTIFY: &str = "nvme_identify_controller";
/// SMART / Health Information of an NVMe drive, 512 bytes.
pub const NVME_SMART: &str = "nvme_smart_log";

/// Formats each byte as two digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses hexadecimal text; `None` for any other text.
///
/// ```
/// use assay_model::device::register::from_hex;
/// assert_eq!(from_hex("00fF"), Some(vec![0x00, 0xff]));
/// assert_eq!(from_hex("0"), None);
/// assert_eq!(from_hex("+1"), None);
/// ```
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|[high, low]| u8::try_from(high * 16 + low).ok());
    rest.is_empty().then(|| bytes.collect()).flatten()
}

/// Returns bits `high` to `low` of a register whose first byte has the highest bits, numbered as in
/// the specifications of cards.
fn bits(register: &[u8], high: usize, low: usize) -> u64 {
    let last = register.len() * 8;
    (low..=high).rev().fold(0, |value, bit| {
        let at = last.checked_sub(bit + 1);
        let byte = at.and_then(|at| register.get(at / 8));
        let set = byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        value << 1 | u64::from(set)
    })
}

/// Decoded view of the extended CSD register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtCsd<'a>(&'a [u8; 512]);

/// A cache of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Size in units of 1024 bytes.
    pub kib: u32,
    /// `true` if the cache is on.
    pub on: bool,
}

impl<'a> ExtCsd<'a> {
    /// Parses the register; `None` when it does not have 512 bytes, or has only zeros.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let bytes = bytes.try_into().ok()?;
        let register = Self(bytes);
        (register.byte(EXT_CSD_REV) > 0).then_some(register)
    }

    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Returns the version of the standard, such as `5.1`.
    pub fn version(&self) -> &'static str {
        match self.byte(EXT_CSD_REV) {
            0 | 1 => "4.1",
            2 => "4.2",
            3 => "4.3",
            5 => "4.41",
            6 => "4.5",
            7 => "5.0",
            8 => "5.1",
            _ => "newer than 5.1",
        }
    }

    /// Returns the fastest mode at a supply voltage that hosts provide.
    pub fn fastest(&self) -> Option<&'static str> {
        let types = self.byte(DEVICE_TYPE);
        let fastest = [
            (0b1100_0000, "HS400"),
            (0b0011_0000, "HS200"),
            (0b0000_1100, "DDR52"),
            (0b0000_0010, "high-speed"),
            (0b0000_0001, "high-speed"),
        ];
        let found = fastest.iter().find(|(mask, _)| types & mask != 0);
        found.map(|(_, name)| *name)
    }

    /// Returns the estimated life used of memory of type A and of type B, in steps of 10 %: 1 is 0
    /// to 10 %, 11 is beyond 100 %. Since version 5.0.
    pub fn life_time(&self) -> Option<[u8; 2]> {
        let known = self.byte(EXT_CSD_REV) >= 7;
        known.then(|| [LIFE_TIME_A, LIFE_TIME_B].map(|at| self.byte(at)))
    }

    /// Returns the reserved blocks used: 1 normal, 2 warning (80 %), 3 urgent (90 %). Since version
    /// 5.0.
    pub fn pre_eol(&self) -> Option<u8> {
        (self.byte(EXT_CSD_REV) >= 7).then(|| self.byte(PRE_EOL_INFO))
    }

    /// Returns the volatile cache, if the device has one. Since version 4.5.
    pub fn cache(&self) -> Option<Cache> {
        let size: [u8; 4] = self.0.get(CACHE_SIZE..CACHE_SIZE + 4)?.try_into().ok()?;
        // The register counts in units of 1024 bits.
        let kib = u32::from_le_bytes(size) / 8;
        (kib > 0).then(|| Cache {
            kib,
            on: self.byte(CACHE_CTRL) & 1 == 1,
        })
    }

    /// Returns the depth of the command queue, and `true` if it is on; `None` without a queue.
    /// Since version 5.1.
    pub fn command_queue(&self) -> Option<(u8, bool)> {
        let has = self.byte(CMDQ_SUPPORT) & 1 == 1;
        has.then(|| {
            (
                (self.byte(CMDQ_DEPTH) & 0b1_1111) + 1,
                self.byte(CMDQ_MODE_EN) & 1 == 1,
            )
        })
    }

    /// Returns the firmware version in hexadecimal, as the manufacturer encodes it; `None` where it
    /// is not given. Since version 5.0.
    pub fn firmware(&self) -> Option<String> {
        let bytes = self.0.get(FIRMWARE_VERSION..FIRMWARE_VERSION + 8)?;
        let given = bytes.iter().any(|byte| *byte != 0);
        given.then(|| to_hex(bytes))
    }

    /// `true` if partitions are in a mode of higher endurance (usually SLC); bit 0 is the user
    /// area.
    pub fn enhanced(&self) -> bool {
        self.byte(PARTITIONS_ATTRIBUTE) & 0b1_1111 != 0
    }

    /// `true` if writes of whole sectors survive a power cut during the write (reliable write of
    /// any size).
    pub fn reliable_writes(&self) -> bool {
        self.byte(WR_REL_PARAM) & 0b100 != 0
    }

    /// Returns the start mode of background operations: by the host (manually), by the device
    /// itself, or not at all.
    pub fn background_operations(&self) -> &'static str {
        let has = self.byte(BKOPS_SUPPORT) & 1 == 1;
        match (has, self.byte(BKOPS_EN) & 0b11) {
            (false, _) => "none",
            (true, 0) => "not enabled",
            (true, 1) => "by the host",
            (true, _) => "by itself",
        }
    }
}

const CMDQ_MODE_EN: usize = 15;
const CACHE_CTRL: usize = 33;
const PARTITIONS_ATTRIBUTE: usize = 156;
const BKOPS_EN: usize = 163;
const WR_REL_PARAM: usize = 166;
const EXT_CSD_REV: usize = 192;
const DEVICE_TYPE: usize = 196;
const CACHE_SIZE: usize = 249;
const FIRMWARE_VERSION: usize = 254;
const PRE_EOL_INFO: usize = 267;
const LIFE_TIME_A: usize = 268;
const LIFE_TIME_B: usize = 269;
const CMDQ_DEPTH: usize = 307;
const CMDQ_SUPPORT: usize = 308;
const BKOPS_SUPPORT: usize = 502;

/// SMART / Health Information, log page 02h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmartLog<'a>(&'a [u8; 512]);

/// Descriptions of the bits of the critical warning.
const WARNINGS: [&str; 6] = [
    "too few spare blocks are left",
    "it is too hot or too cold",
    "its reliability is degraded",
    "it is read-only",
    "the backup of its volatile memory has failed",
    "its persistent memory is read-only",
];

/// Size of a data unit: 1000 blocks of 512 bytes.
const DATA_UNIT_BYTES: u64 = 512_000;

impl<'a> SmartLog<'a> {
    /// Parses the log; `None` when it does not have 512 bytes, or has only zeros.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let bytes: &[u8; 512] = bytes.try_into().ok()?;
        bytes.iter().any(|byte| *byte != 0).then_some(Self(bytes))
    }

    /// Returns the warnings that the drive reports.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> + use<> {
        let bits = self.0[0];
        let all = WARNINGS.iter().enumerate();
        all.filter(move |(bit, _)| bits >> bit & 1 == 1)
            .map(|(_, words)| *words)
    }

    /// Returns the composite temperature in thousandths of a degree Celsius; `None` when it is not
    /// given.
    pub fn millicelsius(&self) -> Option<i64> {
        millicelsius([self.0[1], self.0[2]])
    }

    /// Returns the spare blocks left and the drive's warning threshold, both in percent.
    pub fn spare_percent(&self) -> (u8, u8) {
        (self.0[3], self.0[4])
    }

    /// Returns the life used in percent of the expected life; 255 stands for any larger value.
    pub fn used_percent(&self) -> u8 {
        self.0[5]
    }

    /// Returns the bytes that hosts have read in total.
    pub fn read(&self) -> Bytes {
        Bytes(self.number(32).saturating_mul(DATA_UNIT_BYTES))
    }

    /// Returns the bytes that hosts have written in total.
    pub fn written(&self) -> Bytes {
        Bytes(self.number(48).saturating_mul(DATA_UNIT_BYTES))
    }

    /// Returns the number of times that the drive was switched on.
    pub fn power_cycles(&self) -> u64 {
        self.number(112)
    }

    /// Returns the hours of operation.
    pub fn power_on_hours(&self) -> u64 {
        self.number(128)
    }

    /// Returns the number of times that the drive lost its power without warning.
    pub fn unsafe_shutdowns(&self) -> u64 {
        self.number(144)
    }

    /// Returns the number of errors of the medium or of data integrity that could not be corrected.
    pub fn media_errors(&self) -> u64 {
        self.number(160)
    }

    /// Returns a little-endian number of 128 bits, limited to 64 bits.
    fn number(&self, at: usize) -> u64 {
        let bytes = self
            .0
            .get(at..at + 16)
            .and_then(|bytes| bytes.try_into().ok());
        let number = u128::from_le_bytes(bytes.unwrap_or_default());
        u64::try_from(number).unwrap_or(u64::MAX)
    }
}

/// Converts a temperature in whole kelvins; 0 means that it is not given.
fn millicelsius(kelvin: [u8; 2]) -> Option<i64> {
    let kelvin = i64::from(u16::from_le_bytes(kelvin));
    (kelvin > 0).then_some((kelvin - 273) * 1_000)
}

/// Identify Controller data structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller<'a>(&'a [u8; 4096]);

impl<'a> Controller<'a> {
    /// Parses the structure; `None` when it does not have 4096 bytes.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the version of the specification, such as `1.4`; `None` before 1.2.
    pub fn version(&self) -> Option<String> {
        let [patch, minor, major @ ..]: [u8; 4] = self.0.get(80..84)?.try_into().ok()?;
        let major = u16::from_le_bytes(major);
        let patch = match patch {
            0 => String::new(),
            patch => format!(".{patch}"),
        };
        (major > 0).then(|| format!("{major}.{minor}{patch}"))
    }

    /// `true` if the drive has a volatile write cache.
    pub fn has_volatile_cache(&self) -> bool {
        self.0[525] & 1 == 1
    }

    /// `true` if the drive can enter lower power states by itself (APST).
    pub fn saves_power_by_itself(&self) -> bool {
        self.0[265] & 1 == 1
    }

    /// Returns the number of power states.
    pub fn power_states(&self) -> u32 {
        u32::from(self.0[263]) + 1
    }

    /// Returns the temperature from which the drive warns, in thousandths of a degree Celsius;
    /// `None` when it is not given.
    pub fn warning_millicelsius(&self) -> Option<i64> {
        millicelsius([self.0[266], self.0[267]])
    }
}

/// SD Status, which contains the card's speed classes and features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdStatus<'a>(&'a [u8; 64]);

impl<'a> SdStatus<'a> {
    /// Parses the register; `None` when it does not have 64 bytes, or has only zeros.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let bytes: &[u8; 64] = bytes.try_into().ok()?;
        bytes.iter().any(|byte| *byte != 0).then_some(Self(bytes))
    }

    fn bits(&self, high: usize, low: usize) -> u64 {
        bits(self.0, high, low)
    }

    /// Returns the speed classes as printed on cards: `C10`, `U3`, `V30`, `A2`.
    pub fn classes(&self) -> Vec<String> {
        let speed = match self.bits(447, 440) {
            1 => Some(2),
            2 => Some(4),
            3 => Some(6),
            4 => Some(10),
            _ => None,
        };
        let printed = [
            ('C', speed),
            ('U', some(self.bits(399, 396))),
            ('V', some(self.bits(391, 384))),
            ('A', some(self.bits(339, 336))),
        ];
        let printed = printed.iter();
        printed
            .filter_map(|(letter, class)| Some(format!("{letter}{}", (*class)?)))
            .collect()
    }

    /// Returns the lowest rate of sequential writes of the best speed class, in bytes per second:
    /// the numbers of the classes are MB/s, except U1 and U3 for 10 and 30.
    pub fn promised_write(&self) -> Option<u64> {
        let speed = match self.bits(447, 440) {
            class @ 1..=3 => 2 * class,
            4 => 10,
            _ => 0,
        };
        let grade = self.bits(399, 396) * 10;
        let megabytes = speed.max(grade).max(self.bits(391, 384));
        (megabytes > 0).then_some(megabytes * 1_000_000)
    }

    /// Returns the size of an allocation unit: the speed classes apply to writes that fill one.
    /// Uses that of UHS if the card has one.
    pub fn allocation_unit(&self) -> Option<Bytes> {
        let size = match self.bits(395, 392) {
            0 => self.bits(431, 428),
            uhs => uhs,
        };
        let bytes = match size {
            0 => return None,
            n @ 1..=10 => (8 * KIB) << n,
            11 => 12 * MIB,
            12 => 16 * MIB,
            13 => 24 * MIB,
            14 => 32 * MIB,
            _ => 64 * MIB,
        };
        Some(Bytes(bytes))
    }

    /// `true` if the card supports DISCARD (since version 5.1).
    pub fn can_discard(&self) -> bool {
        self.bits(313, 313) == 1
    }

    /// Returns the depth of the command queue; `None` without a queue (since version 6.0).
    pub fn command_queue(&self) -> Option<u64> {
        match self.bits(335, 331) {
            0 => None,
            depth => Some(depth + 1),
        }
    }
}

fn some(class: u64) -> Option<u64> {
    (class > 0).then_some(class)
}

/// SCR, which contains the capabilities of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scr<'a>(&'a [u8; 8]);

impl<'a> Scr<'a> {
    /// Parses the register; `None` when it does not have 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the version of the specification.
    pub fn version(&self) -> &'static str {
        let at = |high, low| bits(self.0, high, low);
        match (at(59, 56), at(47, 47), at(42, 42), at(41, 38)) {
            (0, ..) => "1.0",
            (1, ..) => "1.10",
            (2, 0, ..) => "2.00",
            (2, 1, 0, 0) => "3.0",
            (2, 1, 1, 0) => "4",
            (2, 1, _, 1) => "5",
            (2, 1, _, 2) => "6",
            (2, 1, _, 3) => "7",
            (2, 1, _, 4) => "8",
            (2, 1, _, 5) => "9",
            _ => "unknown",
        }
    }

    /// `true` if the card supports CMD23, which sets the block count of a transfer in advance, so
    /// that the host needs no command to end it.
    pub fn counts_blocks(&self) -> bool {
        bits(self.0, 33, 33) == 1
    }
}

/// CSD of eMMC and SD, whose last bytes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csd<'a>(&'a [u8; 16]);

impl<'a> Csd<'a> {
    /// Parses the register; `None` when it does not have 16 bytes.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the write protection of the card: `permanently`, `for now` or none.
    pub fn write_protected(&self) -> Option<&'static str> {
        match (bits(self.0, 13, 13), bits(self.0, 12, 12)) {
            (1, _) => Some("permanently"),
            (_, 1) => Some("for now"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_end() {
        let register = [0x12, 0x34, 0x56, 0x78];
        assert_eq!(bits(&register, 31, 28), 0x1);
        assert_eq!(bits(&register, 27, 16), 0x234);
        assert_eq!(bits(&register, 3, 0), 0x8);
        assert_eq!(bits(&register, 40, 28), 0x1, "what is not there is 0");
    }

    #[test]
    fn hexadecimal_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("0x12"), None);
    }

    /// A device of version 5.1: made of the specification's offsets.
    fn register() -> [u8; 512] {
        let mut bytes = [0; 512];
        for (at, value) in [
            (15, 1),  // CMDQ_MODE_EN
            (33, 1),  // CACHE_CTRL
            (163, 2), // BKOPS_EN: AUTO_EN
            (166, 0x14),
            (192, 8),    // EXT_CSD_REV
            (196, 0x57), // DEVICE_TYPE: HS400 at 1.8 V, HS200, DDR52, HS
            (254, 0x0a),
            (261, 0x07),
            (267, 2),
            (268, 1),
            (269, 11),
            (307, 31),
            (308, 1),
            (502, 1),
        ] {
            bytes[at] = value;
        }
        // 64 MiB are 524288 units of 1 Kib.
        bytes[249..253].copy_from_slice(&524_288_u32.to_le_bytes());
        bytes
    }

    #[test]
    fn fields_are_read_where_the_standard_has_them() {
        let bytes = register();
        let ext_csd = ExtCsd::parse(&bytes).unwrap();
        assert_eq!(ext_csd.version(), "5.1");
        assert_eq!(ext_csd.fastest(), Some("HS400"));
        assert_eq!(ext_csd.life_time(), Some([1, 11]));
        assert_eq!(ext_csd.pre_eol(), Some(2));
        let cache = ext_csd.cache().unwrap();
        assert_eq!((cache.kib, cache.on), (65_536, true));
        assert_eq!(ext_csd.command_queue(), Some((32, true)));
        assert_eq!(ext_csd.firmware().unwrap(), "0a00000000000007");
        assert_eq!(ext_csd.background_operations(), "by itself");
        assert!(ext_csd.reliable_writes());
        assert!(!ext_csd.enhanced());
    }

    #[test]
    fn an_old_device_does_not_say_what_its_version_has_not() {
        let mut bytes = [0; 512];
        bytes[192] = 5;
        bytes[196] = 0x03;
        let ext_csd = ExtCsd::parse(&bytes).unwrap();
        assert_eq!(ext_csd.version(), "4.41");
        assert_eq!(ext_csd.fastest(), Some("high-speed"));
        assert_eq!(ext_csd.life_time(), None);
        assert_eq!(ext_csd.pre_eol(), None);
        assert_eq!(ext_csd.cache(), None);
        assert_eq!(ext_csd.command_queue(), None);
        assert_eq!(ext_csd.firmware(), None);
        assert_eq!(ext_csd.background_operations(), "none");
    }

    #[test]
    fn what_is_no_register_is_none() {
        assert_eq!(ExtCsd::parse(&[0; 512]), None);
        assert_eq!(ExtCsd::parse(&[8; 511]), None);
    }

    #[test]
    fn a_log_is_read_where_the_specification_has_it() {
        let mut bytes = [0; 512];
        bytes[0] = 0b1001;
        bytes[1..3].copy_from_slice(&323_u16.to_le_bytes());
        bytes[3..6].copy_from_slice(&[98, 10, 4]);
        for (at, number) in [
            (32, 2_000_u128),
            (48, 3_000),
            (112, 41),
            (128, 1_234),
            (144, 7),
            (160, u128::from(u64::MAX) + 5),
        ] {
            bytes[at..at + 16].copy_from_slice(&number.to_le_bytes());
        }
        let log = SmartLog::parse(&bytes).unwrap();
        let warnings: Vec<&str> = log.warnings().collect();
        assert_eq!(
            warnings,
            ["too few spare blocks are left", "it is read-only"]
        );
        assert_eq!(log.millicelsius(), Some(50_000));
        assert_eq!(log.spare_percent(), (98, 10));
        assert_eq!(log.used_percent(), 4);
        assert_eq!(log.read(), Bytes(1_024_000_000));
        assert_eq!(log.written(), Bytes(1_536_000_000));
        assert_eq!((log.power_cycles(), log.power_on_hours()), (41, 1_234));
        assert_eq!(log.unsafe_shutdowns(), 7);
        assert_eq!(log.media_errors(), u64::MAX, "cut, not wrapped");
    }

    #[test]
    fn what_a_drive_does_not_give_is_none() {
        let mut bytes = [0; 512];
        assert_eq!(SmartLog::parse(&bytes), None);
        bytes[3] = 100;
        let log = SmartLog::parse(&bytes).unwrap();
        assert_eq!(log.millicelsius(), None);
        assert_eq!(log.warnings().count(), 0);
        assert_eq!(SmartLog::parse(&bytes[1..]), None);
    }

    #[test]
    fn a_controller_is_read_where_the_specification_has_it() {
        let mut bytes = [0; 4096];
        bytes[80..84].copy_from_slice(&0x0001_0400_u32.to_le_bytes());
        bytes[263] = 4;
        bytes[265] = 1;
        bytes[266..268].copy_from_slice(&357_u16.to_le_bytes());
        bytes[525] = 0b111;
        let controller = Controller::parse(&bytes).unwrap();
        assert_eq!(controller.version().as_deref(), Some("1.4"));
        assert_eq!(controller.power_states(), 5);
        assert!(controller.saves_power_by_itself());
        assert!(controller.has_volatile_cache());
        assert_eq!(controller.warning_millicelsius(), Some(84_000));
        bytes[80..84].fill(0);
        assert_eq!(Controller::parse(&bytes).unwrap().version(), None);
    }

    /// Sets bits `high` to `low`.
    fn set(register: &mut [u8], high: usize, low: usize, value: u64) {
        for bit in low..=high {
            let at = register.len() - 1 - bit / 8;
            register[at] |= u8::from(value >> (bit - low) & 1 == 1) << (bit % 8);
        }
    }

    /// A card of 30 MB/s for video, with its marks.
    #[test]
    fn a_cards_promises_are_read_where_the_specification_has_them() {
        let mut register = [0; 64];
        set(&mut register, 511, 510, 2); // Four data lines.
        set(&mut register, 447, 440, 4);
        set(&mut register, 431, 428, 9);
        set(&mut register, 399, 396, 3);
        set(&mut register, 395, 392, 9);
        set(&mut register, 391, 384, 30);
        set(&mut register, 339, 336, 2);
        set(&mut register, 335, 331, 31);
        set(&mut register, 313, 313, 1);
        let status = SdStatus::parse(&register).unwrap();
        assert_eq!(status.classes(), ["C10", "U3", "V30", "A2"]);
        assert_eq!(status.promised_write(), Some(30_000_000));
        assert_eq!(status.allocation_unit(), Some(Bytes::mib(4)));
        assert_eq!(status.command_queue(), Some(32));
        assert!(status.can_discard());
        // Whole bytes of it, as the kernel's `ssr` shows them.
        assert_eq!(register[0], 0x80);
        assert_eq!(register[8], 0x04);
        assert_eq!(register[14], 0x39);
        assert_eq!(register[15], 30);
    }

    #[test]
    fn allocation_units_follow_the_table() {
        let unit = |code| {
            let mut register = [0; 64];
            set(&mut register, 431, 428, code);
            SdStatus::parse(&register).and_then(|status| status.allocation_unit())
        };
        assert_eq!(unit(0), None);
        assert_eq!(unit(1), Some(Bytes::kib(16)));
        assert_eq!(unit(9), Some(Bytes::mib(4)));
        assert_eq!(unit(10), Some(Bytes::mib(8)));
        assert_eq!(unit(11), Some(Bytes::mib(12)));
        assert_eq!(unit(15), Some(Bytes::mib(64)));
    }

    #[test]
    fn a_card_without_promises_makes_none() {
        let mut register = [0; 64];
        set(&mut register, 511, 510, 2);
        let status = SdStatus::parse(&register).unwrap();
        assert!(status.classes().is_empty());
        assert_eq!(status.promised_write(), None);
        assert_eq!(status.command_queue(), None);
        assert_eq!(SdStatus::parse(&[0; 64]), None);
        assert_eq!(SdStatus::parse(&[1; 63]), None);
    }

    #[test]
    fn versions_are_told_by_four_fields() {
        let version = |spec, spec3, spec4, specx| {
            let mut register = [0; 8];
            set(&mut register, 59, 56, spec);
            set(&mut register, 47, 47, spec3);
            set(&mut register, 42, 42, spec4);
            set(&mut register, 41, 38, specx);
            set(&mut register, 35, 32, 0b0010);
            let scr = Scr::parse(&register).unwrap();
            assert!(scr.counts_blocks());
            scr.version()
        };
        assert_eq!(version(0, 0, 0, 0), "1.0");
        assert_eq!(version(2, 0, 0, 0), "2.00");
        assert_eq!(version(2, 1, 0, 0), "3.0");
        assert_eq!(version(2, 1, 1, 0), "4");
        assert_eq!(version(2, 1, 1, 2), "6");
        assert_eq!(version(9, 0, 0, 0), "unknown");
    }

    /// SCRs of cards as `/sys/block/mmcblk0/device/scr` shows them.
    #[test]
    fn recorded_scrs_are_read() {
        for (text, version) in [("0235800201000000", "3.0"), ("0235804300000000", "5")] {
            let bytes = from_hex(text).unwrap();
            let scr = Scr::parse(&bytes).unwrap();
            assert_eq!(scr.version(), version);
            assert!(scr.counts_blocks());
        }
    }

    #[test]
    fn a_protected_card_says_so() {
        let protected = |high| {
            let mut register = [0; 16];
            set(&mut register, high, high, 1);
            Csd::parse(&register).unwrap().write_protected()
        };
        assert_eq!(protected(13), Some("permanently"));
        assert_eq!(protected(12), Some("for now"));
        assert_eq!(protected(14), None);
    }
}
