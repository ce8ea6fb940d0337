//! Sizes with a unit prefix.

/// Base of the powers that a size prefix denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1000: `kB`, `MB`.
    Decimal,
    /// Powers of 1024: `KiB`, `MiB`.
    Binary,
}

impl Base {
    const fn factor(self) -> u128 {
        match self {
            Self::Decimal => 1000,
            Self::Binary => 1024,
        }
    }

    const fn units(self) -> [&'static str; 9] {
        match self {
            Self::Decimal => ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"],
            Self::Binary => ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"],
        }
    }
}

/// Formats a number of bytes in the largest unit that fits, rounded to nearest (half to even), with
/// one decimal below 10.
///
/// ```
/// use assay_model::gnu::{Base, size};
/// assert_eq!(size(104_857_600, Base::Decimal), "105 MB");
/// assert_eq!(size(104_857_600, Base::Binary), "100 MiB");
/// assert_eq!(size(1000, Base::Binary), "1000 B");
/// assert_eq!(size(9_960, Base::Decimal), "10 kB");
/// ```
pub fn size(bytes: u64, base: Base) -> String {
    scaled(bytes.into(), 1, base, 0, 100)
}

/// Formats bytes per second, in kB or more, with one decimal below 100: GNU's tools use a lower
/// precision for rates than for sizes.
///
/// ```
/// use assay_model::gnu::rate;
/// assert_eq!(rate(104_857_600, 259_118_000), "405 MB/s");
/// assert_eq!(rate(2000, 87_363), "22.9 MB/s");
/// assert_eq!(rate(1, 3_000_000_000), "0.0 kB/s");
/// ```
pub fn rate(bytes: u64, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "Infinity B/s".to_owned();
    }
    let bytes = u128::from(bytes) * 1_000_000_000;
    let rate = scaled(bytes, elapsed_ns.into(), Base::Decimal, 1, 1000);
    format!("{rate}/s")
}

/// Formats a quotient in the largest unit that fits, at least the `least`th (0: bytes), with one
/// decimal below `tenths_below` tenths.
fn scaled(bytes: u128, divisor: u128, base: Base, least: usize, tenths_below: u128) -> String {
    let units = base.units();
    let mut unit = least;
    let mut whole = divisor.saturating_mul(base.factor().pow(u32::from(least > 0)));
    while unit + 1 < units.len() && bytes >= whole.saturating_mul(base.factor()) {
        whole = whole.saturating_mul(base.factor());
        unit += 1;
    }
    let tenths = rounded(bytes.saturating_mul(10), whole);
    if unit > 0 && tenths < tenths_below {
        return format!("{}.{} {}", tenths / 10, tenths % 10, units[unit]);
    }
    match rounded(bytes, whole) {
        all if all == base.factor() && unit + 1 < units.len() => {
            format!("1.0 {}", units[unit + 1])
        }
        number => format!("{number} {}", units[unit]),
    }
}

/// Divides and rounds to nearest, half to even.
const fn rounded(dividend: u128, divisor: u128) -> u128 {
    let (down, rest) = (dividend / divisor, dividend % divisor);
    let twice = rest.saturating_mul(2);
    if twice > divisor || (twice == divisor && down % 2 == 1) {
        down + 1
    } else {
        down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_may_lead_to_the_next_unit() {
        let decimal = |bytes| size(bytes, Base::Decimal);
        assert_eq!(decimal(999), "999 B");
        assert_eq!(decimal(9_949), "9.9 kB");
        assert_eq!(decimal(9_950), "10 kB");
        assert_eq!(decimal(999_499), "999 kB");
        assert_eq!(decimal(999_500), "1.0 MB");
        assert_eq!(decimal(1_250), "1.2 kB");
        assert_eq!(decimal(1_350), "1.4 kB");
        assert_eq!(size(1 << 40, Base::Binary), "1.0 TiB");
        assert_eq!(size(1_048_575, Base::Binary), "1.0 MiB");
    }

    #[test]
    fn a_rate_has_three_digits_at_most() {
        assert_eq!(rate(100, 159_507), "627 kB/s");
        assert_eq!(rate(3000, 3_000_000_000), "1.0 kB/s");
        assert_eq!(rate(99_949, 1_000_000_000), "99.9 kB/s");
        assert_eq!(rate(99_960, 1_000_000_000), "100 kB/s");
        assert_eq!(rate(1, 0), "Infinity B/s");
    }
}
