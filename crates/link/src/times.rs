//! How often a side says that it is there, and what silence means.

use std::time::Duration;

/// So often, or oftener.
const SIGN: Duration = Duration::from_secs(5);
/// A connection that is silent for so long is dead.
const SILENCE: Duration = Duration::from_secs(30);

/// Both sides have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long the other side is waited for.
    pub grace: Duration,
    /// Between two signs of life.
    pub sign: Duration,
    /// What counts as the end of a connection.
    pub silence: Duration,
}

impl Times {
    /// Those that fit to a grace: within it a dead connection is noticed, and there
    /// is time for another one.
    #[must_use]
    pub fn within(grace: Duration) -> Self {
        Self {
            grace,
            sign: SIGN.min(grace / 12),
            silence: SILENCE.min(grace / 3),
        }
    }
}
