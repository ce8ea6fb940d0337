//! A plan: jobs x conditions x repeats, in an order that cancels drift.

use crate::condition::{Condition, Restore, Setting, Subject};
use crate::figures::Side;
use crate::job::Job;
use crate::rng::SplitMix64;
use crate::storage::MAIN_MEMORY;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Plan of a run: jobs, place, number of trials and their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Id of the run.
    pub run_id: String,
    /// Seed of the order, the offsets and the contents.
    pub seed: u64,
    /// Place where the trials run.
    pub place: Place,
    /// Size of the test file, or of the region used on a device.
    pub file_size: Bytes,
    /// The jobs with their number of trials.
    pub jobs: Vec<PlannedJob>,
    /// Conditions of its trials; empty: the machine is left as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Actions before each trial.
    #[serde(default, skip_serializing_if = "Restore::is_nothing")]
    pub restore: Restore,
    /// Order of the trials.
    pub order: Vec<Slot>,
}

impl Plan {
    /// Plan of one slot, as the machine is.
    pub fn once(run_id: String, place: Place) -> Self {
        Self {
            run_id,
            seed: 0,
            place,
            file_size: Bytes(0),
            jobs: Vec::new(),
            conditions: Vec::new(),
            restore: Restore::default(),
            order: vec![Slot::plain(0, 1)],
        }
    }

    /// Returns the plan of an act of jobs for the `round`-th time that it is carried out, from 1: its
    /// trials continue the numbers of the rounds before. In round 0, which conditions the storage,
    /// all trials have the number 0.
    pub fn in_round(&self, round: u32) -> Self {
        let each = self.order.iter().map(|slot| slot.trial).max().unwrap_or(0);
        let trial = |trial: u32| match round {
            0 => 0,
            _ => trial.saturating_add((round - 1).saturating_mul(each)),
        };
        let order = self.order.iter().map(|slot| Slot {
            trial: trial(slot.trial),
            ..*slot
        });
        Self {
            order: order.collect(),
            ..self.clone()
        }
    }

    /// Names of the jobs, each once: variants of a job under several conditions share a name.
    pub fn job_names(&self) -> BTreeSet<&str> {
        let jobs = self.jobs.iter();
        jobs.map(|planned| planned.job.name.as_str()).collect()
    }

