//! Statistics to collect and show, and the conditions that end a stream early.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Statistics to collect and show.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct StatsOptions {
        /// `true` if the copies of a job are reported as one.
        pub group_reporting: bool,
        /// `true` if the stream is in the report (`stats`).
        pub shown: bool = true,
        /// Combined or separate reporting of directions.
        pub unified: Unified,
        /// Percentiles of completion latency.
        pub clat_percentiles: bool = true,
        /// Percentiles of total latency.
        pub lat_percentiles: bool,
        /// Percentiles of submission latency.
        pub slat_percentiles: bool,
        /// List of percentiles.
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
    /// Each direction separately.
    #[default]
    Split,
    /// One report for all directions, called `mixed`.
    Mixed,
    /// Both reports.
    Both,
}

/// fio's steadystate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Criterion of the steady state.
    pub criterion: SteadyCriterion,
    /// Limit of the deviation or of the slope.
    pub limit: f64,
    /// `true` if `limit` is in percent of the mean.
    pub percent: bool,
    /// Length of the window.
    pub duration: Nanos,
    /// Time at the beginning that is not evaluated.
    pub ramp: Nanos,
    /// Interval of evaluations (fio: 1 s).
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

/// Errors that end a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPolicy {
    /// `true` if failed reads do not end it (`continue_on_error`).
    pub continue_on_read: bool,
    /// `true` if failed writes do not end it.
    pub continue_on_write: bool,
    /// `true` if mismatches do not end it.
    pub continue_on_verify: bool,
    /// Error numbers that are not errors, for reads (`ignore_error`).
    pub ignore_read: Vec<i32>,
    /// Error numbers that are not errors, for writes.
    pub ignore_write: Vec<i32>,
    /// Error numbers that are not errors, for checks.
    pub ignore_verify: Vec<i32>,
    /// Number of medium errors (`EIO`, `EILSEQ`, `ENODATA`) that do not end it, regardless of the
    /// other fields; 0: they are treated like other errors.
    pub bad_spots: u32,
    /// `true` to report ignored errors (`error_dump`).
    pub say_ignored: bool,
}
