//! Current time, for the times of records.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since 1970 (UTC).
pub fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
