//! Units as types, so that kilobytes cannot be mistaken for bytes; and conversions between real and
//! whole numbers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// One kibibyte.
pub const KIB: u64 = 1 << 10;
/// One mebibyte.
pub const MIB: u64 = 1 << 20;
/// One gibibyte.
pub const GIB: u64 = 1 << 30;

impl Bytes {
    /// Returns `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n * KIB)
    }

    /// Returns `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n * MIB)
    }

    /// Returns `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        Self(n * GIB)
    }
}

/// Prints `4 KiB`, `1.5 GiB`, `512 B`: exact multiples without a fraction.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 5] = [
            (1 << 50, "PiB"),
            (1 << 40, "TiB"),
            (GIB, "GiB"),
            (MIB, "MiB"),
            (KIB, "KiB"),
        ];
        match STEPS.iter().find(|(step, _)| self.0 >= *step) {
            None => write!(f, "{} B", self.0),
            Some((step, unit)) if self.0.is_multiple_of(*step) => {
                write!(f, "{} {unit}", self.0 / step)
            }
            Some((step, unit)) => {
                let value = self.0 as f64 / *step as f64;
                write!(f, "{value:.1} {unit}")
            }
        }
    }
}

/// Parses `4096`, `4k`, `256M`, `1GiB`, `2T`; k, M, G and T are powers of 1024 in either case, with
/// or without a trailing `iB`. `kB`, `MB` … are SI units and are powers of 1000.
///
/// ```
/// use assay_model::units::Bytes;
/// assert_eq!("256M".parse(), Ok(Bytes::mib(256)));
/// assert!("3q".parse::<Bytes>().is_err());
/// ```
impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits);
        if number.is_empty() {
            return Err(format!(
                "'{text}' is not a size: write a number with an optional suffix, as in 256M or 4k"
            ));
        }
        let too_large = || format!("'{text}' is larger than any storage");
        let number: u64 = number.parse().map_err(|_| too_large())?;
        let suffix = suffix.trim();
        let factor: u64 = match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => KIB,
            "m" | "mib" => MIB,
            "g" | "gib" => GIB,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => {
                return Err(format!(
                    "'{text}' has the unknown suffix '{suffix}': use k, M, G or T (powers of 1024)"
                ));
            }
        };
        number.checked_mul(factor).map(Bytes).ok_or_else(too_large)
    }
}

/// A duration, or a point on a clock, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns `n` whole seconds.
    pub const fn secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Returns `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// Returns the duration in seconds with a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Prints `870 ns`, `12.3 µs`, `4.56 ms`, `60.0 s`, `3 min 20 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{} µs", three_digits(ns / 1e3)),
            1_000_000..1_000_000_000 => write!(f, "{} ms", three_digits(ns / 1e6)),
            1_000_000_000..120_000_000_000 => write!(f, "{} s", three_digits(ns / 1e9)),
            _ => {
                let secs = self.0 / 1_000_000_000;
                write!(f, "{} min {} s", secs / 60, secs % 60)
            }
        }
    }
}

/// I/O operations per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Iops(pub f64);

impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            v if v >= 1e6 => write!(f, "{} M IOPS", three_digits(v / 1e6)),
            v if v >= 1e4 => write!(f, "{} k IOPS", three_digits(v / 1e3)),
            v => write!(f, "{} IOPS", three_digits(v)),
        }
    }
}

/// Bytes per second; printed in SI units (1 MB/s = 10^6 bytes per second), the convention of dd and
/// of datasheets.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSec(pub f64);

impl fmt::Display for BytesPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            v if v >= 1e9 => write!(f, "{} GB/s", three_digits(v / 1e9)),
            v if v >= 1e6 => write!(f, "{} MB/s", three_digits(v / 1e6)),
            v if v >= 1e3 => write!(f, "{} kB/s", three_digits(v / 1e3)),
            v => write!(f, "{} B/s", three_digits(v)),
        }
    }
}

/// Formats three significant digits: `1.23`, `12.3`, `123`, `1234`; scientific notation only from
/// 10^15. For figures without a unit beside them, as in a column with the unit in its head.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 1e15 => format!("{value:.2e}"),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Converts a count to the nearest real number; exact up to 2^53.
#[inline]
pub const fn as_f64(number: u64) -> f64 {
    number as f64
}

/// Converts a real number to a whole one.
///
/// The fraction is dropped; negative numbers and NaN become 0, and a number that is too large becomes
/// the largest of the type.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of real numbers saturate"
)]
pub const fn as_u64(number: f64) -> u64 {
    number as u64
}

/// Converts a real number to a whole one of 32 bits.
///
/// The fraction is dropped; negative numbers and NaN become 0, and a number that is too large becomes
/// the largest of the type.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of real numbers saturate"
)]
pub const fn as_u32(number: f64) -> u32 {
    number as u32
}

/// Converts a real number to an index or a length.
///
/// The fraction is dropped; negative numbers and NaN become 0, and a number that is too large becomes
/// the largest of the type.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of real numbers saturate"
)]
pub const fn as_usize(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_by_the_documented_rule() {
        assert_eq!("4096".parse(), Ok(Bytes(4096)));
        assert_eq!("4k".parse(), Ok(Bytes(4096)));
        assert_eq!("4KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("1 GiB".parse(), Ok(Bytes::gib(1)));
        assert_eq!("1MB".parse(), Ok(Bytes(1_000_000)));
    }

    #[test]
    fn bad_sizes_are_refused_with_the_reason() {
        for bad in [
            "",
            "k",
            "-1",
            "3q",
            "1.5G",
            "99999999999999999999",
            "16777216T",
        ] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad} was accepted");
        }
        assert!(
            "3q".parse::<Bytes>()
                .unwrap_err()
                .to_string()
                .contains("'q'")
        );
    }

    #[test]
    fn quantities_print_three_digits() {
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes::mib(256).to_string(), "256 MiB");
        assert_eq!(Nanos(12_345).to_string(), "12.3 µs");
        assert_eq!(Nanos::secs(60).to_string(), "60.0 s");
        assert_eq!(BytesPerSec(99_960_000.0).to_string(), "100 MB/s");
        assert_eq!(Iops(23_400.0).to_string(), "23.4 k IOPS");
        assert_eq!(three_digits(1e308), "1.00e308");
    }
}
