//! Directions in which figures improve, by unit.

use super::lines::is_among;
use assay_model::figures::Better;

/// Amounts for which more per second is better.
const AMOUNTS: &str = "b kb mb gb tb kib mib gib tib k m g byte bytes kbyte kbytes mbyte mbytes gbyte gbytes \
     bit mbit gbit io ios op ops block blocks transactions sectors";
/// Rates without a slash.
const RATES: &str = "iops kiops tps kbps mbps gbps qps ops bps";
const TIMES: &str = "s ms us µs μs ns sec secs msec usec nsec second seconds millisecond milliseconds \
     microsecond microseconds nanosecond nanoseconds min minutes";

/// Returns the direction in which a figure of this unit improves; `None` if the
/// unit does not determine it.
pub fn better(unit: &str) -> Option<Better> {
    let unit = unit.trim().to_lowercase();
    if is_among(RATES, &unit) {
        return Some(Better::Higher);
    }
    match unit.split_once('/') {
        None => is_among(TIMES, &unit).then_some(Better::Lower),
        Some((amount, "s" | "sec" | "second")) => {
            is_among(AMOUNTS, amount.trim()).then_some(Better::Higher)
        }
        Some((time, "op" | "io" | "ops")) => is_among(TIMES, time.trim()).then_some(Better::Lower),
        Some(_) => None,
    }
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
}
