//! Limits on the pace of a stream.

use super::PerDirection;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A value, or any between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

crate::defaults! {
    /// Limits on the pace of a stream. A rate of 0 is none.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PaceLimits {
        /// Bytes per second.
        pub rate: PerDirection<u64>,
        /// Bytes per second that must be kept, or the stream fails.
        pub rate_min: PerDirection<u64>,
        /// I/Os per second.
        pub rate_iops: PerDirection<u64>,
        /// I/Os per second that must be kept, or the stream fails.
        pub rate_iops_min: PerDirection<u64>,
        /// Over which time the least rates are averaged.
        pub rate_cycle: Nanos = Nanos::millis(1000),
        /// I/Os arrive as a Poisson process instead of evenly.
        pub poisson: bool,
        /// Thinking does not count against the rate.
        pub ignore_think_time: bool,
        /// Pauses.
        pub think: Option<ThinkTime>,
        /// Depth is searched that keeps a latency.
        pub latency_target: Option<LatencyTarget>,
        /// An I/O slower than that ends the stream with an error; 0: none.
        pub max_latency: PerDirection<Nanos>,
        /// Keeping step with other streams.
        pub flow: Option<Flow>,
    }
}

crate::defaults! {
    /// Pauses between I/Os (fio's thinktime family).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ThinkTime {
        /// Length of a pause.
        pub pause: Nanos,
        /// Part of the pause spent busy-waiting.
        pub spin: Nanos,
        /// A pause after that many blocks.
        pub blocks: u32 = 1,
        /// Blocks are counted when issued instead of when completed.
        pub count_issued: bool,
        /// A pause after that time of I/O (`thinktime_iotime`); 0: not.
        pub io_time: Nanos,
    }
}

crate::defaults! {
    /// fio's latency_target family.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LatencyTarget {
        /// The latency to keep.
        pub target: Nanos,
        /// Looked at over this time.
        pub window: Nanos,
        /// By this share of the I/Os, in percent.
        pub percentile: f64 = 100.0,
        /// Goes on running at the depth found.
        pub run: bool,
    }
}

/// fio's flow: streams of the same id keep their I/O in proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Which streams belong together.
    pub id: i64,
    /// Share of this one.
    pub weight: u32,
    /// Pause of one that is ahead, instead of looking again and again.
    pub sleep: Nanos,
}
