//! Options for the course of a job: its order among other jobs, amount, duration, pace, processes
//! and processors, zones, recording and replaying.

use super::table::{OptionReader, TimeUnit, not_one_of, options};
use crate::fio::JobDraft;
use crate::fio::value::duration;
use assay_model::load::{ExitWhat, Extent, Range};
use assay_model::units::Nanos;
use std::collections::BTreeSet;

options! {
    pub(super) static ORDER:

    text("name", "text", "", "Name of the job; on the command line it begins one") [stream.name];
    text("description", "text", "", "Free text about the job") [stream.description];
    count("numjobs", (1, u32::MAX as u64), "1", "Run this many copies of the job") [copies];
    switch("stonewall", "Start when all jobs above have ended") [stonewall]
        .alias(&["wait_for_previous"]);
    switch("new_group", "Start a new group for the report") [new_group];
    switch("group_reporting", "Report the jobs of a group as one") [stream.stats.group_reporting];
    text("wait_for", "name of a job", "", "Start when the job of that name has ended")
        [stream.schedule.wait_for];
    text("startdelay", "time, or two with - between (seconds)", "0",
        "Wait that long before the start")
        [stream.schedule.start_delay = |_, value| {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            let low = duration(low, TimeUnit::Seconds)?.0;
            let high = duration(high, TimeUnit::Seconds)?.0;
            Ok(Range { min: low.min(high), max: low.max(high) })
        }];
    switch("exitall", "When a job has ended, end the others") [exit_all];
    choice("exit_what", "group", "Which others exitall ends") [exit_what] {
        "group": "the jobs of its group" => ExitWhat::Group,
        "stonewall": "the jobs of its wave" => ExitWhat::Stonewall,
        "all": "all jobs" => ExitWhat::All,
    };
    switch("exitall_on_error", "When the job has failed, end the others")
        [stream.schedule.exit_all_on_error];
    text("exec_prerun", "shell command", "", "Run this before the job")
        [stream.schedule.exec_before];
    text("exec_postrun", "shell command", "", "Run this after the job")
        [stream.schedule.exec_after];
    switch("thread", "Use a thread instead of a process") [!stream.process.forked]
        .differs("every job is a thread, with and without this");
    refused("profile", "name", "", "Use a built-in workload",
        "fio's profiles (act, tiobench) are programs within fio; write their jobs down");
    no_effect("threads", "number", "Number of threads of fio's tiobench profile",
        "fio too ignores it without that profile; did you mean thread?");
    no_effect("create_serialize", "0 or 1", "Lay out the files of one job after the other",
        "files are always laid out one job after the other");
}

options! {
    pub(super) static LENGTH:

    time("runtime", TimeUnit::Seconds, "0", "End after that time at the latest")
        [stream.length.runtime = |time| (time > Nanos(0)).then_some(time)].alias(&["timeout"])
        .differs("when it cuts a job without time_based short, that is said");
    switch("time_based", "Go on until runtime is over") [stream.length.time_based];
    time("ramp_time", TimeUnit::Seconds, "0", "Run that long before measuring")
        [stream.length.ramp_time];
    count("loops", (0, u64::MAX), "1", "How often the whole is done; 0 is once")
        [stream.length.loops = |n| n.max(1)];
    extent("io_size", "", "Bytes to move, where that is not size")
        [stream.length.io_size = |size| (size != Extent::Bytes(0)).then_some(size)]
        .alias(&["io_limit"]);
    count("number_ios", (0, u64::MAX), "0", "End after that many I/Os")
        [stream.length.number_ios = |n| (n > 0).then_some(n)];
    flag("fill_device", "0", "Write until there is no space") [stream.length.fill_device]
        .alias(&["fill_fs"]);
    choice("clocksource", "clock_gettime", "Which clock is read", |_, _| {}) {
        "clock_gettime": "the monotonic clock",
        "gettimeofday": "the same in assay",
        "cpu": "the same in assay",
    }.differs("the monotonic clock is read whatever is asked for");
    no_effect("gtod_cpu", "number of a processor", "Leave reading the clock to one processor",
        "each thread reads the clock itself, which costs less than sharing it");
}

