//! Works: tasks of the agent beyond single block jobs, for `assay dd`, `iozone`, `androbench`,
//! `disks`, `capacity`, `mem`, `soak`, `scenario` and `watch`.
//!
//! A *work* is carried out in *steps*; each measured step becomes a trial with separate evidence
//! ([`crate::trial::TrialRecord`]). Results of a step beyond bytes, I/Os and latencies are in its
//! [`StepDetail`]; results of the whole work are in its [`WorkReport`].

pub mod acts;
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

use crate::load::{Load, Stream};
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

/// A work: a measurement that is more than one block job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Waves of I/O streams, as a job file of fio describes them.
    Streams(Box<Load>),
    /// Copying as dd does.
    Copy(Box<FileCopy>),
    /// iozone's tests on files.
    Iozone(Box<Iozone>),
    /// Files and databases of AndroBench and Mobibench.
    AndroBench(Box<AndroBench>),
    /// Samples over the extent of a device or file, as in GNOME Disks.
    Extent(Box<Extent>),
    /// A capacity test: checks that storage has its announced capacity.
    Capacity(Box<Capacity>),
    /// Main memory, without storage.
    Memory(Box<Memory>),
    /// The storage workload of a product.
    Scenario(Box<Scenario>),
    /// Writing and checking for hours to weeks.
    Soak(Box<Soak>),
    /// Sampling of counters while a command runs.
    Watch(Box<Watch>),
    /// Acknowledged writes until a power cut, and a check of them afterwards.
    Powercut(Box<Powercut>),
}

/// Paths and requirements of a kind of work, implemented beside its specification.
///
/// The defaults fit a work that writes a single private place and ends cleanly when it is stopped.
pub trait WorkSpec {
    /// Returns the files, folders and devices that it may write. Devices must be unused, and files
    /// must neither be swap nor back a loop device in use; the agent checks this before it begins.
    fn writes(&self) -> Vec<PathBuf>;

    /// Returns the files, folders and devices that it reads or writes.
    fn touches(&self) -> Vec<PathBuf> {
        self.writes()
    }

    /// Returns the paths that no other work may use at the same time.
    fn claims(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the advice for a user whose path another work has claimed.
    fn claim_remedy(&self) -> &'static str {
        "choose another folder"
    }

    /// Returns the folder in which the agent creates a private one, which it always removes at the
    /// end.
    fn private_folder_in(&self) -> Option<&Path> {
        None
    }

    /// Returns the files with the names that the user gave. For root, the agent replaces names that
    /// another user could redirect by a link.
    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }

    /// Returns the folder with the name that the user gave, to replace it likewise; a path that is
    /// not a folder is left as it is.
    fn named_folder(&mut self) -> Option<&mut PathBuf> {
        None
    }

    /// Returns the block device on which it makes file systems, and their kinds, in the form of
    /// `mkfs=`.
    fn file_systems(&self) -> Option<(&Path, Vec<&str>)> {
        None
    }

    /// `true` if it opens the devices that it writes exclusively. For every other work the agent
    /// holds them; a second exclusive open would fail.
    fn opens_own_devices(&self) -> bool {
        true
    }

    /// `true` if it has something to remove or restore, so that the agent waits for its end when
    /// the host is gone.
    fn waits_on_exit(&self) -> bool {
        true
    }

    /// `true` if it starts commands of the user.
    fn runs_commands(&self) -> bool {
        false
    }

    /// `true` if the figures are of storage.
    fn measures_storage(&self) -> bool {
        true
    }

    /// `true` if it runs in a pipeline, as dd does: signals that were ignored stay ignored, and an
    /// I/O error concerns the user's files, not a device under test.
    fn is_filter(&self) -> bool {
        false
    }

    /// `true` if it writes to standard output.
    fn writes_stdout(&self) -> bool {
        false
    }
}

