//! Engines, the options of submission that all engines share, and options of single engines.

use super::table::{OptionReader, options};
use crate::fio::{CommandPriorities, Each, JobDraft, SizeShare};
use assay_model::job::{EngineKind, FlushCall, OpenSync, QueueMode};
use assay_model::load::{IoPriority, PerDirection, PriorityShare, SyncFileRange};
use assay_model::text::nearest;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Engine of fio.
pub(in crate::fio) struct EngineDef {
    /// fio's name.
    pub(in crate::fio) name: &'static str,
    /// assay's engine of that name, or the reason for which it is refused.
    pub(in crate::fio) kind: Result<EngineKind, &'static str>,
}

const fn works(name: &'static str, kind: EngineKind) -> EngineDef {
    EngineDef {
        name,
        kind: Ok(kind),
    }
}

const fn not(name: &'static str, why: &'static str) -> EngineDef {
    EngineDef {
        name,
        kind: Err(why),
    }
}

const NETWORK: &str = "it measures a network, not storage";
const CLUSTER: &str = "it needs the library of a cluster's storage";
const MEMORY: &str = "it needs a library for persistent memory";
const FOREIGN: &str = "it is for another operating system";

/// Every engine name of fio.
pub(in crate::fio) static ENGINES: &[EngineDef] = &[
    works("psync", EngineKind::Psync),
    works("sync", EngineKind::Sync),
    works("vsync", EngineKind::Vsync),
    works("pvsync", EngineKind::Pvsync),
    works("pvsync2", EngineKind::Pvsync2),
    works("libaio", EngineKind::Libaio),
    works("linuxaio", EngineKind::Libaio),
    works("posixaio", EngineKind::Posixaio),
    works("io_uring", EngineKind::IoUring),
    works("mmap", EngineKind::Mmap),
    works("null", EngineKind::Null),
    works("sim", EngineKind::Sim),
    works("filecreate", EngineKind::FileCreate),
    works("filestat", EngineKind::FileStat),
    works("filedelete", EngineKind::FileDelete),
    works("ftruncate", EngineKind::Ftruncate),
    works("falloc", EngineKind::Falloc),
    not("cpuio", "it measures processors, not storage"),
    not("net", NETWORK),
    not("netsplice", NETWORK),
    not("rdma", NETWORK),
    not("librpma_apm", NETWORK),
    not("librpma_apm_client", NETWORK),
    not("librpma_apm_server", NETWORK),
    not("librpma_gpspm", NETWORK),
    not("librpma_gpspm_client", NETWORK),
    not("librpma_gpspm_server", NETWORK),
    not("http", NETWORK),
    not("nbd", NETWORK),
    not("nfs", NETWORK),
    not("splice", "it measures pipes; use psync or io_uring"),
    not(
        "exec",
        "it starts programs; use exec_prerun or a script around assay",
    ),
    not(
        "sg",
        "it sends SCSI commands past the block layer; use psync with direct=1",
    ),
    not(
        "io_uring_cmd",
        "it sends NVMe commands past the block layer; use io_uring with direct=1",
    ),
    not("mtd", "it is for raw flash without a controller"),
    not("e4defrag", "it defragments ext4 instead of doing I/O"),
    not("gfapi", CLUSTER),
    not("gfapi_async", CLUSTER),
    not("rados", CLUSTER),
    not("rbd", CLUSTER),
    not("libhdfs", CLUSTER),
    not("dfs", CLUSTER),
    not("ime_psync", CLUSTER),
    not("ime_psyncv", CLUSTER),
    not("ime_aio", CLUSTER),
    not("pmemblk", MEMORY),
    not("dev-dax", MEMORY),
    not("libpmem", MEMORY),
    not("libcufile", "it needs a GPU's library"),
    not("libblkio", "it needs the library libblkio"),
    not("libzbc", "zoned devices are not supported"),
    not("xnvme", "it needs the library xNVMe"),
    works("dircreate", EngineKind::DirCreate),
    works("dirstat", EngineKind::DirStat),
    works("dirdelete", EngineKind::DirDelete),
    not("guasi", "it was dropped by its own authors"),
    not("syslet-rw", "no kernel has it"),
    not("libiscsi", NETWORK),
    not(
        "cpp_null",
        "it is an example of how to write an engine; use null",
    ),
    not("solarisaio", FOREIGN),
    not("windowsaio", FOREIGN),
    not("external", "engines cannot be loaded from files"),
];

