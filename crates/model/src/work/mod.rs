//! Work that is more than one block job: what `assay dd`, `iozone`,
//! `androbench`, `disks`, `capacity`, `mem`, `soak`, `scenario` and `watch` ask of the agent.
//!
//! A *work* is carried out in *steps*; each step that is measured becomes a
//! trial with evidence of its own ([`crate::trial::TrialRecord`]). What a step
//! tells beyond bytes, I/Os and latencies is its [`StepDetail`]; what only the
//! whole work can tell is its [`WorkReport`].

pub mod androbench;
pub mod capacity;
pub mod copy;
pub mod extent;
pub mod iozone;
pub mod memory;
pub mod powercut;
pub mod replay;
pub mod scenario;
pub mod soak;
pub mod watch;

use crate::condition::{Condition, Restore};
use crate::job::Job;
use androbench::{AndroBench, DatabaseStep};
use capacity::{Capacity, CapacityReport, CapacityStep};
use copy::{CopyReport, FileCopy};
use extent::{Extent, ExtentStep};
use iozone::{Iozone, IozoneStep};
use memory::{Memory, MemoryStep};
use powercut::{CutStep, Powercut, PowercutReport};
use replay::ReplayStep;
use scenario::{Scenario, ScenarioStep};
use serde::{Deserialize, Serialize};
use soak::{Soak, SoakStep};
use std::path::{Path, PathBuf};
use watch::{Watch, WatchReport, WatchSample};

/// A work, and what it needs to be carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkOrder {
    /// The run that it belongs to.
    pub run_id: String,
    /// Decides orders and contents.
    pub seed: u64,
    /// Which repetition it is, from 1; 0 for one that makes no figure.
    pub trial: u32,
    /// [`crate::trial::TrialRecord::position`] of its first step.
    pub first_position: u32,
    /// The user's word that what is on a block device may go.
    pub destroy_data: bool,
    /// Work to carry out.
    pub work: Work,
    /// The condition that it is carried out under; `None`: as the machine is.
    pub under: Option<Under>,
}

/// A condition that is made for one repetition of a work, and undone after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Under {
    /// Whose storage the settings are of.
    pub path: PathBuf,
    /// The settings.
    pub condition: Condition,
    /// Actions before the work begins.
    pub restore: Restore,
    /// The steps that count as failed when the condition cannot be made.
    pub steps: Vec<Job>,
}

/// A work: a measurement that is more than one block job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Copying as dd does.
    Copy(Box<FileCopy>),
    /// iozone's tests on files.
    Iozone(Box<Iozone>),
    /// AndroBench's and Mobibench's files and databases.
    AndroBench(Box<AndroBench>),
    /// Samples over the extent of a device or file, as GNOME Disks takes them.
    Extent(Box<Extent>),
    /// A capacity test: checks that storage holds as much as it announces.
    Capacity(Box<Capacity>),
    /// Main memory; no storage takes part.
    Memory(Box<Memory>),
    /// The storage workload of a product.
    Scenario(Box<Scenario>),
    /// Writing and checking for hours to weeks.
    Soak(Box<Soak>),
    /// Looking on while a command runs.
    Watch(Box<Watch>),
    /// Acknowledged writes until the power goes, and what of them is there.
    Powercut(Box<Powercut>),
}

/// Paths and demands of a kind of work, implemented beside its specification.
///
/// The defaults fit a work that writes one place of its own and is stopped in good order.
pub trait WorkSpec {
    /// Files, folders and devices that it may write. Devices must be free, and files must
    /// neither be swap nor lie behind a loop device in use; the agent checks before it begins.
    fn writes(&self) -> Vec<PathBuf>;

    /// Files, folders and devices that it reads or writes.
    fn touches(&self) -> Vec<PathBuf> {
        self.writes()
    }

    /// Paths that no other work may use at the same time.
    fn claims(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Advice for a user whose path another work has claimed.
    fn claim_remedy(&self) -> &'static str {
        "choose another folder"
    }

    /// Folder in which the agent makes a private one for it, and removes that at the end
    /// whatever happens.
    fn private_folder_in(&self) -> Option<&Path> {
        None
    }

    /// Files by the names that the user gave. For root, the agent replaces names that another
    /// user could redirect by a link.
    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }

    /// The same for a folder; a path that is none is left as it is.
    fn named_folder(&mut self) -> Option<&mut PathBuf> {
        None
    }

    /// Block device over which it makes file systems of these kinds, as `mkfs=` takes them.
    fn file_systems(&self) -> Option<(&Path, Vec<&str>)> {
        None
    }

    /// Returns true if it opens the devices that it writes exclusively. The agent holds them for
    /// every other work; a second exclusive open would fail.
    fn opens_own_devices(&self) -> bool {
        true
    }

    /// Returns true if it has something to remove or restore, so that the agent waits for its end
    /// when the host is gone.
    fn waits_on_exit(&self) -> bool {
        true
    }

    /// Returns true if it starts commands of the user.
    fn runs_commands(&self) -> bool {
        false
    }

    /// Returns true if the figures are of storage.
    fn measures_storage(&self) -> bool {
        true
    }

    /// Returns true if it stands in a pipeline, as dd does: signals that were ignored stay ignored,
    /// and an I/O error concerns the user's files, not a device under test.
    fn is_filter(&self) -> bool {
        false
    }

    /// Returns true if it writes to standard output.
    fn writes_stdout(&self) -> bool {
        false
    }
}

