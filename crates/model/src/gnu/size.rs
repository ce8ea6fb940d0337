//! Sizes with a prefix.

/// What a prefix stands for.
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

/// A number of bytes divided by another number, in the largest unit of which
/// there is one, at least the `least`th (0: bytes). Rounded to the nearest (a
/// half to the even neighbour), with one decimal below 10.
///
/// ```
/// use assay_model::gnu::{Base, quotient};
/// assert_eq!(quotient(104_857_600, 1, Base::Decimal, 0), "105 MB");
/// assert_eq!(quotient(1000, 1, Base::Binary, 0), "1000 B");
/// assert_eq!(quotient(9_960, 1, Base::Decimal, 0), "10 kB");
/// assert_eq!(quotient(5, 2, Base::Decimal, 1), "0.0 kB");
/// ```
#[must_use]
pub fn quotient(bytes: u128, divisor: u128, base: Base, least: usize) -> String {
    let units = base.units();
    let divisor = divisor.max(1);
    let mut unit = least.min(units.len() - 1);
    let mut whole = divisor.saturating_mul(base.factor().pow(u32::try_from(unit).unwrap_or(0)));
    while unit + 1 < units.len() && bytes >= whole.saturating_mul(base.factor()) {
        whole = whole.saturating_mul(base.factor());
        unit += 1;
    }
    let tenths = rounded(bytes.saturating_mul(10), whole);
    if unit > 0 && tenths < 100 {
        return format!("{}.{} {}", tenths / 10, tenths % 10, units[unit]);
    }
    match rounded(bytes, whole) {
        all if all == base.factor() && unit + 1 < units.len() => {
            format!("1.0 {}", units[unit + 1])
        }
        number => format!("{number} {}", units[unit]),
    }
}

/// To the nearest, a half to the even one.
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
        let decimal = |bytes| quotient(bytes, 1, Base::Decimal, 0);
        assert_eq!(decimal(999), "999 B");
        assert_eq!(decimal(9_949), "9.9 kB");
        assert_eq!(decimal(9_950), "10 kB");
        assert_eq!(decimal(999_499), "999 kB");
        assert_eq!(decimal(999_500), "1.0 MB");
        assert_eq!(decimal(1_250), "1.2 kB");
        assert_eq!(decimal(1_350), "1.4 kB");
        assert_eq!(quotient(1 << 40, 1, Base::Binary, 0), "1.0 TiB");
        assert_eq!(quotient(1_048_575, 1, Base::Binary, 0), "1.0 MiB");
    }

    #[test]
    fn a_rate_is_a_quotient() {
        let rate = |bytes, ns| quotient(bytes * 1_000_000_000, ns, Base::Decimal, 1);
        assert_eq!(rate(104_857_600, 259_118_000), "405 MB");
        assert_eq!(rate(100, 159_507), "627 kB");
        assert_eq!(rate(1, 3_000_000_000), "0.0 kB");
    }
}
