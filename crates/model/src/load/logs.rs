//! Log files of single I/Os or of averages.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Log files of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    /// Prefix of the names of the bandwidth log; `None`: no log. (fio's `write_bw_log`; the job's
    /// name if that has no value.)
    pub bandwidth: Option<String>,
    /// Prefix of the names of the latency logs (`write_lat_log`: slat, clat and lat).
    pub latency: Option<String>,
    /// Prefix of the name of the IOPS log.
    pub iops: Option<String>,
    /// Prefix of the name of the histogram log.
    pub histogram: Option<String>,
    /// `true` for one file per name; otherwise each stream has its own (`per_job_logs`).
    pub shared: bool,
    /// Interval of averages; 0: every I/O is logged.
    pub average: Nanos,
    /// Value that is logged for the I/Os of an interval.
    pub window_value: WindowValue,
    /// `true` to log offsets.
    pub offset: bool,
    /// `true` to log priorities.
    pub priority: bool,
    /// `true` to log the times at which I/Os were issued.
    #[serde(default)]
    pub issue_time: bool,
    /// Time between two histograms; 0: none.
    pub histogram_interval: Nanos,
    /// Logarithm to base 2 of the number of bins that are merged.
    pub histogram_coarseness: u8,
    /// `true` to log times since 1970 instead of since the start.
    pub unix_epoch: bool,
    /// Clock whose times are logged instead (`log_alternate_epoch_clock_id`).
    pub epoch_clock: Option<i32>,
    /// Bytes from which entries are compressed in memory (`log_compression`); 0: never.
    pub compress_from: u64,
    /// `true` to store them compressed (`log_store_compressed`, name ends in `.fz`).
    pub store_compressed: bool,
}

/// fio's `log_window_value`. Rates have a single value for all of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// The mean and the maximum.
    Both,
}
