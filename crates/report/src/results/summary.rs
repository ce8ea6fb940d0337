//! Summary of a run that all outputs share: jobs in a fixed reading order, each with its figures,
//! their spread, and their labels.

use crate::results::derived::Derived;
use crate::words::labels::Labels;
use crate::words::{clean, extremes, percent};
use assay_judge::{DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::act::memory::{Kernel, MemoryStepResult};
use assay_model::figures::Unit;
use assay_model::job::{CacheState, Direction, Job, OpenSync, Purpose, RateLimit, Rw};
use assay_model::plan::Place;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::{Measurement, Outcome, TrialRecord};
use assay_stats::course::Course;
use assay_stats::derive;
use assay_stats::derive::measured_of;
use assay_stats::summary::Summary as Statistics;
use std::borrow::Cow;
use std::rc::Rc;

/// Summary of a run.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The run.
    pub run: &'a Run,
    /// Jobs that were planned or run, in reading order.
    pub jobs: Vec<JobSummary<'a>>,
}

/// Job with all its trials.
#[derive(Clone, Debug)]
pub struct JobSummary<'a> {
    /// The job.
    pub job: &'a Job,
    /// Group of the job in the reading order.
    pub group: Group,
    /// Number of planned trials.
    pub planned: usize,
    /// Trials in the order they were run.
    pub trials: Vec<JudgedTrial<'a>>,
}

/// Trial with its derived data.
#[derive(Clone, Debug)]
pub struct JudgedTrial<'a> {
    /// The raw record.
    pub record: &'a TrialRecord,
    /// Figures and findings derived from the trial.
    pub derived: Rc<Derived>,
}

/// Metric of one job over its completed trials.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of the job.
    pub job: String,
    /// Name of the metric, for example `read_bw`.
    pub name: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Trial number and value.
    pub values: Vec<(u32, f64)>,
    /// Statistics of the values.
    pub stats: Statistics,
    /// Labels of the measurement.
    pub labels: Labels,
}

/// Kinds of jobs, in reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Ways of dd to write a new file.
    WriteLadder,
    /// Ways to read: with a warm page cache, through a cold one, past it.
    ReadLadder,
    /// Sequential transfers.
    Sequential,
    /// Random reads.
    RandomRead,
    /// Random writes.
    RandomWrite,
    /// Reads and writes mixed.
    Mixed,
    /// Small writes, each flushed.
    Fsync,
    /// One long write.
    Sustained,
    /// Transactions of a database.
    Transactions,
    /// Main memory.
    Memory,
    /// Acts of a scenario, in their order.
    Act,
}

impl Group {
    /// Every group, in reading order.
    pub const ALL: [Self; 11] = [
        Self::WriteLadder,
        Self::ReadLadder,
        Self::Sequential,
        Self::RandomRead,
        Self::RandomWrite,
        Self::Mixed,
        Self::Fsync,
        Self::Sustained,
        Self::Transactions,
        Self::Memory,
        Self::Act,
    ];

    /// Returns the group of a job, from its purpose or else its I/O. A direct sequential read is
    /// also a step of the read ladder, if there is one: [`Summary::of`] adds it.
    pub fn of(job: &Job) -> Self {
        match (job.purpose, job.rw) {
            (Some(Purpose::WriteLadder), _) => Self::WriteLadder,
            (Some(Purpose::ReadLadder), _) => Self::ReadLadder,
            (Some(Purpose::Sustained), _) => Self::Sustained,
            (Some(Purpose::Transactions), _) => Self::Transactions,
            (
                Some(Purpose::MemoryBandwidth | Purpose::MemoryLatency | Purpose::MemoryStress),
                _,
            ) => Self::Memory,
            (Some(Purpose::Act), _) => Self::Act,
            (None, Rw::Rw | Rw::RandRw) => Self::Mixed,
            (None, Rw::RandRead) => Self::RandomRead,
            (None, Rw::Read) => Self::Sequential,
            _ if derive::primary_metrics(job).contains(&"durable_write_lat_p50") => Self::Fsync,
            (None, Rw::RandWrite) => Self::RandomWrite,
            (None, Rw::Write) => Self::Sequential,
        }
    }

