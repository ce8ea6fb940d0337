//! Self-reported data of NVMe drives (NVM Express Base Specification 2.0: Identify Controller in
//! figure 275, SMART / Health Information in figure 207).

use crate::units::Bytes;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
