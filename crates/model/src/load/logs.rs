//! Log files of single I/Os or of averages.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Log files of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    /// First part of the names of the bandwidth log; `None`: none. (fio's
    /// `write_bw_log`; the job's name where that has no value.)
    pub bandwidth: Option<String>,
    /// First part of the names of the latency logs (`write_lat_log`: slat, clat and lat).
    pub latency: Option<String>,
    /// First part of the name of the IOPS log.
    pub iops: Option<String>,
    /// First part of the name of the histogram log.
    pub histogram: Option<String>,
    /// One file for each stream (`per_job_logs`); otherwise one per name.
    pub shared: bool,
    /// Averages over this time; 0: every I/O.
    pub average: Nanos,
    /// Value that is logged of the I/Os of that time.
    pub window_value: WindowValue,
    /// Offsets are logged.
    pub offset: bool,
    /// Priorities are logged.
    pub priority: bool,
    /// Times at which I/Os were issued are logged.
    #[serde(default)]
    pub issue_time: bool,
    /// Time between two histograms; 0: none.
    pub histogram_interval: Nanos,
    /// 2 to the power of this many bins are put together.
    pub histogram_coarseness: u8,
    /// Times since 1970 instead of since the start.
    pub unix_epoch: bool,
    /// Times of this clock instead (`log_alternate_epoch_clock_id`).
    pub epoch_clock: Option<i32>,
    /// Entries are compressed in memory (`log_compression`, bytes); 0: not.
    pub compress_from: u64,
    /// And stored so (`log_store_compressed`, name ends in `.fz`).
    pub store_compressed: bool,
}

/// fio's `log_window_value`. Rates have one value, whichever is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The largest.
    Max,
    /// The mean, then the largest.
    Both,
}