impl Work {
    /// Paths and demands of this work.
    pub fn spec(&self) -> &dyn WorkSpec {
        match self {
            Self::Copy(work) => work.as_ref(),
            Self::Iozone(work) => work.as_ref(),
            Self::AndroBench(work) => work.as_ref(),
            Self::Extent(work) => work.as_ref(),
            Self::Capacity(work) => work.as_ref(),
            Self::Memory(work) => work.as_ref(),
            Self::Scenario(work) => work.as_ref(),
            Self::Soak(work) => work.as_ref(),
            Self::Watch(work) => work.as_ref(),
            Self::Powercut(work) => work.as_ref(),
        }
    }

    /// The same, to replace the names of files.
    pub fn spec_mut(&mut self) -> &mut dyn WorkSpec {
        match self {
            Self::Copy(work) => work.as_mut(),
            Self::Iozone(work) => work.as_mut(),
            Self::AndroBench(work) => work.as_mut(),
            Self::Extent(work) => work.as_mut(),
            Self::Capacity(work) => work.as_mut(),
            Self::Memory(work) => work.as_mut(),
            Self::Scenario(work) => work.as_mut(),
            Self::Soak(work) => work.as_mut(),
            Self::Watch(work) => work.as_mut(),
            Self::Powercut(work) => work.as_mut(),
        }
    }
}

/// Details of a step beyond a [`crate::trial::Measurement`]. Raw: figures are derived from it on
/// read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepDetail {
    /// A cell of iozone's.
    Iozone(IozoneStep),
    /// Transactions of a database.
    Database(DatabaseStep),
    /// Samples over an extent.
    Extent(ExtentStep),
    /// Filling or checking storage.
    Capacity(CapacityStep),
    /// A copy of dd's.
    Copy(CopyReport),
    /// Main memory.
    Memory(Box<MemoryStep>),
    /// An act of a scenario.
    Scenario(Box<ScenarioStep>),
    /// A trace that was replayed.
    Replay(Box<ReplayStep>),
    /// The power was cut once.
    Powercut(Box<CutStep>),
    /// A stretch of a soak.
    Soak(Box<SoakStep>),
}

impl StepDetail {
    /// A cell of iozone's.
    pub const fn iozone(&self) -> Option<&IozoneStep> {
        match self {
            Self::Iozone(step) => Some(step),
            _ => None,
        }
    }

    /// A stretch of a soak.
    pub const fn soak(&self) -> Option<&SoakStep> {
        match self {
            Self::Soak(step) => Some(step),
            _ => None,
        }
    }

    /// Main memory.
    pub const fn memory(&self) -> Option<&MemoryStep> {
        match self {
            Self::Memory(step) => Some(step),
            _ => None,
        }
    }

    /// Transactions of a database.
    pub const fn database(&self) -> Option<&DatabaseStep> {
        match self {
            Self::Database(step) => Some(step),
            Self::Scenario(step) => step.database.as_ref(),
            _ => None,
        }
    }

    /// An act of a scenario.
    pub fn scenario(&self) -> Option<&ScenarioStep> {
        match self {
            Self::Scenario(step) => Some(step),
            _ => None,
        }
    }

    /// `true` if data read back differs from data written: the storage, or the memory, does not
    /// keep its data.
    pub fn differs(&self) -> bool {
        match self {
            Self::Iozone(step) => step.mismatch,
            Self::Capacity(step) => step.differs(),
            Self::Memory(step) => step.flips() > 0,
            Self::Scenario(step) => step.differs(),
            Self::Powercut(step) => step.is_bad(),
            Self::Soak(step) => !step.faults.is_empty(),
            Self::Database(_) | Self::Extent(_) | Self::Copy(_) | Self::Replay(_) => false,
        }
    }
}

/// Results of a work as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkReport {
    /// No results beyond those of the steps.
    Steps,
    /// Report of a copy.
    Copy(CopyReport),
    /// Report of a capacity test.
    Capacity(CapacityReport),
    /// Sample of a watch, sent at each interval while it goes on.
    Watching(Box<WatchSample>),
    /// Report of a watch.
    Watch(WatchReport),
    /// Report of the check after the power came back.
    Powercut(PowercutReport),
}

/// Progress of a work, sent a few times a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkProgress {
    /// The step under way, in words.
    pub step: String,
    /// Steps done.
    pub steps_done: u32,
    /// Unit of `done` and `total`.
    pub unit: ProgressUnit,
    /// Amount done in this step.
    pub done: u64,
    /// Amount when the step will be done, where that is known.
    pub total: Option<u64>,
    /// Time since the step began.
    pub elapsed_ns: u64,
}

/// Unit in which a step counts its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgressUnit {
    /// Bytes that were read, written or checked.
    Bytes,
    /// Samples, transactions or other things without a unit.
    Items,
}
