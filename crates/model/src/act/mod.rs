//! Acts: tasks of the agent beyond single block jobs, for `assay dd`, `iozone`, `androbench`,
//! `disks`, `capacity`, `mem`, `soak`, `scenario` and `watch`.
//!
//! An *act* is carried out in *steps*; each measured step becomes a trial with separate evidence
//! ([`crate::trial::TrialRecord`]). Results of a step beyond bytes, I/Os and latencies are in its
//! [`StepDetail`]; results of the whole act are in its [`ActReport`].

pub mod androbench;
pub mod capacity;
pub mod copy;
pub mod iozone;
pub mod memory;
pub mod powercut;
pub mod scenario;
pub mod soak;
pub mod watch;

use crate::evidence::LatencyRecord;
use crate::job::Job;
use crate::load::{Load, PerDirection, Stream};
use crate::plan::{Place, Plan, PlannedJob, Slot};
use crate::rng::SplitMix64;
use crate::units::Bytes;
use androbench::{AndroBench, DatabaseStep};
use capacity::{Capacity, CapacityReport, CapacityStep};
use copy::{CopyReport, FileCopy};
use iozone::{Iozone, IozoneStep};
use memory::{Memory, MemoryStep};
use powercut::{CutStep, Powercut, PowercutReport};
use scenario::{Scenario, ScenarioStep};
use serde::{Deserialize, Serialize};
use soak::{Soak, SoakStep};
use std::path::{Path, PathBuf};
use watch::{Watch, WatchReport, WatchSample};

/// An act: a measurement that is more than one block job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Jobs on one test file, in the order of a plan that has no conditions.
    Jobs(Box<Plan>),
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

/// Paths and requirements of a kind of act, implemented beside its specification.
///
/// The defaults fit an act that writes a single private place and ends cleanly when it is stopped.
pub trait ActSpec {
    /// Returns the files, folders and devices that it may write. Devices must be unused, and files
    /// must neither be swap nor back a loop device in use; the agent checks this before it begins.
    fn writes(&self) -> Vec<PathBuf>;

    /// Returns the files, folders and devices that it reads or writes.
    fn touches(&self) -> Vec<PathBuf> {
        self.writes()
    }

