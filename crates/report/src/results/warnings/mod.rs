//! Warnings for a reader of the figures, each with its remedy. A warning is only given on evidence,
//! and names all jobs it concerns instead of appearing once per trial.

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

/// Jobs named in one warning where lines are short; the HTML report names all.
pub const NAMES: usize = 4;

/// One thing to know. All texts in it are safe to show.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The run did not come to its end.
    Unfinished {
        /// End of the run.
        how: String,
    },
    /// Written data is missing.
    DataLost {
        /// Jobs, each with its number of such trials.
        jobs: Vec<(String, u64)>,
        /// Description of the first loss.
        first: String,
    },
    /// The storage, or a device on the way, returned errors.
    IoErrors {
        /// Jobs and their number of errors.
        jobs: Vec<(String, u64)>,
        /// The first one in words.
        first: String,
    },
    /// Trials ended with an error.
    Failed {
        /// Jobs, each with its number of failed trials.
        jobs: Vec<(String, u64)>,
        /// The first error.
        first: String,
    },
    /// Jobs did not run for that reason.
    Skipped {
        /// The reason.
        reason: String,
        /// Jobs.
        jobs: Vec<String>,
    },
    /// The measured storage is memory.
    Memory {
        /// For example `/tmp is a tmpfs`.
        what: String,
    },
    /// Figures that should be the device's are the page cache's.
    PageCache {
        /// Reads or writes.
        direction: Direction,
        /// Jobs.
        jobs: Vec<String>,
        /// Test file and RAM, where the file is the smaller one.
        fits_in: Option<(Bytes, Bytes)>,
    },
    /// Figures that are neither the cache's nor the device's.
    Mixed {
        /// Jobs with their device shares.
        jobs: Vec<(String, String)>,
    },
    /// Threads of the tool filled the clock.
    ToolLimit {
        /// Jobs with the share of the clock.
        jobs: Vec<(String, String)>,
    },
    /// Fewer I/Os were in flight than the job asked for.
    ShallowQueue {
        /// Jobs with the mean number in flight and the depth asked for.
        jobs: Vec<(String, String)>,
    },
    /// Trials of one job measured different things.
    Disagreement {
        /// Jobs with their labels.
        jobs: Vec<(String, String)>,
    },
    /// It is not known what was measured.
    Unknown {
        /// Why.
        why: String,
        /// Jobs.
        jobs: Vec<String>,
        /// True if it already ran as root.
        root: bool,
    },
    /// Written data may still be in the device's volatile cache.
    Unflushed {
        /// Jobs.
        jobs: Vec<String>,
    },
    /// Somebody else used the device.
    ForeignIo {
        /// The device.
        device: String,
        /// Bytes others read.
        read: Bytes,
        /// Bytes others wrote.
        written: Bytes,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
        /// Processes that did most I/O then, on this or another device.
        processes: Vec<String>,
    },
    /// Something besides the storage kept the agent waiting.
    Hindered {
        /// The hindrances, in words.
        what: Vec<String>,
        /// Trials by job, as `job #1 #3`.
        trials: Vec<String>,
    },
    /// Nothing completed for a long time.
    Stalls {
        /// Jobs, worst first.
        jobs: Vec<Stalled>,
    },
    /// Trials of one job differ much.
    Spread {
        /// Jobs and the coefficient of variation of their figure, widest
        /// first.
        jobs: Vec<(String, f64)>,
        /// Number of jobs with a coefficient of variation.
        of: usize,
    },
    /// Too few trials to tell noise from fact.
    FewTrials {
        /// Jobs and their completed trials.
        jobs: Vec<(String, u64)>,
        /// All of them search for faults, which one trial is enough for.
        checks: bool,
    },
    /// The kernel moved less than was asked for.
    ShortTransfers {
        /// Jobs and how many.
        jobs: Vec<(String, u64)>,
    },
    /// The CPU's speed was left to a governor.
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
    /// A loop device says that it has no volatile cache, which only a setting makes it say.
    ForcedWriteThrough {
        /// Name of the device.
        name: String,
    },
    /// A loop device: another page cache is in between.
    Loop {
        /// Name of the device.
        name: String,
        /// Backing file of the loop device.
        file: String,
    },
    /// The agent that measured is of another build than assay.
    OtherAgent {
        /// Build of the agent.
        agent: String,
        /// Build of assay.
        host: String,
    },
    /// Most of the device's life is used, or its reserves are.
    Worn {
        /// Device.
        device: String,
        /// Wear state reported by the kernel.
        state: String,
    },
    /// The bus is slower than such devices can be.
    SlowBus {
        /// Device.
        device: String,
        /// Mode of the bus.
        bus: String,
    },
}

/// The stalls of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The job.
    pub job: String,
    /// Longest time without a completion.
    pub longest: Nanos,
    /// Trial it happened in.
    pub trial: u32,
    /// When, from clock start.
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