    /// `true` if conditions change options of the jobs, so that each condition has its own variants.
    pub fn varies_jobs(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|condition| condition.of_job().next().is_some())
    }

    /// Returns the plan with only its first `done` slots, which end with a whole round, and `more`
    /// rounds after them, under all its conditions.
    pub fn extended(&self, done: usize, more: u32) -> Self {
        let mut order = self.order.get(..done).unwrap_or_default().to_vec();
        let last = order.last().map_or(0, |slot| slot.trial);
        let own = |condition: usize| {
            let of_round = |slot: &&Slot| slot.trial == last && slot.condition == Some(condition);
            let mut jobs: Vec<usize> = order.iter().filter(of_round).map(|slot| slot.job).collect();
            jobs.sort_unstable();
            jobs
        };
        let jobs: Vec<Vec<usize>> = (0..self.conditions.len()).map(own).collect();
        let count = jobs.first().map_or(0, Vec::len);
        // Another seed than that of the first rounds.
        let seed = self.seed ^ ((done as u64) << 32);
        let added = rounds(count, jobs.len(), more, seed).into_iter();
        // Without another conditioning round.
        let added = added.filter(|slot| slot.trial > 0).filter_map(|slot| {
            let job = *jobs.get(slot.condition?)?.get(slot.job)?;
            let trial = slot.trial + last;
            Some(Slot { job, trial, ..slot })
        });
        order.extend(added);
        let trials = |index: usize| order.iter().filter(|slot| slot.job == index).count();
        let planned = self
            .jobs
            .iter()
            .enumerate()
            .map(|(index, planned)| PlannedJob {
                trials: u32::try_from(trials(index)).unwrap_or(u32::MAX),
                ..planned.clone()
            });
        Self {
            jobs: planned.collect(),
            order,
            ..self.clone()
        }
    }

    /// The condition of a slot; `None`: as the machine is.
    pub fn condition_of(&self, slot: &Slot) -> Option<&Condition> {
        self.conditions.get(slot.condition?)
    }

    /// Returns the parts of the order that share a test file: the whole order, unless conditions
    /// make file systems, each of which needs a separate test file.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        let file_system = |slot: &Slot| -> Vec<&Setting> {
            let condition = self.condition_of(slot);
            let settings = condition.into_iter().flat_map(|found| &found.settings);
            let made = settings.filter(|s| matches!(s.subject, Subject::Mkfs | Subject::Mount));
            made.collect()
        };
        if !self.makes_file_systems() {
            return std::iter::once(0..self.order.len()).collect();
        }
        let mut stretches = Vec::new();
        let mut start = 0;
        let same = |a: &Slot, b: &Slot| file_system(a) == file_system(b);
        for part in self.order.chunk_by(same) {
            stretches.push(start..start + part.len());
            start += part.len();
        }
        stretches
    }

    /// Returns the parts of a stretch whose trials have separate test files: thirds of its rounds,
    /// if the place is a folder. The location of a file on the medium affects the figures, so it is
    /// varied within a run. The trials of a plan that compares conditions or is interleaved with
    /// another one share a file.
    pub fn parts(&self, stretch: Range<usize>) -> Vec<Range<usize>> {
        const PARTS: u32 = 3;
        let slots = self.order.get(stretch.clone()).unwrap_or_default();
        let rounds = slots.iter().map(|slot| slot.trial).max().unwrap_or(0);
        let part = |slot: &Slot| slot.trial.saturating_sub(1) * PARTS / rounds.max(1);
        let shares = |slot: &Slot| slot.trial == 0 || slot.condition.is_some();
        let is_folder = matches!(self.place, Place::Directory { .. });
        if !is_folder || slots.iter().any(shares) || !slots.is_sorted_by_key(part) {
            return std::iter::once(stretch).collect();
        }
        let mut end = stretch.start;
        let parts = slots.chunk_by(|a, b| part(a) == part(b)).map(|part| {
            end += part.len();
            end - part.len()..end
        });
        parts.collect()
    }

    /// `true` if the plan's conditions make file systems on the device.
    pub fn makes_file_systems(&self) -> bool {
        self.conditions.iter().any(Condition::makes_file_system)
    }
}

/// Place where the trials run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Place {
    /// A test file that assay creates in this directory.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the user, which is only read.
    File {
        /// The file.
        path: PathBuf,
    },
    /// A simulated device, which is reset for each trial.
    Simulated {
        /// Path, as in [`crate::storage::simulated`].
        path: PathBuf,
    },
    /// A whole block device, whose contents are destroyed.
    Device {
        /// The device node.
        path: PathBuf,
    },
    /// Main memory, without any storage.
    Memory,
}

impl Place {
    /// Returns the path of the place.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory { path }
            | Self::File { path }
            | Self::Simulated { path }
            | Self::Device { path } => path,
            Self::Memory => Path::new(MAIN_MEMORY),
        }
    }
}

/// A job and its number of trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedJob {
    /// The job.
    pub job: Job,
    /// Number of trials of the job.
    pub trials: u32,
}

/// A place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Index into [`Plan::jobs`].
    pub job: usize,
    /// Repetition, from 1; 0 for a conditioning trial, which only prepares the state of the storage
    /// and gives no figure.
    pub trial: u32,
    /// Index into [`Plan::conditions`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<usize>,
}

impl Slot {
    /// Creates a trial without a condition.
    pub const fn plain(job: usize, trial: u32) -> Self {
        Self {
            job,
            trial,
            condition: None,
        }
    }
}

