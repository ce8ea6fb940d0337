//! Options for amount and duration of I/O; engine, depth, caches and flushes.

use super::engines::{engine, simulated};
use super::table::{OptionReader, TimeUnit, options};
use crate::fio::JobDraft;
use assay_model::job::{EngineKind, FlushCall, OpenSync};
use assay_model::load::{Extent, SyncFileRange};
use assay_model::units::Nanos;

options! {
    pub(super) static OPTIONS:

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
    pub(super) static ENGINE:

    text("ioengine", "name of an engine", "psync", "How I/O is handed to the kernel", io_engine);
    count("iodepth", (1, 1 << 16), "1", "I/Os kept in flight") [stream.engine.iodepth]
        .differs("above 1 with a synchronous engine is warned about");
    count("iodepth_batch", (0, 1 << 16), "1", "I/Os handed over together; 0: iodepth")
        [stream.engine.batch].alias(&["iodepth_batch_submit"]);
    count("iodepth_batch_complete_min", (0, 1 << 16), "1", "Completions to wait for; 0: only look")
        [stream.engine.batch_complete_min]
        .differs("a full queue is waited for until one is back, with 0 too")
        .alias(&["iodepth_batch_complete"]);
    count("iodepth_batch_complete_max", (0, 1 << 16), "",
        "Most completions to take at once; not below iodepth_batch_complete_min")
        [stream.engine.batch_complete_max];
    count("iodepth_low", (0, 1 << 16), "", "When full, drain to this depth; 0: iodepth")
        [stream.engine.iodepth_low];
    flag("serialize_overlap", "0", "I/Os that overlap are not in flight together")
        [stream.engine.serialize_overlap];
    choice("io_submit_mode", "inline", "Who submits I/O", |_, _| {}) {
        "inline": "the job itself submits",
        "offload": "other threads submit",
    }.differs("offload: the thread of the job submits, too");
    flag("direct", "0", "Use O_DIRECT") [stream.durability.direct];
    flag("buffered", "1", "Do not use O_DIRECT") [!stream.durability.direct];
    refused("atomic", "0 or 1", "0", "Use atomic writes",
        "kernels never had the flag that fio 3 sets");
    choice("sync", "none", "Flags that make each write durable on return")
        [stream.durability.sync]
    {
        "none": "neither flag" => OpenSync::None,
        "0": "neither flag" => OpenSync::None,
        "sync": "O_SYNC" => OpenSync::Sync,
        "1": "O_SYNC" => OpenSync::Sync,
        "dsync": "O_DSYNC" => OpenSync::Dsync,
    };
    count("fsync", (0, u32::MAX as u64), "0", "fsync after that many writes")
        [stream.durability.fsync];
    count("fdatasync", (0, u32::MAX as u64), "0", "fdatasync after that many writes")
        [stream.durability.fdatasync];
    text("sync_file_range", "wait_before, write, wait_after, with , between, and :number", "",
        "sync_file_range(2) after that many writes", sync_file_range);
    flag("end_fsync", "0", "fsync after the last write")
        [stream.durability.at_end = |on| on.then_some(FlushCall::Fsync)];
    flag("fsync_on_close", "0", "fsync before each close") [stream.durability.fsync_on_close];
    refused("write_barrier", "number", "0", "Make each so manieth write a barrier",
        "kernels have no barriers any more; use fsync or fdatasync");
    flag("invalidate", "1", "Drop the files' pages from the cache first") [stream.files.invalidate];
}

fn io_engine(job: &mut JobDraft, _: &mut OptionReader<'_>, name: &str) -> Result<(), String> {
    match engine(name).map(|engine| engine.kind) {
        Some(Ok(kind)) => {
            job.simulated = match kind {
                EngineKind::Sim => Some(simulated(name)?),
                _ => None,
            };
            job.stream.engine.kind = kind;
            kind.name().clone_into(&mut job.engine);
            Ok(())
        }
        Some(Err(why)) => Err(format!("fio's engine '{name}' is not supported: {why}")),
        None => Err(super::engines::unknown(name)),
    }
}

/// Parses `wait_before,write:32`.
fn sync_file_range(
    job: &mut JobDraft,
    reader: &mut OptionReader<'_>,
    value: &str,
) -> Result<(), String> {
    let (flags, every) = value.split_once(':').unwrap_or((value, "1"));
    let mut range = SyncFileRange {
        every: u32::try_from(reader.count(every)?)
            .map_err(|_| format!("'{every}' is too large"))?,
        ..SyncFileRange::default()
    };
    for flag in flags.split(',') {
        match flag.trim() {
            "wait_before" => range.wait_before = true,
            "write" => range.write = true,
            "wait_after" => range.wait_after = true,
            other => {
                let known = ["wait_before", "write", "wait_after"];
                return Err(super::table::not_one_of(other, known.into_iter()));
            }
        }
    }
    job.stream.durability.sync_file_range = (range.every > 0).then_some(range);
    Ok(())
}
