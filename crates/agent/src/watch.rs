//! The evidence around one trial, and its progress.

use assay_engine::{Observer, Progress, page_cache};
use assay_model::evidence::{Evidence, Snapshot};
use assay_model::storage::Storage;
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::snapshot;
use std::fs::File;

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;

/// Looks at the system when the clock starts and stops.
pub(crate) struct Watch<'a> {
    roots: &'a Roots,
    storage: &'a Storage,
    /// The file of the trial, to look at its pages.
    file: File,
    tell: &'a mut dyn FnMut(Progress),
    before: Option<Moment>,
    after: Option<Moment>,
}

struct Moment {
    snapshot: Snapshot,
    processes: ProcessIoTable,
}

impl<'a> Watch<'a> {
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
            before: None,
            after: None,
        }
    }

    /// The evidence; `None` when the clock never ran.
    pub(crate) fn into_evidence(self) -> Option<Evidence> {
        let (before, after) = (self.before?, self.after?);
        Some(Evidence {
            storage: self.storage.clone(),
            queues: counters::queues(self.roots, self.storage),
            other_processes: busiest(&before.processes, &after.processes, PROCESSES_KEPT),
            before: before.snapshot,
            after: after.snapshot,
        })
    }

    fn processes(&self) -> ProcessIoTable {
        ProcessIoTable::take(self.roots, &[std::process::id()])
    }
}

impl Observer for Watch<'_> {
    /// What takes long comes first, so that the counters are as close to the
    /// clock as can be.
    fn clock_starts(&mut self) {
        let processes = self.processes();
        let file_cache = page_cache::look(&self.file);
        let snapshot = snapshot(self.roots, self.storage);
        self.before = Some(Moment {
            snapshot: Snapshot {
                file_cache,
                ..snapshot
            },
            processes,
        });
    }

    /// The other way round: counters first.
    fn clock_stopped(&mut self) {
        let snapshot = snapshot(self.roots, self.storage);
        let file_cache = page_cache::look(&self.file);
        self.after = Some(Moment {
            snapshot: Snapshot {
                file_cache,
                ..snapshot
            },
            processes: self.processes(),
        });
    }

    fn progress(&mut self, progress: Progress) {
        (self.tell)(progress);
    }
}
