//! Raw results of measured time: totals of each direction, series, gaps, errors, processor time,
//! latency distributions.

use crate::job::Direction;
use serde::{Deserialize, Serialize};

/// Raw results of the measured time, all workers together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// Time from clock start to clock stop.
    pub elapsed_ns: u64,
    /// Reads.
    pub read: DirectionTotals,
    /// Writes.
    pub write: DirectionTotals,
    /// Flush calls, each from call to return.
    pub flush: LatencyRecord,
    /// Groups of writes that a flush follows, each from its first write to the end of that flush;
    /// `None` if the job does not flush between writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<LatencyRecord>,
    /// Written bytes that are not covered by a flush that began after the write; `None` if they
    /// were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed_bytes: Option<u64>,
    /// Completions over time.
    pub series: Series,
    /// The longest time without a completion of any worker.
    pub longest_gap: Option<Gap>,
    /// I/O errors.
    pub errors: IoErrors,
    /// Processor use of the agent.
    pub cpu: CpuUse,
}

/// One direction of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionTotals {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that the kernel completed only partly and that were continued.
    pub short_ios: u64,
    /// Latency from submission to completion (fio's clat for synchronous engines).
    pub latency: LatencyRecord,
    /// Time spent in the submission call; only asynchronous engines measure it separately.
    pub submission: Option<LatencyRecord>,
    /// Clock time of this direction, in nanoseconds, if it is less than the whole measurement: a
    /// job that writes and then reads back does one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ns: Option<u64>,
}

impl Measurement {
    /// Returns the clock time of a direction, in nanoseconds: the divisor of its rate.
    pub fn clock_ns(&self, direction: Direction) -> u64 {
        let totals = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        totals.clock_ns.unwrap_or(self.elapsed_ns)
    }
}

/// Completions per interval, empty intervals included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Width of an interval.
    pub interval_ns: u64,
    /// Intervals from clock start; the last may be shorter.
    pub points: Vec<Interval>,
}

/// One interval of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes trimmed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_bytes: u64,
    /// Trims completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_ios: u64,
    /// Longest latency that ended in the interval.
    pub max_latency_ns: u64,
}

pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A period without a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Start, relative to clock start.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
}

/// Errors, counted and located.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrors {
    /// Number of errors.
    pub count: u64,
    /// First errors in detail.
    pub first: Vec<IoErrorRecord>,
}

/// One failed I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrorRecord {
    /// Direction; `None` for a flush.
    pub direction: Option<Direction>,
    /// Offset in the file or device.
    pub offset: u64,
    /// Requested length.
    pub length: u64,
    /// Error number of the kernel; `None` for an unexpected end of file.
    pub errno: Option<i32>,
    /// Error message.
    pub message: String,
    /// Time, relative to clock start.
    pub at_ns: u64,
}

/// Processor time and switches of the agent during the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Time in user mode.
    pub user_ns: u64,
    /// Time in the kernel.
    pub system_ns: u64,
    /// Number of waits.
    pub voluntary_switches: u64,
    /// Number of preemptions.
    pub involuntary_switches: u64,
    /// Time spent ready to run, without a processor (`schedstat`); 0 where that is not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_delay_ns: u64,
}

impl CpuUse {
    /// Returns the processor use since an earlier reading of the same counters.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            run_delay_ns: self.run_delay_ns.saturating_sub(before.run_delay_ns),
        }
    }
}

/// Sums the processor use of several threads.
impl std::iter::Sum for CpuUse {
    fn sum<I: Iterator<Item = Self>>(uses: I) -> Self {
        uses.fold(Self::default(), |a, b| Self {
            user_ns: a.user_ns + b.user_ns,
            system_ns: a.system_ns + b.system_ns,
            voluntary_switches: a.voluntary_switches + b.voluntary_switches,
            involuntary_switches: a.involuntary_switches + b.involuntary_switches,
            run_delay_ns: a.run_delay_ns + b.run_delay_ns,
        })
    }
}

/// Serializes `u128` as text: many JSON readers cannot read numbers of that size.
mod wide {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// Latencies of one kind of operation. The bins are those of `assay_stats::histogram` (log-linear,
/// error at most 1/128); count, extremes and sums are exact. The stored form is
/// sparse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Number of operations.
    pub count: u64,
    /// Shortest latency; 0 when there was no operation.
    pub min_ns: u64,
    /// Longest latency.
    pub max_ns: u64,
    /// Sum of all latencies.
    pub sum_ns: u64,
    /// Sum of the squares of all latencies.
    #[serde(with = "wide")]
    pub sum_sq_ns2: u128,
    /// Bins in use, ascending: bin index and number of operations.
    pub bins: Vec<(u32, u64)>,
}
