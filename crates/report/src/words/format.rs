//! Figures as text. All numbers for readers use the `Display` of `assay_model::units`, so that all
//! outputs show the same digits.

use assay_model::metric::Unit;
use assay_model::number::as_u64;
use assay_model::units::{Bytes, BytesPerSec, Iops, Nanos, three_digits};

/// Formats a value with its unit: `88.2 MB/s`, `2430 IOPS`, `1.20 ms`, `42.0 %`.
pub fn quantity(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSec => BytesPerSec(value).to_string(),
        Unit::Iops => Iops(value).to_string(),
        // Loads from a processor cache take a few nanoseconds: keep the fraction.
        Unit::Nanos if value > 0.0 && value < 100.0 && value.fract() != 0.0 => {
            format!("{} ns", three_digits(value))
        }
        Unit::Nanos => nanos(value).to_string(),
        Unit::Tps => tps(value),
        Unit::Bytes => bytes(value).to_string(),
        Unit::Ratio => percent(value),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => three_digits(value),
    }
}

/// Returns the lowest and the highest value; `None` without any.
pub fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Formats a value with the unit of its source; assay's own units are formatted for readers.
pub fn value(unit: &str, value: f64) -> String {
    let mut own = Unit::ALL.into_iter();
    // Counts of other programs are shown with their unit.
    match own.find(|own| own.name() == unit && *own != Unit::Count) {
        Some(own) => quantity(own, value),
        None => format!("{} {unit}", three_digits(value))
            .trim_end()
            .to_owned(),
    }
}

/// Formats a change: `-3.9 %`.
pub fn change(percent: f64) -> String {
    // The sum converts -0.0 to +0.0.
    format!("{:+.1} %", (10.0 * percent).round() / 10.0 + 0.0)
}

/// Formats two values with a common unit: `87.9 .. 88.4 MB/s`, `550 .. 6230 MB/s`. Both units are
/// shown if one would need too many digits, and a single value if both look the same.
pub fn range(unit: Unit, low: f64, high: f64) -> String {
    let (first, last) = (quantity(unit, low), quantity(unit, high));
    if first == last {
        return last;
    }
    match (first.split_once(' '), last.split_once(' ')) {
        (Some((number, low_unit)), Some((_, high_unit))) if low_unit == high_unit => {
            format!("{number} .. {last}")
        }
        (Some((number, prefixed)), _) => match number_as(unit, high, prefixed) {
            Some(high) => format!("{number} .. {high} {prefixed}"),
            None => format!("{first} .. {last}"),
        },
        _ => format!("{first} .. {last}"),
    }
}

/// Formats the lowest and the highest value without a unit, in the unit of their median: `817 ..
/// 3280` for 981 MB/s, `4.17 .. 44.8` for 15.5 k IOPS.
pub fn spread(unit: Unit, median: f64, low: f64, high: f64) -> String {
    let shown = quantity(unit, median);
    let number = |value| number_as(unit, value, shown.split_once(' ')?.1);
    match (number(low), number(high)) {
        (Some(low), Some(high)) if low == high => low,
        (Some(low), Some(high)) => format!("{low} .. {high}"),
        _ => range(unit, low, high),
    }
}

/// Formats the number of a value in a unit with that prefix, like `Display` of
/// `assay_model::units`. Returns `None` if it would lose digits or need too many, or if the unit
/// has no prefixes.
fn number_as(unit: Unit, value: f64, prefixed: &str) -> Option<String> {
    let scale = match (unit, prefixed) {
        (Unit::BytesPerSec, "B/s")
        | (Unit::Iops, "IOPS")
        | (Unit::Tps, "TPS")
        | (Unit::Nanos, "ns") => 1.0,
        (Unit::BytesPerSec, "kB/s") | (Unit::Iops, "k IOPS") | (Unit::Nanos, "µs") => 1e3,
        (Unit::BytesPerSec, "MB/s") | (Unit::Iops, "M IOPS") | (Unit::Nanos, "ms") => 1e6,
        (Unit::BytesPerSec, "GB/s") | (Unit::Nanos, "s") => 1e9,
        _ => return None,
    };
    let number = value / scale;
    let range = 0.095..99_999.5;
    range.contains(&number).then(|| three_digits(number))
}

