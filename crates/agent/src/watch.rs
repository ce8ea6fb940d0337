//! Evidence for one trial, and its progress.

use crate::glances::Glances;
use assay_engine::{Observer, Progress, Start, page_cache};
use assay_model::evidence::{Evidence, FileChange, Snapshot};
use assay_model::storage::Storage;
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::{glance, snapshot};
use rustix::fs::ioctl_getflags;
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;

/// Takes snapshots of the system when the clock starts and stops.
pub(crate) struct TrialWatch<'a> {
    roots: &'a Roots,
    storage: &'a Storage,
    /// File of the trial, whose cached pages are examined.
    file: File,
    tell: &'a mut dyn FnMut(Progress),
    metadata: Option<Metadata>,
    before: Option<Moment>,
    after: Option<Moment>,
    glances: Glances,
}

struct Moment {
    snapshot: Snapshot,
    processes: ProcessIoTable,
}

impl<'a> TrialWatch<'a> {
    pub(crate) fn new(
        roots: &'a Roots,
        storage: &'a Storage,
        file: File,
        tell: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            roots,
            storage,
            file,
            tell,
            metadata: None,
            before: None,
            after: None,
            glances: Glances::default(),
        }
    }

    /// Returns the evidence; `None` if the clock never ran.
    pub(crate) fn into_evidence(self) -> Option<Evidence> {
        let (before, after) = (self.before?, self.after?);
        Some(Evidence {
            storage: self.storage.clone(),
            queues: counters::queues(self.roots, self.storage),
            other_processes: busiest(&before.processes, &after.processes, PROCESSES_KEPT),
            before: before.snapshot,
            after: after.snapshot,
            during: self.glances.taken().to_vec(),
        })
    }

    /// Takes the counters before anything slow, so that the I/O is measured up to now, or from now
    /// on.
    fn counters_first(&self) -> Moment {
        let counters = snapshot(self.roots, self.storage);
        let file_cache = page_cache::look(&self.file);
        Moment {
            snapshot: Snapshot {
                file_cache,
                ..counters
            },
            processes: self.processes(),
        }
    }

    /// Takes the counters after everything slow, because the clock starts after them.
    fn counters_last(&self) -> Moment {
        let processes = self.processes();
        let file_cache = page_cache::look(&self.file);
        Moment {
            snapshot: Snapshot {
                file_cache,
                ..snapshot(self.roots, self.storage)
            },
            processes,
        }
    }

    fn processes(&self) -> ProcessIoTable {
        ProcessIoTable::take(self.roots, &[std::process::id()])
    }
}

impl Observer for TrialWatch<'_> {
    /// Reads the counters as close to the clock start as possible.
    fn clock_starts(&mut self, start: Start) {
        let queues = counters::queues(self.roots, self.storage);
        let mut moment = match start {
            Start::Held => self.counters_last(),
            Start::Running => self.counters_first(),
        };
        moment.snapshot.queues = queues;
        self.metadata = self.file.metadata().ok();
        self.before = Some(moment);
    }

    fn clock_stopped(&mut self) {
        let mut after = self.counters_first();
        after.snapshot.synchronous_files = is_synchronous(&self.file);
        let metadata = self.metadata.as_ref().zip(self.file.metadata().ok());
        after.snapshot.file_change = metadata.and_then(|(before, now)| change(before, &now));
        self.after = Some(after);
    }

    fn progress(&mut self, progress: Progress) {
        // No glances during the ramp.
        if self.before.is_some() && self.after.is_none() {
            let roots = self.roots;
            self.glances.look(progress.elapsed_ns, || glance(roots));
        }
        (self.tell)(progress);
    }
}

/// Returns `true` if the file system writes an open file's data before each write returns (`chattr
/// +S`); `None` if it does not report that.
pub(crate) fn is_synchronous(file: impl AsFd) -> Option<bool> {
    /// `FS_SYNC_FL` (linux/fs.h).
    const SYNCHRONOUS: u32 = 0x8;
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() & SYNCHRONOUS != 0)
}

/// Returns how a file lost data between two reads of its metadata: it became shorter, or got a hole.
pub(crate) fn change(before: &Metadata, after: &Metadata) -> Option<FileChange> {
    let filled = |data: &Metadata, length: u64| data.blocks().saturating_mul(512) >= length;
    if after.len() < before.len() {
        Some(FileChange::Shortened)
    } else if filled(before, before.len()) && !filled(after, before.len()) {
        Some(FileChange::Punched)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_engine::measure;
    use assay_model::job::{Job, Rw};
    use assay_model::storage::Backing;
    use assay_model::units::{Bytes, Nanos};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use rustix::time::{ClockId, clock_gettime};
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn now_ns() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap()
    }

    fn storage() -> Storage {
        Storage {
            path: PathBuf::from("/data"),
            mount: None,
            backing: Backing::Unknown {
                why: "a test".to_owned(),
            },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    /// Returns `true` if the counters are read before the processes, on a system with one process,
    /// whose `io` file is a pipe that shows when it is read.
    fn counters_come_first(start: Start) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/4711");
        fs::create_dir_all(&process).unwrap();
        let account = process.join("io");
        mkfifoat(CWD, &account, Mode::RUSR | Mode::WUSR).unwrap();
        let roots = Roots::under(folder.path());
        let storage = storage();
        let file = tempfile::tempfile().unwrap();
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, file, &mut tell);
        let processes_ns = std::thread::scope(|scope| {
            let walk = scope.spawn(|| {
                // The open returns when the reader opens the pipe; the reader then waits until it is
                // closed.
                let pipe = OpenOptions::new().write(true).open(&account).unwrap();
                let opened_ns = now_ns();
                drop(pipe);
                opened_ns
            });
            watch.clock_starts(start);
            walk.join().unwrap()
        });
        watch.before.unwrap().snapshot.at_ns < processes_ns
    }

    #[test]
    fn the_counters_are_read_as_close_to_the_clock_as_can_be() {
        assert!(!counters_come_first(Start::Held), "right before it");
        assert!(counters_come_first(Start::Running), "right after it");
    }

    #[test]
    fn a_ramp_is_outside_the_evidence() {
        let data = tempfile::NamedTempFile::new().unwrap();
        data.as_file().set_len(1 << 20).unwrap();
        let ramp = Nanos::millis(50);
        let job = Job {
            time_based: true,
            ramp_time: ramp,
            runtime: Some(Nanos::millis(20)),
            ..Job::new("ramp", Rw::RandRead, Bytes::kib(4), Bytes::mib(1))
        };
        let (roots, storage) = (Roots::default(), storage());
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, data.reopen().unwrap(), &mut tell);
        let begin_ns = now_ns();
        let never = AtomicBool::new(false);
        measure(&job, data.path(), 1, &never, &mut watch).unwrap();
        let evidence = watch.into_evidence().unwrap();
        assert!(evidence.before.at_ns >= begin_ns + ramp.0);
        assert!(evidence.after.at_ns > evidence.before.at_ns);
    }
}
