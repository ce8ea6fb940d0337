//! Facts of a run: its figures by series, and the circumstances that can explain a change.
//!
//! To add an option of a job on which figures depend: add it to `OPTIONS` as well, with a default
//! that leaves the hashes of older jobs as they are. Otherwise jobs that differ by it share a
//! series.
//!
//! Keys and hashes are stored and compared across versions of assay. Their input may only be
//! extended by options whose default does not change the hashes of older jobs.

use crate::results::derived::Operation;
use crate::results::describe;
use assay_judge::{DirectionEvidence, Measured, Quantity, judge};
use assay_lang::in_english;
use assay_model::act::StepDetail;
use assay_model::evidence::{Evidence, LatencyRecord, QueueSettings, WriteCache};
use assay_model::figures::{
    Circumstance, FACTS_VERSION, Figure, FigureFacts, RunFacts, Sample, TrialEvidence, Unit,
};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run;
use assay_model::run::{Run, RunHeader};
use assay_model::storage::DeviceIdentity;
use assay_model::trial::TrialRecord;
use assay_stats::derive::MetricName;
use assay_stats::figures::{Labelled, by_label, may_decide};
use assay_stats::histogram::Percentile;
use assay_stats::latency::over_trials;
use assay_stats::summary::Summary;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

/// Default project of runs.
pub const DEFAULT_PROJECT: &str = "default";

/// Returns the project of a run.
pub fn project(header: &RunHeader) -> &str {
    header.project.as_deref().unwrap_or(DEFAULT_PROJECT)
}

/// Derives the facts of a run, independent of the language.
pub fn of(run: &Run) -> RunFacts {
    in_english(|| {
        let header = &run.header;
        let mut facts = RunFacts {
            version: FACTS_VERSION,
            run: header.id.clone(),
            started_unix_ms: header.started_unix_ms,
            project: project(header).to_owned(),
            target: target(header),
            model: header.storage.words(),
            series_unit: series_unit(header),
            surroundings: all(run),
            figures: Vec::new(),
            evidence: evidence_of_trials(run),
        };
        let labelled = by_label(&header.plan, &run.trials);
        let mut hashes = JobHashes::new(run);
        let figures = labelled
            .iter()
            .filter_map(|labelled| figure(&mut hashes, &facts, labelled));
        facts.figures = figures.collect();
        facts
    })
}

/// Derives one figure; `None` if it has no centre.
fn figure<'a>(
    hashes: &mut JobHashes<'a>,
    facts: &RunFacts,
    labelled: &Labelled<'a>,
) -> Option<FigureFacts> {
    let Figure {
        condition,
        metric,
        better,
        primary,
        sample,
        measured,
        unit,
        waited: _,
    } = &labelled.figure;
    let Sample::Values { values, .. } = sample else {
        return None;
    };
    let (job, metric) = metric.rsplit_once(": ")?;
    let label = measured.clone().unwrap_or_default();
    let tail = Tail::of(metric);
    let centre = match &tail {
        Some(tail) => tail.centre(&labelled.trials, values)?,
        None => Summary::of(values)?.centre(),
    };
    if !centre.is_finite() {
        return None;
    }
    let mut figure = FigureFacts {
        series: String::new(),
        job: job.to_owned(),
        job_hash: hashes.of(job, &labelled.trials),
        condition: condition.clone(),
        metric: metric.to_owned(),
        primary: *primary && may_decide(Some(&label)),
        label,
        unit: Unit::ALL.into_iter().find(|known| known.name() == unit)?,
        better: *better,
        tail: tail.is_some(),
        n: u32::try_from(values.len()).ok()?,
        centre,
        samples: values.clone(),
    };
    figure.series = of_series(facts, &figure);
    Some(figure)
}

