//! Limits on the pace of a stream.

use super::PerDirection;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A fixed value, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
}

crate::defaults! {
    /// Limits on the rate of a stream. A rate of 0 is unlimited.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PaceLimits {
        /// Bytes per second.
        pub rate: PerDirection<u64>,
        /// Least bytes per second; below it the stream fails.
        pub rate_min: PerDirection<u64>,
        /// I/Os per second.
        pub rate_iops: PerDirection<u64>,
        /// Least I/Os per second; below it the stream fails.
        pub rate_iops_min: PerDirection<u64>,
        /// Time over which the least rates are averaged.
        pub rate_cycle: Nanos = Nanos::millis(1000),
        /// `true` if I/Os arrive as a Poisson process instead of evenly.
        pub poisson: bool,
        /// `true` if think time does not count against the rate.
        pub ignore_think_time: bool,
        /// Pauses between I/Os.
        pub think: Option<ThinkTime>,
        /// Search for the depth that keeps a latency.
        pub latency_target: Option<LatencyTarget>,
        /// Latency above which an I/O ends the stream with an error; 0: no limit.
        pub max_latency: PerDirection<Nanos>,
        /// Proportion to the I/O of other streams.
        pub flow: Option<Flow>,
    }
}

crate::defaults! {
    /// Pauses between I/Os (fio's thinktime family).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ThinkTime {
        /// Length of a pause.
        pub pause: Nanos,
        /// Busy-waiting part of the pause.
        pub spin: Nanos,
        /// Number of blocks between pauses.
        pub blocks: u32 = 1,
        /// `true` if blocks are counted when issued instead of when completed.
        pub count_issued: bool,
        /// Time of I/O after which a pause follows (`thinktime_iotime`); 0: not used.
        pub io_time: Nanos,
    }
}

crate::defaults! {
    /// fio's latency_target family.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LatencyTarget {
        /// Latency to keep.
        pub target: Nanos,
        /// Window over which latency is evaluated.
        pub window: Nanos,
        /// Share of the I/Os that must keep the latency, in percent.
        pub percentile: f64 = 100.0,
        /// `true` to continue at the depth that was found.
        pub run: bool,
    }
}

/// fio's flow: streams of the same id keep their I/O in proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Id of the group of streams.
    pub id: i64,
    /// Share of this stream.
    pub weight: u32,
    /// Pause of a stream that is ahead; 0: it polls.
    pub sleep: Nanos,
}
