//! Check of a job's trials against a required figure.

use crate::series::lowest_second_written;
use assay_judge::{Measured, judge};
use assay_lang::tr;
use assay_model::job::Direction;
use assay_model::trial::{Outcome, TrialRecord};
use std::fmt;

/// A required minimum of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// Name of the job that measures it.
    pub job: &'static str,
    /// Figure that is checked.
    pub figure: RequiredFigure,
    /// Required minimum: IOPS, or bytes per second.
    pub least: f64,
}

/// Figure of a job that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredFigure {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes written per second, on average.
    WriteBandwidth,
    /// Bytes written in the slowest second.
    LowestSecondWritten,
}

/// Result of checking trials against a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementFinding {
    /// Every trial reached it.
    Met,
    /// No trial reached it.
    Missed,
    /// The trials differ, or cannot be judged.
    NoConclusion {
        /// Reason, as one clause.
        why: String,
    },
}

impl fmt::Display for RequirementFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => f.write_str(tr!("pass")),
            Self::Missed => f.write_str(tr!("FAIL")),
            Self::NoConclusion { why } => f.write_str(&tr!("no conclusion: {why}", why)),
        }
    }
}

impl RequiredFigure {
    const fn direction(self) -> Direction {
        match self {
            Self::ReadIops => Direction::Read,
            Self::WriteIops | Self::WriteBandwidth | Self::LowestSecondWritten => Direction::Write,
        }
    }

    /// Returns the name of the figure.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadIops => tr!("random read"),
            Self::WriteIops => tr!("random write"),
            Self::WriteBandwidth => tr!("sequential write"),
            Self::LowestSecondWritten => tr!("slowest second of writing"),
        }
    }
}

impl Requirement {
    /// Returns the figure of each completed trial.
    pub fn values(&self, trials: &[TrialRecord]) -> Vec<f64> {
        self.completed(trials)
            .filter_map(|t| self.value(t))
            .collect()
    }

    /// Checks the trials of a run against the requirement. A figure that was not measured on the
    /// device cannot pass or fail a device.
    pub fn finding(&self, trials: &[TrialRecord]) -> RequirementFinding {
        let values = self.values(trials);
        let reached = values.iter().filter(|value| **value >= self.least).count();
        let elsewhere = self.completed(trials).find_map(|t| self.not_of_device(t));
        match (reached, elsewhere) {
            _ if values.is_empty() => RequirementFinding::NoConclusion {
                why: tr!("no trial was completed").to_owned(),
            },
            (_, Some(why)) => RequirementFinding::NoConclusion { why },
            (0, None) => RequirementFinding::Missed,
            (reached, None) if reached == values.len() => RequirementFinding::Met,
            (reached, None) => RequirementFinding::NoConclusion {
                why: tr!(
                    "{reached} of {all} trials reached it",
                    reached,
                    all = values.len()
                ),
            },
        }
    }

    fn completed<'a>(
        &self,
        trials: &'a [TrialRecord],
    ) -> impl Iterator<Item = &'a TrialRecord> + use<'a> {
        let job = self.job;
        let completed = move |trial: &&TrialRecord| {
            trial.job.name == job && trial.outcome == Outcome::Completed
        };
        trials.iter().filter(completed)
    }

    fn value(&self, trial: &TrialRecord) -> Option<f64> {
        let measured = trial.measured.as_ref()?;
        let per_second = |amount: u64, direction| {
            let clock_ns = measured.clock_ns(direction);
            (clock_ns > 0).then(|| amount as f64 * 1e9 / clock_ns as f64)
        };
        let (read, write) = (Direction::Read, Direction::Write);
        match self.figure {
            RequiredFigure::ReadIops => per_second(measured.read.ios, read),
            RequiredFigure::WriteIops => per_second(measured.write.ios, write),
            RequiredFigure::WriteBandwidth => per_second(measured.write.bytes, write),
            RequiredFigure::LowestSecondWritten => lowest_second_written(&measured.series),
        }
    }

    /// Returns the label of a trial that measured something other than the device.
    fn not_of_device(&self, trial: &TrialRecord) -> Option<String> {
        let judgement = judge(trial);
        let side = judgement.and_then(|judged| match self.figure.direction() {
            Direction::Read => judged.read,
            Direction::Write => judged.write,
        });
        match side.map(|side| side.measured) {
            Some(Measured::Device | Measured::DeviceUnflushed) => None,
            Some(Measured::Unknown { why }) => {
                Some(tr!("what was measured is unknown: {why}", why))
            }
            Some(other) => Some(tr!("what was measured is {other}", other)),
            None => Some(tr!("what was measured is unknown").to_owned()),
        }
    }
}
