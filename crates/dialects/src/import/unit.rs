//! What a unit tells: which way is good, and how it is told in another one.

use assay_model::figures::Better;

/// Amounts of which more in a second is better.
const AMOUNTS: [&str; 31] = [
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "tib",
    "k",
    "m",
    "g",
    "byte",
    "bytes",
    "kbyte",
    "kbytes",
    "mbyte",
    "mbytes",
    "gbyte",
    "gbytes",
    "bit",
    "mbit",
    "gbit",
    "io",
    "ios",
    "op",
    "ops",
    "block",
    "blocks",
    "transactions",
    "sectors",
];
/// Rates without a stroke.
const RATES: [&str; 9] = [
    "iops", "kiops", "tps", "kbps", "mbps", "gbps", "qps", "ops", "bps",
];
const TIMES: [&str; 21] = [
    "s",
    "ms",
    "us",
    "µs",
    "μs",
    "ns",
    "sec",
    "secs",
    "msec",
    "usec",
    "nsec",
    "second",
    "seconds",
    "millisecond",
    "milliseconds",
    "microsecond",
    "microseconds",
    "nanosecond",
    "nanoseconds",
    "min",
    "minutes",
];

/// Which way a figure of this unit is good; `None` where the unit does not tell.
pub fn better(unit: &str) -> Option<Better> {
    let unit = unit.trim().to_lowercase();
    if RATES.contains(&unit.as_str()) {
        return Some(Better::Higher);
    }
    match unit.split_once('/') {
        None => TIMES.contains(&unit.as_str()).then_some(Better::Lower),
        Some((amount, "s" | "sec" | "second")) => {
            AMOUNTS.contains(&amount.trim()).then_some(Better::Higher)
        }
        Some((time, "op" | "io" | "ops")) => TIMES.contains(&time.trim()).then_some(Better::Lower),
        Some(_) => None,
    }
}

/// What prefixes of a program's units are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// The program has one unit for a figure; another is a mistake.
    Fixed,
    /// 1000, as in dd.
    Decimal,
    /// `Ki` is 1024; so is `K` of fio before 3, and `k` is 1000.
    Fio,
}

/// Units that differ by their prefix only, smallest first, and by which factor
/// each is larger than the one before it.
type Ladder = (&'static [&'static str], f64);

const DECIMAL: &[Ladder] = &[(&["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1000.0)];
const FIO: &[Ladder] = &[
    (&["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"], 1024.0),
    (&["B/s", "KB/s", "MB/s", "GB/s"], 1024.0),
    (&["B/s", "kB/s", "MB/s", "GB/s"], 1000.0),
    (&["nsec", "usec", "msec", "sec"], 1000.0),
];

/// By what a value in unit `from` is multiplied to be one in `to`; `None`
/// where that is not sure: fio's MB and GB stand for either, only KB and kB
/// tell which.
pub fn factor(from: &str, to: &str, prefixes: Prefixes) -> Option<f64> {
    let ladders = match prefixes {
        Prefixes::Fixed => &[],
        Prefixes::Decimal => DECIMAL,
        Prefixes::Fio => FIO,
    };
    let mut factors = ladders.iter().filter_map(|(units, step)| {
        let place = |unit| units.iter().position(|known| *known == unit);
        let steps = i32::try_from(place(from)?).ok()? - i32::try_from(place(to)?).ok()?;
        Some(step.powi(steps))
    });
    let first = factors.next()?;
    let sure = factors.all(|other| other.total_cmp(&first).is_eq());
    sure.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_tell_which_way_is_good() {
        for unit in [
            "MB/s",
            "IOPS",
            "KB/s",
            "KiB/s",
            "TPS",
            "ops/s",
            "kBytes/sec",
            "MiB/sec",
            "ops/sec",
        ] {
            assert_eq!(better(unit), Some(Better::Higher), "{unit}");
        }
        for unit in [
            "s",
            "ms",
            "us",
            "usec",
            "ns",
            "µs",
            "us/op",
            "microseconds/op",
        ] {
            assert_eq!(better(unit), Some(Better::Lower), "{unit}");
        }
        for unit in ["", "%", "°C", "W", "errors/s", "points"] {
            assert_eq!(better(unit), None, "{unit}");
        }
    }

    #[test]
    fn prefixes_are_told_in_each_other_only_where_they_are_sure() {
        let fio = |from, to| factor(from, to, Prefixes::Fio);
        assert_eq!(fio("MiB/s", "KiB/s"), Some(1024.0));
        assert_eq!(fio("usec", "msec"), Some(0.001));
        assert_eq!(fio("KB/s", "MB/s"), Some(1.0 / 1024.0));
        assert_eq!(fio("GB/s", "MB/s"), None, "1000 or 1024");
        assert_eq!(fio("MiB/s", "MB/s"), None);
        assert_eq!(fio("IOPS", "MB/s"), None);
        assert_eq!(factor("GB/s", "MB/s", Prefixes::Decimal), Some(1000.0));
        assert_eq!(factor("MiB/s", "KiB/s", Prefixes::Fixed), None);
    }
}