impl Work {
    /// Returns the paths and requirements of this work.
    pub fn spec(&self) -> &dyn WorkSpec {
        match self {
            Self::Streams(load) => load.as_ref(),
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

    /// Returns the same as [`Self::spec`], mutable, to replace names of files.
    pub fn spec_mut(&mut self) -> &mut dyn WorkSpec {
        match self {
            Self::Streams(load) => load.as_mut(),
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

impl WorkSpec for Load {
    fn writes(&self) -> Vec<PathBuf> {
        let streams = self.streams.iter();
        let writers = streams.filter(|stream| stream.blocks.rw.changes() && !self.readonly);
        writers.flat_map(named_paths).cloned().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        let streams = self.streams.iter();
        streams.flat_map(named_paths).cloned().collect()
    }

    fn private_folder_in(&self) -> Option<&Path> {
        let mut streams = self.streams.iter().filter(|_| self.made_for.is_some());
        streams.find_map(|stream| stream.trace.redirect.as_deref())
    }

    fn waits_on_exit(&self) -> bool {
        false
    }

    fn runs_commands(&self) -> bool {
        let mut schedules = self.streams.iter().map(|stream| &stream.schedule);
        schedules.any(|times| times.exec_before.is_some() || times.exec_after.is_some())
    }
}

/// Files that a stream names, or the file to which its trace is redirected.
fn named_paths(stream: &Stream) -> &[PathBuf] {
    match &stream.trace.redirect {
        Some(file) => std::slice::from_ref(file),
        None => &stream.files.paths,
    }
}

/// Details of a step beyond a [`crate::trial::Measurement`]. Raw: figures are derived from it on
/// read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepDetail {
    /// A cell of iozone.
    Iozone(IozoneStep),
    /// Transactions of a database.
    Database(DatabaseStep),
    /// Samples over an extent.
    Extent(ExtentStep),
    /// Filling or checking storage.
    Capacity(CapacityStep),
    /// A copy.
    Copy(CopyReport),
    /// Main memory.
    Memory(Box<MemoryStep>),
    /// An act of a scenario.
    Scenario(Box<ScenarioStep>),
    /// A replayed trace.
    Replay(Box<ReplayStep>),
    /// A power cut.
    Powercut(Box<CutStep>),
    /// A stretch of a soak.
    Soak(Box<SoakStep>),
}

impl StepDetail {
    /// Returns a cell of iozone.
    pub const fn iozone(&self) -> Option<&IozoneStep> {
        match self {
            Self::Iozone(step) => Some(step),
            _ => None,
        }
    }

    /// Returns a stretch of a soak.
    pub const fn soak(&self) -> Option<&SoakStep> {
        match self {
            Self::Soak(step) => Some(step),
            _ => None,
        }
    }

    /// Returns a step on main memory.
    pub const fn memory(&self) -> Option<&MemoryStep> {
        match self {
            Self::Memory(step) => Some(step),
            _ => None,
        }
    }

    /// Returns transactions of a database.
    pub const fn database(&self) -> Option<&DatabaseStep> {
        match self {
            Self::Database(step) => Some(step),
            Self::Scenario(step) => step.database.as_ref(),
            _ => None,
        }
    }

    /// Returns an act of a scenario.
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
    /// Sample of a running watch, sent at each interval.
    Watching(Box<WatchSample>),
    /// Report of a watch.
    Watch(WatchReport),
    /// Report of the check after the power came back.
    Powercut(PowercutReport),
}

/// Progress of a work, sent a few times a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkProgress {
    /// Description of the current step.
    pub step: String,
    /// Steps done.
    pub steps_done: u32,
    /// Unit of `done` and `total`.
    pub unit: ProgressUnit,
    /// Amount done in this step.
    pub done: u64,
    /// Amount when the step will be complete, if known.
    pub total: Option<u64>,
    /// Time since the step began.
    pub elapsed_ns: u64,
}

/// Unit in which a step counts its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgressUnit {
    /// Bytes read, written or checked.
    Bytes,
    /// Samples, transactions or other things without a unit.
    Items,
}
