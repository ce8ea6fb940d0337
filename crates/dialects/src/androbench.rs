//! Measurements of AndroBench and Mobibench, as phases of
//! `assay_model::act::androbench`.
//!
//! [`phases()`] makes them from an [`AndroBenchOptions`]: a generation, with the user's
//! changes.

use assay_model::act::androbench::{
    DatabasePhase, FilePhase, FileStart, Journal, Phase, Schema, Statement, Synchronous,
};
use assay_model::job::{EngineKind, Flush, FlushCall, OpenSync, Rw};
use assay_model::units::Bytes;
use thiserror::Error;

assay_model::named! {
    /// Program or generation whose parameters are used.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Like {
        /// assay's own profile, for present storage.
        #[default]
        Modern = "modern",
        /// AndroBench 3.4 to 3.6.
        AndroBench3 = "3",
        /// AndroBench 4.0 and 4.1.
        AndroBench4 = "4",
        /// Mobibench 1.0.8.
        Mobibench = "mobibench",
    }
}

impl Like {
    /// Returns a description of the generation.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Modern => "assay's own profile",
            Self::AndroBench3 => "as AndroBench 3",
            Self::AndroBench4 => "as AndroBench 4",
            Self::Mobibench => "as Mobibench",
        }
    }
}

/// Requested parameters: `None` is the generation's own value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AndroBenchOptions {
    /// Program or generation whose parameters are used.
    pub like: Like,
    /// Steps to measure, where a name may end in `*`; empty: all.
    pub only: Vec<String>,
    /// Size of each test file.
    pub size: Option<Bytes>,
    /// Journal mode.
    pub journal: Option<Journal>,
    /// `SQLite`'s policy of flushes.
    pub synchronous: Option<Synchronous>,
    /// Number of transactions of each statement.
    pub transactions: Option<u64>,
    /// Statements to measure; empty: all.
    pub operations: Vec<Statement>,
    /// Tables in a transaction (Mobibench).
    pub tables: Option<u32>,
    /// Size of a record (Mobibench).
    pub record: Option<Bytes>,
    /// Access mode of files (Mobibench).
    pub sync_mode: Option<SyncMode>,
    /// Threads, each with its own file (Mobibench).
    pub threads: Option<u32>,
}

/// Reason why the requested measurement is impossible.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Problem(String);

/// Parameters of a database phase.
struct DatabaseProfile {
    schema: Schema,
    journal: Journal,
    transactions: u64,
    checkpoint: bool,
}

/// Returns the requested phases.
///
/// # Errors
/// When an option does not belong to the generation, or no step is left to measure.
pub fn phases(wanted: &AndroBenchOptions) -> Result<Vec<Phase>, Problem> {
    check_options(wanted)?;
    let (files, database) = match wanted.like {
        Like::Modern => modern(),
        Like::AndroBench3 => generation_3(),
        Like::AndroBench4 => generation_4(),
        Like::Mobibench => profile(wanted),
    };
    let mut phases: Vec<Phase> = files
        .into_iter()
        .map(|phase| Phase::Files(described(sized(phase, wanted.size))))
        .collect();
    phases.push(Phase::Database(database_phase(wanted, &database)));
    chosen(phases, &wanted.only)
}

/// Refuses options of Mobibench in other generations, and values that leave nothing to
/// measure.
fn check_options(wanted: &AndroBenchOptions) -> Result<(), Problem> {
    let none = [
        ("--size", wanted.size == Some(Bytes(0))),
        ("--record", wanted.record == Some(Bytes(0))),
        ("--tables", wanted.tables == Some(0)),
        ("--threads", wanted.threads == Some(0)),
    ];
    if let Some((name, _)) = none.into_iter().find(|(_, none)| *none) {
        return Err(Problem(format!(
            "{name} 0 leaves nothing to measure: give 1 or more"
        )));
    }
    if wanted.like == Like::Mobibench {
        return Ok(());
    }
    let set = [
        ("--tables", wanted.tables.is_some()),
        ("--record", wanted.record.is_some()),
        ("--sync-mode", wanted.sync_mode.is_some()),
        ("--threads", wanted.threads.is_some()),
    ];
    match set.into_iter().find(|(_, set)| *set) {
        Some((name, _)) => Err(Problem(format!(
            "{name} is Mobibench's: add --like mobibench"
        ))),
        None => Ok(()),
    }
}

/// Sets the size of the files; a block is never larger than its file.
fn sized(phase: FilePhase, size: Option<Bytes>) -> FilePhase {
    let file_size = size.unwrap_or(phase.file_size);
    FilePhase {
        bs: phase.bs.min(file_size),
        file_size,
        ..phase
    }
}

fn database_phase(wanted: &AndroBenchOptions, profile: &DatabaseProfile) -> DatabasePhase {
    let mut statements: Vec<Statement> = Statement::ALL.to_vec();
    if !wanted.operations.is_empty() {
        statements.retain(|statement| wanted.operations.contains(statement));
    }
    DatabasePhase {
        schema: profile.schema,
        journal: wanted.journal.unwrap_or(profile.journal),
        synchronous: wanted.synchronous.unwrap_or_default(),
        transactions: wanted.transactions.unwrap_or(profile.transactions),
        statements,
        checkpoint: profile.checkpoint,
    }
}