/// Metric of the slowest operations.
enum Tail {
    /// Percentile of an operation's latency, with the prefix of its metric names.
    Percentile(&'static str, Percentile),
    /// The longest time without a completion.
    LongestGap,
}

impl Tail {
    /// Recognizes percentiles for which a single trial has too few operations.
    fn of(metric: &str) -> Option<Self> {
        if metric == "longest_gap" {
            return Some(Self::LongestGap);
        }
        let metric = MetricName::parse(metric)?;
        let percentile = metric.percentile().filter(|of| *of >= Percentile::P95)?;
        Some(Self::Percentile(metric.subject, percentile))
    }

    /// Returns the figure over the operations of all trials; `None` if they are too few.
    fn centre(&self, trials: &[&TrialRecord], values: &[f64]) -> Option<f64> {
        match self {
            Self::LongestGap => values.iter().copied().reduce(f64::max),
            Self::Percentile(operation, percentile) => {
                let records: Option<Vec<&LatencyRecord>> = trials
                    .iter()
                    .map(|trial| latency(trial, operation))
                    .collect();
                let tail = over_trials(&records?, *percentile)?;
                Some(tail.pooled_ns as f64)
            }
        }
    }
}

fn latency<'a>(trial: &'a TrialRecord, operation: &str) -> Option<&'a LatencyRecord> {
    if operation == "operation" {
        let act = trial.detail.as_deref().and_then(StepDetail::scenario)?;
        return act.latency.as_ref();
    }
    let mut timed = Operation::ALL.into_iter();
    let timed = timed.find(|known| known.name() == operation)?;
    timed.latency(trial.measured.as_ref()?)
}

/// Options of a job that affect a figure, in addition to its name, pattern, block size and size.
/// Path, seed and interval width do not.
const OPTIONS: [&str; 19] = [
    "ioengine",
    "iodepth",
    "numjobs",
    "offset",
    "io_size",
    "runtime",
    "time_based",
    "ramp_time",
    "direct",
    "sync",
    "flush",
    "rate",
    "file_state",
    "cache_state",
    "content",
    "purpose",
    "pattern",
    "pause",
    "description",
];

/// Returns the key of a figure's series.
fn of_series(facts: &RunFacts, figure: &FigureFacts) -> String {
    let parts: [&str; 8] = [
        &facts.project,
        &facts.model,
        facts.series_unit.as_deref().unwrap_or_default(),
        &facts.target,
        &figure.job_hash,
        &figure.condition,
        &figure.metric,
        &figure.label,
    ];
    hash(json!(parts))
}

/// Cache of job hashes: most figures of a run belong to the same few trials.
struct JobHashes<'a> {
    run: &'a Run,
    known: Vec<(String, Vec<&'a TrialRecord>, String)>,
}

impl<'a> JobHashes<'a> {
    const fn new(run: &'a Run) -> Self {
        Self {
            run,
            known: Vec::new(),
        }
    }

