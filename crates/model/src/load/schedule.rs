//! When a stream starts, whom its end concerns, and how its thread runs.

use super::pace::Range;
use super::priority::IoPriority;
use serde::{Deserialize, Serialize};

/// When a stream starts, and whom its end concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Starts only when all streams of that name have ended.
    pub wait_for: Option<String>,
    /// Waits that long after the start of its wave (ns).
    pub start_delay: Option<Range>,
    /// The clock that the time of its start is read from, by the kernel's
    /// number of it (`job_start_clock_id`); 0: the time since 1970.
    #[serde(default)]
    pub start_clock: i32,
    /// Streams that end when this one ends (`exitall`).
    pub exit_all: Option<ExitWhat>,
    /// A failure of this stream ends all others.
    pub exit_all_on_error: bool,
    /// Run by `sh -c` before it starts.
    pub exec_before: Option<String>,
    /// Run by `sh -c` after its end.
    pub exec_after: Option<String>,
}

/// fio's `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitWhat {
    /// Streams of its report group.
    Group,
    /// Streams of its wave.
    Stonewall,
    /// Every stream.
    All,
}

/// Scheduling properties of a stream's thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Processors it may run on; empty: all.
    pub cpus: Vec<u32>,
    /// Copies take one processor each, in turn (`cpus_allowed_policy=split`).
    pub split_cpus: bool,
    /// Added to its nice value.
    pub nice: i32,
    /// Class of its I/O priority: 1 real time, 2 best effort, 3 idle.
    pub io_class: Option<u8>,
    /// I/O priority of the thread, 0 (highest) to 7.
    pub io_priority: Option<u8>,
    /// A process of its own was asked for (no `thread`). Streams always are
    /// threads; this is kept for the record.
    pub forked: bool,
}

impl Process {
    /// The I/O priority of the stream; a level without a class is best effort.
    pub fn priority(&self) -> IoPriority {
        const BEST_EFFORT: u8 = 2;
        match (self.io_class, self.io_priority) {
            (None, None) => IoPriority::NONE,
            (class, level) => IoPriority::new(class.unwrap_or(BEST_EFFORT), level.unwrap_or(0)),
        }
    }
}
