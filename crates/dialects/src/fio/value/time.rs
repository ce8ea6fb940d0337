//! Times by fio's rules: a number without a suffix is in the unit of its
//! option.

use super::Domain;
use assay_model::units::Nanos;

/// Unit of a time without a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds: `runtime`, `ramp_time`, `startdelay`.
    Seconds,
    /// Milliseconds, for which no suffix is accepted: `log_avg_msec`,
    /// `rate_cycle`.
    Millis,
    /// Microseconds: `thinktime`, `latency_target`.
    Micros,
}

impl TimeUnit {
    /// Nanoseconds in one unit.
    const fn nanos(self) -> i128 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
        }
    }

    /// Name of the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
        }
    }
}

/// Parses a time: a number with `d`, `h`, `m`, `s`, `ms` or `us`, or without a
/// suffix in `unit`, or a formula in parentheses.
pub(in crate::fio) fn duration(text: &str, unit: TimeUnit) -> Result<Nanos, String> {
    let text = text.trim();
    if text.starts_with('(') {
        let value = super::evaluate(text, Domain::Time)?;
        let factor = if value.has_unit { 1_000 } else { unit.nanos() };
        return within(text, value.integer()?.checked_mul(factor));
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: i128 = digits
        .parse()
        .map_err(|_| format!("'{text}' is not a time: write a number, as in 10s"))?;
    let factor = factor(suffix, unit).ok_or_else(|| match unit {
        TimeUnit::Millis => {
            format!("'{text}' is not a number of milliseconds, which has no suffix")
        }
        _ => format!("'{text}' has the unknown suffix '{suffix}': use d, h, m, s, ms or us"),
    })?;
    within(text, number.checked_mul(factor))
}

/// Nanoseconds in one unit of `suffix`.
fn factor(suffix: &str, unit: TimeUnit) -> Option<i128> {
    Some(match suffix.trim().to_ascii_lowercase().as_str() {
        "" => unit.nanos(),
        _ if unit == TimeUnit::Millis => return None,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn within(text: &str, nanos: Option<i128>) -> Result<Nanos, String> {
    nanos
        .and_then(|nanos| u64::try_from(nanos).ok())
        .map(Nanos)
        .ok_or_else(|| format!("'{text}' is not a time that can be waited for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_decides_what_a_bare_number_is() {
        let read = |text, unit| duration(text, unit).expect("a time").0;
        assert_eq!(read("60", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("60", TimeUnit::Micros), 60_000);
        assert_eq!(read("2m", TimeUnit::Micros), 120_000_000_000);
        assert_eq!(read("5ms", TimeUnit::Seconds), 5_000_000);
        assert_eq!(read("500", TimeUnit::Millis), 500_000_000);
        assert_eq!(read("(2*30)", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("(2*30s)", TimeUnit::Seconds), 60_000_000_000);
        assert_eq!(read("(100us)", TimeUnit::Seconds), 100_000);
    }

    #[test]
    fn unknown_suffixes_are_refused() {
        for text in ["10sec", "10ns", "-1", "", "1.5", "99999999999999d", "(1"] {
            assert!(duration(text, TimeUnit::Seconds).is_err(), "{text}");
        }
    }
}
