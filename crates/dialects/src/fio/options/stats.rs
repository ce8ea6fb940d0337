//! Options for statistics, errors and logs.

use super::table::{OptionReader, TimeUnit, not_one_of, options};
use crate::fio::JobDraft;
use assay_model::load::WindowValue;
use assay_model::load::report::{SteadyCriterion, Unified};

options! {
    pub(super) static STATS:

    flag("stats", "1", "Show the job in the report") [stream.stats.shown];
    flag("clat_percentiles", "1", "Percentiles of completion latency")
        [stream.stats.clat_percentiles].differs("they do not saturate at 17 s");
    flag("lat_percentiles", "0", "Percentiles of total latency") [stream.stats.lat_percentiles]
        .differs("they do not saturate at 17 s");
    flag("slat_percentiles", "0", "Percentiles of submission latency")
        [stream.stats.slat_percentiles].differs("they do not saturate at 17 s");
    text("percentile_list", "up to 20 numbers, with : between",
        "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99", "Which percentiles")
        [stream.stats.percentiles = percentiles];
    count("significant_figures", (1, 10), "4", "Of figures in the normal output")
        [stream.stats.significant_figures];
    flag("disk_util", "1", "Show the counters of the disk") [stream.stats.disk_util];
    flag("gtod_reduce", "0", "Read the clock less: no latencies and no bandwidth samples",
        |job, on| {
            if on {
                let stats = &mut job.stream.stats;
                (stats.lat, stats.clat, stats.slat, stats.bandwidth) = (false, false, false, false);
                stats.clat_percentiles = false;
                stats.lat_percentiles = false;
                stats.slat_percentiles = false;
            }
        })
        .differs("latencies are measured nevertheless, but not shown");
    flag("disable_lat", "0", "Do not measure total latency") [!stream.stats.lat]
        .differs("it is measured nevertheless, but not shown");
    flag("disable_clat", "0", "Do not measure completion latency") [!stream.stats.clat]
        .differs("it is measured nevertheless, but not shown");
    flag("disable_slat", "0", "Do not measure submission latency") [!stream.stats.slat]
        .differs("it is measured nevertheless, but not shown");
    flag("disable_bw_measurement", "0", "Do not sample bandwidth") [!stream.stats.bandwidth]
        .differs("it is measured nevertheless, but not shown").alias(&["disable_bw"]);
    time("bwavgtime", TimeUnit::Millis, "500", "Width of bandwidth samples (ms)")
        [stream.stats.bw_interval]
        .differs("both samples have the smaller of the two widths")
        .differs("samples without any I/O count as zero instead of being left out");
    time("iopsavgtime", TimeUnit::Millis, "500", "Width of IOPS samples (ms)")
        [stream.stats.iops_interval]
        .differs("both samples have the smaller of the two widths")
        .differs("samples without any I/O count as zero instead of being left out");
    choice("unified_rw_reporting", "none", "Report directions apart or as one")
        [stream.stats.unified]
    {
        "none": "directions apart" => Unified::Split,
        "mixed": "all directions as one" => Unified::Mixed,
        "both": "both" => Unified::Both,
        "0": "none" => Unified::Split,
        "1": "mixed" => Unified::Mixed,
        "2": "both" => Unified::Both,
    };
    choice("kb_base", "1024", "What units of sizes mean") [stream.stats.kb_base_1000] {
        "1024": "k is 1024 and KiB is 1000" => false,
        "1000": "k is 1000 and KiB is 1024" => true,
    }.differs("KiB, MiB … under kb_base=1024 are warned about");
    choice("unit_base", "0", "Show rates in bytes or bits") [stream.stats.in_bits] {
        "0": "by the engine" => false,
        "8": "bytes" => false,
        "1": "bits" => true,
    };
    text("steadystate", "iops, iops_slope, bw, bw_slope, lat or lat_slope, with :limit",
        "iops_slope:0.01%", "End when the figures are steady", steady_state)
        .alias(&["ss"]);
    time("steadystate_duration", TimeUnit::Seconds, "0", "Window of a steady state")
        [steady_duration].alias(&["ss_dur"]);
    time("steadystate_ramp_time", TimeUnit::Seconds, "0",
        "Time before a steady state is looked for") [steady_ramp]
        .alias(&["ss_ramp"]);
    choice("continue_on_error", "none", "Which errors do not end the job", |job, what| {
        let errors = &mut job.stream.errors;
        errors.continue_on_read = matches!(what, "read" | "io" | "all" | "1");
        errors.continue_on_write = matches!(what, "write" | "io" | "all" | "1");
        errors.continue_on_verify = matches!(what, "verify" | "all" | "1");
    }) {
        "none": "end at any error",
        "read": "go on after failed reads",
        "write": "go on after failed writes",
        "io": "go on after both",
        "verify": "go on after mismatches",
        "all": "go on after all of them",
        "0": "none",
        "1": "all",
    }.differs("a mismatch of data is never exit code 0, whether the job went on or not");
    text("ignore_error",
        "error names or numbers with : between; of reads, writes and checks with , between", "",
        "Errors that are none", ignore_error);
    flag("error_dump", "0", "Say which errors were ignored") [stream.errors.say_ignored];
    refused("block_error_percentiles", "0 or 1", "0", "Histogram of errors of erase blocks",
        "it is for the mtd engine, which assay does not have");
}

