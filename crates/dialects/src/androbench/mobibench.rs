//! Parameters of Mobibench.

use super::{AndroBenchOptions, DatabaseProfile};
use assay_model::job::{EngineKind, Flush, FlushCall, OpenSync, Rw};
use assay_model::units::Bytes;
use assay_model::work::androbench::{FilePhase, FileStart, Journal, Schema};

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
pub(super) fn profile(wanted: &AndroBenchOptions) -> (Vec<FilePhase>, DatabaseProfile) {
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
