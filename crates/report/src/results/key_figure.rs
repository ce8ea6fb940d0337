//! Key figure or finding of a run, for lists.

use crate::labels::DIFFERS;
use crate::results::findings::{capacity, powercut, soak};
use crate::summary::{Group, JobSummary, Summary};
use crate::words::{extremes, quantity};
use assay_lang::{counted, tr};
use assay_model::figures::{Import, Sample, Unit};
use assay_model::job::Job;
use assay_model::plan::Plan;
use assay_model::run::Run;
use assay_model::units::Bytes;
use assay_stats::summary::median;
use serde::Serialize;

/// Figure or finding of a run, with its label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyFigure {
    /// Text, for example `seq-read-1m 166 MB/s`.
    pub text: String,
    /// Labels of its trials; `None` if they are not known.
    pub measured: Option<String>,
    /// Numbers in the text; `None` for a finding.
    #[serde(flatten)]
    pub value: Option<KeyValue>,
}

/// Median of a metric over its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyValue {
    /// Name of the job, or of the condition of an import.
    pub job: String,
    /// Name of the metric, for example `read_bw`.
    pub metric: String,
    /// Symbol of the unit.
    pub unit: String,
    /// Lowest median of all conditions.
    pub lowest: f64,
    /// Highest median of all conditions.
    pub highest: f64,
}

/// Groups by how well they represent a device, the best first.
const ORDER: [Group; 11] = [
    Group::Sequential,
    Group::RandomRead,
    Group::Mixed,
    Group::RandomWrite,
    Group::Fsync,
    Group::Sustained,
    Group::Transactions,
    Group::Memory,
    Group::Act,
    Group::ReadLadder,
    Group::WriteLadder,
];

fn rank(job: &Job) -> (usize, bool) {
    let group = Group::of(job);
    let place = ORDER.iter().position(|known| *known == group);
    (place.unwrap_or(ORDER.len()), job.rw.writes())
}

/// Returns the job whose figure represents a run of this plan; `None` without a planned job.
pub fn key_job(plan: &Plan) -> Option<&Job> {
    let jobs = plan.jobs.iter().map(|planned| &planned.job);
    jobs.min_by_key(|job| rank(job))
}

impl KeyFigure {
    /// Returns the key figure of a run, some of whose trials may be missing; `None` if it has none
    /// yet.
    pub fn of_run(run: &Run) -> Option<Self> {
        let summary = Summary::of(run);
        finding(run, &summary).or_else(|| {
            let mut jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().collect();
            jobs.sort_by_key(|job| rank(job.job));
            jobs.into_iter().find_map(|job| of_job(run, job))
        })
    }

    /// Returns the first deciding figure of an import.
    pub fn of_import(import: &Import) -> Option<Self> {
        let figures = &import.results.figures;
        let first = figures.iter().find(|figure| figure.primary);
        let figure = first.or(figures.first())?;
        let value = match &figure.sample {
            Sample::Values { values, .. } => median(values)?,
            Sample::Moments { mean, .. } => *mean,
        };
        Some(Self {
            text: format!("{} {value:.4} {}", figure.metric, figure.unit)
                .replace(".0000 ", " ")
                .trim_end()
                .to_owned(),
            measured: figure.measured.clone(),
            value: Some(KeyValue {
                job: figure.condition.clone(),
                metric: figure.metric.clone(),
                unit: figure.unit.clone(),
                lowest: value,
                highest: value,
            }),
        })
    }
}

fn of_job(run: &Run, job: &JobSummary<'_>) -> Option<KeyFigure> {
    let conditions = &run.header.plan.conditions;
    let views: Vec<JobSummary<'_>> = match conditions.is_empty() {
        true => vec![job.clone()],
        false => conditions
            .iter()
            .map(|known| job.under(&known.name))
            .collect(),
    };
    let figures: Vec<_> = views
        .iter()
        .filter_map(|view| view.headlines().into_iter().next())
        .collect();
    let first = figures.first()?;
    let medians = figures.iter().map(|figure| figure.stats.median);
    let (lowest, highest) = extremes(medians)?;
    let value = match lowest < highest {
        true => format!(
            "{}..{}",
            quantity(first.unit, lowest),
            quantity(first.unit, highest)
        ),
        false => quantity(first.unit, lowest),
    };
    let labels: Vec<_> = figures
        .iter()
        .map(|figure| figure.labels.agreed())
        .collect();
    let agreed = labels.first().copied().flatten();
    let same = labels.iter().all(|label| *label == agreed);
    Some(KeyFigure {
        text: format!("{} {value}", job.job.name),
        measured: Some(agreed.filter(|_| same).unwrap_or(DIFFERS).to_owned()),
        value: Some(KeyValue {
            job: job.job.name.clone(),
            metric: first.name.clone(),
            unit: Unit::name(first.unit).to_owned(),
            lowest,
            highest,
        }),
    })
}

/// Describes the finding of a run that searches for faults instead of measuring a rate.
fn finding(run: &Run, summary: &Summary<'_>) -> Option<KeyFigure> {
    let text = if let Some(total) = powercut::total(run) {
        let cuts = counted!(total.cycles, "{n} cut", "{n} cuts");
        match total.bad {
            0 => tr!("{cuts}, nothing lost", cuts),
            bad => tr!("{cuts}, data lost in {bad}", cuts, bad),
        }
    } else if let Some((_, last)) = soak::steps(summary).last() {
        let state = &last.checkpoint;
        let verified = Bytes(state.verified_bytes);
        match state.faults + state.errors + state.memory_flips {
            0 => tr!("no error in {verified}", verified),
            bad => tr!(
                "{errors} in {verified}",
                errors = counted!(bad, "{n} error", "{n} errors"),
                verified
            ),
        }
    } else {
        held(run)?
    };
    Some(KeyFigure {
        text,
        measured: None,
        value: None,
    })
}

/// Describes the capacity found by the last step that read data back.
fn held(run: &Run) -> Option<String> {
    let step = capacity::last_checked(run)?;
    Some(match (step.total(), step.differs()) {
        (Some(found), false) => tr!("holds {held}", held = Bytes(found.held_bytes())),
        (Some(found), true) => tr!(
            "holds {held} of {all}",
            held = Bytes(found.held_bytes()),
            all = Bytes(found.bytes())
        ),
        (None, false) => tr!("no difference found").to_owned(),
        (None, true) => tr!("holds less than it claims").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn the_direct_sequential_read_stands_for_a_qualify_run() {
        let run = samples::with_sustained();
        let job = key_job(&run.header.plan).unwrap();
        assert_eq!(job.name, "seq-read-1m");
        let figure = KeyFigure::of_run(&run).unwrap();
        assert!(figure.text.starts_with("seq-read-1m "), "{figure:?}");
        assert!(figure.measured.is_some());
        let mut alone = run.clone();
        alone.trials.retain(|trial| trial.job.name == "seq-read-1m");
        assert_eq!(
            KeyFigure::of_run(&alone),
            Some(figure),
            "its trials are enough"
        );
    }

    #[test]
    fn a_run_without_completed_trials_has_none() {
        let mut run = samples::with_sustained();
        run.trials.clear();
        assert_eq!(KeyFigure::of_run(&run), None);
    }
}
