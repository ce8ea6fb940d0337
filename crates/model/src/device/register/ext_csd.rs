//! EXT_CSD of eMMC (JESD84-B51, 7.4); each name is followed by its byte.

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
        given.then(|| super::to_hex(bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
