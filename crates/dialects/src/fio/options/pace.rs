//! Pace.

use super::define::TimeUnit;
use super::table::options;
use crate::fio::value::time::duration;

options! {
    pub(super) static OPTIONS:

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
