//! Acts of a run, and the slots of its plan in which they are carried out.

use super::Act;
use crate::job::Job;
use crate::plan::{Place, Plan, PlannedJob, Slot};
use crate::rng::SplitMix64;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Acts of a run and the slots in which they are carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acts {
    /// The acts; [`Slot::job`] is an index into them.
    pub acts: Vec<Act>,
    /// Slots in their order, each with the seed of its order and contents.
    pub slots: Vec<(Slot, u64)>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
    /// Job that stands for the steps of an act as long as none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<Job>,
}

impl Acts {
    /// One act, `trials` times, as the machine is.
    pub fn repeated(act: Act, trials: u32, seed: u64, destroy_data: bool) -> Self {
        let slots = (1..=trials).map(|trial| Slot::plain(0, trial)).collect();
        Self::in_slots(act, slots, seed, destroy_data)
    }

    /// One act in these slots.
    pub fn in_slots(act: Act, slots: Vec<Slot>, seed: u64, destroy_data: bool) -> Self {
        let mut seeds = SplitMix64::new(seed);
        Self {
            acts: vec![act],
            slots: slots
                .into_iter()
                .map(|slot| (slot, seeds.next_u64()))
                .collect(),
            destroy_data,
            stand_in: None,
        }
    }

    /// Returns the plan of a run: the steps follow each other in every slot, in their order.
    pub fn plan(&self, run_id: String, steps: &[Job], seed: u64, place: Place) -> Plan {
        let trials = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let each = |&(slot, _): &(Slot, u64)| (0..steps.len()).map(move |job| Slot { job, ..slot });
        let planned = |job: &Job| PlannedJob {
            job: job.clone(),
            trials,
        };
        Plan {
            seed,
            file_size: steps.iter().map(|job| job.size).max().unwrap_or(Bytes(0)),
            jobs: steps.iter().map(planned).collect(),
            order: self.slots.iter().flat_map(each).collect(),
            ..Plan::once(run_id, place)
        }
    }
}

/// Acts of a run with the slots in which they are carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActOrder {
    /// Run, place, conditions and order. [`Slot::job`](crate::plan::Slot::job) is an index into
    /// `acts`; `jobs` are the steps that count as failed when a condition cannot be made.
    pub plan: Plan,
    /// The acts.
    pub acts: Vec<Act>,
    /// Seed of each slot: decides orders and contents.
    pub seeds: Vec<u64>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
}
