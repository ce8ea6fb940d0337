//! Conditions: named settings that are in force while trials run.
//!
//! A **setting** gives a **subject** (an I/O scheduler, a governor, a file) a
//! value. A **condition** is several settings, named by them. Where a setting is
//! made is a **knob**: one subject may have several, as a governor has one for
//! each group of processors.

mod cpus;
mod file_system;
mod offer;
mod restore;
mod subject;
mod vary;

pub use cpus::parse_cpus;
pub use file_system::FileSystem;
pub use offer::{Offer, Offered};
pub(crate) use restore::parse_celsius;
pub use restore::{Restore, TEMPERATURE, TemperatureWindow, celsius};
pub use subject::Subject;
pub use vary::{Commands, Values, Vary, cross};

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Default time limit of a user's command.
pub const COMMAND_LIMIT: Nanos = Nanos::secs(60);

/// Time limit for records that do not have one.
const fn command_limit() -> Nanos {
    COMMAND_LIMIT
}

/// Named settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// `scheduler=bfq,read_ahead_kb=512`.
    pub name: String,
    /// In the order in which they are made.
    pub settings: Vec<Setting>,
}

impl Condition {
    /// The condition of these settings, named by them.
    pub fn of(settings: Vec<Setting>) -> Self {
        let names: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Self {
            name: names.join(","),
            settings,
        }
    }

    /// `true` if this condition makes a new file system on the device under test.
    pub fn makes_file_system(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| setting.subject == Subject::Mkfs)
    }
}

/// A subject and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Subject that the setting changes.
    pub subject: Subject,
    /// To what, in the kernel's words.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.subject, self.value)
    }
}

/// One place where a setting is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Knob {
    /// A file that holds one value; of several in a line the one in brackets is
    /// in force.
    File {
        /// The file.
        path: PathBuf,
    },
    /// Options of a mount.
    Mount {
        /// The mount point.
        point: PathBuf,
    },
    /// Whatever two commands do and undo; it cannot be read back.
    Command {
        /// The user's name of it.
        name: String,
        /// Run by `sh -c` with the value as `$1`.
        apply: String,
        /// The same, to undo it.
        undo: String,
        /// Time limit of each command.
        #[serde(default = "command_limit")]
        limit: Nanos,
    },
    /// A file system on a device whose data may go. Undoing it unmounts it.
    FileSystem {
        /// The device.
        device: PathBuf,
        /// Mount point: one of assay's own folders.
        point: PathBuf,
    },
    /// The processors that the agent's threads may run on. It ends with the
    /// agent.
    Affinity,
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "{}", path.display()),
            Self::Mount { point } => write!(f, "the mount on {}", point.display()),
            Self::Command { name, .. } => write!(f, "cmd:{name}"),
            Self::FileSystem { device, point } => write!(
                f,
                "the file system on {}, mounted on {}",
                device.display(),
                point.display()
            ),
            Self::Affinity => f.write_str("the agent's processors"),
        }
    }
}

/// Value of a knob, read back right before a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The subject, as in the condition's name.
    pub subject: String,
    /// The knob.
    pub knob: String,
    /// Value read back; `None` when the knob cannot be read back (a command).
    pub value: Option<String>,
}

/// A setting that a run which was killed had left, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// The run that had made it.
    pub run_id: String,
    /// The knob.
    pub knob: String,
    /// Value before that run; `None` for a command.
    pub old: Option<String>,
    /// Why it was not undone; `None`: it was.
    pub problem: Option<String>,
}