    /// Returns the heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::WriteLadder => tr!("Ways to write"),
            Self::ReadLadder => tr!("Ways to read"),
            Self::Sequential => tr!("Sequential"),
            Self::RandomRead => tr!("Random read"),
            Self::RandomWrite => tr!("Random write"),
            Self::Mixed => tr!("Mixed"),
            Self::Fsync => tr!("Small durable writes"),
            Self::Sustained => tr!("Sustained write"),
            Self::Transactions => tr!("Database transactions"),
            Self::Memory => tr!("Memory"),
            Self::Act => tr!("Acts of the scenario"),
        }
    }
}

impl<'a> Summary<'a> {
    /// Derives and judges all trials.
    pub fn of(run: &'a Run) -> Self {
        Self::with(run, &Derived::all(run))
    }

    /// Summarizes derived data: `derived` has an entry for each record of the run.
    pub fn with(run: &'a Run, derived: &[Rc<Derived>]) -> Self {
        let mut jobs: Vec<JobSummary<'a>> = Vec::new();
        for planned in &run.header.plan.jobs {
            let job = job_entry(&mut jobs, as_run(run, &planned.job));
            job.planned += usize::try_from(planned.trials).unwrap_or(usize::MAX);
        }
        for (record, derived) in run.trials.iter().zip(derived) {
            let job = job_entry(&mut jobs, &record.job);
            let derived = Rc::clone(derived);
            job.trials.push(JudgedTrial { record, derived });
        }
        complete_read_ladder(&mut jobs);
        jobs.sort_by_key(|job| reading_key(job.group, job.job));
        Self { run, jobs }
    }

