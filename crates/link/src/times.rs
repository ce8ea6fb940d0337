//! Intervals of keep-alive packets, and time limits for silence.

use std::time::Duration;

/// Interval of keep-alive packets, at most.
const SIGN: Duration = Duration::from_secs(5);
/// Silence after which a connection is regarded as dead, at most.
const SILENCE: Duration = Duration::from_secs(30);

/// Times of a link. Both sides must use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time that a side waits for its peer, over all connections, before it gives up the link.
    pub grace: Duration,
    /// Interval of keep-alive packets.
    pub sign: Duration,
    /// Silence after which a connection is regarded as dead.
    pub silence: Duration,
}

impl Times {
    /// Returns the times for a grace period: a dead connection is noticed well within it, so that a
    /// new one can be opened in time.
    pub fn within(grace: Duration) -> Self {
        Self {
            grace,
            sign: SIGN.min(grace / 12),
            silence: SILENCE.min(grace / 3),
        }
    }
}