options! {
    pub(super) static PACE:

    each_bytes("rate", "", "Most bytes per second; of reads, writes and trims") [stream.pace.rate];
    each_bytes("rate_min", "", "Least bytes per second, or the job fails") [stream.pace.rate_min]
        .alias(&["ratemin"]);
    each_bytes("rate_iops", "", "Most I/Os per second") [stream.pace.rate_iops];
    each_bytes("rate_iops_min", "", "Least I/Os per second, or the job fails")
        [stream.pace.rate_iops_min];
    time("rate_cycle", TimeUnit::Millis, "1000", "Time over which least rates are looked at (ms)")
        [stream.pace.rate_cycle].alias(&["ratecycle"]);
    choice("rate_process", "linear", "How I/Os come under a rate") [stream.pace.poisson] {
        "linear": "I/Os come evenly" => false,
        "poisson": "I/Os come as a Poisson process" => true,
    };
    flag("rate_ignore_thinktime", "0", "Pauses do not count against the rate")
        [stream.pace.ignore_think_time];
    time("thinktime", TimeUnit::Micros, "0", "Pause after some blocks") [think.pause];
    time("thinktime_spin", TimeUnit::Micros, "0",
        "Keep the processor busy for that part of a pause") [think.spin];
    count("thinktime_blocks", (0, u32::MAX as u64), "1", "Blocks between two pauses")
        [think.blocks];
    choice("thinktime_blocks_type", "complete", "Which blocks count") [think.count_issued] {
        "complete": "completed blocks" => false,
        "issue": "issued blocks" => true,
    };
    time("thinktime_iotime", TimeUnit::Seconds, "0", "Time of I/O between two pauses")
        [think.io_time];
    text("max_latency", "time, one to three times (microseconds)", "",
        "A slower I/O ends the job with an error")
        [stream.pace.max_latency = |reader, value| {
            reader.each(value, |_, text| duration(text, TimeUnit::Micros))
        }];
    time("latency_target", TimeUnit::Micros, "0", "Look for the depth that keeps this latency")
        [latency.target];
    time("latency_window", TimeUnit::Micros, "0", "Time over which the latency is looked at")
        [latency.window];
    text("latency_percentile", "percent", "100", "Share of I/Os that must keep the latency")
        [latency.percentile = |reader, value| match reader.float(value)? {
            percent if percent > 0.0 && percent <= 100.0 => Ok(percent),
            _ => Err(format!("'{value}' is not within 0 and 100 percent")),
        }];
    flag("latency_run", "0", "Go on at the depth that was found") [latency.run];
    signed("flow_id", (i64::MIN, i64::MAX as u64), "0", "Jobs of the same number keep step")
        [flow.id];
    count("flow", (0, 1000), "0", "Share of this job among those of its flow_id") [flow.weight];
    time("flow_sleep", TimeUnit::Micros, "0", "Pause of a job that is ahead") [flow.sleep];
    no_effect("flow_watermark", "number", "Not used any more", "fio dropped it");
}

const ZONED: &str = "zoned devices are not supported";
const NUMA: &str = "use numactl around assay";
const CGROUP: &str = "start assay in the cgroup instead";

options! {
    pub(super) static PROCESSES:

    signed("nice", (-20, 19), "0", "Nice value of the job") [stream.process.nice];
    count("prio", (0, 7), "", "I/O priority, 0 is the highest") [stream.process.io_priority];
    count("prioclass", (0, 3), "", "Class of the I/O priority: 1 real time, 2 best effort, 3 idle")
        [stream.process.io_class];
    text("cpus_allowed", "processors, as in 0,2-5", "", "Run on these processors")
        [stream.process.cpus = processors];
    text("cpumask", "number", "", "Run on the processors whose bits are set")
        [stream.process.cpus = masked_processors];
    choice("cpus_allowed_policy", "shared", "How copies share the processors")
        [stream.process.split_cpus]
    {
        "shared": "all copies on all of them" => false,
        "split": "each copy on one of them" => true,
    };
    refused("numa_cpu_nodes", "nodes", "", "Run on these NUMA nodes", NUMA);
    refused("numa_mem_policy", "policy", "", "Where memory is taken from", NUMA);
    refused("cgroup", "path", "", "Run in this cgroup", CGROUP);
    refused("cgroup_weight", "number", "", "Weight of the cgroup", CGROUP);
    refused("cgroup_nodelete", "0 or 1", "0", "Keep the cgroup afterwards", CGROUP);
    refused("uid", "number", "", "Run as this user", "start assay as that user");
    refused("gid", "number", "", "Run as this group", "start assay as that group");
    text("zonemode", "none or strided", "none", "Work in a window, then step to the next")
        [strided = |_, mode| match mode {
            "none" => Ok(false),
            "strided" => Ok(true),
            "zbd" => Err(ZONED.to_owned()),
            other => Err(not_one_of(other, ["none", "strided"].into_iter())),
        }]
        .differs("zbd, the zones of a zoned device, is refused");
    bytes("zonesize", "0", "Bytes done in a zone") [zones.size];
    bytes("zonerange", "0", "Length of a zone") [zones.range];
    bytes("zoneskip", "0", "Gap between zones") [zones.skip];
    refused("zonecapacity", "bytes", "0", "Usable bytes of a zone", ZONED);
    refused("read_beyond_wp", "0 or 1", "0", "Read behind the write pointer", ZONED);
    refused("max_open_zones", "number", "0", "Most open zones", ZONED);
    refused("job_max_open_zones", "number", "0", "Most open zones of a job", ZONED);
    refused("ignore_zone_limits", "0 or 1", "0", "Do not ask the device for its limit", ZONED);
    refused("zone_reset_threshold", "number", "", "When zones are reset", ZONED);
    refused("zone_reset_frequency", "number", "", "How often zones are reset", ZONED);
}

