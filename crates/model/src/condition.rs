//! Conditions: named settings that are in force while trials run.
//!
//! A **setting** gives a **subject** (an I/O scheduler, a governor, a file) a value. A
//! **condition** consists of settings, and its name lists them. A **knob** is the place where a
//! setting is made: one subject may have several, as a governor has one for each group of
//! processors.
//!
//! To add a subject: add a variant of `Subject` with the user's word, its knobs in
//! `assay_probe::conditions` (`knobs`), its values in `offers` there, and in `companions` the
//! settings that the kernel changes with it; then a line in `docs/sweep.md`.

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
    /// Name, such as `scheduler=bfq,read_ahead_kb=512`.
    pub name: String,
    /// Settings, in the order in which they are made.
    pub settings: Vec<Setting>,
}

impl Condition {
    /// Creates the condition of these settings, named by them.
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
    /// Value, as the kernel spells it.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.subject, self.value)
    }
}

/// A place where a setting is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Knob {
    /// A file that holds one value; of several in a line, the one in brackets is in force.
    File {
        /// The file.
        path: PathBuf,
    },
    /// Options of a mount.
    Mount {
        /// The mount point.
        point: PathBuf,
    },
    /// A setting that two commands apply and undo; it cannot be read back.
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
    /// A file system on a device whose data may be lost. Undoing it unmounts it.
    FileSystem {
        /// The device.
        device: PathBuf,
        /// Mount point, a folder that assay creates.
        point: PathBuf,
    },
    /// The processors that the agent's threads may run on. It ends with the agent.
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
    /// Subject, as in the condition's name.
    pub subject: String,
    /// The knob.
    pub knob: String,
    /// Value read back; `None` when the knob cannot be read back (a command).
    pub value: Option<String>,
}

/// A setting that a killed run left behind, and the result of undoing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// Run that made the setting.
    pub run_id: String,
    /// The knob.
    pub knob: String,
    /// Value before that run; `None` for a command.
    pub old: Option<String>,
    /// Reason why it was not undone; `None` if it was.
    pub problem: Option<String>,
}
