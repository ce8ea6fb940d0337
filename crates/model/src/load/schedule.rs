//! Start of a stream, effects of its end, and properties of its thread.

use super::pace::Range;
use super::priority::IoPriority;
use serde::{Deserialize, Serialize};

/// Start of a stream, and streams that its end affects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Name of the streams that must end before it starts.
    pub wait_for: Option<String>,
    /// Delay after the start of its wave (ns).
    pub start_delay: Option<Range>,
    /// Kernel number of the clock that the start time is read from (`job_start_clock_id`); 0: the
    /// time since 1970.
    #[serde(default)]
    pub start_clock: i32,
    /// Streams that end when this one ends (`exitall`).
    pub exit_all: Option<ExitWhat>,
    /// `true` if a failure of this stream ends all others.
    pub exit_all_on_error: bool,
    /// Command that is run by `sh -c` before the stream starts.
    pub exec_before: Option<String>,
    /// Command that is run by `sh -c` after its end.
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
    /// Processors that it may run on; empty: all.
    pub cpus: Vec<u32>,
    /// `true` if each copy gets one processor in turn (`cpus_allowed_policy=split`).
    pub split_cpus: bool,
    /// Increment of the nice value.
    pub nice: i32,
    /// Class of its I/O priority: 1 real time, 2 best effort, 3 idle.
    pub io_class: Option<u8>,
    /// I/O priority of the thread, 0 (highest) to 7.
    pub io_priority: Option<u8>,
    /// `true` if a separate process was requested (no `thread`). Streams are always threads; the
    /// value is only recorded.
    pub forked: bool,
}

impl Process {
    /// Returns the I/O priority of the stream; a level without a class is best effort.
    pub fn priority(&self) -> IoPriority {
        const BEST_EFFORT: u8 = 2;
        match (self.io_class, self.io_priority) {
            (None, None) => IoPriority::NONE,
            (class, level) => IoPriority::new(class.unwrap_or(BEST_EFFORT), level.unwrap_or(0)),
        }
    }
}
