//! Looking on while a command runs.

use serde::{Deserialize, Serialize};

/// What to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The command; empty: until it is stopped.
    pub command: Vec<String>,
}

/// What was seen in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchReport {
    /// Exit code of the command; `None` when a signal ended it.
    pub exit_code: Option<i32>,
}
