//! Facts of a run: its figures by series, and the circumstances that can explain a change.
//!
//! To add an option of a job on which figures depend: add it to `OPTIONS` as well, with a default
//! that leaves the hashes of older jobs as they are. Otherwise jobs that differ by it share a
//! series.
//!
//! Keys and hashes are stored and compared across versions of assay. Their input may only be
//! extended by options whose default does not change the hashes of older jobs.

mod evidence;

use crate::results::describe;
use crate::results::tails::Operation;
use assay_lang::in_english;
use assay_model::act::StepDetail;
use assay_model::evidence::{Evidence, LatencyRecord, QueueSettings, WriteCache};
use assay_model::figures::{
    Circumstance, FACTS_VERSION, Figure, FigureFacts, RunFacts, Sample, Unit,
};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::{self, Run, RunHeader};
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
            evidence: evidence::of(run),
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

#[cfg(test)]
mod tests;