    /// Returns the hash of a job, or of a whole scenario, in these trials.
    fn of(&mut self, of: &str, trials: &[&'a TrialRecord]) -> String {
        let same = |(name, known, _): &&(String, Vec<&TrialRecord>, String)| {
            let all = known.iter().zip(trials);
            name == of
                && known.len() == trials.len()
                && all.into_iter().all(|(a, b)| ptr::eq(*a, *b))
        };
        if let Some((_, _, hash)) = self.known.iter().find(same) {
            return hash.clone();
        }
        let hash = of_jobs(self.run, of, trials);
        self.known
            .push((of.to_owned(), trials.to_vec(), hash.clone()));
        hash
    }
}

/// Returns the hash of the resolved options of the jobs behind a figure: of one job, or of all acts
/// of a scenario. Each name counts once.
fn of_jobs(run: &Run, of: &str, trials: &[&TrialRecord]) -> String {
    let mut jobs: BTreeMap<&str, Value> = BTreeMap::new();
    for trial in trials {
        let entry = jobs.entry(&trial.job.name);
        entry.or_insert_with(|| options(run, trial));
    }
    // A scenario with one act has the same jobs as the act: its name distinguishes them.
    let whole = (jobs.len() == 1 && !jobs.contains_key(of)).then(|| json!(of));
    hash(jobs.into_values().chain(whole).collect())
}

/// Returns the options of a trial's job that differ from their defaults.
fn options(run: &Run, trial: &TrialRecord) -> Value {
    let job = &trial.job;
    let default = as_map(&Job::new(&job.name, job.rw, job.bs, job.size));
    let mut options = as_map(job);
    options.retain(|option, value| {
        OPTIONS.contains(&option.as_str()) && default.get(option) != Some(value)
    });
    options.insert("name".to_owned(), json!(job.name));
    options.insert("rw".to_owned(), json!(job.rw));
    options.insert("bs".to_owned(), json!(job.bs));
    options.insert("size".to_owned(), json!(job.size));
    if matches!(job.rw, Rw::Rw | Rw::RandRw) {
        options.insert("read_percent".to_owned(), json!(job.read_percent));
    }
    if let Some(place) = place(&run.header.plan.place) {
        options.insert("place".to_owned(), json!(place));
    }
    if let Some(streams) = streams(trial) {
        options.insert("streams".to_owned(), json!(streams));
    }
    Value::Object(options)
}

fn as_map(job: &Job) -> Map<String, Value> {
    match serde_json::to_value(job) {
        Ok(Value::Object(map)) => map,
        // A job is always serialized as an object.
        _ => Map::new(),
    }
}

/// Returns the kind of a test location, unless it is a test file in a folder.
const fn place(place: &Place) -> Option<&'static str> {
    match place {
        Place::Directory { .. } => None,
        Place::File { .. } => Some("file"),
        Place::Simulated { .. } => Some("simulated"),
        Place::Device { .. } => Some("device"),
        Place::Memory => Some("memory"),
    }
}

/// Returns the number of concurrent streams, if other jobs had any.
fn streams(trial: &TrialRecord) -> Option<usize> {
    let wave = trial.wave.as_ref()?;
    let all = wave.load.streams.len();
    (all > wave.members.len()).then_some(all)
}

