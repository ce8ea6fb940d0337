//! Engines and their options.

use super::pace::{by_size, each_up_to};
use super::table::options;
use crate::nearest;
use assay_model::job::EngineKind;
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
pub(super) fn unknown(name: &str) -> String {
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
