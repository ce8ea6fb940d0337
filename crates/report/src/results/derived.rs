//! Figures and findings derived from the record of a trial, and percentiles of latency over the
//! trials of each job of a run. Finding the levels of a long series is slow, so that it is done
//! once for all outputs.

use assay_judge::{Judgement, judge};
use assay_model::evidence::LatencyRecord;
use assay_model::figures::Metric;
use assay_model::run::Run;
use assay_model::trial::{Measurement, Outcome, TrialRecord};
use assay_stats::course::Course;
use assay_stats::derive;
use assay_stats::histogram::Percentile;
use assay_stats::latency::{Tail, over_trials};
use serde::Serialize;
use std::rc::Rc;

/// Data derived from one trial.
#[derive(Debug)]
pub struct Derived {
    /// Figures of the trial.
    pub metrics: Vec<Metric>,
    /// Judgement of the evidence; `None` without evidence.
    pub judgement: Option<Judgement>,
    /// Rate over time; `None` without a series.
    pub course: Option<Course>,
}

impl Derived {
    /// Derives the data of one trial.
    pub fn of(record: &TrialRecord) -> Self {
        let course = record.measured.as_ref().and_then(Course::of);
        Self {
            metrics: derive::metrics_with(record, course.as_ref()),
            judgement: judge(record),
            course,
        }
    }

    /// Derives the data of all trials of a run, in the order of its records.
    pub fn all(run: &Run) -> Vec<Rc<Self>> {
        let trials = run.trials.iter();
        trials.map(|record| Rc::new(Self::of(record))).collect()
    }
}

/// Percentiles that outputs show.
const TAIL_PERCENTILES: [Percentile; 3] = [Percentile::P99, Percentile::P99_9, Percentile::P99_99];

assay_model::named! {
    /// Timed operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Operation {
        /// Reads.
        Read = "read",
        /// Writes.
        Write = "write",
        /// Flush calls.
        Flush = "flush",
        /// Writes, each with the flush that followed.
        DurableWrite = "durable_write",
    }
}

impl Operation {
    pub(crate) const fn latency(self, measured: &Measurement) -> Option<&LatencyRecord> {
        Some(match self {
            Self::Read => &measured.read.latency,
            Self::Write => &measured.write.latency,
            Self::Flush => &measured.flush,
            Self::DurableWrite => return measured.durable.as_ref(),
        })
    }
}

/// Percentile of one operation of a job under a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobTail<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Condition of the sweep, if any.
    pub condition: Option<&'a str>,
    /// Timed operation.
    pub operation: Operation,
    /// The figures.
    pub tail: Tail,
}

/// Returns all percentiles with enough operations, from the trials that make figures, in the order
/// in which jobs and conditions first occur.
pub fn tails_of_run(run: &Run) -> Vec<JobTail<'_>> {
    let counts = |trial: &&TrialRecord| trial.outcome == Outcome::Completed && trial.counts();
    let trials: Vec<&TrialRecord> = run.trials.iter().filter(counts).collect();
    let mut groups: Vec<(&str, Option<&str>)> = Vec::new();
    for trial in &trials {
        let group = group_of(trial);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut tails = Vec::new();
    for group in groups {
        let own = trials.iter().filter(|trial| group_of(trial) == group);
        let measured: Vec<&Measurement> = own.filter_map(|t| t.measured.as_ref()).collect();
        tails.extend(tails_of_group(group, &measured));
    }
    tails
}

fn group_of(trial: &TrialRecord) -> (&str, Option<&str>) {
    (&trial.job.name, trial.condition.as_deref())
}

fn tails_of_group<'a>(
    (job, condition): (&'a str, Option<&'a str>),
    measured: &[&Measurement],
) -> Vec<JobTail<'a>> {
    let mut tails = Vec::new();
    for operation in Operation::ALL {
        let records: Vec<_> = measured
            .iter()
            .filter_map(|m| operation.latency(m))
            .collect();
        let found = TAIL_PERCENTILES
            .into_iter()
            .map_while(|p| over_trials(&records, p));
        tails.extend(found.map(|tail| JobTail {
            job,
            condition,
            operation,
            tail,
        }));
    }
    tails
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn only_trials_that_make_figures_count() {
        let mut run = samples::with_tails();
        let name = "rand-rw-4k";
        let found = tails_of_run(&run);
        let of_job = |found: &[JobTail<'_>]| {
            let own = found.iter().filter(|tail| tail.job == name);
            own.map(|tail| (tail.operation, tail.tail.trials))
                .collect::<Vec<_>>()
        };
        let before = of_job(&found);
        assert_eq!(before[0], (Operation::Read, 3));
        assert!(
            before
                .iter()
                .any(|(operation, _)| *operation == Operation::Write)
        );
        let trial = run.trials.iter_mut().find(|trial| trial.job.name == name);
        trial.unwrap().outcome = Outcome::Interrupted;
        assert_eq!(of_job(&tails_of_run(&run))[0].1, 2);
    }

    #[test]
    fn conditions_are_kept_apart() {
        let mut run = samples::with_tails();
        run.trials.retain(|trial| trial.job.name == "rand-rw-4k");
        for (at, trial) in run.trials.iter_mut().enumerate() {
            trial.condition = Some(if at == 0 { "a" } else { "b" }.to_owned());
        }
        let found = tails_of_run(&run);
        let trials = |condition| {
            let own = found.iter().find(|tail| tail.condition == Some(condition));
            own.map(|tail| tail.tail.trials)
        };
        assert_eq!((trials("a"), trials("b")), (Some(1), Some(2)));
    }
}