    /// Returns the jobs of one group, in reading order.
    pub fn group(&self, group: Group) -> impl Iterator<Item = &JobSummary<'a>> {
        self.jobs.iter().filter(move |job| job.group == group)
    }

    /// Returns true if the run measured main memory, not storage.
    pub fn is_of_memory(&self) -> bool {
        matches!(self.run.header.plan.place, Place::Memory)
    }

    /// Reports that nothing was measured, if the run ended before its first trial did.
    pub fn nothing_measured(&self) -> Option<String> {
        let mut trials = self.run.trials.iter();
        if !trials.all(|trial| trial.outcome == Outcome::Interrupted) {
            return None;
        }
        let why = match &self.run.status {
            RunStatus::Finished => return None,
            RunStatus::Running => tr!("the first trial is still under way").to_owned(),
            RunStatus::Interrupted => {
                tr!("the run was stopped before its first trial ended").to_owned()
            }
            RunStatus::Failed { error } => clean(error),
        };
        Some(tr!("Nothing was measured: {why}", why))
    }

    /// Counts the trials by outcome: `completed`, `skipped`, `failed`, `interrupted`.
    pub fn outcomes(&self) -> Vec<(&'static str, usize)> {
        ["completed", "skipped", "failed", "interrupted"]
            .into_iter()
            .map(|word| {
                let trials = self.run.trials.iter();
                (word, trials.filter(|t| t.outcome.word() == word).count())
            })
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

/// Returns a job as it was run, else as planned: a run completes the options of a step.
fn as_run<'a>(run: &'a Run, planned: &'a Job) -> &'a Job {
    let mut trials = run.trials.iter();
    let ran = trials.find(|trial| trial.job.name == planned.name);
    ran.map_or(planned, |trial| &trial.job)
}

/// Returns the entry for a job's name, creating a missing one.
fn job_entry<'a, 's>(jobs: &'s mut Vec<JobSummary<'a>>, job: &'a Job) -> &'s mut JobSummary<'a> {
    let index = match jobs.iter().position(|entry| entry.job.name == job.name) {
        Some(index) => index,
        None => {
            jobs.push(JobSummary {
                job,
                group: Group::of(job),
                planned: 0,
                trials: Vec::new(),
            });
            jobs.len() - 1
        }
    };
    &mut jobs[index]
}

/// Adds direct sequential reads as the last step of the read ladder, if it has other steps of the
/// same block size.
fn complete_read_ladder(jobs: &mut [JobSummary<'_>]) {
    let steps = jobs.iter().filter(|job| job.group == Group::ReadLadder);
    let block_sizes: Vec<u64> = steps.map(|job| job.job.bs.0).collect();
    let reads = jobs.iter_mut().filter(|job| job.job.rw == Rw::Read);
    let reads = reads.filter(|job| job.group == Group::Sequential);
    for job in reads.filter(|job| block_sizes.contains(&job.job.bs.0)) {
        job.group = Group::ReadLadder;
    }
}

/// Returns the sort key of a job: groups first; within a group, ladders by their steps, others
/// reads before writes, small blocks before large ones, shallow queues before deep ones; for
/// memory, small working sets before large ones.
fn reading_key(group: Group, job: &Job) -> (Group, Option<WriteMode>, bool, u64, u32) {
    if group == Group::Memory {
        return (group, None, false, memory_rank(job), job.numjobs);
    }
    if group == Group::Act {
        return (group, None, false, 0, 0);
    }
    let way = matches!(group, Group::WriteLadder | Group::ReadLadder).then(|| WriteMode::of(job));
    (group, way, job.rw.writes(), job.bs.0, job.iodepth)
}

/// Returns the rank of a memory job: kernels by threads, then working sets by size, then patterns.
fn memory_rank(job: &Job) -> u64 {
    const KINDS: u64 = 1 << 32;
    match job.purpose {
        Some(Purpose::MemoryBandwidth) => {
            let own = |kernel: &Kernel| job.name.starts_with(&format!("{}-", kernel.name()));
            let kernel = Kernel::ALL.iter().position(own).unwrap_or(0) as u64;
            let streaming = u64::from(job.name.contains("-nt-"));
            u64::from(job.numjobs) << 8 | kernel << 1 | streaming
        }
        Some(Purpose::MemoryLatency) => KINDS.saturating_add(job.size.0),
        _ => u64::MAX,
    }
}

impl<'a> JobSummary<'a> {
    /// Returns the job with only the trials under one condition.
    pub fn under(&self, condition: &str) -> Self {
        let own = |trial: &&JudgedTrial<'_>| trial.record.condition.as_deref() == Some(condition);
        let trials: Vec<JudgedTrial<'a>> = self.trials.iter().filter(own).cloned().collect();
        Self {
            // Options of the job may depend on the condition.
            job: trials.first().map_or(self.job, |trial| &trial.record.job),
            trials,
            ..*self
        }
    }

    /// Returns the completed trials; only these contribute to figures.
    pub fn completed(&self) -> impl Iterator<Item = &JudgedTrial<'a>> {
        self.trials
            .iter()
            .filter(|trial| trial.record.gives_figures())
    }

    /// Returns true if the job is a cell of a matrix, which is shown with the other cells.
    pub fn is_cell(&self) -> bool {
        self.has(|detail| matches!(detail, StepDetail::Iozone(_)))
    }

    /// Returns true if the trials are power cuts, which are counted and not measured.
    pub fn is_cuts(&self) -> bool {
        self.has(|detail| matches!(detail, StepDetail::Powercut(_)))
    }

    /// Returns true if the job offers arrivals: its figure is the latency at that rate, which load
    /// curves show.
    pub const fn offers_rate(&self) -> bool {
        matches!(self.job.rate, Some(RateLimit::Arrivals(_)))
    }

    /// Returns true if the trials are stretches of one soak, not repetitions of each other.
    pub fn is_soak(&self) -> bool {
        self.has(|detail| detail.soak().is_some())
    }

    /// Returns true if the trials search for faults of storage or memory.
    pub fn is_check(&self) -> bool {
        self.has(|detail| match detail {
            StepDetail::Capacity(_) => true,
            StepDetail::Memory(step) => matches!(step.found, MemoryStepResult::Stress(_)),
            _ => false,
        })
    }

    fn has(&self, wanted: fn(&StepDetail) -> bool) -> bool {
        let trials = self.trials.iter();
        let mut details = trials.filter_map(|trial| trial.record.detail.as_deref());
        details.any(wanted)
    }

    /// Computes one metric over the completed trials; `None` if none has it.
    pub fn figure(&self, name: &str) -> Option<Figure> {
        let mut unit = None;
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for trial in self.completed() {
            let Some(metric) = trial.derived.metrics.iter().find(|m| m.name == name) else {
                continue;
            };
            unit = Some(metric.unit);
            values.push((trial.record.trial, metric.value));
            labels.extend(trial.labels_of(name));
        }
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        Some(Figure {
            job: self.job.name.clone(),
            name: name.to_owned(),
            unit: unit?,
            stats: Statistics::of(&plain)?,
            values,
            labels: labels.into_iter().collect(),
        })
    }

    /// Returns the figures that represent the job.
    pub fn headlines(&self) -> Vec<Figure> {
        let names = derive::deciding_metrics(self.job, |name| self.figure(name).is_some());
        names
            .into_iter()
            .filter_map(|name| self.figure(name))
            .collect()
    }

    /// Returns the labels of one metric over the completed trials.
    pub fn labels_of(&self, metric: &str) -> Labels {
        let trials = self.completed();
        trials.flat_map(|trial| trial.labels_of(metric)).collect()
    }

    /// Returns the labels of the completed trials in one direction, or in all.
    pub fn labels(&self, direction: Option<Direction>) -> Labels {
        self.completed()
            .flat_map(|trial| trial.labels(direction))
            .collect()
    }
}

impl<'a> JudgedTrial<'a> {
    /// Returns the measurement; `None` if the trial did not start.
    pub fn measured(&self) -> Option<&'a Measurement> {
        self.record.measured.as_ref()
    }

    /// Returns true for an act of a scenario without I/O, which has no evidence to judge.
    fn moved_nothing(&self) -> bool {
        let act = self.record.detail.as_deref().and_then(StepDetail::scenario);
        let still = |measured: &Measurement| measured.read.ios + measured.write.ios == 0;
        act.is_some() && self.record.measured.as_ref().is_some_and(still)
    }

    /// Returns the rate over time; `None` without a series.
    pub fn course(&self) -> Option<&Course> {
        self.derived.course.as_ref()
    }

    /// Returns the judged evidence of each direction with I/O.
    pub fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionEvidence)> {
        self.derived.judgement.iter().flat_map(|judgement| {
            let read = judgement.read.as_ref().map(|e| (Direction::Read, e));
            let write = judgement.write.as_ref().map(|e| (Direction::Write, e));
            read.into_iter().chain(write)
        })
    }

    /// Returns the labels of one direction, or of all. A measured trial without evidence is
    /// `unknown`.
    pub fn labels(&self, direction: Option<Direction>) -> Vec<Measured> {
        self.without_evidence().unwrap_or_else(|| {
            self.directions()
                .filter(|(of, _)| direction.is_none_or(|wanted| *of == wanted))
                .map(|(_, evidence)| evidence.measured.clone())
                .collect()
        })
    }

    /// Returns the labels of one metric: single calls may have waited for less than the direction
    /// in total.
    pub fn labels_of(&self, metric: &str) -> Vec<Measured> {
        let judgement = self.derived.judgement.as_ref();
        self.without_evidence().unwrap_or_else(|| {
            let measured = judgement.map(|judgement| measured_of(metric, judgement));
            let measured = measured.unwrap_or_default().into_iter();
            measured.map(Cow::into_owned).collect()
        })
    }

    /// Returns the labels of trials that need no evidence or have none; `None` for other trials.
    fn without_evidence(&self) -> Option<Vec<Measured>> {
        if self.moved_nothing() {
            return Some(Vec::new());
        }
        let unseen = self.derived.judgement.is_none() && self.record.measured.is_some();
        unseen.then(|| {
            vec![Measured::Unknown {
                why: tr!("no evidence was recorded").to_owned(),
            }]
        })
    }
}