/// Parses a list of processors: `0,2-5`.
pub(super) fn processors(reader: &mut OptionReader<'_>, list: &str) -> Result<Vec<u32>, String> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',').take_while(|part| !part.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| format!("'{text}' is not a number of a processor"))
        };
        let (first, last) = (number(first)?, number(last)?);
        check_processors(reader, last)?;
        cpus.extend(first..=last);
    }
    match cpus.is_empty() {
        true => Err(format!("'{list}' names no processor")),
        false => Ok(cpus.into_iter().collect()),
    }
}

fn masked_processors(reader: &mut OptionReader<'_>, mask: &str) -> Result<Vec<u32>, String> {
    let mask = reader.count(mask)?;
    let cpus = Vec::from_iter((0..64).filter(|cpu| mask >> cpu & 1 == 1));
    check_processors(reader, cpus.last().copied().unwrap_or(0))?;
    Ok(cpus)
}

fn check_processors(reader: &OptionReader<'_>, largest: u32) -> Result<(), String> {
    let there = reader.env.cpus();
    match largest < there {
        true => Ok(()),
        false => Err(format!(
            "there is no processor {largest}: the last is {}",
            there.saturating_sub(1)
        )),
    }
}

const NEWER: &str = "it came after fio 3.33";

options! {
    /// Options that were added after fio 3.33.
    pub(super) static LATER:

    signed("job_start_clock_id", (0, i32::MAX as u64), "0",
        "Number of the clock of the JSON's job_start") [stream.schedule.start_clock];
    refused("ramp_size", "bytes", "0", "Run that many bytes before measuring",
        "it came after fio 3.33; use ramp_time");
    refused("priohint", "number", "0", "Hint beside the I/O priority", NEWER);
    refused("num_range", "number", "1", "Ranges of one trim", NEWER);
    refused("sprandom", "0 or 1", "0", "Precondition a solid state drive", NEWER);
    refused("fdp", "0 or 1", "0", "Place data by hints", NEWER);
    refused("dataplacement", "none, fdp, streams", "none", "Place data by hints", NEWER);
}

options! {
    pub(super) static TRACE:

    text("write_iolog", "path", "", "Record each I/O there (version 3)") [stream.trace.write];
    text("read_iolog", "paths, with : between for copies", "",
        "Replay an iolog (version 2 or 3) or a trace of blktrace") [stream.trace.read];
    flag("read_iolog_chunked", "0", "Read the iolog piece by piece") [stream.trace.read_chunked];
    flag("replay_no_stall", "0", "Replay as fast as possible") [stream.trace.no_stall];
    count("replay_time_scale", (1, 1_000_000), "100", "Times in percent: 200 is half as fast")
        [stream.trace.time_scale_percent];
    text("replay_redirect", "path", "", "Replay everything there") [stream.trace.redirect];
    count("replay_scale", (0, u32::MAX as u64), "1", "Divide offsets by this") [stream.trace.scale];
    text("replay_align", "bytes, a power of 2", "", "Round offsets down to this")
        [stream.trace.align = |reader, value| match u32::try_from(reader.count(value)?) {
            Ok(align) if align.is_power_of_two() => Ok(align),
            _ => Err(format!("'{value}' is not a power of 2")),
        }];
    text("replay_skip", "read, write, trim, sync, with , between", "", "Leave these out", skip);
    refused("merge_blktrace_file", "path", "", "Merge traces into this file", MERGE);
    refused("merge_blktrace_scalars", "numbers, with : between", "",
        "Scale the times of merged traces", MERGE);
    refused("merge_blktrace_iters", "numbers, with : between", "", "Repeat merged traces", MERGE);
}

const MERGE: &str = "traces are not merged; merge them with blkparse or fio first";

/// Parses `read,sync`.
fn skip(job: &mut JobDraft, _: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    for word in value.split(',') {
        match word.trim() {
            "read" => job.stream.trace.skip.read = true,
            "write" => job.stream.trace.skip.write = true,
            "trim" => job.stream.trace.skip.trim = true,
            "sync" => job.stream.trace.skip_sync = true,
            other => {
                let known = ["read", "write", "trim", "sync"];
                return Err(not_one_of(other, known.into_iter()));
            }
        }
    }
    Ok(())
}
