//! Logs.

use super::table::{TimeUnit, options};
use assay_model::load::WindowValue;

options! {
    pub(super) static OPTIONS:

    optional_text("write_bw_log", "beginning of the file's name", "Log bandwidths")
        [stream.logs.bandwidth];
    optional_text("write_lat_log", "beginning of the files' names", "Log latencies")
        [stream.logs.latency];
    optional_text("write_iops_log", "beginning of the file's name", "Log I/Os per second")
        [stream.logs.iops];
    optional_text("write_hist_log", "beginning of the file's name", "Log histograms of latencies")
        [stream.logs.histogram];
    flag("per_job_logs", "1", "One file for each job") [!stream.logs.shared];
    time("log_avg_msec", TimeUnit::Millis, "0", "Log averages over this time (ms)")
        [stream.logs.average];
    choice("log_window_value", "avg", "What is logged of the I/Os of that time")
        [stream.logs.window_value]
    {
        "avg": "the mean" => WindowValue::Mean,
        "max": "the largest" => WindowValue::Max,
        "both": "the mean, then the largest" => WindowValue::Both,
        "0": "the mean" => WindowValue::Mean,
        "1": "the largest" => WindowValue::Max,
    }.alias(&["log_max_value"]);
    time("log_hist_msec", TimeUnit::Millis, "0", "Log a histogram that often (ms)")
        [stream.logs.histogram_interval];
    count("log_hist_coarseness", (0, 6), "0", "Put 2 to the power of this many bins together")
        [stream.logs.histogram_coarseness];
    flag("log_offset", "0", "Log offsets") [stream.logs.offset];
    flag("log_prio", "0", "Log priorities") [stream.logs.priority];
    flag("log_issue_time", "0", "Log when I/Os were issued") [stream.logs.issue_time];
    flag("log_unix_epoch", "0", "Log times since 1970") [stream.logs.unix_epoch];
    flag("log_alternate_epoch", "0", "Log times of another clock") [alternate_epoch];
    signed("log_alternate_epoch_clock_id", (0, i32::MAX as u64), "0", "Number of that clock")
        [stream.logs.epoch_clock];
    text("log_compression", "bytes", "", "Compress entries in memory from this size on")
        [stream.logs.compress_from = |reader, value| match reader.count(value)? {
            bytes if (1024..=512 << 20).contains(&bytes) => Ok(bytes),
            _ => Err(format!("'{value}' is not within 1k and 512m")),
        }];
    flag("log_store_compressed", "0", "Store logs compressed") [stream.logs.store_compressed];
    no_effect("log_compression_cpus", "processors", "Where logs are compressed",
        "the job's own thread compresses after its end");
    no_effect("log_entries", "number", "Entries of a log to make room for", "logs grow as needed");
}