/// Ladder of one direction. A ladder is one transfer done in several ways, each with its label.
/// Ladders cover the four ways of dd to write, and the corresponding ways to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladder {
    /// Ways to write a new file.
    Write,
    /// Ways to read a file.
    Read,
}

impl Ladder {
    /// Both ladders, in reading order.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// Returns the group of the ladder's jobs.
    pub const fn group(self) -> Group {
        match self {
            Self::Write => Group::WriteLadder,
            Self::Read => Group::ReadLadder,
        }
    }

    /// Returns the direction of the ladder's I/O.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Write => Direction::Write,
            Self::Read => Direction::Read,
        }
    }

    /// Returns the metric of its steps.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Write => "write_bw",
            Self::Read => "read_bw",
        }
    }

    /// Explains why its steps differ.
    pub fn introduction(self) -> &'static str {
        match self {
            Self::Write => tr!(
                "The same transfer, written in the ways that dd offers. They differ because they measure different things."
            ),
            Self::Read => tr!(
                "The same file, read from the page cache, through it, and past it. They differ because they measure \
             different things."
            ),
        }
    }

    /// Returns the heading of the column with the device's share.
    pub fn share_header(self) -> &'static str {
        match self {
            Self::Write => tr!("on the device"),
            Self::Read => tr!("from the device"),
        }
    }

    /// Returns the title: `Four ways to write`; `None` if the run has no step of it, or is a sweep,
    /// which compares conditions instead of ways.
    pub fn title(self, summary: &Summary<'_>) -> Option<String> {
        if !summary.run.header.plan.conditions.is_empty() {
            return None;
        }
        let number = match summary.group(self.group()).count() {
            0 => return None,
            1 => tr!("One way"),
            2 => tr!("Two ways"),
            3 => tr!("Three ways"),
            4 => tr!("Four ways"),
            _ => tr!("Ways"),
        };
        Some(match self {
            Self::Write => tr!("{number} to write", number),
            Self::Read => tr!("{number} to read", number),
        })
    }

    /// Returns the smallest and the largest share of the bytes that the device moved while the
    /// clock ran, over a step's completed trials.
    pub fn device_shares(self, job: &JobSummary<'_>) -> Option<(f64, f64)> {
        let evidence = job.completed().flat_map(|trial| trial.directions());
        let shares = evidence
            .filter(|(direction, _)| *direction == self.direction())
            .filter_map(|(_, evidence)| evidence.device_share);
        extremes(shares)
    }

    /// Explains a step's result in one sentence, from its evidence.
    pub fn meaning(self, way: WriteMode, labels: &Labels, shares: Option<(f64, f64)>) -> String {
        let (_, most) = shares.unwrap_or((0.0, 0.0));
        let fixed = match labels.agreed() {
            Some("page-cache") => return self.memory(most),
            Some("device") => self.device(way),
            Some("device-unflushed") => {
                tr!("The device took the data, but its volatile cache was never flushed.")
            }
            Some("mixed") => self.both(),
            Some("simulated") => tr!("A model of a device computed it."),
            Some(_) => {
                return tr!(
                    "Not known: {reasons}.",
                    reasons = labels.unknown_reasons().join("; ")
                );
            }
            None if labels.is_empty() => tr!("It has no completed trial."),
            None => tr!("Its trials measured different things; see the evidence of each."),
        };
        fixed.to_owned()
    }

    fn memory(self, share: f64) -> String {
        let share = if share > 0.0 {
            tr!("{share} of the data", share = percent(share))
        } else {
            tr!("nothing").to_owned()
        };
        match self {
            Self::Write => tr!(
                "The speed of memory: {share} had reached a device when the clock stopped.",
                share
            ),
            Self::Read => tr!("The speed of memory: {share} came from a device.", share),
        }
    }

    fn both(self) -> &'static str {
        match self {
            Self::Write => {
                tr!("Neither memory nor device: part was stored, the rest was still in memory.")
            }
            Self::Read => {
                tr!("Neither memory nor device: part was read from it, the rest was in memory.")
            }
        }
    }

    fn device(self, way: WriteMode) -> &'static str {
        match (self, way) {
            (Self::Write, WriteMode::FlushAtEnd) => {
                tr!("The device: memory first, then the wait until all of it was stored.")
            }
            (Self::Write, WriteMode::Direct) => {
                tr!("The device, past the page cache; nothing volatile holds the data.")
            }
            (Self::Write, WriteMode::EachBlock) => {
                tr!("The device with every block made durable before the next one.")
            }
            (Self::Write, _) => {
                tr!("The device: the kernel had written all of it before the clock stopped.")
            }
            (Self::Read, WriteMode::Cached) => {
                tr!("The device: the data was to be in memory, but was read again.")
            }
            (Self::Read, WriteMode::Direct) => {
                tr!("The device, past the page cache, one block at a time.")
            }
            (Self::Read, _) => {
                tr!("The device through an empty page cache: the kernel reads ahead, and copies.")
            }
        }
    }
}

