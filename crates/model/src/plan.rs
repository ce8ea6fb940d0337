//! A plan: jobs x repeats, in an order that beats drift.

use crate::job::Job;
use crate::rng::SplitMix64;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What to run, where, how often and in which order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The run this plan makes.
    pub run_id: String,
    /// Seed of the order, the offsets and the contents.
    pub seed: u64,
    /// Where.
    pub place: Place,
    /// Size of the test file, or of the region used on a device.
    pub file_size: Bytes,
    /// The jobs with their number of trials.
    pub jobs: Vec<PlannedJob>,
    /// Which trial comes when.
    pub order: Vec<Slot>,
}

/// Where the trials run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Place {
    /// In a test file of assay's own in this directory.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// Reading a file that is not assay's; it is never written.
    File {
        /// The file.
        path: PathBuf,
    },
    /// On a whole block device, destroying what it holds.
    Device {
        /// The device node.
        path: PathBuf,
    },
}

impl Place {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory { path } | Self::File { path } | Self::Device { path } => path,
        }
    }
}

/// A job and how often it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedJob {
    /// The job.
    pub job: Job,
    /// Its number of trials.
    pub trials: u32,
}

/// One place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Index into [`Plan::jobs`].
    pub job: usize,
    /// Repetition, from 1.
    pub trial: u32,
}

/// Rounds: every round runs each job that has trials left once, in a fresh
/// random order. A drift over the session (heat, wear, a filling SLC cache)
/// then falls on all jobs alike instead of on the last ones.
#[must_use]
pub fn interleave(trials_per_job: &[u32], seed: u64) -> Vec<Slot> {
    let mut rng = SplitMix64::new(seed);
    let rounds = trials_per_job.iter().copied().max().unwrap_or(0);
    let mut order = Vec::new();
    for trial in 1..=rounds {
        let mut round: Vec<Slot> = trials_per_job
            .iter()
            .enumerate()
            .filter(|&(_, &trials)| trials >= trial)
            .map(|(job, _)| Slot { job, trial })
            .collect();
        rng.shuffle(&mut round);
        order.append(&mut round);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

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