    /// Returns the paths that no other act may use at the same time.
    fn claims(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the advice for a user whose path another act has claimed.
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

    /// `true` if it opens the devices that it writes exclusively. For every other act the agent
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

impl Act {
    /// Returns the paths and requirements of this act.
    pub fn spec(&self) -> &dyn ActSpec {
        match self {
            Self::Jobs(plan) => plan.as_ref(),
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
    pub fn spec_mut(&mut self) -> &mut dyn ActSpec {
        match self {
            Self::Jobs(plan) => plan.as_mut(),
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

impl ActSpec for Plan {
    fn writes(&self) -> Vec<PathBuf> {
        match &self.place {
            Place::Device { path } => vec![path.clone()],
            _ => Vec::new(),
        }
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.place.path().to_owned()]
    }

    fn private_folder_in(&self) -> Option<&Path> {
        match &self.place {
            Place::Directory { path } => Some(path),
            _ => None,
        }
    }
}

impl ActSpec for Load {
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

/// Results of an act as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ActReport {
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

/// Progress of an act, sent a few times a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActProgress {
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

/// A replayed trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayStep {
    /// File of the trace, as named by the user.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// Replay speed: 1 keeps the recorded times, 2 halves them; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// Time from the first recorded I/O or flush to the last.
    pub recorded_ns: u64,
    /// I/Os that were recorded and replayed.
    pub ios: PerDirection<u64>,
    /// Flushes that were recorded and replayed.
    pub flushes: u64,
    /// Trims that were left out, since files do not support them.
    pub trims_left_out: u64,
    /// Bytes from 0 to the end of the recorded I/O with the highest end.
    pub recorded_extent: u64,
    /// Bytes from 0 to the end of the replayed I/O with the highest end.
    pub extent: u64,
    /// Treatment of offsets beyond the end of smaller storage: `wrap` or `scale`.
    pub shrunk: Option<String>,
    /// Number of I/Os that are not at their recorded offset.
    pub moved: u64,
    /// Lateness of each I/O or flush (submission time minus due time); `None` if times are not
    /// kept.
    pub lateness: Option<LatencyRecord>,
}

crate::defaults! {
    /// Samples to take.
    ///
    /// Defaults are those of GNOME Disks.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Extent {
        /// Device, file, or folder in which a file is created.
        pub path: PathBuf,
        /// `true` if `path` is a folder.
        pub in_folder: bool,
        /// Number of samples of the rate, at equal distances over the extent.
        pub samples: u32 = 100,
        /// Bytes per sample.
        pub sample_bytes: u64 = 10 << 20,
        /// `true` to take write samples too: the data that was read is written back.
        pub write: bool,
        /// Number of single pages that are read at random offsets; the first is not counted.
        pub access_samples: u32 = 1000,
        /// Length of the file that is created in a folder.
        pub file_bytes: u64 = 1 << 30,
    }
}

impl ActSpec for Extent {
    fn writes(&self) -> Vec<PathBuf> {
        let writes = self.write && !self.in_folder;
        writes.then(|| self.path.clone()).into_iter().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn private_folder_in(&self) -> Option<&Path> {
        self.in_folder.then_some(&self.path)
    }
}

/// Quantity that samples measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// Rate of reading.
    #[default]
    Read,
    /// Rate of writing, with the flush that follows.
    Write,
    /// Time to read one page at a random offset.
    Access,
}

/// Samples of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentStep {
    /// Quantity that the samples measure.
    pub of: SampleKind,
    /// Length of the device or file.
    pub extent_bytes: u64,
    /// Samples with their offset and duration, in the order in which they were taken.
    pub samples: Vec<ExtentSample>,
}

/// A sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentSample {
    /// Start of the sample, in bytes.
    pub offset: u64,
    /// Length of the sample, in bytes.
    pub bytes: u64,
    /// Duration of the sample, in nanoseconds.
    pub elapsed_ns: u64,
}

impl ExtentSample {
    /// Returns the bytes per second; `None` when no time passed.
    pub fn rate(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

/// Acts of a run and the slots in which they are carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acts {
    /// The acts; [`Slot::job`] is an index into them.
    pub acts: Vec<Act>,
    /// Slots in their order, each with the seed of its order and contents.
    pub slots: Vec<(Slot, u64)>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
    /// Job that stands for the steps of an act as long as none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<Job>,
    /// Number of steps of each act, in a run of several acts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<usize>,
}

/// `true` if trials record the slot that they belong to: the run has several acts, or jobs as an act,
/// so that a repetition has more trials than one.
pub fn record_slots(acts: &[Act]) -> bool {
    acts.len() > 1 || matches!(acts, [Act::Jobs(_)])
}

impl Acts {
    /// One act, `trials` times, as the machine is.
    pub fn repeated(act: Act, trials: u32, seed: u64, destroy_data: bool) -> Self {
        let slots = (1..=trials).map(|trial| Slot::plain(0, trial)).collect();
        Self::in_slots(act, slots, seed, destroy_data)
    }

    /// One act in these slots.
    pub fn in_slots(act: Act, slots: Vec<Slot>, seed: u64, destroy_data: bool) -> Self {
        let mut seeds = SplitMix64::new(seed);
        Self {
            acts: vec![act],
            slots: slots
                .into_iter()
                .map(|slot| (slot, seeds.next_u64()))
                .collect(),
            destroy_data,
            stand_in: None,
            steps: Vec::new(),
        }
    }

    /// Returns the plan of a run, with `steps` of each act: they follow each other in every slot of
    /// the act, in their order, or in that of its plan of jobs.
    pub fn plan(&self, run_id: String, steps: &[Vec<Job>], seed: u64, place: Place) -> Plan {
        let (mut jobs, mut first) = (Vec::new(), Vec::new());
        for (number, (act, steps)) in self.acts.iter().zip(steps).enumerate() {
            first.push(jobs.len());
            let slots = self.slots.iter().filter(|(slot, _)| slot.job == number);
            let trials = u32::try_from(slots.count()).unwrap_or(u32::MAX);
            match act {
                Act::Jobs(plan) => jobs.extend(plan.jobs.iter().map(|planned| PlannedJob {
                    trials: planned.trials.saturating_mul(trials),
                    ..planned.clone()
                })),
                _ => jobs.extend(steps.iter().cloned().map(|job| PlannedJob { job, trials })),
            }
        }
        let mut order = Vec::new();
        for &(slot, _) in &self.slots {
            let Some((&first, steps)) = first.get(slot.job).zip(steps.get(slot.job)) else {
                continue;
            };
            let job = |job: usize| first + job;
            match &self.acts[slot.job] {
                Act::Jobs(plan) => {
                    let inner = plan.in_round(slot.trial).order;
                    order.extend(inner.into_iter().map(|inner| Slot {
                        job: job(inner.job),
                        ..inner
                    }));
                }
                _ => order.extend((0..steps.len()).map(|step| Slot {
                    job: job(step),
                    ..slot
                })),
            }
        }
        // The test file of jobs, else the largest file of a step.
        let files = self.acts.iter().filter_map(|act| match act {
            Act::Jobs(plan) => Some(plan.file_size),
            _ => None,
        });
        let sizes = jobs.iter().map(|planned: &PlannedJob| planned.job.size);
        Plan {
            seed,
            file_size: files.max().or(sizes.max()).unwrap_or(Bytes(0)),
            jobs,
            order,
            ..Plan::once(run_id, place)
        }
    }
}

/// Acts of a run with the slots in which they are carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActOrder {
    /// Run, place, conditions and order. [`Slot::job`](crate::plan::Slot::job) is an index into
    /// `acts`; `jobs` are the steps that count as failed when a condition cannot be made.
    pub plan: Plan,
    /// The acts.
    pub acts: Vec<Act>,
    /// Seed of each slot: decides orders and contents.
    pub seeds: Vec<u64>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Rw;

    fn job(name: &str) -> Job {
        Job::new(name, Rw::Read, Bytes::kib(4), Bytes::mib(1))
    }

    fn names(plan: &Plan) -> Vec<(&str, u32)> {
        let slots = plan.order.iter();
        slots
            .map(|slot| (&*plan.jobs[slot.job].job.name, slot.trial))
            .collect()
    }

    #[test]
    fn the_plan_of_several_acts_has_their_trials_in_order() {
        let place = Place::Directory { path: "/f".into() };
        let planned = |name| PlannedJob {
            job: job(name),
            trials: 2,
        };
        let jobs = Plan {
            file_size: Bytes::mib(64),
            jobs: vec![planned("a"), planned("b")],
            order: [(1, 1), (0, 1), (0, 2), (1, 2)]
                .map(|(job, trial)| Slot::plain(job, trial))
                .into(),
            ..Plan::once(String::new(), place.clone())
        };
        let slots = [(0, 1), (1, 1), (2, 1), (2, 2)];
        let acts = Acts {
            acts: vec![
                Act::Capacity(Box::default()),
                Act::Jobs(Box::new(jobs)),
                Act::Extent(Box::default()),
            ],
            slots: slots
                .map(|(act, trial)| (Slot::plain(act, trial), 7))
                .into(),
            destroy_data: false,
            stand_in: None,
            steps: vec![1, 4, 2],
        };
        let steps = [
            vec![job("probe")],
            Vec::new(),
            vec![job("read"), job("access")],
        ];
        let plan = acts.plan("id".to_owned(), &steps, 3, place);
        let expected = [
            ("probe", 1),
            ("b", 1),
            ("a", 1),
            ("a", 2),
            ("b", 2),
            ("read", 1),
            ("access", 1),
            ("read", 2),
            ("access", 2),
        ];
        assert_eq!(names(&plan), expected);
        assert_eq!(plan.file_size, Bytes::mib(64), "that of the jobs");
        let trials: Vec<u32> = plan.jobs.iter().map(|planned| planned.trials).collect();
        assert_eq!(trials, [1, 2, 2, 2, 2]);
    }
}
