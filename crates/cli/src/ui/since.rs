//! Moments in the past, as flags name them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};

/// Parses a day, or a time before now; returns milliseconds since 1970.
pub fn parse_since(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is neither a day (2026-03-14) nor a time (7d, 12h, 30min)");
    if let Some(day) = day(text) {
        return Ok(day);
    }
    let span = text.parse::<Span>().map_err(|_| wrong())?;
    let time = span.to_duration(SpanRelativeTo::days_are_24_hours());
    let time_ms = time.map(|time| time.as_millis());
    let time_ms = time_ms.ok().and_then(|time| u64::try_from(time).ok());
    let now_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    Ok(now_ms.saturating_sub(time_ms.ok_or_else(wrong)?))
}

/// Returns midnight (UTC) of a day such as `2026-03-14`.
fn day(text: &str) -> Option<u64> {
    let midnight = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    u64::try_from(midnight.timestamp().as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn days_and_times_are_read() {
        assert_eq!(day("1970-01-01"), Some(0));
        assert_eq!(day("2026-03-14"), Some(20_526 * DAY_MS));
        assert_eq!(day("2024-02-29"), Some(19_782 * DAY_MS));
        for wrong in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "26-03-14",
            "2026-3-14",
            "x",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        assert!(parse_since("7d").unwrap() < parse_since("1h").unwrap());
        for wrong in ["", "7", "d", "7 years", "99999999999999999999d", "-1d"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }
}
