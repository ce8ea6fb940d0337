//! Subjects that a condition can set.

use super::command_limit;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Subject of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// The I/O scheduler of the disks (`queue/scheduler`).
    Scheduler,
    /// Another attribute of the disk's queue (`queue/NAME`).
    Queue {
        /// Name of the file, such as `read_ahead_kb`.
        attribute: String,
    },
    /// The frequency governor of all processors.
    Governor,
    /// The lowest frequency of all processors, kHz.
    CpufreqMin,
    /// The highest frequency of all processors, kHz.
    CpufreqMax,
    /// A setting of the kernel (`/proc/sys`).
    Sysctl {
        /// Name with dots, such as `vm.dirty_ratio`.
        name: String,
    },
    /// A file that holds a value.
    File {
        /// Absolute path of the file.
        path: PathBuf,
    },
    /// A setting that the user's commands apply and undo.
    Command {
        /// Name, chosen by the user.
        name: String,
        /// Command to apply it, run by `sh -c` with the value as `$1`.
        apply: String,
        /// Command to undo it, run in the same way.
        undo: String,
        /// Time limit of each command.
        #[serde(default = "command_limit")]
        limit: Nanos,
    },
    /// A file system that is made on the device under test, with options of `mkfs`
    /// ([`super::FileSystem`]).
    Mkfs,
    /// Options of the mount that holds the test file, joined with `+`.
    Mount,
    /// The processors that the workers may run on, as `0+2` or `0-3`.
    Affinity,
}

impl Subject {
    /// Returns the rank in the order of setting. A subject is set after those that would change it,
    /// as a new scheduler changes the queue depth.
    pub const fn rank(&self) -> u8 {
        match self {
            Self::Mkfs | Self::Mount => 0,
            Self::Scheduler | Self::Governor => 1,
            _ => 2,
        }
    }
}

/// Prints the form that the user writes.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheduler => f.write_str("scheduler"),
            Self::Queue { attribute } => f.write_str(attribute),
            Self::Governor => f.write_str("governor"),
            Self::CpufreqMin => f.write_str("cpufreq_min"),
            Self::CpufreqMax => f.write_str("cpufreq_max"),
            Self::Sysctl { name } => f.write_str(name),
            Self::File { path } => write!(f, "file:{}", path.display()),
            Self::Command { name, .. } => write!(f, "cmd:{name}"),
            Self::Mkfs => f.write_str("mkfs"),
            Self::Mount => f.write_str("mount"),
            Self::Affinity => f.write_str("affinity"),
        }
    }
}
