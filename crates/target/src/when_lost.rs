//! Behaviour of an agent that loses its link.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// Default time limit to reconnect: enough to replug a cable, or for an overloaded
/// network to recover.
const GRACE: Duration = Duration::from_secs(120);
/// Shortest time limit, in seconds. With less, a busy machine would count as lost.
const SHORTEST: u64 = 10;
/// Longest time limit, in seconds: one week. With more, abandoned agents would remain too
/// long.
const LONGEST: u64 = 7 * 24 * 3600;

/// Behaviour of the agent and of the host when their link is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// The agent stops and cleans up at once.
    Stop,
    /// The agent completes the current trial, keeps its record, and waits this time for
    /// the host to reconnect; then it stops and cleans up.
    Wait(Duration),
}

/// Error for a text that is not such a behaviour.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("write stop, wait, or wait=TIME with a time from 10s to 7d (30s, 5m, 1h)")]
pub struct WhenLostError;

impl Default for WhenLost {
    fn default() -> Self {
        Self::Wait(GRACE)
    }
}

impl FromStr for WhenLost {
    type Err = WhenLostError;

    fn from_str(text: &str) -> Result<Self, WhenLostError> {
        match text.split_once('=') {
            None if text == "stop" => Ok(Self::Stop),
            None if text == "wait" => Ok(Self::default()),
            Some(("wait", time)) => seconds(time)
                .filter(|seconds| (SHORTEST..=LONGEST).contains(seconds))
                .map(|seconds| Self::Wait(Duration::from_secs(seconds)))
                .ok_or(WhenLostError),
            _ => Err(WhenLostError),
        }
    }
}

fn seconds(time: &str) -> Option<u64> {
    let unit = time
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(time.len());
    let (number, unit) = time.split_at(unit);
    let unit = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

impl fmt::Display for WhenLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("stop"),
            Self::Wait(grace) => write!(f, "wait={}s", grace.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_limits() {
        for (text, seconds) in [
            ("wait", 120),
            ("wait=10", 10),
            ("wait=5m", 300),
            ("wait=7d", LONGEST),
        ] {
            assert_eq!(
                text.parse(),
                Ok(WhenLost::Wait(Duration::from_secs(seconds)))
            );
        }
        assert_eq!("stop".parse(), Ok(WhenLost::Stop));
        for text in [
            "", "stop=1", "wait=", "wait=9s", "wait=8d", "wait=1w", "wait=-1", "wait=s",
        ] {
            assert_eq!(text.parse::<WhenLost>(), Err(WhenLostError), "{text}");
        }
        let again: WhenLost = WhenLost::default().to_string().parse().unwrap();
        assert_eq!(again, WhenLost::default());
    }
}
