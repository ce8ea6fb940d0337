//! Parameters of AndroBench's generations, and assay's own.

use super::DatabaseProfile;
use assay_model::job::{Flush, FlushCall, OpenSync, Rw};
use assay_model::units::Bytes;
use assay_model::work::androbench::{FilePhase, FileStart, Journal, Schema};

const RECORD: Bytes = Bytes::kib(4);
/// Largest number of records that a thread reads or writes at random.
const MOST_RECORDS: u64 = 2048;

/// AndroBench 3: one thread; reads bypass the page cache, each write to a new
/// file is flushed.
pub(super) fn generation_3() -> (Vec<FilePhase>, DatabaseProfile) {
    let read = |name, rw, bs| FilePhase {
        direct: true,
        ..FilePhase::new(name, rw, bs, Bytes::mib(32))
    };
    let write = |name, rw, bs| FilePhase {
        sync: OpenSync::Sync,
        start: FileStart::Empty,
        ..FilePhase::new(name, rw, bs, Bytes::mib(2))
    };
    let seq_write = FilePhase {
        flush: Flush {
            every: Some((1, FlushCall::Fsync)),
            at_end: None,
        },
        ..write("seq-write", Rw::Write, Bytes::kib(256))
    };
    let files = vec![
        read("seq-read", Rw::Read, Bytes::kib(256)),
        seq_write,
        read("rand-read", Rw::RandRead, RECORD),
        write("rand-write", Rw::RandWrite, RECORD),
    ];
    (files, database(Journal::Persist, 300))
}

/// AndroBench 4: eight files; one thread accesses them in order, eight threads
/// at random until the first has completed its records.
pub(super) fn generation_4() -> (Vec<FilePhase>, DatabaseProfile) {
    let sequential = |name, rw| FilePhase {
        files: 8,
        direct: true,
        ..FilePhase::new(name, rw, Bytes::mib(32), Bytes::mib(64))
    };
    let random = |name, rw| FilePhase {
        threads: 8,
        bs: RECORD,
        ios: Some(MOST_RECORDS),
        repeats: true,
        first_ends_all: true,
        ..sequential(name, rw)
    };
    let files = vec![
        sequential("seq-read", Rw::Read),
        durable(sequential("seq-write", Rw::Write)),
        random("rand-read", Rw::RandRead),
        durable(random("rand-write", Rw::RandWrite)),
    ];
    (files, database(Journal::Truncate, 1024))
}

/// assay's own profile: the files of AndroBench 4 with blocks of 1 MiB, each
/// random record once, and threads that all complete their records.
pub(super) fn modern() -> (Vec<FilePhase>, DatabaseProfile) {
    let sequential = |name, rw| FilePhase {
        files: 8,
        direct: true,
        ..FilePhase::new(name, rw, Bytes::mib(1), Bytes::mib(64))
    };
    let random = |name, rw| FilePhase {
        threads: 8,
        bs: RECORD,
        ios: Some(MOST_RECORDS),
        ..sequential(name, rw)
    };
    let seq_write = FilePhase {
        flush: Flush {
            every: None,
            at_end: Some(FlushCall::Fdatasync),
        },
        ..sequential("seq-write", Rw::Write)
    };
    let files = vec![
        sequential("seq-read", Rw::Read),
        seq_write,
        random("rand-read", Rw::RandRead),
        durable(random("rand-write", Rw::RandWrite)),
    ];
    (files, database(Journal::Wal, 1024))
}

/// Makes each write durable when it returns.
fn durable(phase: FilePhase) -> FilePhase {
    FilePhase {
        sync: OpenSync::Dsync,
        ..phase
    }
}

const fn database(journal: Journal, transactions: u64) -> DatabaseProfile {
    DatabaseProfile {
        schema: Schema::AndroBench,
        journal,
        transactions,
        checkpoint: false,
    }
}

/// Describes a phase.
pub(super) fn words(phase: &FilePhase) -> String {
    let pattern = match phase.rw {
        Rw::Read => "sequential read",
        Rw::RandRead => "random read",
        Rw::RandWrite => "random write",
        _ if phase.start == FileStart::Empty => "sequential write to new files",
        _ => "sequential write",
    };
    let mut words = vec![
        pattern.to_owned(),
        format!("{} blocks", phase.bs),
        match (phase.threads, phase.files) {
            (1, 1) => format!("a file of {}", phase.file_size),
            (1, files) => format!("{files} files of {}", phase.file_size),
            (threads, files) => {
                format!("{threads} threads on {files} files of {}", phase.file_size)
            }
        },
    ];
    if phase.ioengine.maps_memory() {
        words.push("memory map".to_owned());
    }
    words.push(if phase.direct { "O_DIRECT" } else { "buffered" }.to_owned());
    words.extend(durability(phase));
    words.join(", ")
}

fn durability(phase: &FilePhase) -> Vec<String> {
    let name = |call| match call {
        FlushCall::Fsync => "fsync",
        FlushCall::Fdatasync => "fdatasync",
    };
    let mut words = Vec::new();
    match phase.sync {
        OpenSync::None => {}
        OpenSync::Dsync => words.push("O_DSYNC".to_owned()),
        OpenSync::Sync => words.push("O_SYNC".to_owned()),
    }
    match phase.flush.every {
        None => {}
        Some((1, call)) => words.push(format!("{} after each write", name(call))),
        Some((n, call)) => words.push(format!("{} after every {n} writes", name(call))),
    }
    if let Some(call) = phase.flush.at_end {
        words.push(format!("{} at the end", name(call)));
    }
    words
}
