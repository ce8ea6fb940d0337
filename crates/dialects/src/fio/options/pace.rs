//! Pace.

use super::define::{OptionDef, TimeUnit};
use super::make::{choice, count, each_bytes, flag, no_effect, signed, text, time};
use super::reader::OptionReader;
use crate::fio::job::Each;
use crate::fio::value::time::duration;
use assay_model::load::PerDirection;

pub(super) static OPTIONS: &[OptionDef] = &[
    each_bytes(
        "rate",
        "",
        "Most bytes per second; of reads, writes and trims",
        |job, each| {
            set_each(&mut job.stream.pace.rate, each);
        },
    ),
    each_bytes(
        "rate_min",
        "",
        "Least bytes per second, or the job fails",
        |job, each| {
            set_each(&mut job.stream.pace.rate_min, each);
        },
    )
    .alias(&["ratemin"]),
    each_bytes("rate_iops", "", "Most I/Os per second", |job, each| {
        set_each(&mut job.stream.pace.rate_iops, each);
    }),
    each_bytes(
        "rate_iops_min",
        "",
        "Least I/Os per second, or the job fails",
        |job, each| {
            set_each(&mut job.stream.pace.rate_iops_min, each);
        },
    ),
    time(
        "rate_cycle",
        TimeUnit::Millis,
        "1000",
        "Time over which least rates are looked at (ms)",
        |job, time| {
            job.stream.pace.rate_cycle = time;
        },
    )
    .alias(&["ratecycle"]),
    choice(
        "rate_process",
        &[
            ("linear", "I/Os come evenly"),
            ("poisson", "I/Os come as a Poisson process"),
        ],
        "linear",
        "How I/Os come under a rate",
        |job, how| job.stream.pace.poisson = how == "poisson",
    ),
    flag(
        "rate_ignore_thinktime",
        "0",
        "Pauses do not count against the rate",
        |job, on| {
            job.stream.pace.ignore_think_time = on;
        },
    ),
    time(
        "thinktime",
        TimeUnit::Micros,
        "0",
        "Pause after some blocks",
        |job, time| {
            job.think.pause = time;
        },
    ),
    time(
        "thinktime_spin",
        TimeUnit::Micros,
        "0",
        "Keep the processor busy for that part of a pause",
        |job, time| {
            job.think.spin = time;
        },
    ),
    count(
        "thinktime_blocks",
        (0, u32::MAX as u64),
        "1",
        "Blocks between two pauses",
        |job, n| {
            job.think.blocks = u32::try_from(n).unwrap_or(u32::MAX);
        },
    ),
    choice(
        "thinktime_blocks_type",
        &[("complete", "completed blocks"), ("issue", "issued blocks")],
        "complete",
        "Which blocks count",
        |job, how| job.think.count_issued = how == "issue",
    ),
    time(
        "thinktime_iotime",
        TimeUnit::Seconds,
        "0",
        "Time of I/O between two pauses",
        |job, time| {
            job.think.io_time = time;
        },
    ),
    text(
        "max_latency",
        "time, one to three times (microseconds)",
        "",
        "A slower I/O ends the job with an error",
        |job, reader, value| {
            let each = reader.each(value, |_, text| duration(text, TimeUnit::Micros))?;
            set_each(&mut job.stream.pace.max_latency, each);
            Ok(())
        },
    ),
    time(
        "latency_target",
        TimeUnit::Micros,
        "0",
        "Look for the depth that keeps this latency",
        |job, time| {
            job.latency.target = time;
        },
    ),
    time(
        "latency_window",
        TimeUnit::Micros,
        "0",
        "Time over which the latency is looked at",
        |job, time| {
            job.latency.window = time;
        },
    ),
    text(
        "latency_percentile",
        "percent",
        "100",
        "Share of I/Os that must keep the latency",
        |job, reader: &mut OptionReader<'_>, value| {
            let percent = reader.float(value)?;
            if !(percent > 0.0 && percent <= 100.0) {
                return Err(format!("'{value}' is not within 0 and 100 percent"));
            }
            job.latency.percentile = percent;
            Ok(())
        },
    ),
    flag(
        "latency_run",
        "0",
        "Go on at the depth that was found",
        |job, on| job.latency.run = on,
    ),
    signed(
        "flow_id",
        (i64::MIN, i64::MAX as u64),
        "0",
        "Jobs of the same number keep step",
        |job, id| {
            job.flow.id = id;
        },
    ),
    count(
        "flow",
        (0, 1000),
        "0",
        "Share of this job among those of its flow_id",
        |job, weight| {
            job.flow.weight = u32::try_from(weight).unwrap_or(0);
        },
    ),
    time(
        "flow_sleep",
        TimeUnit::Micros,
        "0",
        "Pause of a job that is ahead",
        |job, time| {
            job.flow.sleep = time;
        },
    ),
    no_effect(
        "flow_watermark",
        "number",
        "Not used any more",
        "fio dropped it",
    ),
];

/// Takes over what was said.
fn set_each<T: Copy>(into: &mut PerDirection<T>, each: Each<T>) {
    let [read, write, trim] = each;
    into.read = read.unwrap_or(into.read);
    into.write = write.unwrap_or(into.write);
    into.trim = trim.unwrap_or(into.trim);
}
