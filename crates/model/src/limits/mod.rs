//! Ceilings of buses: the nominal rate, and the rate after framing.
//!
//! A ceiling includes everything between the data on the wire (start and end bits, checksums,
//! headers). It does not include commands, interrupts or the device: a measured rate below the
//! ceiling shows those ([`Placed`]).
//!
//! To add a bus: add a line with its framing, formula and source.

pub(crate) mod mmc;
pub(crate) mod serial;
pub(crate) mod ufs;

use crate::job::Direction;
pub use mmc::COMMAND_CLOCKS;

/// Bytes of a block: the unit of addresses and transfers in MMC and SD.
pub const BLOCK_BYTES: u64 = 512;

/// The ceiling of one mode of a bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Family: `eMMC`, `SD`, `UFS`, `USB`, `SATA`, `NVMe`.
    pub bus: &'static str,
    /// Name of the mode, such as `hs400` or `nvme-gen3x4`.
    pub mode: String,
    /// Bytes per second without framing, as advertised.
    pub nominal: f64,
    /// Bytes per second that reads can reach.
    pub read: f64,
    /// Bytes per second that writes can reach.
    pub write: f64,
    /// Microseconds of a command and its response on the wire, if the bus has a separate line for
    /// them.
    pub command_us: Option<f64>,
    /// Derivation of the ceiling, with numbers.
    pub formula: String,
    /// Standard that defines the mode.
    pub source: &'static str,
}

/// Returns all known ceilings, in order of families.
pub fn all() -> Vec<Ceiling> {
    let mut all = mmc::all();
    all.extend(ufs::all());
    all.extend(serial::all());
    all
}

/// Finds the mode of this name; case and the characters `-`, `_`, `.` and blank are ignored.
pub fn find(word: &str) -> Option<Ceiling> {
    let wanted = plain(word);
    all()
        .into_iter()
        .find(|ceiling| plain(&ceiling.mode) == wanted)
}

fn plain(word: &str) -> String {
    let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' '));
    kept.collect::<String>().to_ascii_lowercase()
}

/// A measured rate in relation to a ceiling, for transfers in separate requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Measured rate divided by the ceiling.
    pub share: f64,
    /// Microseconds per request.
    pub request_us: f64,
    /// Microseconds per request in which data is on the wire.
    pub wire_us: f64,
}

impl Ceiling {
    /// Returns the bytes per second of one direction.
    pub const fn rate(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
        }
    }
}

impl Placed {
    /// Relates a measured rate above 0 to a ceiling, for requests of `request_bytes`, one at a
    /// time. Returns `None` when an argument is not a positive number.
    pub fn of(measured: f64, ceiling: f64, request_bytes: u64) -> Option<Self> {
        let bytes = request_bytes as f64;
        let sound = measured.is_finite() && measured > 0.0 && ceiling > 0.0 && bytes > 0.0;
        sound.then(|| Self {
            share: measured / ceiling,
            request_us: bytes / measured * 1e6,
            wire_us: bytes / ceiling * 1e6,
        })
    }

    /// Returns the microseconds of a request without data on the wire: commands, interrupts,
    /// driver, the device itself. Negative above the ceiling.
    pub fn other_us(self) -> f64 {
        self.request_us - self.wire_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::three_digits;

    /// MB/s with three digits.
    fn shown(rate: f64) -> String {
        three_digits(rate / 1e6)
    }

    fn known(word: &str) -> Ceiling {
        find(word).unwrap_or_else(|| panic!("{word} is not known"))
    }

    #[test]
    fn wire_limits_are_those_of_the_reference() {
        for (mode, read, write) in [
            ("sd-hs", "24.4", "24.2"),
            ("sdr50", "48.8", "48.4"),
            ("sdr104", "101", "101"),
            ("ddr52", "94.4", "91.8"),
            ("hs200", "190", "188"),
            ("hs400", "363", "353"),
        ] {
            let ceiling = known(mode);
            let found = (shown(ceiling.read), shown(ceiling.write));
            assert_eq!(found, (read.to_owned(), write.to_owned()), "{mode}");
        }
        let sdr104 = known("sdr104");
        assert_eq!(format!("{:.1}", sdr104.read / 1e6), "101.4");
        assert_eq!(format!("{:.1}", sdr104.write / 1e6), "100.7");
    }

    #[test]
    fn nominal_rates_are_those_of_the_reference() {
        for (mode, nominal) in [
            ("hs26", "26.0"),
            ("hs52", "52.0"),
            ("ddr52", "104"),
            ("hs200", "200"),
            ("hs400", "400"),
            ("hs400es", "400"),
            ("sd-ds", "12.5"),
            ("sd-hs", "25.0"),
            ("sdr50", "50.0"),
            ("ddr50", "50.0"),
            ("sdr104", "104"),
            ("uhs2-fd156", "156"),
            ("uhs2-hd312", "312"),
            ("ufs-g1x1", "146"),
            ("ufs-g2x1", "292"),
            ("ufs-g3x1", "583"),
            ("ufs-g4x1", "1166"),
            ("usb-5g", "500"),
        ] {
            assert_eq!(shown(known(mode).nominal), nominal, "{mode}");
        }
        assert_eq!(format!("{:.0}", known("usb-2.0").read / 1e6), "53");
    }

    #[test]
    fn no_ceiling_is_above_its_nominal_rate_and_no_name_is_there_twice() {
        let all = all();
        for ceiling in &all {
            for rate in [ceiling.read, ceiling.write] {
                assert!(rate > 0.0 && rate < ceiling.nominal, "{ceiling:?}");
            }
            assert!(!ceiling.formula.is_empty() && !ceiling.source.is_empty());
        }
        let mut names: Vec<String> = all.iter().map(|ceiling| plain(&ceiling.mode)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn names_may_be_written_as_one_likes() {
        for word in ["HS400", "hs-400", "HS 400"] {
            assert_eq!(known(word).mode, "hs400");
        }
        assert_eq!(find("hs800"), None);
    }

    /// The i.MX8M board of the reference: 275 MiB/s with HS400, requests of 512 KiB.
    #[test]
    fn a_measured_rate_is_placed_and_the_rest_of_its_time_told() {
        let placed = Placed::of(275.0 * 1_048_576.0, known("hs400").read, 512 << 10);
        let placed = placed.expect("it is a rate");
        assert!((placed.share - 0.794).abs() < 0.001, "{placed:?}");
        assert!((placed.other_us() - 374.3).abs() < 0.5, "{placed:?}");
        for (rate, bytes) in [(0.0, 512), (f64::NAN, 512), (1.0, 0)] {
            assert_eq!(Placed::of(rate, 1.0, bytes), None);
        }
    }
}
