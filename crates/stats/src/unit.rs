//! Units as written by other programs, and conversion between units that differ only by their
//! prefix.

use assay_model::figures::{Figure, Sample};

/// A unit relative to the base of its quantity.
#[derive(Clone, Debug, PartialEq)]
struct KnownUnit {
    /// Base, such as `B/s` or `s`: only figures of one base are comparable.
    base: &'static str,
    /// Value of the unit in the base.
    scale: f64,
}

/// Prefixes of amounts. `K` before bytes is left out, since it can mean 1000 or 1024.
const PREFIXES: [(&str, f64); 9] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("", 1.0),
];

const TIMES: [(&[&str], f64); 5] = [
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (
        &["ms", "msec", "msecs", "millisecond", "milliseconds"],
        1e-3,
    ),
    (
        &[
            "us",
            "µs",
            "μs",
            "usec",
            "usecs",
            "microsecond",
            "microseconds",
        ],
        1e-6,
    ),
    (&["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"], 1e-9),
    (&["min", "minute", "minutes"], 60.0),
];

/// Names of counted rates, and the base of each.
const COUNTS: [(&[&str], &str); 4] = [
    (&["IOPS", "iops", "IO/s", "io/s", "ios/s", "IOs/s"], "IOPS"),
    (&["TPS", "tps", "transactions/s"], "TPS"),
    (&["QPS", "qps"], "QPS"),
    (&["ops/s", "op/s", "OPS"], "ops/s"),
];

/// Returns the factor from unit `from` to unit `to`; `None` if they are units of different
/// quantities, or one of them is ambiguous.
pub fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let (from, to) = (known(from)?, known(to)?);
    (from.base == to.base).then(|| from.scale / to.scale)
}

/// Converts the figure to `unit`, if the units differ only by their prefix.
pub fn converted(figure: &Figure, unit: &str) -> Option<Figure> {
    let factor = factor(&figure.unit, unit)?;
    let sample = match &figure.sample {
        Sample::Values { values, positions } => Sample::Values {
            values: values.iter().map(|value| value * factor).collect(),
            positions: positions.clone(),
        },
        Sample::Moments { n, mean, stdev } => Sample::Moments {
            n: *n,
            mean: mean * factor,
            stdev: stdev.map(|stdev| stdev * factor),
        },
    };
    Some(Figure {
        unit: unit.to_owned(),
        sample,
        ..figure.clone()
    })
}

fn known(unit: &str) -> Option<KnownUnit> {
    let unit: String = unit.split_whitespace().collect();
    let unit = match unit.strip_suffix("/sec").or(unit.strip_suffix("/second")) {
        Some(amount) => format!("{amount}/s"),
        None => unit,
    };
    match unit.as_str() {
        "%" | "percent" => return Some(KnownUnit::new("ratio", 0.01)),
        "ratio" => return Some(KnownUnit::new("ratio", 1.0)),
        _ => {}
    }
    if let Some(scale) = time(&unit) {
        return Some(KnownUnit::new("s", scale));
    }
    match unit.split_once('/') {
        Some((amount, "s")) if bytes(amount).is_some() => {
            bytes(amount).map(|scale| KnownUnit::new("B/s", scale))
        }
        Some((amount, "op" | "io" | "ops")) => {
            time(amount).map(|scale| KnownUnit::new("s/op", scale))
        }
        _ => bytes(&unit)
            .map(|scale| KnownUnit::new("B", scale))
            .or_else(|| count(&unit)),
    }
}

impl KnownUnit {
    const fn new(base: &'static str, scale: f64) -> Self {
        Self { base, scale }
    }
}

fn time(unit: &str) -> Option<f64> {
    let mut times = TIMES.iter();
    Some(times.find(|(names, _)| names.contains(&unit))?.1)
}

/// Parses an amount of bytes such as `KiB`, `MB`, `Mbit`.
fn bytes(unit: &str) -> Option<f64> {
    PREFIXES.iter().find_map(|(prefix, scale)| {
        match unit.strip_prefix(prefix)? {
            "B" | "byte" | "bytes" | "Byte" | "Bytes" => {
                // iozone's kBytes are 1024 bytes, and those of other programs are not.
                let sure = *prefix != "k" || unit == "kB";
                sure.then_some(*scale)
            }
            "bit" | "bits" => Some(scale / 8.0),
            _ => None,
        }
    })
}

/// Parses a counted rate, with a prefix of thousands: `k IOPS`, `KIOPS`.
fn count(unit: &str) -> Option<KnownUnit> {
    COUNTS.iter().find_map(|(names, base)| {
        let name = names.iter().find(|name| unit.ends_with(**name))?;
        let scale = match unit.strip_suffix(name)? {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            _ => return None,
        };
        Some(KnownUnit::new(base, scale))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_quantity_are_converted() {
        for (from, to, expected) in [
            ("MiB/s", "KiB/s", 1024.0),
            ("KiB/s", "B/s", 1024.0),
            ("kB/s", "MB/s", 1e-3),
            ("MB/s", "MiB/s", 1e6 / 1_048_576.0),
            ("MB/sec", "MB/s", 1.0),
            ("Gbit/s", "MB/s", 125.0),
            ("usec", "ns", 1e3),
            ("msec", "usec", 1e3),
            ("µs", "us", 1.0),
            ("s", "ms", 1e3),
            ("us/op", "ns/op", 1e3),
            ("k IOPS", "IOPS", 1e3),
            ("KIOPS", "kIOPS", 1.0),
            ("IOPS", "IO/s", 1.0),
            ("%", "ratio", 0.01),
            ("GiB", "MiB", 1024.0),
            ("°C", "°C", 1.0),
        ] {
            let found = factor(from, to).unwrap_or_else(|| panic!("{from} {to}"));
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{from} {to} {found}"
            );
        }
    }

    #[test]
    fn other_quantities_and_doubtful_prefixes_are_not() {
        for (from, to) in [
            ("MB/s", "IOPS"),
            ("IOPS", "TPS"),
            ("IOPS", "ops/s"),
            ("s", "B/s"),
            ("s", "us/op"),
            ("MB", "MB/s"),
            ("°C", "K"),
            ("°C", "°F"),
            ("KB/s", "MB/s"),
            ("kBytes/sec", "kB/s"),
            ("points", "score"),
            ("", "B/s"),
        ] {
            assert_eq!(factor(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn all_of_a_figure_is_converted() {
        let figure = |unit: &str, sample| Figure {
            condition: String::new(),
            metric: "bw".to_owned(),
            unit: unit.to_owned(),
            better: None,
            primary: true,
            sample,
            measured: None,
            waited: None,
        };
        let moments = |mean, stdev| Sample::Moments { n: 3, mean, stdev };
        let found = converted(&figure("MiB/s", moments(2.0, Some(0.5))), "KiB/s");
        assert_eq!(found, Some(figure("KiB/s", moments(2048.0, Some(512.0)))));
        assert_eq!(converted(&figure("MiB/s", moments(2.0, None)), "ms"), None);
    }
}