/// Returns rounds: every round runs each job that has trials left once, in a new random order. A
/// drift over the session (heat, wear, a filling SLC cache) then affects all jobs alike instead of
/// the last ones.
pub fn interleave(trials_per_job: &[u32], seed: u64) -> Vec<Slot> {
    let mut rng = SplitMix64::new(seed);
    let rounds = trials_per_job.iter().copied().max().unwrap_or(0);
    let mut order = Vec::new();
    for trial in 1..=rounds {
        let mut round: Vec<Slot> = trials_per_job
            .iter()
            .enumerate()
            .filter(|&(_, &trials)| trials >= trial)
            .map(|(job, _)| Slot::plain(job, trial))
            .collect();
        rng.shuffle(&mut round);
        order.append(&mut round);
    }
    order
}

/// Returns rounds of conditions: every round runs each condition once, and under it every job in a
/// new random order. Conditions are in a new random order, and in the next round in reverse, as in
/// blocks of ABBA or BAAB: a drift over the session then affects all of them alike, and so do the
/// after-effects of a trial on the next one. Round 0 only prepares the state of the storage.
/// Without conditions a round runs every job once.
pub fn rounds(jobs: usize, conditions: usize, rounds: u32, seed: u64) -> Vec<Slot> {
    let mut round: Vec<Option<usize>> = match conditions {
        0 => vec![None],
        count => (0..count).map(Some).collect(),
    };
    let mut rng = SplitMix64::new(seed);
    let mut order = Vec::new();
    for trial in 0..=rounds {
        if trial > 0 && trial % 2 == 0 {
            round.reverse();
        } else {
            rng.shuffle(&mut round);
        }
        for &condition in &round {
            let mut under: Vec<Slot> = (0..jobs)
                .map(|job| Slot {
                    condition,
                    ..Slot::plain(job, trial)
                })
                .collect();
            rng.shuffle(&mut under);
            order.append(&mut under);
        }
    }
    order
}

