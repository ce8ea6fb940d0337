//! Repetitions of a work, and their conditions.

use super::Request;
use crate::driver::runs::run_id;
use assay_model::condition::{Condition, Restore};
use assay_model::job::Job;
use assay_model::plan::{Plan, PlannedJob, Slot, rounds};
use assay_model::trial::TrialRecord;
use assay_model::units::Bytes;
use assay_model::work::Under;
use std::path::PathBuf;

/// Conditions of a repeated work, each once in every round.
pub struct Sweep {
    /// Id of the run.
    pub run_id: String,
    /// Path on the storage whose settings are varied.
    pub path: PathBuf,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Actions before each repetition.
    pub restore: Restore,
    /// Job that stands for the work when its steps are not known.
    pub job: Job,
}

/// One repetition.
pub(super) struct Repetition {
    /// Number, from 1; 0 if its figures do not count.
    pub(super) trial: u32,
    pub(super) condition: Option<Under>,
}

impl Request {
    /// Returns all repetitions, in their order.
    pub(super) fn repetitions(&self) -> Vec<Repetition> {
        let Some(sweep) = &self.sweep else {
            let plain = |trial| Repetition {
                trial,
                condition: None,
            };
            return (1..=self.trials).map(plain).collect();
        };
        let under = |slot: Slot| Repetition {
            trial: slot.trial,
            condition: slot
                .condition
                .and_then(|index| sweep.conditions.get(index))
                .map(|condition| Under {
                    path: sweep.path.clone(),
                    condition: condition.clone(),
                    restore: sweep.restore,
                    steps: Vec::new(),
                }),
        };
        self.order().into_iter().map(under).collect()
    }

    /// Returns the number of repetitions.
    pub fn count(&self) -> usize {
        self.order().len()
    }

    /// `true` if `done` has the first repetitions of this request, by number and condition.
    pub fn begins_with(&self, done: &[(u32, Option<String>)]) -> bool {
        let all = self.repetitions();
        let planned = all.iter().map(|repetition| {
            let name = |under: &Under| under.condition.name.clone();
            (repetition.trial, repetition.condition.as_ref().map(name))
        });
        done.len() <= all.len() && planned.zip(done).all(|(planned, done)| planned == *done)
    }

    /// Returns the order of the repetitions; the job numbers in its slots have no meaning.
    fn order(&self) -> Vec<Slot> {
        match &self.sweep {
            None => (1..=self.trials)
                .map(|trial| Slot::plain(0, trial))
                .collect(),
            Some(sweep) => rounds(1, sweep.conditions.len(), self.trials, self.seed),
        }
    }
}

/// Makes the plan of the run. Steps are not shuffled: their order in a repetition is that of the
/// work.
pub(super) fn plan(request: &Request) -> Plan {
    let steps = &request.steps;
    let order = request.order();
    let trials = u32::try_from(order.len()).unwrap_or(u32::MAX);
    let each = |slot: Slot| (0..steps.len()).map(move |job| Slot { job, ..slot });
    let (id, conditions, restore) = match &request.sweep {
        None => (run_id(), Vec::new(), Restore::default()),
        Some(sweep) => (
            sweep.run_id.clone(),
            sweep.conditions.clone(),
            sweep.restore,
        ),
    };
    Plan {
        run_id: id,
        seed: request.seed,
        place: request.place.clone(),
        file_size: steps.iter().map(|job| job.size).max().unwrap_or(Bytes(0)),
        jobs: steps
            .iter()
            .map(|job| PlannedJob {
                job: job.clone(),
                trials,
            })
            .collect(),
        conditions,
        restore,
        order: order.into_iter().flat_map(each).collect(),
    }
}

/// Returns the planned steps of a work, else those of its earlier repetitions.
pub(super) fn steps_so_far(request: &Request, trials: &[TrialRecord]) -> Vec<Job> {
    let mut steps = request.steps.clone();
    if steps.is_empty() {
        for trial in trials {
            if !steps.iter().any(|job| job.name == trial.job.name) {
                steps.push(trial.job.clone());
            }
        }
    }
    if let (true, Some(sweep)) = (steps.is_empty(), &request.sweep) {
        steps.push(sweep.job.clone());
    }
    steps
}