/// Finds an engine by name. Text after a colon, such as a path, is ignored.
pub(in crate::fio) fn engine(name: &str) -> Option<&'static EngineDef> {
    let name = name.split(':').next().unwrap_or(name);
    ENGINES.iter().find(|engine| engine.name == name)
}

/// Returns the simulated device in a value such as `sim:PART`, as a path.
///
/// # Errors
/// When no device follows the name of the engine.
pub(in crate::fio) fn simulated(value: &str) -> Result<PathBuf, String> {
    match value.split_once(':') {
        Some(("sim", part)) if !part.is_empty() => Ok(PathBuf::from(value)),
        _ => Err(
            "name a simulated device: ioengine=sim:PART or sim:FILE.toml, and ,policy=WORD \
             (assay model simulate --parts lists the parts)"
                .to_owned(),
        ),
    }
}

/// Returns the message for an unknown engine, with a suggestion.
fn unknown(name: &str) -> String {
    match nearest(name, ENGINES.iter().map(|engine| engine.name)) {
        Some(near) => format!("there is no engine '{name}'; did you mean '{near}'?"),
        None => format!("there is no engine '{name}'; 'assay fio --enghelp' lists them"),
    }
}

const AIO: &[&str] = &["libaio", "io_uring", "io_uring_cmd"];
const URING: &[&str] = &["io_uring", "io_uring_cmd"];
const NET: &[&str] = &["net", "netsplice"];

options! {
    pub(super) static OPTIONS:

    switch("hipri", "Poll for completions") [stream.engine.hipri]
        .of(&["io_uring", "pvsync2", "io_uring_cmd", "sg"]);
    refused("hipri_percentage", "percent", "100", "Poll for that share of I/Os",
        "it is all or none: use hipri")
        .of(&["pvsync2"]);
    switch("fixedbufs", "Register buffers with the kernel", |_, _| {})
        .differs("accepted, but buffers are not registered").of(URING);
    switch("registerfiles", "Register files with the kernel") [stream.engine.register_files]
        .of(URING);
    switch("sqthread_poll", "A thread of the kernel submits") [stream.engine.sq_thread_poll]
        .of(URING);
    refused("sqthread_poll_cpu", "number of a processor", "", "Where that thread runs",
        "the kernel chooses the processor")
        .of(URING);
    flag("nowait", "0", "Fail instead of waiting in the call") [stream.engine.nowait]
        .of(&["libaio", "io_uring", "pvsync2", "io_uring_cmd"]);
    no_effect("nonvectored", "0 or 1", "Use calls without vectors", "they always are used")
        .of(URING);
    refused("uncached", "0 or 1", "0", "Drop pages after the I/O",
        "no released kernel had the flag that fio 3 sets")
        .of(&["io_uring", "pvsync2", "io_uring_cmd"]);
    refused("force_async", "number", "0", "Hand each so manieth I/O to a thread of the kernel",
        "it is a means to test the kernel")
        .of(URING);
    absent("cmd_type", "nvme", "nvme", "Which commands io_uring_cmd sends")
        .of(&["io_uring_cmd", "io_uring"]);
    text("cmdprio_percentage", "percent, of reads and writes", "0",
        "Share of I/Os with a priority of their own")
        [priorities.percent = |reader, value| each_up_to(reader, value, 100)].of(AIO);
    text("cmdprio_class", "1 to 3, of reads and writes", "1", "Class of that priority")
        [priorities.class = |reader, value| each_up_to(reader, value, 3)].of(AIO);
    text("cmdprio", "0 to 7, of reads and writes", "0", "Level of that priority, 0 is the highest")
        [priorities.level = |reader, value| each_up_to(reader, value, 7)].of(AIO);
    text("cmdprio_bssplit",
        "size/percent or size/percent/class/level, with : between, of reads and writes", "",
        "Shares and priorities by block size", by_size)
        .differs("a class above 3 and a level above 7 are refused; fio takes the largest").of(AIO);
    no_effect("userspace_reap", "nothing, 0 or 1", "Take completions without a system call",
        "completions are taken by io_getevents")
        .switch().of(&["libaio"]);
    refused("stat_type", "stat, lstat, statx", "stat", "Which call asks for attributes",
        "filestat uses stat")
        .of(&["filestat"]);
    refused("thp", "0 or 1", "0", "Ask for huge pages", "mapped files have none").of(&["mmap"]);
}

