//! Statistics to collect and show, and the conditions that end a stream early.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Statistics to collect and show.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct StatsOptions {
        /// Streams of a name's copies are reported as one.
        pub group_reporting: bool,
        /// The stream is in the report (`stats`).
        pub shown: bool = true,
        /// Combined or separate reporting of directions.
        pub unified: Unified,
        /// Percentiles of completion latency.
        pub clat_percentiles: bool = true,
        /// Percentiles of total latency.
        pub lat_percentiles: bool,
        /// Percentiles of submission latency.
        pub slat_percentiles: bool,
        /// Which.
        pub percentiles: Vec<f64> = vec![
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ],
        /// Significant figures of percentiles in the normal output.
        pub significant_figures: u8 = 4,
        /// Total latency is measured.
        pub lat: bool = true,
        /// Completion latency is measured.
        pub clat: bool = true,
        /// Submission latency is measured.
        pub slat: bool = true,
        /// Bandwidth and IOPS over time are measured.
        pub bandwidth: bool = true,
        /// The disk's counters are shown.
        pub disk_util: bool = true,
        /// Width of the bandwidth samples.
        pub bw_interval: Nanos = Nanos::millis(500),
        /// Width of the IOPS samples.
        pub iops_interval: Nanos = Nanos::millis(500),
        /// Sizes are shown in thousands instead of 1024s (`kb_base=1000`).
        pub kb_base_1000: bool,
        /// Rates are shown in bits (`unit_base=1`).
        pub in_bits: bool,
    }
}

/// fio's `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unified {
    /// Each direction apart.
    #[default]
    Split,
    /// One report for all directions, called `mixed`.
    Mixed,
    /// Both.
    Both,
}

/// fio's steadystate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Criterion of the steady state.
    pub criterion: SteadyCriterion,
    /// The limit: of the deviation or of the slope.
    pub limit: f64,
    /// `limit` is in percent of the mean.
    pub percent: bool,
    /// The window.
    pub duration: Nanos,
    /// Not looked at in the beginning.
    pub ramp: Nanos,
    /// Time between two looks (fio: 1 s).
    pub interval: Nanos,
}

/// Criterion of a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyCriterion {
    /// Largest deviation of the IOPS from their mean.
    Iops,
    /// Slope of the IOPS.
    IopsSlope,
    /// Largest deviation of the bandwidth.
    Bw,
    /// Slope of the bandwidth.
    BwSlope,
    /// Largest deviation of the mean latency.
    Lat,
    /// Slope of the mean latency.
    LatSlope,
}

/// Which errors end a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPolicy {
    /// Failed reads do not (`continue_on_error`).
    pub continue_on_read: bool,
    /// Failed writes do not.
    pub continue_on_write: bool,
    /// Mismatches do not.
    pub continue_on_verify: bool,
    /// These are not errors, of reads (`ignore_error`).
    pub ignore_read: Vec<i32>,
    /// Error numbers that are not errors, for writes.
    pub ignore_write: Vec<i32>,
    /// Error numbers that are not errors, for checks.
    pub ignore_verify: Vec<i32>,
    /// So many bad spots of the medium (`EIO`, `EILSEQ`, `ENODATA`) do not end
    /// it, whatever the other fields say; 0: they are errors as all others.
    pub bad_spots: u32,
    /// Ignored errors are said (`error_dump`).
    pub say_ignored: bool,
}
