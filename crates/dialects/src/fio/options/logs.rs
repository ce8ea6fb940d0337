//! Logs.

use super::define::{OptionDef, TimeUnit};
use super::make::{choice, count, flag, no_effect, optional_text, signed, text, time};
use assay_model::load::logs::WindowValue;

pub(super) static OPTIONS: &[OptionDef] = &[
    optional_text(
        "write_bw_log",
        "beginning of the file's name",
        "Log bandwidths",
        |job, name| {
            job.stream.logs.bandwidth = Some(name.unwrap_or("").to_owned());
        },
    ),
    optional_text(
        "write_lat_log",
        "beginning of the files' names",
        "Log latencies",
        |job, name| {
            job.stream.logs.latency = Some(name.unwrap_or("").to_owned());
        },
    ),
    optional_text(
        "write_iops_log",
        "beginning of the file's name",
        "Log I/Os per second",
        |job, name| {
            job.stream.logs.iops = Some(name.unwrap_or("").to_owned());
        },
    ),
    optional_text(
        "write_hist_log",
        "beginning of the file's name",
        "Log histograms of latencies",
        |job, name| {
            job.stream.logs.histogram = Some(name.unwrap_or("").to_owned());
        },
    ),
    flag("per_job_logs", "1", "One file for each job", |job, on| {
        job.stream.logs.shared = !on
    }),
    time(
        "log_avg_msec",
        TimeUnit::Millis,
        "0",
        "Log averages over this time (ms)",
        |job, time| {
            job.stream.logs.average = time;
        },
    ),
    choice(
        "log_window_value",
        &[
            ("avg", "the mean"),
            ("max", "the largest"),
            ("both", "the mean, then the largest"),
            ("0", "the mean"),
            ("1", "the largest"),
        ],
        "avg",
        "What is logged of the I/Os of that time",
        |job, what| {
            job.stream.logs.window_value = match what {
                "max" | "1" => WindowValue::Max,
                "both" => WindowValue::Both,
                _ => WindowValue::Mean,
            };
        },
    )
    .alias(&["log_max_value"]),
    time(
        "log_hist_msec",
        TimeUnit::Millis,
        "0",
        "Log a histogram that often (ms)",
        |job, time| {
            job.stream.logs.histogram_interval = time;
        },
    ),
    count(
        "log_hist_coarseness",
        (0, 6),
        "0",
        "Put 2 to the power of this many bins together",
        |job, n| {
            job.stream.logs.histogram_coarseness = u8::try_from(n).unwrap_or(0);
        },
    ),
    flag("log_offset", "0", "Log offsets", |job, on| {
        job.stream.logs.offset = on
    }),
    flag("log_prio", "0", "Log priorities", |job, on| {
        job.stream.logs.priority = on
    }),
    flag(
        "log_issue_time",
        "0",
        "Log when I/Os were issued",
        |job, on| {
            job.stream.logs.issue_time = on;
        },
    ),
    flag("log_unix_epoch", "0", "Log times since 1970", |job, on| {
        job.stream.logs.unix_epoch = on
    }),
    flag(
        "log_alternate_epoch",
        "0",
        "Log times of another clock",
        |job, on| {
            job.alternate_epoch = on;
        },
    ),
    signed(
        "log_alternate_epoch_clock_id",
        (0, i32::MAX as u64),
        "0",
        "Number of that clock",
        |job, id| {
            job.stream.logs.epoch_clock = i32::try_from(id).ok();
        },
    ),
    text(
        "log_compression",
        "bytes",
        "",
        "Compress entries in memory from this size on",
        |job, reader, value| {
            let bytes = reader.count(value)?;
            if !(1024..=512 << 20).contains(&bytes) {
                return Err(format!("'{value}' is not within 1k and 512m"));
            }
            job.stream.logs.compress_from = bytes;
            Ok(())
        },
    ),
    flag(
        "log_store_compressed",
        "0",
        "Store logs compressed",
        |job, on| {
            job.stream.logs.store_compressed = on;
        },
    ),
    no_effect(
        "log_compression_cpus",
        "processors",
        "Where logs are compressed",
        "the job's own thread compresses after its end",
    ),
    no_effect(
        "log_entries",
        "number",
        "Entries of a log to make room for",
        "logs grow as needed",
    ),
];