options! {
    /// Options of engines that assay lacks.
    pub(super) static ABSENT:

    absent("cpuload", "percent", "", "Load of the processor").of(&["cpuio"]);
    absent("cpumode", "text", "noop", "How the processor is loaded").of(&["cpuio"]);
    absent("cpuchunks", "time", "50000", "Length of a piece of load").of(&["cpuio"]);
    absent("exit_on_io_done", "0 or 1", "0", "End when jobs with I/O have").of(&["cpuio"]);
    absent("hostname", "name", "", "Host to talk to").of(&["net", "netsplice", "rdma"]);
    absent("port", "number", "", "Port to talk to").of(&["net", "netsplice", "rdma"]);
    absent("protocol", "tcp, udp, unix", "", "Protocol to talk").of(NET);
    absent("nodelay", "0 or 1", "0", "Send small packets at once").of(NET);
    absent("listen", "nothing, 0 or 1", "", "Wait for connections").switch().of(NET);
    absent("pingpong", "nothing, 0 or 1", "", "Answer each packet").switch().of(NET);
    absent("interface", "address", "", "Interface of the network").of(NET);
    absent("ttl", "number", "", "Hops of a packet").of(NET);
    absent("window_size", "bytes", "", "Size of the socket's buffer").of(NET);
    absent("mss", "bytes", "", "Largest segment").of(NET);
    absent("bindname", "address", "", "Own address").of(&["rdma"]);
    absent("verb", "name", "", "Which verb").of(&["rdma"]);
    absent("program", "path", "", "Program to start").of(&["exec"]);
    absent("arguments", "text", "", "Its arguments").of(&["exec"]);
    absent("grace_time", "time", "", "Time before it is killed").of(&["exec"]);
    absent("std_redirect", "0 or 1", "", "Where its output goes").of(&["exec"]);
    absent("donorname", "path", "", "File that gives blocks").of(&["e4defrag"]);
    absent("inplace", "number", "", "Allocate in the same step").of(&["e4defrag"]);
    absent("volume", "name", "", "Name of the volume").of(&["gfapi", "gfapi_async"]);
    absent("brick", "name", "", "Name of the brick").of(&["gfapi", "gfapi_async"]);
    absent("single-instance", "0 or 1", "", "One instance only").of(&["gfapi", "gfapi_async"]);
    absent("skip_bad", "0 or 1", "0", "Skip bad blocks").of(&["mtd"]);
    absent("readfua", "0 or 1", "0", "Force unit access on reads").of(&["sg"]);
    absent("writefua", "0 or 1", "0", "Force unit access on writes").of(&["sg"]);
    absent("sg_write_mode", "name", "write", "Which write command").of(&["sg"]);
    absent("stream_id", "number", "", "Number of the stream").of(&["sg"]);
    absent("uri", "address", "", "Address of the export").of(&["nbd"]);
    absent("clustername", "name", "", "Name of the cluster").of(&["rados", "rbd"]);
    absent("rbdname", "name", "", "Name of the image").of(&["rbd"]);
    absent("pool", "name", "", "Name of the pool").of(&["rados", "rbd", "dfs"]);
    absent("clientname", "name", "", "Name of the client").of(&["rados", "rbd"]);
    absent("conf", "path", "", "File of settings").of(&["rados"]);
    absent("busy_poll", "0 or 1", "0", "Poll for completions").of(&["rados", "rbd"]);
    absent("touch_objects", "0 or 1", "1", "Make objects first").of(&["rados"]);
}

