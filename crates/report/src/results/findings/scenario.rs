//! Describes the acts of a scenario, one line each, and their total duration.

use crate::results::describe;
use crate::results::summary::{Figure, Group, JobSummary, Summary};
use crate::words::format::quantity;
use crate::words::labels::Labels;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::metric::Unit;
use assay_model::units::Nanos;
use assay_model::work::StepDetail;
use assay_model::work::scenario::{Deadlines, ScenarioStep};
use assay_stats::acts;
use assay_stats::summary::Summary as Statistics;

/// Line on one act.
#[derive(Clone, Debug)]
pub struct ActLine {
    /// Name of the act.
    pub name: String,
    /// Duration of the act.
    pub time: String,
    /// Rate in bytes, files or transactions per second; empty without one.
    pub rate: String,
    /// Latency of the slowest operation of all trials.
    pub slowest: String,
    /// Longest time without any completion.
    pub gap: String,
    /// Number of missed deadlines and of all deadlines.
    pub missed: String,
    /// Labels of the metric.
    pub labels: Labels,
    /// Further findings, as a sentence.
    pub found: Option<String>,
}

/// Returns the acts of a run, in their order; empty if it has no scenario.
pub fn lines(summary: &Summary<'_>) -> Vec<ActLine> {
    let planned = &summary.run.header.plan.jobs;
    let place = |job: &&JobSummary<'_>| {
        planned
            .iter()
            .position(|planned| planned.job.name == job.job.name)
    };
    let mut jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().collect();
    jobs.sort_by_key(place);
    jobs.into_iter().filter_map(line).collect()
}

/// Computes the total duration of each scenario of a run: its name, and the times of its complete
/// repetitions.
pub fn totals(summary: &Summary<'_>) -> Vec<(String, Figure)> {
    let mut found: Vec<(&str, Vec<(u32, f64)>)> = Vec::new();
    for (scenario, acts) in acts::repetitions(&summary.run.header.plan, &summary.run.trials) {
        let (Some(total_ns), Some(first)) = (acts::total_ns(&acts), acts.first()) else {
            continue;
        };
        let value = (first.trial, total_ns as f64);
        match found.iter_mut().find(|(name, _)| *name == scenario) {
            Some((_, values)) => values.push(value),
            None => found.push((scenario, vec![value])),
        }
    }
    let figures = found.into_iter().filter_map(|(scenario, values)| {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let figure = Figure {
            job: scenario.to_owned(),
            name: "act_time".to_owned(),
            unit: Unit::Nanos,
            stats: Statistics::of(&plain)?,
            values,
            labels: Labels::default(),
        };
        Some((clean(scenario), figure))
    });
    figures.collect()
}

/// Returns the acts with missed deadlines.
pub fn late(summary: &Summary<'_>) -> Vec<String> {
    let missed = |job: &&JobSummary<'_>| {
        let kept = steps(job).into_iter().filter_map(|step| step.deadlines);
        kept.map(|kept| kept.missed).sum::<u64>() > 0
    };
    let late = summary.jobs.iter().filter(missed);
    late.map(|job| clean(&job.job.name)).collect()
}

fn line(job: &JobSummary<'_>) -> Option<ActLine> {
    let steps = steps(job);
    if steps.is_empty() && job.group != Group::Act {
        return None;
    }
    let median = |name: &str| {
        let figure = job.figure(name);
        figure.map_or_else(String::new, |f| quantity(f.unit, f.stats.median))
    };
    let most = |names: &[&str]| {
        let figures = names.iter().filter_map(|name| job.figure(name));
        let most = figures.map(|figure| figure.stats.max).reduce(f64::max);
        most.map_or_else(String::new, |ns| quantity(Unit::Nanos, ns))
    };
    let whole = ["operation_lat_max", "commit_lat_max"];
    let single = ["read_lat_max", "write_lat_max", "flush_lat_max"];
    let slowest = match most(&whole) {
        none if none.is_empty() => most(&single),
        slowest => slowest,
    };
    Some(ActLine {
        name: clean(&job.job.name),
        time: median("act_time"),
        rate: rate(job, &median),
        slowest,
        gap: most(&["longest_gap"]),
        missed: missed(&steps),
        labels: job.labels(None),
        found: found(&steps),
    })
}

fn steps<'a>(job: &JobSummary<'a>) -> Vec<&'a ScenarioStep> {
    let details = job
        .trials
        .iter()
        .filter_map(|trial| trial.record.detail.as_deref());
    details.filter_map(StepDetail::scenario).collect()
}

fn rate(job: &JobSummary<'_>, median: &dyn Fn(&str) -> String) -> String {
    let transactions = median("commit_tps");
    if !transactions.is_empty() {
        return transactions;
    }
    let names = ["read_bw", "write_bw"];
    let rates = names.map(|name| (describe::metric(name), median(name)));
    let there: Vec<&(String, String)> = rates.iter().filter(|(_, rate)| !rate.is_empty()).collect();
    match there[..] {
        [(_, rate)] => rate.clone(),
        // Everything that is read is also written: one of the rates suffices.
        [_, (_, rate)] if job.job.rw.writes() => rate.clone(),
        _ => String::new(),
    }
}

fn missed(steps: &[&ScenarioStep]) -> String {
    let kept: Vec<Deadlines> = steps.iter().filter_map(|step| step.deadlines).collect();
    if kept.is_empty() {
        return String::new();
    }
    let missed: u64 = kept.iter().map(|kept| kept.missed).sum();
    let all: u64 = kept.iter().map(|kept| kept.operations).sum();
    tr!("{missed} of {all}", missed, all)
}

/// Returns the findings shown below the line.
fn found(steps: &[&ScenarioStep]) -> Option<String> {
    let mut sentences = Vec::new();
    let late = steps.iter().filter_map(|step| step.deadlines);
    let worst = late
        .map(|kept| (kept.worst_late_ns, kept.deadline_ns))
        .max();
    if let Some((late_ns @ 1.., deadline_ns)) = worst {
        sentences.push(tr!(
            "a deadline of {deadline} was missed by up to {late}",
            deadline = Nanos(deadline_ns),
            late = Nanos(late_ns)
        ));
    }
    if steps.iter().any(|step| step.differs()) {
        sentences.push(tr!("what was read back is not what was written").to_owned());
    } else if steps.iter().any(|step| step.verified.is_some()) {
        sentences.push(tr!("all of it is as it was written (SHA-256)").to_owned());
    }
    if let Some(percent) = steps.iter().find_map(|step| step.full_percent) {
        sentences.push(tr!("the file system is {percent} % full", percent));
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}
