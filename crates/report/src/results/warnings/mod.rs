//! Warnings for readers of the figures, each with its remedy. A warning requires evidence, and
//! lists all affected jobs instead of appearing once per trial.
//!
//! To add a warning: add a variant of `Warning`, find it in one of the `find` modules, and word it
//! with its remedy in `words`.

mod doubt;
mod find;
mod find_conditions;
mod find_device;
mod words;

pub use doubt::Doubt;
pub(crate) use find_device::slow_bus;

use crate::results::summary::Summary;
use assay_model::job::Direction;
use assay_model::units::{Bytes, Nanos};

/// Maximum number of jobs in one warning if lines are short; the HTML report names all.
pub const NAMES: usize = 4;

/// Warning. All texts in it are safe to display.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The run did not finish.
    Unfinished {
        /// End of the run, in words.
        how: String,
    },
    /// Written data was lost.
    DataLost {
        /// Jobs, each with its number of affected trials.
        jobs: Vec<(String, u64)>,
        /// Description of the first loss.
        first: String,
    },
    /// The storage, or a device on the path to it, returned errors.
    IoErrors {
        /// Jobs and their number of errors.
        jobs: Vec<(String, u64)>,
        /// Description of the first error.
        first: String,
    },
    /// Trials ended with an error.
    Failed {
        /// Jobs, each with its number of failed trials.
        jobs: Vec<(String, u64)>,
        /// The first error.
        first: String,
    },
    /// Jobs were skipped for one reason.
    Skipped {
        /// The reason.
        reason: String,
        /// Jobs.
        jobs: Vec<String>,
    },
    /// The measured storage is memory.
    Memory {
        /// Storage, for example `/tmp is a tmpfs`.
        what: String,
    },
    /// Figures that should be the device's are the page cache's.
    PageCache {
        /// Reads or writes.
        direction: Direction,
        /// Jobs.
        jobs: Vec<String>,
        /// Size of the test file and of RAM, if the file is smaller.
        fits_in: Option<(Bytes, Bytes)>,
    },
    /// Figures that mix the page cache and the device.
    Mixed {
        /// Jobs with their device shares.
        jobs: Vec<(String, String)>,
    },
    /// The tool's threads were busy for so much of the time that they may limit the figures.
    ToolLimit {
        /// Jobs with the busy share of the time.
        jobs: Vec<(String, String)>,
    },
    /// Fewer I/Os were in flight than requested.
    ShallowQueue {
        /// Jobs with the mean and the requested depth.
        jobs: Vec<(String, String)>,
    },
    /// Trials of one job have different labels.
    Disagreement {
        /// Jobs with their labels.
        jobs: Vec<(String, String)>,
    },
    /// The label of a measurement is unknown.
    Unknown {
        /// Reason.
        why: String,
        /// Jobs.
        jobs: Vec<String>,
        /// True if assay ran as root.
        root: bool,
    },
    /// Written data may still be in the device's volatile cache.
    Unflushed {
        /// Jobs.
        jobs: Vec<String>,
    },
    /// Other programs used the device.
    ForeignIo {
        /// The device.
        device: String,
        /// Bytes read by other programs.
        read: Bytes,
        /// Bytes written by other programs.
        written: Bytes,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
        /// Processes with the most I/O meanwhile, on this or another device.
        processes: Vec<String>,
    },
    /// Other causes than the storage delayed the agent.
    Hindered {
        /// Descriptions of the causes.
        what: Vec<String>,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
    },
    /// No I/O completed for a long time.
    Stalls {
        /// Jobs, worst first.
        jobs: Vec<Stalled>,
    },
    /// Trials of one job vary a lot.
    Spread {
        /// Jobs and the coefficient of variation of their figure, widest
        /// first.
        jobs: Vec<(String, f64)>,
        /// Number of jobs with a coefficient of variation.
        of: usize,
    },
    /// Too few trials to separate effects from noise.
    FewTrials {
        /// Jobs and their completed trials.
        jobs: Vec<(String, u64)>,
        /// True if all jobs search for faults, for which one trial is enough.
        checks: bool,
    },
    /// The kernel transferred less than requested.
    ShortTransfers {
        /// Jobs with the number of short transfers.
        jobs: Vec<(String, u64)>,
    },
    /// The CPU frequency was controlled by a governor.
    Governor {
        /// Governors in force.
        governors: Vec<String>,
    },
    /// The CPU became slower although its governor is `performance`.
    Throttled {
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
        /// Highest temperature seen, in thousandths of a degree Celsius.
        hottest_millicelsius: Option<i64>,
    },
    /// A loop device reports that it has no volatile cache, which is the result of a setting.
    ForcedWriteThrough {
        /// Name of the device.
        name: String,
    },
    /// The storage is a loop device, which adds another page cache.
    Loop {
        /// Name of the device.
        name: String,
        /// Backing file of the loop device.
        file: String,
    },
    /// The agent has another build than assay.
    OtherAgent {
        /// Build of the agent.
        agent: String,
        /// Build of assay.
        host: String,
    },
    /// Most of the device's life, or of its reserves, is used.
    Worn {
        /// Device.
        device: String,
        /// Wear state reported by the kernel.
        state: String,
    },
    /// The bus is slower than such devices support.
    SlowBus {
        /// Device.
        device: String,
        /// Mode of the bus.
        bus: String,
    },
}

/// Stalls of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The job.
    pub job: String,
    /// Longest time without a completion.
    pub longest: Nanos,
    /// Trial it happened in.
    pub trial: u32,
    /// Start of that time, from the start of the clock.
    pub start: Nanos,
}

/// Collects all warnings of a run; those that put figures in doubt come first.
pub fn collect(summary: &Summary<'_>) -> Vec<Warning> {
    let mut warnings = find::all(summary);
    warnings.extend(find_conditions::all(summary));
    warnings.extend(find_device::all(summary));
    warnings.sort_by_key(|warning| !warning.is_severe());
    warnings
}

impl Warning {
    /// Returns true if figures are misleading, not just noisy.
    pub fn is_severe(&self) -> bool {
        let misleads = matches!(self.doubt(), Some(Doubt::All(_) | Doubt::Some(_)));
        misleads && !matches!(self, Self::Spread { .. })
    }
}

#[cfg(test)]
mod tests;