/// Returns the first 12 hexadecimal digits of the SHA-256 of a value as JSON with sorted keys.
fn hash(mut value: Value) -> String {
    value.sort_all_objects();
    let digest = Sha256::digest(value.to_string());
    let digits = digest.iter().take(6).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Names the measured machine.
fn target(header: &RunHeader) -> String {
    let named = header.target.as_ref().or(header.system.hostname.as_ref());
    named.cloned().unwrap_or_default()
}

/// Returns the unit of a series, only if the manufacturer gave the device no name: devices of one
/// model are comparable.
fn series_unit(header: &RunHeader) -> Option<String> {
    let device = header.storage.device();
    let named = device.is_some_and(|layer| layer.identity.model.is_some());
    unit(header).filter(|_| !named)
}

fn unit(header: &RunHeader) -> Option<String> {
    match run::Unit::of(header) {
        run::Unit::Device(words) | run::Unit::Named(words) => Some(words),
        run::Unit::Unknown => None,
    }
}

/// Returns every known circumstance by its name.
fn all(run: &Run) -> BTreeMap<String, String> {
    let known = Circumstance::ALL
        .into_iter()
        .filter_map(|circumstance| Some((circumstance, value(run, circumstance)?)))
        .filter(|(_, value)| !value.is_empty());
    known
        .map(|(circumstance, value)| (circumstance.name().to_owned(), value))
        .collect()
}

fn value(run: &Run, circumstance: Circumstance) -> Option<String> {
    let header = &run.header;
    let system = &header.system;
    match circumstance {
        Circumstance::Unit => unit(header),
        Circumstance::Firmware => identity(header)?.firmware.clone(),
        Circumstance::Bus => bus(header),
        Circumstance::Kernel => Some(system.kernel.clone()),
        Circumstance::Scheduler => values(run, |evidence| {
            let scheduler = queue(run, evidence)?.scheduler.clone()?;
            Some(vec![scheduler])
        }),
        Circumstance::Governor => values(run, |evidence| {
            let cpus = evidence.before.cpus.iter();
            Some(cpus.filter_map(|cpu| cpu.governor.clone()).collect())
        }),
        Circumstance::WriteCache => values(run, |evidence| {
            let words = match queue(run, evidence)?.write_cache? {
                WriteCache::Back => "write back",
                WriteCache::Through => "write through",
            };
            Some(vec![words.to_owned()])
        }),
        Circumstance::FileSystem => {
            let mount = header.storage.mount.as_ref()?;
            Some(format!("{} ({})", mount.fs_type, mount.options.join(",")))
        }
        Circumstance::Machine => system.board.clone(),
        Circumstance::Cpu => {
            let model = system.cpu_model.as_deref().unwrap_or("CPU");
            (system.cpus > 0).then(|| format!("{model}, {} online", system.cpus))
        }
        Circumstance::Os => system.os.clone(),
        Circumstance::Assay => Some(describe::build(run)),
    }
}

fn identity(header: &RunHeader) -> Option<&DeviceIdentity> {
    Some(&header.storage.device()?.identity)
}

fn bus(header: &RunHeader) -> Option<String> {
    let own = identity(header).and_then(|identity| identity.bus.clone());
    let mut layers = header.storage.layers.iter();
    own.or_else(|| layers.find_map(|layer| layer.identity.bus.clone()))
}

/// Returns the queue settings of the device under test; for a partition, those of its disk.
fn queue<'a>(run: &Run, evidence: &'a Evidence) -> Option<&'a QueueSettings> {
    let device = run.header.storage.device()?;
    let mut queues = evidence.queues.iter();
    queues.find(|queue| queue.name == device.name)
}