/// Formats a share as a percentage with as few digits as are exact: `97 %`, `0.4 %`. Only 1 gives
/// `100 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if v > 99.0 && v < 99.95 => format!("{v:.1} %"),
        v if (99.95..100.0).contains(&v) => ">99.9 %".to_owned(),
        v if v > 0.0 && v < 0.05 => "<0.1 %".to_owned(),
        v if v > 0.0 && v < 9.95 => format!("{v:.1} %"),
        v => format!("{v:.0} %"),
    }
}

/// Formats transactions per second, with three digits for small numbers: `86.4 TPS`.
fn tps(value: f64) -> String {
    format!("{} TPS", three_digits(value))
}

/// Converts a computed number of bytes.
pub(crate) fn bytes(value: f64) -> Bytes {
    Bytes(as_u64(value.round()))
}

/// Converts a computed duration.
pub fn nanos(value_ns: f64) -> Nanos {
    Nanos(as_u64(value_ns.round()))
}

/// Formats a share in percent without the sign and without trailing zeros: `5`, `2.5`.
pub fn percent_points(share: f64) -> String {
    format!("{:.1}", share * 100.0)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// Formats a temperature in thousandths of a degree: `51.2 °C`.
pub fn celsius(millicelsius: i64) -> String {
    let degrees = millicelsius as f64 / 1e3;
    format!("{degrees:.1} °C")
}

/// Formats a time: `2026-11-03 14:05 UTC`.
pub fn utc(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let (year, month, day) = civil_from_days(minutes / (24 * 60));
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Returns year, month and day of a day counted from 1970-01-01 (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`), for days from 1970 on.
pub(crate) fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_a_common_unit_once() {
        assert_eq!(
            range(Unit::BytesPerSec, 87.9e6, 88.4e6),
            "87.9 .. 88.4 MB/s"
        );
        assert_eq!(range(Unit::Iops, 9_000.0, 23_400.0), "9000 .. 23400 IOPS");
        assert_eq!(range(Unit::BytesPerSec, 550e6, 6.23e9), "550 .. 6230 MB/s");
        assert_eq!(range(Unit::Nanos, 870.0, 12_300.0), "870 .. 12300 ns");
        assert_eq!(range(Unit::Nanos, 1.2e6, 1.2e6), "1.20 ms");
    }

    #[test]
    fn a_range_that_no_single_unit_can_tell_names_both() {
        assert_eq!(
            range(Unit::BytesPerSec, 2e3, 1.1e9),
            "2.00 kB/s .. 1.10 GB/s"
        );
        assert_eq!(range(Unit::Nanos, 870.0, 200e9), "870 ns .. 3 min 20 s");
        assert_eq!(range(Unit::Ratio, 0.4, 0.6), "40 .. 60 %");
    }

    #[test]
    fn a_spread_is_in_the_unit_of_its_median() {
        let rates = |median, low, high| spread(Unit::BytesPerSec, median, low, high);
        assert_eq!(rates(1.03e9, 406e6, 1.22e9), "0.41 .. 1.22");
        assert_eq!(rates(981e6, 550e6, 6.23e9), "550 .. 6230");
        assert_eq!(rates(1.03e9, 2e6, 1.22e9), "2.00 .. 1220 MB/s");
        assert_eq!(rates(88.2e6, 88.2e6, 88.2e6), "88.2");
        assert_eq!(spread(Unit::Iops, 3941.0, 525.0, 33.3e3), "525 .. 33300");
        assert_eq!(spread(Unit::Ratio, 0.5, 0.4, 0.6), "40 .. 60 %");
    }

    #[test]
    fn a_ratio_is_a_percentage_by_its_unit_and_by_its_name() {
        assert_eq!(quantity(Unit::Ratio, 2.3), "230 %");
        assert_eq!(value("ratio", 2.3), "230 %");
        assert_eq!(value("count", 3.0), "3.00 count");
    }

    #[test]
    fn a_percentage_never_rounds_up_to_all_or_down_to_nothing() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.9999), ">99.9 %");
        assert_eq!(percent(0.994), "99.4 %");
        assert_eq!(percent(0.42), "42 %");
        assert_eq!(percent(0.0001), "<0.1 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn moments_are_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34 UTC");
        assert_eq!(utc(1_795_000_000_000), "2026-11-18 11:06 UTC");
    }
}