/// Adds the description: `random write, 4 KiB, 8 threads on 8 files of 64 MiB, O_DIRECT,
/// O_DSYNC`.
fn described(phase: FilePhase) -> FilePhase {
    FilePhase {
        description: words(&phase),
        ..phase
    }
}

/// Selects the requested steps.
fn chosen(phases: Vec<Phase>, only: &[String]) -> Result<Vec<Phase>, Problem> {
    if only.is_empty() {
        return Ok(phases);
    }
    let matches = |wanted: &str, name: &str| match wanted.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == wanted,
    };
    let names: Vec<String> = phases
        .iter()
        .flat_map(Phase::jobs)
        .map(|job| job.name)
        .collect();
    let is_none = |wanted: &&String| !names.iter().any(|name| matches(wanted, name));
    if let Some(unknown) = only.iter().find(is_none) {
        let names = names.join(", ");
        return Err(Problem(format!(
            "--only {unknown}: there is no such step; there are {names}"
        )));
    }
    let is_wanted = |name: &str| only.iter().any(|wanted| matches(wanted, name));
    Ok(phases
        .into_iter()
        .filter_map(|phase| match phase {
            Phase::Files(phase) => is_wanted(&phase.name).then_some(Phase::Files(phase)),
            Phase::Database(mut phase) => {
                phase
                    .statements
                    .retain(|statement| is_wanted(statement.step()));
                (!phase.statements.is_empty()).then_some(Phase::Database(phase))
            }
        })
        .collect())
}

assay_model::named! {
    /// Access mode of files, in the order of Mobibench's numbers.
    ///
    /// Mobibench's `MS_ASYNC` is not among them: on Linux it does nothing, so it is the same as
    /// [`Self::Mmap`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SyncMode {
        /// Through the page cache.
        #[default]
        Normal = "normal",
        /// `O_SYNC`.
        Osync = "osync",
        /// fsync after each write.
        Fsync = "fsync",
        /// `O_DIRECT`.
        Direct = "direct",
        /// `O_SYNC` and `O_DIRECT`.
        SyncDirect = "sync-direct",
        /// Through a memory map.
        Mmap = "mmap",
        /// Through a memory map that is flushed after each write (`MS_SYNC`).
        MmapSync = "mmap-sync",
        /// fdatasync after each write.
        Fdatasync = "fdatasync",
    }
}

/// Returns the profile: a small file per thread that is read, written and appended to, and
/// transactions over three tables.
fn profile(wanted: &AndroBenchOptions) -> (Vec<FilePhase>, DatabaseProfile) {
    let mode = wanted.sync_mode.unwrap_or_default();
    let of = |name, rw| {
        let record = wanted.record.unwrap_or(Bytes::kib(4));
        let phase = FilePhase::new(name, rw, record, Bytes::kib(1024));
        let threads = wanted.threads.unwrap_or(1);
        synchronized(
            FilePhase {
                files: threads,
                threads,
                ..phase
            },
            mode,
        )
    };
    let mut files = vec![
        of("seq-read", Rw::Read),
        of("seq-write", Rw::Write),
        of("rand-read", Rw::RandRead),
        of("rand-write", Rw::RandWrite),
    ];
    // A memory map cannot extend a file.
    if !matches!(mode, SyncMode::Mmap | SyncMode::MmapSync) {
        files.push(FilePhase {
            start: FileStart::Empty,
            ..of("append", Rw::Write)
        });
    }
    let database = DatabaseProfile {
        schema: Schema::Mobibench {
            tables: wanted.tables.unwrap_or(3),
        },
        journal: Journal::Delete,
        transactions: 10,
        checkpoint: true,
    };
    (files, database)
}

/// Applies an access mode to a phase. In every mode, the time of the last flush of writes is
/// measured.
fn synchronized(phase: FilePhase, mode: SyncMode) -> FilePhase {
    let writes = phase.rw.writes();
    let every = match mode {
        SyncMode::Fsync | SyncMode::MmapSync => Some((1, FlushCall::Fsync)),
        SyncMode::Fdatasync => Some((1, FlushCall::Fdatasync)),
        _ => None,
    };
    FilePhase {
        direct: matches!(mode, SyncMode::Direct | SyncMode::SyncDirect),
        sync: match mode {
            SyncMode::Osync | SyncMode::SyncDirect if writes => OpenSync::Sync,
            _ => OpenSync::None,
        },
        flush: Flush {
            every: every.filter(|_| writes),
            at_end: (writes && every.is_none()).then_some(FlushCall::Fsync),
        },
        ioengine: match mode {
            SyncMode::Mmap | SyncMode::MmapSync => EngineKind::Mmap,
            _ => EngineKind::Psync,
        },
        ..phase
    }
}

const RECORD: Bytes = Bytes::kib(4);
/// Largest number of records that a thread reads or writes at random.
const MOST_RECORDS: u64 = 2048;

/// AndroBench 3: one thread; reads bypass the page cache, each write to a new
/// file is flushed.
fn generation_3() -> (Vec<FilePhase>, DatabaseProfile) {
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
fn generation_4() -> (Vec<FilePhase>, DatabaseProfile) {
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
fn modern() -> (Vec<FilePhase>, DatabaseProfile) {
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
fn words(phase: &FilePhase) -> String {
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

#[cfg(test)]
mod tests;
