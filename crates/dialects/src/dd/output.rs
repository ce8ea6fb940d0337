//! dd's lines on standard error.

use super::symbols::Status;
use assay_model::gnu::{Base, rate, size};
use assay_model::work::copy::CopyReport;

/// Returns the lines at the end of a copy, and after SIGUSR1.
pub fn statistics(report: &CopyReport, status: Status) -> Vec<String> {
    if status == Status::None {
        return Vec::new();
    }
    let mut lines = vec![
        format!("{}+{} records in", report.read_full, report.read_partial),
        format!(
            "{}+{} records out",
            report.written_full, report.written_partial
        ),
    ];
    match report.truncated {
        0 => {}
        1 => lines.push("1 truncated record".to_owned()),
        many => lines.push(format!("{many} truncated records")),
    }
    if status != Status::NoRate {
        let time = format!("{} s", seconds(report.elapsed_ns));
        lines.push(copied(report.bytes, report.elapsed_ns, &time));
    }
    lines
}

/// Returns the progress line, which is overwritten once a second.
pub fn progress(bytes: u64, elapsed_ns: u64) -> String {
    let time = format!("{:.0} s", elapsed_ns as f64 / 1e9);
    copied(bytes, elapsed_ns, &time)
}

/// Formats `104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s`.
pub(super) fn copied(bytes: u64, elapsed_ns: u64, time: &str) -> String {
    let bytes_in_words = match bytes {
        1 => "1 byte".to_owned(),
        0..1000 => format!("{bytes} bytes"),
        1000..1024 => format!("{bytes} bytes ({})", size(bytes, Base::Decimal)),
        _ => format!(
            "{bytes} bytes ({}, {})",
            size(bytes, Base::Decimal),
            size(bytes, Base::Binary)
        ),
    };
    format!(
        "{bytes_in_words} copied, {time}, {}",
        rate(bytes, elapsed_ns)
    )
}

/// Formats seconds with six digits, like C's `%g`.
pub(super) fn seconds(ns: u64) -> String {
    const DIGITS: i32 = 6;
    let seconds = ns as f64 / 1e9;
    if ns == 0 {
        return "0".to_owned();
    }
    // Rounding may add a digit, so the exponent is read afterwards.
    let scientific = format!("{seconds:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{seconds:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs())
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_six_digits() {
        for (ns, text) in [
            (259_118_000, "0.259118"),
            (36_067, "3.6067e-05"),
            (100_000, "0.0001"),
            (1_000_000_000, "1"),
            (8_838_730, "0.00883873"),
            (678_821_499_999, "678.821"),
            (999_999_600, "1"),
            (1_234_567_000_000_000, "1.23457e+06"),
            (99_999_999, "0.1"),
        ] {
            assert_eq!(seconds(ns), text);
        }
    }

    #[test]
    fn the_last_line_is_dds() {
        let line = |bytes, ns| copied(bytes, ns, &format!("{} s", seconds(ns)));
        assert_eq!(
            line(104_857_600, 259_118_000),
            "104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s"
        );
        assert_eq!(line(1, 233_015), "1 byte copied, 0.000233015 s, 4.3 kB/s");
        assert_eq!(
            line(1000, 293_018),
            "1000 bytes (1.0 kB) copied, 0.000293018 s, 3.4 MB/s"
        );
        assert_eq!(
            line(1024, 243_294),
            "1024 bytes (1.0 kB, 1.0 KiB) copied, 0.000243294 s, 4.2 MB/s"
        );
        assert_eq!(line(0, 36_067), "0 bytes copied, 3.6067e-05 s, 0.0 kB/s");
    }
}
