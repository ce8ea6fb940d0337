//! Selects the results of a stored run that can be fitted, with the reasons for leaving out others.

use crate::observed::{Observed, all, side};
use assay_flash::BLOCK_BYTES;
use assay_flash::estimate::{Observation, Repeated};
use assay_flash::experiment::Parameter;
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_lang::tr;
use assay_model::device::ceiling;
use assay_model::job::{Direction, FileState, OpenSync, Rw, is_named};
use assay_model::run::Run;
use assay_model::storage::Storage;
use assay_model::text::meant;
use assay_model::units::three_digits;
use assay_report::document::{Column, Section, Table, TableRow};
use assay_report::summary::Summary;
use assay_report::words::clean;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rate to fit, with a description of its source.
#[derive(Clone, Debug)]
pub struct FittedRate {
    /// Name of the job, for results of a run.
    pub job: Option<String>,
    /// Pattern, in fio's words.
    pub pattern: String,
    /// Size of an I/O.
    pub size: String,
    /// The rate.
    pub seen: Observation,
}

/// Largest standard error of a parameter that counts as determined, as a share of its value.
const MOST_ERROR: f64 = 0.5;

/// Returns true if the rates determine a parameter.
pub fn is_determined(parameter: &Parameter) -> bool {
    let error = parameter.error;
    error.is_some_and(|error| error <= MOST_ERROR * parameter.value)
}

/// Returns parameters as JSON.
pub fn parameters(all: &[Parameter]) -> Vec<Value> {
    let one = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "unit": parameter.unit,
            "value": parameter.value,
            "std_error": parameter.error,
        })
    };
    all.iter().map(one).collect()
}

/// Adds a table of parameters with their standard errors, then those that are not determined.
pub fn say_parameters(all: &[Parameter], section: &mut Section) {
    let row = |parameter: &Parameter| {
        Some(TableRow::new(vec![
            parameter.name.into(),
            parameter.unit.into(),
            three_digits(parameter.value).into(),
            three_digits(parameter.error?).into(),
        ]))
    };
    section.table(Table {
        columns: vec![
            Column::text(tr!("parameter")),
            Column::text(tr!("unit")),
            Column::number(tr!("value")),
            Column::number(tr!("std. error")),
        ],
        rows: all.iter().filter_map(row).collect(),
    });
    let unknown = all.iter().filter(|parameter| parameter.error.is_none());
    let unknown: Vec<&str> = unknown.map(|parameter| parameter.name).collect();
    if !unknown.is_empty() {
        section.say(tr!("Unknown: {what}", what = unknown.join(", ")), None);
    }
}

/// Result that is not fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The job.
    pub job: String,
    /// Direction of its I/Os.
    pub direction: Direction,
    /// The reason.
    pub why: String,
}

/// Results of a run, as input of a fit.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The rates.
    pub lines: Vec<FittedRate>,
    /// Remaining results, which cannot be fitted.
    pub left_out: Vec<LeftOut>,
    /// Model with which the fit starts; it has the request size of the run's host.
    pub start: DeviceModel,
    /// Transfer policy of the host.
    pub policy: Policy,
}

/// Selection of a run's results.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'c> {
    /// Condition under which they were measured.
    pub condition: Option<&'c str>,
    /// Jobs of the results; empty: all jobs.
    pub only: &'c [String],
}

impl Chosen<'_> {
    /// Returns true if a job is selected.
    pub fn has(&self, job: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| is_named(name, job))
    }

    /// Checks that each name matches a job of the run.
    ///
    /// # Errors
    /// Names the first one that does not.
    pub fn check(&self, observed: &[Observed<'_>], run: &str) -> Result<(), String> {
        let means = |name: &&String| !observed.iter().any(|one| is_named(name, &one.job.name));
        self.only.iter().find(means).map_or(Ok(()), |name| {
            let jobs = observed.iter().map(|one| one.job.name.as_str());
            let meant = meant(name, jobs);
            Err(format!(
                "--only {name}: run {run} has no results of such a job{meant}"
            ))
        })
    }
}