/// Parses `50:99:99.9`.
fn percentiles(reader: &mut OptionReader<'_>, value: &str) -> Result<Vec<f64>, String> {
    let list = value
        .split(':')
        .map(|text| reader.float(text))
        .collect::<Result<Vec<f64>, _>>()?;
    if list.len() > 20 || list.iter().any(|p| !(*p > 0.0 && *p <= 100.0)) {
        return Err("write up to 20 numbers above 0 and up to 100".to_owned());
    }
    Ok(list)
}

/// Parses `iops:0.3%`, `bw:10m`.
fn steady_state(
    job: &mut JobDraft,
    reader: &mut OptionReader<'_>,
    value: &str,
) -> Result<(), String> {
    let (name, limit) = value
        .split_once(':')
        .ok_or("a limit is missing: write as in iops:0.3%")?;
    let criterion = match name {
        "iops" => SteadyCriterion::Iops,
        "iops_slope" => SteadyCriterion::IopsSlope,
        "bw" => SteadyCriterion::Bw,
        "bw_slope" => SteadyCriterion::BwSlope,
        "lat" => SteadyCriterion::Lat,
        "lat_slope" => SteadyCriterion::LatSlope,
        _ => {
            let known = ["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"];
            return Err(not_one_of(name, known.into_iter()));
        }
    };
    let bandwidth = matches!(criterion, SteadyCriterion::Bw | SteadyCriterion::BwSlope);
    let (number, percent) = match limit.trim().strip_suffix('%') {
        Some(number) => (reader.float(number)?, true),
        None if bandwidth => (reader.count(limit)? as f64, false),
        None => (reader.float(limit)?, false),
    };
    if number < 0.0 {
        return Err(format!("'{limit}': a limit may not be negative"));
    }
    job.steady = Some((criterion, number, percent));
    Ok(())
}

/// Names of errors in the order of their numbers, as far as fio knows them.
const ERRORS: [&str; 34] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV",
    "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC",
    "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE",
];

/// Parses `EIO:ENOSPC,,EILSEQ`.
fn ignore_error(job: &mut JobDraft, _: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    let lists: Vec<&str> = value.split(',').collect();
    if lists.len() > 3 {
        return Err("write up to three lists: of reads, writes and checks".to_owned());
    }
    let errors = &mut job.stream.errors;
    let into = [
        (&mut errors.ignore_read, &mut errors.continue_on_read),
        (&mut errors.ignore_write, &mut errors.continue_on_write),
        (&mut errors.ignore_verify, &mut errors.continue_on_verify),
    ];
    for (list, (ignored, goes_on)) in lists.iter().zip(into) {
        *ignored = list
            .split(':')
            .filter(|word| !word.trim().is_empty())
            .map(|word| error_number(word.trim()))
            .collect::<Result<_, _>>()?;
        *goes_on |= !ignored.is_empty();
    }
    Ok(())
}

fn error_number(word: &str) -> Result<i32, String> {
    if word == "EILSEQ" {
        return Ok(84);
    }
    if let Some(index) = ERRORS.iter().position(|name| *name == word) {
        return i32::try_from(index + 1).map_err(|_| word.to_owned());
    }
    word.parse::<i32>()
        .ok()
        .and_then(i32::checked_abs)
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("'{word}' is not a known error; use its number"))
}

options! {
    pub(super) static LOGS:

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
