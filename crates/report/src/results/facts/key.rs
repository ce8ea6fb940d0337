//! Keys of series and hashes of jobs.
//!
//! Keys and hashes are stored and compared across versions of assay. Their input may only be
//! extended by options whose default does not change the hashes of older jobs.

use assay_model::facts::{FigureFacts, RunFacts};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::trial::TrialRecord;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ptr;

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
pub(super) fn of_series(facts: &RunFacts, figure: &FigureFacts) -> String {
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
pub(super) struct JobHashes<'a> {
    run: &'a Run,
    known: Vec<(String, Vec<&'a TrialRecord>, String)>,
}

impl<'a> JobHashes<'a> {
    pub(super) const fn new(run: &'a Run) -> Self {
        Self {
            run,
            known: Vec::new(),
        }
    }

    /// Returns the hash of a job, or of a whole scenario, in these trials.
    pub(super) fn of(&mut self, of: &str, trials: &[&'a TrialRecord]) -> String {
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