assay_model::named! {
    /// Step of a ladder, in reading order; names of writes are dd's options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WriteMode {
        /// Write without a flush.
        Plain = "plain",
        /// dd's `conv=fdatasync` (or fsync): one flush at the end.
        FlushAtEnd = "fdatasync",
        /// Read data that is in the page cache.
        Cached = "cached",
        /// Read through a page cache that is empty at the start.
        Buffered = "buffered",
        /// `oflag=direct`, `iflag=direct`: past the page cache.
        Direct = "direct",
        /// `oflag=dsync` (or sync): a flush of every block.
        EachBlock = "dsync",
    }
}

impl WriteMode {
    /// Returns the way in which a job does its transfer.
    pub fn of(job: &Job) -> Self {
        match job {
            _ if !job.rw.writes() => Self::of_read(job),
            _ if job.sync != OpenSync::None => Self::EachBlock,
            _ if job.direct => Self::Direct,
            _ if job.flush.at_end.is_some() => Self::FlushAtEnd,
            _ => Self::Plain,
        }
    }

    fn of_read(job: &Job) -> Self {
        match job.cache_state {
            _ if job.direct => Self::Direct,
            CacheState::Warm => Self::Cached,
            CacheState::Cold | CacheState::AsIs => Self::Buffered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::describe;
    use crate::testing::{fixture, samples};
    use crate::words;
    use assay_model::job::{FileState, Flush, FlushCall};
    use assay_model::units::Bytes;

    #[test]
    fn what_ran_counts_more_than_what_was_planned() {
        let mut run = fixture::run();
        let planned = &mut run.header.plan.jobs;
        let read = planned.iter_mut().find(|p| p.job.name == "seq-read-1m");
        read.unwrap().job.rw = Rw::Write;
        let summary = Summary::of(&run);
        let job = summary.jobs.iter().find(|j| j.job.name == "seq-read-1m");
        assert_eq!(job.unwrap().headlines()[0].name, "read_bw");
    }

    #[test]
    fn jobs_stand_in_reading_order() {
        let run = samples::with_sustained();
        let summary = Summary::of(&run);
        let names: Vec<&str> = summary.jobs.iter().map(|j| j.job.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "dd-plain",
                "dd-fdatasync",
                "dd-direct",
                "seq-read-1m",
                "rand-read-4k",
                "rand-read-4k-qd8",
                "rand-rw-4k",
                "fsync-append-4k",
                "sustained-write",
            ]
        );
    }

    #[test]
    fn a_job_stands_where_its_purpose_or_else_its_shape_says() {
        let fresh = Job {
            file_state: FileState::Fresh,
            ..Job::new("sustained", Rw::Write, Bytes::mib(1), Bytes::mib(8))
        };
        assert_eq!(Group::of(&fresh), Group::Sequential);
        let step = Job {
            purpose: Some(Purpose::WriteLadder),
            ..fresh.clone()
        };
        assert_eq!(Group::of(&step), Group::WriteLadder);
        let append = Job {
            bs: Bytes::kib(4),
            flush: Flush {
                every: Some((1, FlushCall::Fsync)),
                at_end: None,
            },
            ..fresh
        };
        assert_eq!(Group::of(&append), Group::Fsync);
    }

    #[test]
    fn a_direct_read_joins_the_read_ladder_only_where_there_is_one() {
        let group = |run: &Run| {
            let summary = Summary::of(run);
            let job = summary.jobs.iter().find(|j| j.job.name == "seq-read-1m");
            job.map(|job| job.group)
        };
        assert_eq!(group(&fixture::run()), Some(Group::Sequential));
        let run = samples::with_read_ladder();
        assert_eq!(group(&run), Some(Group::ReadLadder));
        let summary = Summary::of(&run);
        let steps = summary.group(Group::ReadLadder);
        let names: Vec<&str> = steps.map(|j| j.job.name.as_str()).collect();
        assert_eq!(names, ["read-cached", "read-buffered", "seq-read-1m"]);
    }

    #[test]
    fn a_failed_trial_makes_no_figure() {
        let run = fixture::run();
        let summary = Summary::of(&run);
        let job = summary
            .jobs
            .iter()
            .find(|j| j.job.name == "dd-fdatasync")
            .unwrap();
        let figure = job.figure("write_bw").unwrap();
        let trials: Vec<u32> = figure.values.iter().map(|(trial, _)| *trial).collect();
        assert_eq!(trials, [1, 2]);
        assert_eq!(figure.labels.iter().count(), 2);
    }

    #[test]
    fn each_direction_has_its_own_label() {
        let run = fixture::run();
        let summary = Summary::of(&run);
        let job = summary
            .jobs
            .iter()
            .find(|j| j.job.name == "rand-rw-4k")
            .unwrap();
        let labels: Vec<String> = job
            .headlines()
            .iter()
            .map(|f| f.labels.to_string())
            .collect();
        assert_eq!(labels, ["device", "device-unflushed"]);
    }

    #[test]
    fn small_flushed_writes_are_decided_by_write_and_flush_where_that_was_measured() {
        let names = |run: &Run| {
            let summary = Summary::of(run);
            let mut jobs = summary.jobs.iter();
            let job = jobs.find(|job| job.group == Group::Fsync).unwrap();
            let figures = job.headlines();
            let p99 = describe::p99_of(job, &figures[0]);
            let p99 = p99.map(|(figure, _)| words::quantity(figure.unit, figure.stats.median));
            let durable = describe::durable(job, &figures[0]);
            (figures[0].name.clone(), p99, durable)
        };
        let durable = names(&samples::with_durable_writes());
        assert_eq!(durable.0, "durable_write_lat_p50");
        assert_eq!(durable.1.as_deref(), Some("5.28 ms"));
        let words = "Durable write latency, write and flush: p50 4.82 ms, p95 5.28 ms, p99 5.28 ms";
        assert_eq!(durable.2.as_deref(), Some(words));
        let before = names(&fixture::run());
        assert_eq!((before.0.as_str(), before.2), ("flush_lat_p50", None));
    }

    #[test]
    fn a_single_buffered_write_has_another_label_than_its_rate() {
        let run = fixture::run();
        let summary = Summary::of(&run);
        let job = summary.jobs.iter().find(|j| j.job.name == "dd-fdatasync");
        let label = |name: &str| job.unwrap().figure(name).unwrap().labels.agreed();
        assert_eq!(label("write_lat_p50"), Some("page-cache"));
        assert_ne!(label("write_bw"), Some("page-cache"));
    }

    #[test]
    fn figures_without_evidence_are_unknown() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            trial.evidence = None;
        }
        for job in Summary::of(&run).jobs {
            for figure in job.headlines() {
                assert_eq!(figure.labels.agreed(), Some("unknown"), "{}", job.job.name);
            }
        }
    }

    #[test]
    fn jobs_that_were_never_run_are_still_there() {
        let run = samples::empty();
        let summary = Summary::of(&run);
        assert_eq!(summary.jobs.len(), 8);
        assert!(
            summary
                .jobs
                .iter()
                .all(|job| job.planned == 3 && job.trials.is_empty())
        );
    }

    #[test]
    fn a_ladder_counts_its_steps() {
        let run = fixture::run();
        let title = |ladder: Ladder| ladder.title(&Summary::of(&run));
        assert_eq!(title(Ladder::Write).as_deref(), Some("Three ways to write"));
        assert_eq!(title(Ladder::Read), None);
        let run = samples::with_read_ladder();
        let title = |ladder: Ladder| ladder.title(&Summary::of(&run));
        assert_eq!(title(Ladder::Read).as_deref(), Some("Three ways to read"));
    }

    #[test]
    fn a_step_never_claims_more_than_its_label() {
        let words = |ladder: Ladder, way, measured| {
            let labels: Labels = [measured].into_iter().collect();
            ladder.meaning(way, &labels, None)
        };
        for ladder in Ladder::ALL {
            for way in [WriteMode::Direct, WriteMode::Buffered, WriteMode::EachBlock] {
                let memory = words(ladder, way, Measured::PageCache);
                assert!(memory.starts_with("The speed of memory"), "{memory}");
                let unknown = words(
                    ladder,
                    way,
                    Measured::Unknown {
                        why: "x".to_owned(),
                    },
                );
                assert_eq!(unknown, "Not known: x.");
            }
        }
        let unflushed = words(
            Ladder::Write,
            WriteMode::EachBlock,
            Measured::DeviceUnflushed,
        );
        assert!(unflushed.contains("never flushed"), "{unflushed}");
    }

    #[test]
    fn a_way_is_known_by_what_its_job_does() {
        let write = Job::new("any", Rw::Write, Bytes::mib(1), Bytes::mib(8));
        assert_eq!(WriteMode::of(&write), WriteMode::Plain);
        let dsync = Job {
            sync: OpenSync::Dsync,
            direct: true,
            ..write
        };
        assert_eq!(WriteMode::of(&dsync), WriteMode::EachBlock);
        let cold = Job::new("any", Rw::Read, Bytes::mib(1), Bytes::mib(8));
        assert_eq!(WriteMode::of(&cold), WriteMode::Buffered);
        let warm = Job {
            cache_state: CacheState::Warm,
            ..cold
        };
        assert_eq!(WriteMode::of(&warm), WriteMode::Cached);
        let direct = Job {
            direct: true,
            ..warm
        };
        assert_eq!(WriteMode::of(&direct), WriteMode::Direct);
    }
}
