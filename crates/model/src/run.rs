//! A run: an executed plan.

use crate::plan::Plan;
use crate::storage::Storage;
use crate::system::System;
use crate::trial::TrialRecord;
use serde::{Deserialize, Serialize};

/// What is known of a run besides its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Lower-case letters and digits, unique.
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Version of assay that made it.
    pub assay_version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// The machine that was measured, as the user called it; `None`: the one that
    /// the command ran on.
    #[serde(default)]
    pub target: Option<String>,
    /// What was planned.
    pub plan: Plan,
    /// The machine.
    pub system: System,
    /// The storage as it was at the start.
    pub storage: Storage,
}

/// How far a run came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum RunStatus {
    /// Under way, or killed without a chance to say so.
    Running,
    /// All trials were run.
    Finished,
    /// Stopped from outside.
    Interrupted,
    /// Stopped by an error.
    Failed {
        /// What, where, and what to do.
        error: String,
    },
}

impl RunStatus {
    /// One word, as in JSON.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A run with all its trials, in the order they were run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What was planned and where.
    pub header: RunHeader,
    /// How far it came.
    pub status: RunStatus,
    /// End, milliseconds since 1970 (UTC).
    pub finished_unix_ms: Option<u64>,
    /// The trials.
    pub trials: Vec<TrialRecord>,
}