/// Returns the values in the trials of a run, unique and sorted, because the order of trials is
/// random.
fn values(run: &Run, of: impl Fn(&Evidence) -> Option<Vec<String>>) -> Option<String> {
    let trials = run.trials.iter();
    let evidence = trials.filter_map(|trial| trial.evidence.as_ref());
    let values: BTreeSet<String> = evidence.filter_map(of).flatten().collect();
    (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
}

/// Returns the evidence of every trial with I/O, by trial and direction.
fn evidence_of_trials(run: &Run) -> Vec<TrialEvidence> {
    let device = run.header.storage.device();
    let device = device.map(|layer| layer.name.as_str());
    let trials = run.trials.iter();
    trials
        .flat_map(|trial| evidence_of_trial(trial, device))
        .collect()
}

fn evidence_of_trial(trial: &TrialRecord, device: Option<&str>) -> Vec<TrialEvidence> {
    let Some(judgement) = judge(trial) else {
        return unjudged_evidence(trial);
    };
    let foreign = judgement.foreign.as_ref();
    let read = foreign.map(|foreign| foreign.read_bytes);
    let write = foreign.map(|foreign| foreign.write_bytes);
    let directions = [
        ("read", judgement.read, read),
        ("write", judgement.write, write),
        ("trim", judgement.trim, None),
    ];
    let judged = directions.into_iter();
    let judged = judged.filter_map(|(direction, judged, foreign_bytes)| {
        let judged = judged?;
        let device_bytes = bytes_of_device(&judged, device);
        Some(TrialEvidence {
            label: judged.measured.label().to_owned(),
            latency_label: judged.of(Quantity::Call).label().to_owned(),
            because: judged.because,
            device_bytes,
            device_share: judged.device_share,
            flushes: judged.flushes,
            volatile_cache: judged.volatile_cache,
            dirty_bytes: judged.dirty_bytes_at_stop,
            foreign_bytes,
            ..unknown_evidence(trial, direction, judged.job_bytes)
        })
    });
    judged.collect()
}

/// Returns the bytes of the device under test, or those of the last layer with counters.
fn bytes_of_device(judged: &DirectionEvidence, device: Option<&str>) -> Option<u64> {
    let layers = &judged.layers;
    let under_test = layers.iter().find(|(name, _)| Some(&**name) == device);
    under_test.or(layers.last()).map(|(_, bytes)| *bytes)
}

/// Returns rows for a trial without evidence.
fn unjudged_evidence(trial: &TrialRecord) -> Vec<TrialEvidence> {
    let moved = trial.measured.iter().flat_map(|measured| {
        [
            ("read", measured.read.bytes),
            ("write", measured.write.bytes),
        ]
    });
    let moved = moved.filter(|(_, bytes)| *bytes > 0);
    moved
        .map(|(direction, bytes)| unknown_evidence(trial, direction, bytes))
        .collect()
}

/// Returns a row of bytes without evidence.
fn unknown_evidence(trial: &TrialRecord, direction: &str, job_bytes: u64) -> TrialEvidence {
    let why = "the trial has no evidence".to_owned();
    let label = Measured::Unknown { why: why.clone() }.label();
    TrialEvidence {
        position: trial.position,
        condition: trial.condition.clone().unwrap_or_default(),
        direction: direction.to_owned(),
        label: label.to_owned(),
        latency_label: label.to_owned(),
        because: why,
        job_bytes,
        device_bytes: None,
        device_share: None,
        flushes: None,
        volatile_cache: None,
        dirty_bytes: None,
        foreign_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use assay_model::act::scenario::ScenarioStep;
    use assay_model::figures::Better;
    use assay_model::job::Purpose;
    use assay_model::plan::PlannedJob;
    use assay_model::units::{Bytes, Nanos};
    use std::path::PathBuf;

    fn figure<'a>(facts: &'a RunFacts, job: &str, metric: &str) -> Vec<&'a FigureFacts> {
        let figures = facts.figures.iter();
        figures
            .filter(|figure| figure.job == job && figure.metric == metric)
            .collect()
    }

    fn one<'a>(facts: &'a RunFacts, job: &str, metric: &str) -> &'a FigureFacts {
        let found = figure(facts, job, metric);
        assert_eq!(found.len(), 1, "{job} {metric}");
        found[0]
    }

    /// Hashes are stored: a change of this test breaks every series that exists.
    #[test]
    fn hashes_of_jobs_and_keys_of_series_stay_the_same_in_every_version() {
        let facts = of(&fixture::run());
        let hash = |job, metric| {
            let figure = one(&facts, job, metric);
            (figure.job_hash.clone(), figure.series.clone())
        };
        let pinned = [
            ("seq-read-1m", "read_bw"),
            ("rand-rw-4k", "read_iops"),
            ("rand-rw-4k", "write_iops"),
            ("fsync-append-4k", "flush_lat_p50"),
        ]
        .map(|(job, metric)| hash(job, metric));
        let text = |(hash, series): &(String, String)| format!("{hash} {series}");
        assert_eq!(
            pinned.each_ref().map(text),
            [
                "0d4991ba4b63 dd626b3ff0f3",
                "7e6275195566 edded223bbae",
                "7e6275195566 4ea37db8d76f",
                "aabefdb328fc f20bb651b6c1",
            ]
        );
    }

    #[test]
    fn a_figure_has_its_label_its_trials_and_its_centre() {
        let facts = of(&fixture::run());
        let read = one(&facts, "seq-read-1m", "read_bw");
        assert_eq!((read.label.as_str(), read.n), ("device", 3));
        assert_eq!(
            (read.unit, read.better),
            (Unit::BytesPerSec, Some(Better::Higher))
        );
        assert!(read.primary && !read.tail);
        let same = Summary::of(&read.samples).and_then(|found| found.geometric_mean);
        assert_eq!(Some(read.centre), same, "what verdicts compare");
        let cached = one(&facts, "dd-plain", "write_bw");
        assert_eq!(cached.label, "page-cache");
        assert!(!cached.primary, "memory's figure is none of the device");
    }

    #[test]
    fn trials_of_different_labels_are_points_of_different_series() {
        let mut run = fixture::run();
        let mut trials = run.trials.iter_mut();
        let trial = trials.find(|trial| trial.job.name == "seq-read-1m");
        trial.expect("it ran").evidence = None;
        let facts = of(&run);
        let found = figure(&facts, "seq-read-1m", "read_bw");
        let labels: BTreeSet<(&str, u32)> = found
            .iter()
            .map(|figure| (figure.label.as_str(), figure.n))
            .collect();
        assert_eq!(labels, BTreeSet::from([("device", 2), ("unknown", 1)]));
        assert_ne!(found[0].series, found[1].series);
    }

    #[test]
    fn what_does_not_change_the_work_does_not_change_the_series() {
        let run = fixture::run();
        let before = of(&run);
        let mut other = run.clone();
        other.header.id = "other".to_owned();
        other.header.plan.seed += 1;
        other.header.plan.place = Place::Directory {
            path: PathBuf::from("/elsewhere"),
        };
        other.header.system.kernel = "9.9".to_owned();
        for trial in &mut other.trials {
            trial.seed += 1;
            trial.job.interval = Nanos::millis(7);
        }
        let keys = |facts: &RunFacts| -> Vec<String> {
            let figures = facts.figures.iter();
            figures.map(|figure| figure.series.clone()).collect()
        };
        assert_eq!(keys(&of(&other)), keys(&before));
        assert_eq!(of(&other).known(Circumstance::Kernel), Some("9.9"));

        let job = |edit: fn(&mut Run)| {
            let mut run = run.clone();
            edit(&mut run);
            one(&of(&run), "seq-read-1m", "read_bw").series.clone()
        };
        let own = job(|_| ());
        let edits: [fn(&mut Run); 4] = [
            |run| run.header.project = Some("kernel".to_owned()),
            |run| run.header.target = Some("ssh://board".to_owned()),
            |run| {
                run.trials
                    .iter_mut()
                    .for_each(|trial| trial.job.size = Bytes::mib(7))
            },
            |run| {
                run.trials
                    .iter_mut()
                    .for_each(|trial| trial.job.direct = false)
            },
        ];
        for edit in edits {
            assert_ne!(job(edit), own);
        }
    }

    /// A run of a scenario with `acts` acts, of which `done` ended before it was killed.
    fn scenario(acts: usize, done: usize) -> Run {
        let mut run = fixture::run();
        let trial = run.trials.swap_remove(0);
        let of = |number: usize| {
            let mut act = trial.clone();
            let place = u32::try_from(number).expect("a few");
            (act.position, act.trial) = (place, 1);
            act.job.name = format!("act-{number}");
            act.job.purpose = Some(Purpose::Act);
            act.detail = Some(Box::new(StepDetail::Scenario(Box::new(ScenarioStep {
                scenario: "boot".to_owned(),
                ..ScenarioStep::default()
            }))));
            act
        };
        run.trials = (0..done).map(of).collect();
        let planned = (0..acts).map(|number| PlannedJob {
            job: of(number).job,
            trials: 1,
        });
        run.header.plan.jobs = planned.collect();
        run
    }

    #[test]
    fn no_two_figures_of_a_scenario_share_a_series() {
        let keys = |run: &Run| -> Vec<String> {
            let figures = of(run).figures.into_iter();
            figures.map(|figure| figure.series).collect()
        };
        for (acts, done) in [(1, 1), (2, 1), (2, 2), (5, 3)] {
            let keys = keys(&scenario(acts, done));
            let each: BTreeSet<&String> = keys.iter().collect();
            assert!(
                !keys.is_empty() && each.len() == keys.len(),
                "{acts} {done}: {keys:?}"
            );
        }
    }

    #[test]
    fn the_duration_of_a_scenario_is_that_of_all_its_acts() {
        let has_total = |acts, done| {
            let facts = of(&scenario(acts, done));
            !figure(&facts, "boot.all", "act_time").is_empty()
        };
        assert!(has_total(1, 1) && has_total(3, 3));
        assert!(!has_total(3, 1) && !has_total(3, 2), "it was cut short");
        let mut beside = scenario(2, 2);
        for job in &mut beside.header.plan.jobs {
            job.job.name = format!("boot.{}", job.job.name);
        }
        for trial in &mut beside.trials {
            trial.job.name = format!("boot.{}", trial.job.name);
        }
        let another = fixture::run().header.plan.jobs.swap_remove(0);
        beside.header.plan.jobs.push(another);
        assert_eq!(figure(&of(&beside), "boot.all", "act_time").len(), 1);
    }

    #[test]
    fn the_tail_is_that_of_all_operations_together() {
        let run = crate::testing::samples::with_tails();
        let facts = of(&run);
        let tails: Vec<_> = facts.figures.iter().filter(|figure| figure.tail).collect();
        assert!(tails.iter().any(|figure| figure.metric.ends_with("_p99")));
        let pooled = crate::results::derived::tails_of_run(&run);
        for figure in tails
            .iter()
            .filter(|figure| figure.metric == "read_lat_p99")
        {
            let same = |tail: &&crate::results::derived::JobTail<'_>| {
                tail.job == figure.job && tail.operation == Operation::Read
            };
            let tail = pooled.iter().find(same).expect("it has a tail").tail;
            if tail.trials == figure.samples.len() {
                assert_eq!(figure.centre, tail.pooled_ns as f64, "{}", figure.job);
            }
            assert!(!figure.primary);
        }
    }

    #[test]
    fn surroundings_are_those_of_the_records() {
        let facts = of(&fixture::run());
        insta::assert_debug_snapshot!((
            &facts.project,
            &facts.target,
            &facts.model,
            &facts.series_unit,
            &facts.surroundings,
        ));
    }

    #[test]
    fn a_device_without_a_name_is_followed_by_its_unit() {
        let mut run = fixture::run();
        run.header.storage.layers[0].identity.model = None;
        for layer in &mut run.header.storage.layers {
            layer.identity.model = None;
        }
        run.header.unit = Some("card 7".to_owned());
        let unit = of(&run).known(Circumstance::Unit).map(str::to_owned);
        assert_eq!(of(&run).series_unit, unit);
        assert!(unit.is_some());
    }

    #[test]
    fn every_trial_has_its_evidence_or_says_that_it_has_none() {
        let mut run = fixture::run();
        let position = run
            .trials
            .iter()
            .position(|trial| trial.job.name == "seq-read-1m")
            .expect("it ran");
        let of_job = |run: &Run| {
            let all = of(run).evidence;
            let wanted = run.trials[position].position;
            let mut found = all.into_iter().filter(|row| row.position == wanted);
            let row = found.next().expect("a row");
            assert_eq!(found.next(), None, "it only reads");
            row
        };
        let row = of_job(&run);
        assert_eq!((&*row.direction, &*row.label), ("read", "device"));
        let judged = judge(&run.trials[position]).expect("evidence");
        let judged = judged.read.expect("it reads");
        assert_eq!(row.because, judged.because);
        assert_eq!(row.device_share, judged.device_share);
        let mut layers = judged.layers.iter();
        assert!(layers.any(|(_, bytes)| Some(*bytes) == row.device_bytes));
        run.trials[position].evidence = None;
        let row = of_job(&run);
        assert_eq!((&*row.label, row.device_bytes), ("unknown", None));
        assert!(row.job_bytes > 0);
    }
}