/// Selects the rates of a run, or of one of its conditions.
///
/// # Errors
/// The reason why no result can be fitted, and what to do.
pub fn of_run(
    run: &Run,
    chosen: Chosen<'_>,
    start: DeviceModel,
    policy: Option<Policy>,
) -> Result<Measured, String> {
    let Chosen { condition, .. } = chosen;
    let summary = Summary::of(run);
    let (mut observed, _) = all(&summary);
    let known: BTreeSet<&str> = observed.iter().filter_map(|one| one.condition).collect();
    let id = &run.header.id;
    match condition {
        Some(name) if !known.contains(name) => {
            return Err(tr!(
                "run {id} has no condition {name}",
                id,
                name = clean(name)
            ));
        }
        None if known.len() > 1 => {
            let first = known.first().map_or_else(String::new, |name| clean(name));
            return Err(tr!(
                "run {id} has several conditions, whose figures cannot be mixed: name one, such as {id}@{first}",
                id,
                first
            ));
        }
        _ => {}
    }
    chosen.check(&observed, id)?;
    observed.retain(|one| condition.is_none() || one.condition == condition);
    observed.retain(|one| chosen.has(&one.job.name));
    of_results(&observed, &run.header.storage, start, policy)
}

/// Selects the rates among results of the same condition.
///
/// # Errors
/// The reason why no result can be fitted, and what to do.
pub fn of_results(
    observed: &[Observed<'_>],
    storage: &Storage,
    start: DeviceModel,
    policy: Option<Policy>,
) -> Result<Measured, String> {
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    for one in observed {
        match why_not(one) {
            Some(why) => left_out.push(LeftOut {
                job: clean(&one.name()),
                direction: one.direction,
                why,
            }),
            None => lines.push(line(one)),
        }
    }
    if lines.is_empty() {
        return Err(refusal(&left_out));
    }
    let max_request_kib = most_kib(observed, storage).unwrap_or(start.max_request_kib);
    Ok(Measured {
        lines,
        left_out,
        start: DeviceModel {
            max_request_kib,
            bus: bus_of(storage).unwrap_or(start.bus),
            ..start
        },
        policy: policy.unwrap_or_else(|| policy_of(storage)),
    })
}

fn refusal(left_out: &[LeftOut]) -> String {
    let reasons: BTreeSet<&str> = left_out.iter().map(|one| one.why.as_str()).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    match reasons.is_empty() {
        true => tr!("no trial ended that did I/O on storage: nothing can be fitted").to_owned(),
        false => tr!(
            "no result can be fitted: {reasons}. What can: reads or writes with direct I/O, one at a time, of several sizes",
            reasons = reasons.join("; ")
        ),
    }
}

/// Explains why an import cannot be fitted.
pub fn of_imports(name: &str) -> String {
    tr!(
        "{name} is an import: whether its figures are the device's, and of one I/O at a time, is not recorded. If you know that they are, give them as a file of rates",
        name = clean(name)
    )
}

fn line(one: &Observed<'_>) -> FittedRate {
    let bytes = one.job.bs.0 as f64;
    FittedRate {
        job: Some(clean(&one.name())),
        pattern: one.job.rw.to_string(),
        size: one.job.bs.to_string(),
        seen: Observation {
            direction: one.direction,
            random: one.job.rw.is_random(),
            blocks: one.job.bs.0 / BLOCK_BYTES,
            rate: bytes / one.typical_us() * 1e6,
            repeated: repeated(one),
        },
    }
}

/// Returns the precision of the mean latency, and so of the rate, from the trials.
fn repeated(one: &Observed<'_>) -> Option<Repeated> {
    let latencies = one.judged.iter().filter_map(|trial| {
        let latency = &side(trial.measured()?, one.direction).latency;
        (latency.count > 0).then(|| latency.sum_ns as f64 / latency.count as f64)
    });
    let latencies: Vec<f64> = latencies.collect();
    let trials = latencies.len() as f64;
    let freedom = u32::try_from(latencies.len().checked_sub(1)?).ok()?;
    let mean = latencies.iter().sum::<f64>() / trials;
    let squares: f64 = latencies.iter().map(|one| (one / mean - 1.0).powi(2)).sum();
    (freedom > 0).then(|| Repeated {
        error: (squares / f64::from(freedom) / trials).sqrt(),
        freedom,
    })
}

/// Explains why the costs of single requests cannot be derived from a result.
fn why_not(one: &Observed<'_>) -> Option<String> {
    not_the_device(one).or_else(|| not_plain(one).map(str::to_owned))
}

fn not_the_device(one: &Observed<'_>) -> Option<String> {
    Some(match one.label {
        Some("device" | "simulated") => return None,
        Some("page-cache") => tr!("it is the page cache's (use direct I/O)").to_owned(),
        Some("mixed") => tr!("it is partly the page cache's (use direct I/O)").to_owned(),
        Some("device-unflushed") => tr!(
            "the device's cache may have taken the writes: their time is not that of the medium"
        )
        .to_owned(),
        Some(label) => tr!(
            "what it measured is not the device, or not known to be ({label})",
            label
        ),
        None => tr!("its trials measured different things").to_owned(),
    })
}

fn not_plain(one: &Observed<'_>) -> Option<&'static str> {
    let job = one.job;
    Some(if one.depth > 1 {
        tr!("several I/Os were in flight")
    } else if one.beside {
        tr!("other jobs ran at the same time")
    } else if matches!(job.rw, Rw::Rw | Rw::RandRw) {
        tr!("reads and writes were mixed")
    } else if !(job.direct || one.is_simulated()) {
        tr!("its I/O was not direct: the kernel made requests of other sizes")
    } else if job.sync != OpenSync::None || job.flush.every.is_some() {
        tr!("each write was flushed")
    } else if job.pattern.is_some() || job.pause.is_some() || job.rate.is_some() {
        tr!("it has a pace or an order of its own")
    } else if job.purpose.is_some() || job.file_state == FileState::Fresh {
        tr!("it does more than reading or writing blocks of a file that is there")
    } else if job.bs.0 == 0 || !job.bs.0.is_multiple_of(BLOCK_BYTES) {
        tr!("its block size is no multiple of 512 bytes")
    } else if one.damaged > 0 {
        tr!("I/Os failed or were cut short")
    } else {
        return None;
    })
}

/// Returns the largest request that the host makes, in KiB.
pub fn most_kib(observed: &[Observed<'_>], storage: &Storage) -> Option<u64> {
    if let Some(part) = simulated_part(storage) {
        return Some(part.max_request_kib);
    }
    let trials = observed.iter().flat_map(|one| &one.judged);
    let evidence = trials.filter_map(|trial| trial.record.evidence.as_ref());
    let queues = evidence.flat_map(|evidence| &evidence.queues);
    queues.filter_map(|queue| queue.max_request_kib).min()
}

/// Returns the mode of the bus, as a word of `assay model limits`.
fn bus_of(storage: &Storage) -> Option<String> {
    match simulated_part(storage) {
        Some(part) => Some(part.bus),
        None => Some(ceiling(&storage.device()?.identity)?.mode),
    }
}

/// Returns the model of a simulated device, from the run's header.
pub fn simulated_part(storage: &Storage) -> Option<DeviceModel> {
    DeviceModel::parse(storage.device()?.identity.raw.get("part")?).ok()
}

/// Returns the policy of a simulated device's host at depth 1. The queue makes no difference then,
/// and CMD23 is a part of the command's cost.
fn policy_of(storage: &Storage) -> Policy {
    let word = storage
        .device()
        .and_then(|device| device.identity.raw.get("policy"));
    match word.and_then(|word| word.parse().ok()) {
        Some(open @ Policy::Open { .. }) => open,
        _ => Policy::Closed,
    }
}
