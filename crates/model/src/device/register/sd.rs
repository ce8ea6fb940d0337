//! Registers of SD cards (SD Physical Layer Simplified Specification: SD Status in
//! 4.10.2, SCR in 5.6) and the CSD of cards (5.3).

use super::bits;
use crate::units::{Bytes, KIB, MIB};

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
            let bytes = super::super::from_hex(text).unwrap();
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