options! {
    pub(super) static SUBMISSION:

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
        None => Err(unknown(name)),
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

/// Largest number of entries in a list.
const MOST_ENTRIES: usize = 256;
const REAL_TIME: u8 = 1;

/// Parses a number up to `most` for each direction.
fn each_up_to(reader: &mut OptionReader<'_>, value: &str, most: u8) -> Result<Each<u8>, String> {
    reader.each(value, |reader, text| up_to(reader, text, most))
}

/// Parses `4k/25/1/0:64k/10`, for reads and writes. (fio also accepts a list for trims, but
/// does not use it.)
fn by_size(job: &mut JobDraft, r: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    let lists: Vec<&str> = value.split(',').collect();
    if lists.len() > 3 {
        return Err(format!(
            "'{value}': write one or two lists, for reads and writes"
        ));
    }
    for direction in 0..2 {
        let list = lists[direction.min(lists.len() - 1)];
        let entries = list.split(':').take_while(|entry| !entry.trim().is_empty());
        let shares = entries
            .map(|entry| size_share(r, entry))
            .collect::<Result<Vec<_>, _>>()?;
        if shares.len() > MOST_ENTRIES {
            return Err(format!("more than {MOST_ENTRIES} entries"));
        }
        check_sums(&shares)?;
        job.priorities.by_size[direction] = shares;
    }
    Ok(())
}

/// Parses `size`, `size/percent` or `size/percent/class/level`.
fn size_share(reader: &mut OptionReader<'_>, entry: &str) -> Result<SizeShare, String> {
    let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
    let (size, percent, priority) = match parts.as_slice() {
        [size] | [size, ""] => (size, 0, None),
        [size, percent] => (size, up_to(reader, percent, 100)?, None),
        [size, percent, class, level] => {
            let class = up_to(reader, class, 3)?;
            let priority = IoPriority::new(class, up_to(reader, level, 7)?);
            (size, up_to(reader, percent, 100)?, Some(priority))
        }
        _ => {
            return Err(format!(
                "'{entry}': write size/percent or size/percent/class/level"
            ));
        }
    };
    let size = reader.count(size)?;
    Ok(SizeShare {
        size: u32::try_from(size).map_err(|_| format!("'{size}' is too large"))?,
        percent,
        priority,
    })
}

fn check_sums(shares: &[SizeShare]) -> Result<(), String> {
    let mut sums: BTreeMap<u32, u32> = BTreeMap::new();
    for share in shares {
        *sums.entry(share.size).or_default() += u32::from(share.percent);
    }
    match sums.into_iter().find(|(_, sum)| *sum > 100) {
        Some((size, sum)) => Err(format!(
            "the shares of {size} bytes add up to {sum} percent"
        )),
        None => Ok(()),
    }
}

fn up_to(reader: &mut OptionReader<'_>, text: &str, most: u8) -> Result<u8, String> {
    let number = u8::try_from(reader.count(text)?).ok();
    number
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("'{text}' is not within 0 and {most}"))
}

impl CommandPriorities {
    /// Returns the priorities for I/Os of `engine`; empty if the engine cannot set
    /// priorities.
    ///
    /// # Errors
    /// If `cmdprio_percentage` and `cmdprio_bssplit` are both used.
    pub(in crate::fio) fn shares(
        &self,
        engine: EngineKind,
    ) -> Result<PerDirection<Vec<PriorityShare>>, String> {
        let mut shares = PerDirection::default();
        if engine.properties().queue != QueueMode::Kernel {
            return Ok(shares);
        }
        (shares.read, shares.write) = (self.of(0)?, self.of(1)?);
        Ok(shares)
    }

    fn of(&self, direction: usize) -> Result<Vec<PriorityShare>, String> {
        // Without a class, the highest one applies, as in fio.
        let class = self.class[direction].filter(|class| *class > 0);
        let level = self.level[direction].unwrap_or(0);
        let priority = IoPriority::new(class.unwrap_or(REAL_TIME), level);
        let mut shares: Vec<PriorityShare> = self.by_size[direction]
            .iter()
            .map(|share| PriorityShare {
                size: Some(share.size),
                percent: share.percent,
                priority: share.priority.unwrap_or(priority),
            })
            .collect();
        if let Some(percent) = self.percent[direction].filter(|percent| *percent > 0) {
            if !shares.is_empty() {
                return Err(
                    "cmdprio_percentage and cmdprio_bssplit exclude each other: leave one out"
                        .to_owned(),
                );
            }
            shares.push(PriorityShare {
                size: None,
                percent,
                priority,
            });
        }
        shares.retain(|share| share.percent > 0);
        Ok(shares)
    }
}
