//! Time between signs of life, and the meaning of silence.

use std::time::Duration;

/// So often, or oftener.
const SIGN: Duration = Duration::from_secs(5);
/// A connection that is silent for so long is dead.
const SILENCE: Duration = Duration::from_secs(30);

/// Both sides have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time limit for waiting on the other side.
    pub grace: Duration,
    /// Between two signs of life.
    pub sign: Duration,
    /// Silence that counts as the end of a connection.
    pub silence: Duration,
}

impl Times {
    /// Returns times that fit a grace period: within it, a dead connection is noticed and a new one
    /// has time to start.
    pub fn within(grace: Duration) -> Self {
        Self {
            grace,
            sign: SIGN.min(grace / 12),
            silence: SILENCE.min(grace / 3),
        }
    }
}