/// Returns the order of two interleaved sides, `each` trials of both: blocks of four, ABBA or BAAB
/// at random, so that a linear drift affects both alike within every block. An odd number ends in
/// half a block.
pub fn turns(each: u32, rng: &mut SplitMix64) -> Vec<Side> {
    let length = 2 * each as usize;
    let mut turns = Vec::with_capacity(length);
    while turns.len() < length {
        let first = match rng.next_u64() >> 63 {
            0 => Side::A,
            _ => Side::B,
        };
        let block = [first, first.other(), first.other(), first];
        turns.extend_from_slice(&block[..block.len().min(length - turns.len())]);
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_of_a_plan_in_rounds_go_on_counting() {
        let place = Place::Directory { path: "/f".into() };
        let order = [(0, 1), (1, 1), (1, 2), (0, 2)];
        let order = order.map(|(job, trial)| Slot::plain(job, trial)).into();
        let plan = Plan {
            order,
            ..Plan::once(String::new(), place)
        };
        let trials = |round| -> Vec<u32> {
            let order = plan.in_round(round).order;
            order.iter().map(|slot| slot.trial).collect()
        };
        assert_eq!(trials(0), [0, 0, 0, 0]);
        assert_eq!(trials(1), [1, 1, 2, 2]);
        assert_eq!(trials(3), [5, 5, 6, 6]);
    }

    #[test]
    fn more_rounds_go_on_counting_with_the_jobs_of_each_condition() {
        let condition = |value: &str| {
            Condition::of(vec![Setting {
                subject: Subject::Job {
                    option: "bs".to_owned(),
                },
                value: value.to_owned(),
            }])
        };
        let job = |name: &str| PlannedJob {
            job: Job::new(name, crate::job::Rw::Read, Bytes(4096), Bytes(4096)),
            trials: 3,
        };
        let mut order = rounds(2, 2, 2, 7);
        // Jobs 2 and 3 are those of the second condition.
        for slot in &mut order {
            slot.job += 2 * slot.condition.unwrap();
        }
        let place = Place::Directory { path: "/f".into() };
        let plan = Plan {
            conditions: vec![condition("4k"), condition("8k")],
            jobs: ["a", "b", "a", "b"].map(job).into(),
            order,
            ..Plan::once(String::new(), place)
        };
        let more = plan.extended(plan.order.len(), 3);
        assert_eq!(more.order[..plan.order.len()], plan.order);
        let added = &more.order[plan.order.len()..];
        assert_eq!(added.len(), 3 * 4);
        let trials: Vec<u32> = added.iter().map(|slot| slot.trial).collect();
        assert_eq!(trials, [[3; 4], [4; 4], [5; 4]].concat());
        let own = |slot: &Slot| slot.job / 2 == slot.condition.unwrap();
        assert!(added.iter().all(own), "{added:?}");
        assert!(more.jobs.iter().all(|planned| planned.trials == 6));
        // A budget ended the run after a round.
        let early = plan.extended(8, 1);
        assert_eq!(early.order.len(), 12);
        assert_eq!(early.order[11].trial, 2);
    }

    #[test]
    fn two_conditions_come_in_blocks_of_four() {
        let order = rounds(1, 2, 8, 7);
        let conditions: Vec<_> = order.iter().map(|slot| slot.condition).collect();
        for block in conditions[2..].chunks(4) {
            assert_eq!([block[0], block[1]], [block[3], block[2]]);
        }
    }

    #[test]
    fn sides_take_turns_in_balanced_blocks() {
        use Side::{A, B};
        let found = turns(50, &mut SplitMix64::new(3));
        assert_eq!(found.len(), 100);
        let blocks: Vec<&[Side]> = found.chunks(4).collect();
        for block in &blocks {
            assert!([[A, B, B, A], [B, A, A, B]].iter().any(|one| one == block));
        }
        assert!(blocks.iter().any(|block| *block != blocks[0]), "a coin");
        assert_eq!(turns(50, &mut SplitMix64::new(3)), found);
        assert_eq!(turns(5, &mut SplitMix64::new(3))[..8], found[..8]);
        assert_eq!(turns(5, &mut SplitMix64::new(3)).len(), 10);
    }

    #[test]
    fn without_conditions_a_round_runs_each_job_as_the_machine_is() {
        let order = rounds(3, 0, 2, 7);
        assert_eq!(order.len(), 3 * 3);
        assert!(order.iter().all(|slot| slot.condition.is_none()));
        let rounds: Vec<u32> = order.iter().map(|slot| slot.trial).collect();
        assert_eq!(rounds, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn each_round_runs_each_condition_once_and_every_other_one_in_reverse() {
        let order = rounds(2, 5, 6, 7);
        assert_eq!(order.len(), 2 * 5 * 7);
        let mut orders = Vec::new();
        for (trial, round) in (0_u32..).zip(order.chunks(10)) {
            assert!(round.iter().all(|slot| slot.trial == trial));
            let conditions: Vec<_> = round.chunks(2).map(|pair| pair[0].condition).collect();
            for pair in round.chunks(2) {
                assert_eq!(pair[0].condition, pair[1].condition, "set once a round");
                assert_ne!(pair[0].job, pair[1].job);
            }
            let mut sorted = conditions.clone();
            sorted.sort();
            assert_eq!(sorted, (0..5).map(Some).collect::<Vec<_>>());
            orders.push(conditions);
        }
        for pair in orders[1..].chunks(2) {
            let reversed: Vec<_> = pair[1].iter().rev().copied().collect();
            assert_eq!(pair[0], reversed);
        }
        orders.dedup();
        assert_eq!(orders.len(), 7, "each with an order of its own");
        assert_eq!(rounds(2, 5, 6, 7), order);
        assert_ne!(rounds(2, 5, 6, 8), order);
    }

    #[test]
    fn trials_in_one_file_system_share_a_test_file() {
        let condition = |words: &[(Subject, &str)]| {
            let setting = |(subject, value): &(Subject, &str)| Setting {
                subject: subject.clone(),
                value: (*value).to_owned(),
            };
            Condition::of(words.iter().map(setting).collect())
        };
        let plan = |conditions: Vec<Condition>, order: &[usize]| {
            let slot = |&condition: &usize| Slot {
                condition: Some(condition),
                ..Slot::plain(0, 1)
            };
            Plan {
                run_id: String::new(),
                seed: 1,
                place: Place::Device { path: "d".into() },
                file_size: Bytes(0),
                jobs: Vec::new(),
                conditions,
                restore: Restore::default(),
                order: order.iter().map(slot).collect(),
            }
        };
        let made = vec![
            condition(&[(Subject::Mkfs, "ext4"), (Subject::Scheduler, "none")]),
            condition(&[(Subject::Mkfs, "ext4"), (Subject::Scheduler, "bfq")]),
            condition(&[(Subject::Mkfs, "xfs"), (Subject::Scheduler, "none")]),
        ];
        let stretches = plan(made, &[0, 1, 2, 2, 1]).stretches();
        assert_eq!(stretches, [0..2, 2..4, 4..5]);
        let set = vec![
            condition(&[(Subject::Scheduler, "none")]),
            condition(&[(Subject::Scheduler, "bfq")]),
        ];
        assert_eq!(plan(set, &[0, 1, 0]).stretches().len(), 1);
    }

    #[test]
    fn thirds_of_the_rounds_of_a_folder_have_a_file_each() {
        let plan = |order: Vec<Slot>, place: Place| Plan {
            run_id: String::new(),
            seed: 1,
            place,
            file_size: Bytes(0),
            jobs: Vec::new(),
            conditions: Vec::new(),
            restore: Restore::default(),
            order,
        };
        let folder = Place::Directory { path: "d".into() };
        let lengths = |plan: &Plan| {
            let parts = plan.parts(0..plan.order.len());
            assert_eq!(
                parts.iter().map(ExactSizeIterator::len).sum::<usize>(),
                plan.order.len()
            );
            parts.iter().map(ExactSizeIterator::len).collect::<Vec<_>>()
        };
        for (trials, expected) in [
            (1, vec![2]),
            (2, vec![2, 2]),
            (3, vec![2, 2, 2]),
            (4, vec![4, 2, 2]),
            (16, vec![12, 10, 10]),
        ] {
            let order = interleave(&[trials, trials], 1);
            assert_eq!(lengths(&plan(order, folder.clone())), expected, "{trials}");
        }
        // Conditions, sides that take turns and devices have one; so have jobs that are not in rounds.
        let device = Place::Device { path: "d".into() };
        for (order, place) in [
            (interleave(&[6], 1), device),
            (rounds(1, 2, 6, 7), folder.clone()),
            (rounds(1, 0, 6, 7), folder.clone()),
            (
                [(0, 3), (1, 1)]
                    .map(|(job, trial)| Slot::plain(job, trial))
                    .to_vec(),
                folder,
            ),
        ] {
            assert_eq!(lengths(&plan(order, place)).len(), 1);
        }
    }

    #[test]
    fn each_round_runs_each_job_once() {
        let order = interleave(&[3, 3, 1], 42);
        assert_eq!(order.len(), 7);
        for (job, trials) in [(0, 3), (1, 3), (2, 1)] {
            let mut seen: Vec<u32> = order
                .iter()
                .filter(|s| s.job == job)
                .map(|s| s.trial)
                .collect();
            assert!(seen.is_sorted(), "rounds came out of order: {seen:?}");
            seen.dedup();
            assert_eq!(seen.len(), trials);
        }
        assert!(order[..3].iter().all(|s| s.trial == 1));
    }

    #[test]
    fn the_seed_decides_the_order() {
        let jobs = [3; 20];
        assert_eq!(interleave(&jobs, 1), interleave(&jobs, 1));
        assert_ne!(interleave(&jobs, 1), interleave(&jobs, 2));
    }
}
