//! Evidence for the steps of an act, and the messages about them to the host.

use super::{Progress, Scratch, SlotAct};
use crate::conditions::Conditions;
use crate::frame::FrameError;
use crate::inspect::storage_of;
use crate::messages::Inbox;
use crate::messages::Outbox;
use crate::plan::Runner;
use crate::trial::{not_begun, unix_ms};
use crate::window::{FileReads, Files, Machine, Window};
use assay_engine::goes_away;
use assay_model::act::powercut::Word;
use assay_model::act::{Act, ActProgress, ActReport};
use assay_model::condition::InForce;
use assay_model::evidence::{Evidence, Snapshot};
use assay_model::job::Job;
use assay_model::storage::{Backing, Storage};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::roots::Roots;
use assay_probe::stack::device_gone;
use assay_workloads::{ActError, ObservedStep, Observer, StepOutcome, Together};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Conditions in force while an act is carried out.
#[derive(Clone, Copy)]
pub(super) struct InForceNow<'a> {
    /// Values read back at the start of the slot.
    pub(super) read_back: &'a [InForce],
    /// The conditions, to check that the values are still in force.
    pub(super) conditions: Option<&'a Conditions<'a>>,
}

impl InForceNow<'_> {
    /// Value for an act without a condition.
    pub(super) const NOTHING: Self = Self {
        read_back: &[],
        conditions: None,
    };
}

/// Observer of the steps of an act.
pub(super) struct Steps<'a> {
    roots: &'a Roots,
    outbox: &'a Outbox,
    inbox: &'a mut Inbox,
    act: SlotAct<'a>,
    /// Conditions in force.
    under: &'a InForceNow<'a>,
    progress: &'a mut Progress,
    /// The storage looked up last, and of which paths it is.
    place: Option<(Vec<PathBuf>, Storage)>,
    /// Storage by path.
    looked_up: BTreeMap<PathBuf, Storage>,
    /// Storage of files by folder.
    folders: BTreeMap<PathBuf, Storage>,
    machine: Machine<'a>,
    step: Option<UnderWay>,
    /// File systems on the scratch device of a scenario.
    scratch: Scratch<'a>,
    /// Set when a step has ended that the host was not yet asked to store.
    unkept: bool,
    /// Error of the first message that could not be sent.
    unsent: Option<FrameError>,
}

/// A step in progress.
struct UnderWay {
    job: Job,
    started_unix_ms: u64,
    /// Open since the clock started; `None` for a step without files.
    window: Option<Window>,
    /// Readings after the clock stopped.
    after: Option<Snapshot>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        runner: &'a mut Runner<'_>,
        act: SlotAct<'a>,
        progress: &'a mut Progress,
        under: &'a InForceNow<'a>,
        scratch: Scratch<'a>,
    ) -> Self {
        Self {
            roots: runner.roots,
            outbox: runner.outbox,
            inbox: runner.inbox,
            act,
            under,
            progress,
            place: None,
            looked_up: BTreeMap::new(),
            folders: BTreeMap::new(),
            machine: Machine::for_short_steps(runner.roots),
            step: None,
            scratch,
            unkept: false,
            unsent: None,
        }
    }

    /// Closes the steps; the end of their slot has the host store them.
    pub(super) fn close(mut self) -> Result<(), FrameError> {
        for problem in self.scratch.close() {
            self.note(NoteWeight::Warning, problem);
        }
        self.unsent.map_or(Ok(()), Err)
    }

    /// Discards cached storage, because the storage behind a path may have changed.
    fn forget_storage(&mut self) {
        self.place = None;
        self.looked_up.clear();
        self.folders.clear();
        self.machine.forget_queues();
    }

    /// Records steps as failed, because they could not begin.
    pub(super) fn fail_all(&mut self, jobs: &[Job], error: &str) {
        for job in jobs {
            let SlotAct { trial, seed, .. } = self.act;
            let position = self.progress.position;
            self.hand_over(not_begun(job, trial, position, seed, error.to_owned()));
        }
    }

    fn hand_over(&mut self, mut record: TrialRecord) {
        record.condition = self.act.condition.map(str::to_owned);
        let conditions = self.under.conditions;
        record.under(conditions.map_or(Ok(()), Conditions::still));
        self.progress.count(&record);
        self.unkept = true;
        self.send(&FromAgent::TrialDone(Box::new(record)));
    }

    fn send(&mut self, message: &FromAgent) {
        if let Err(error) = self.outbox.send(message) {
            self.unsent.get_or_insert(error);
        }
    }

    /// Returns the storage of paths; `None` if there are no paths. Successive steps use the
    /// same files, so results are cached. An act on main memory has no storage, but its steps
    /// have evidence of the machine all the same.
    fn storage(&mut self, paths: &[&Path]) -> Option<Storage> {
        if !self.act.act.spec().measures_storage() {
            return Some(Storage::main_memory(None));
        }
        match &self.place {
            Some((known, storage))
                if known.iter().map(PathBuf::as_path).eq(paths.iter().copied()) =>
            {
                Some(storage.clone())
            }
            _ => {
                let all: Vec<Storage> = paths.iter().map(|&path| self.look_up(path)).collect();
                let storage = behind_all(all.into_iter())?;
                let paths = paths.iter().map(|path| path.to_path_buf()).collect();
                self.place = Some((paths, storage.clone()));
                Some(storage)
            }
        }
    }

    /// Returns the storage behind one path. Files of one folder share a cached result.
    fn look_up(&mut self, path: &Path) -> Storage {
        if let Some(known) = self.looked_up.get(path) {
            return known.clone();
        }
        let folder = path.parent().filter(|folder| is_plainly_in(path, folder));
        let known = folder.and_then(|folder| self.folders.get(folder)).cloned();
        let storage = known.unwrap_or_else(|| storage_of(self.roots, path));
        if let Some(folder) = folder {
            self.folders.insert(folder.to_owned(), storage.clone());
        }
        self.looked_up.insert(path.to_owned(), storage.clone());
        storage
    }

    /// Returns what the window of a step reads of its files.
    fn files_of(&self, step: ObservedStep<'_>) -> Files {
        let one = matches!(step.paths, [_]);
        let mut files = Files::new(FileReads {
            parts: one && self.act.act.spec().is_filter(),
            holes: one && step.job.rw.reads() && step.job.direct,
            no_changes: false,
        });
        for path in step.paths {
            files.add(path, (step.job.offset.0, step.job.size.0));
        }
        // Other acts remove files while their clock runs.
        if matches!(self.act.act, Act::Copy(_) | Act::Iozone(_)) {
            files.hold();
        }
        files
    }

    /// Returns the evidence of a step whose clock ran.
    fn evidence(&mut self, step: &mut UnderWay) -> Option<Evidence> {
        let (window, after) = step.window.take().zip(step.after.take())?;
        let others = self.machine.others(window.started());
        // No samples: the step runs on the thread that would take them.
        Some(window.evidence(&mut self.machine, after, others, Vec::new()))
    }
}

impl Observer for Steps<'_> {
    fn begins(&mut self, step: ObservedStep<'_>) {
        self.send(&FromAgent::TrialStarted {
            job: Box::new(step.job.clone()),
        });
        self.step = Some(UnderWay {
            job: step.job.clone(),
            started_unix_ms: unix_ms(),
            window: None,
            after: None,
        });
    }

    /// Reads the counters last, because the clock starts right afterwards.
    fn clock_starts(&mut self, step: ObservedStep<'_>) {
        self.machine.read_processes();
        let Some(storage) = self.storage(step.paths) else {
            return;
        };
        let mut window = Window::new(storage, self.files_of(step));
        window.read_files(&mut self.machine);
        window.read_counters(&mut self.machine);
        if let Some(under_way) = &mut self.step {
            under_way.window = Some(window);
        }
    }

    /// Reads the counters first, before slow operations.
    fn clock_stopped(&mut self) {
        if let Some(step) = &mut self.step
            && let Some(window) = &step.window
        {
            let mut after = window.counters_after(&self.machine);
            window.files_after(&mut after);
            step.after = Some(after);
        }
    }

    fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
        let Some(mut step) = self.step.take() else {
            return;
        };
        let evidence = self.evidence(&mut step);
        let is_gone = |storage: &_| device_gone(self.roots, storage);
        let failed =
            matches!(&came.detail, Some(assay_model::act::StepDetail::Copy(copy)) if copy.failed);
        // A filter's own messages are those of another program, which may take it for the end.
        if self.act.act.spec().is_filter()
            && let Some(Evidence { storage, .. }) = &evidence
            && (is_gone(storage) || failed && goes_away(|| is_gone(storage)))
        {
            let gone = format!("{} went away", storage.words());
            self.note(NoteWeight::Warning, gone);
        }
        let SlotAct { trial, seed, .. } = self.act;
        let record = TrialRecord {
            started_unix_ms: step.started_unix_ms,
            measured: came.measured,
            evidence,
            detail: came.detail.map(Box::new),
            in_force: self.under.read_back.to_vec(),
            ..TrialRecord::new(step.job, trial, self.progress.position, seed, outcome)
        };
        self.hand_over(record);
    }

    fn ended_together(&mut self, all: Vec<Together>) {
        let Some(mut step) = self.step.take() else {
            return;
        };
        let evidence = self.evidence(&mut step);
        for (index, one) in (0..).zip(&all) {
            let SlotAct { trial, seed, .. } = self.act;
            let (job, outcome) = (one.job.clone(), one.outcome.clone());
            let record = TrialRecord {
                started_unix_ms: step.started_unix_ms,
                measured: one.came.measured.clone(),
                evidence: evidence.clone(),
                wave: evidence.as_ref().map(|evidence| {
                    Box::new(super::wave(&all, index, evidence, step.started_unix_ms))
                }),
                detail: one.came.detail.clone().map(Box::new),
                in_force: self.under.read_back.to_vec(),
                ..TrialRecord::new(job, trial, self.progress.position, seed, outcome)
            };
            self.hand_over(record);
        }
    }

    fn is_gone(&self) -> bool {
        let place = self.place.as_ref();
        place.is_some_and(|(_, storage)| device_gone(self.roots, storage))
    }

    fn make_file_system(&mut self, kind: &str) -> Result<PathBuf, ActError> {
        let made = self.scratch.make(kind);
        self.forget_storage();
        made
    }

    fn leave_file_system(&mut self) -> Result<(), ActError> {
        self.scratch.leave()
    }

    fn keep(&mut self) {
        if !self.unkept {
            return;
        }
        self.unkept = false;
        let position = self.progress.position - 1;
        if let Err(error) = self.outbox.keep(self.inbox, position, None) {
            self.unsent.get_or_insert(error);
        }
    }

    fn note(&mut self, weight: NoteWeight, text: String) {
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }));
    }

    fn progress(&mut self, progress: &ActProgress) {
        self.outbox.post(&FromAgent::ActProgress(progress.clone()));
    }

    fn powercut(&mut self, word: Word) {
        self.send(&FromAgent::Powercut(word));
    }

    fn interim_report(&mut self, report: ActReport) {
        self.send(&FromAgent::ActInterim(Box::new(report)));
    }
}

/// Returns true if a path is, or will be, a file of the folder's own file system.
fn is_plainly_in(path: &Path, folder: &Path) -> bool {
    match (fs::symlink_metadata(path), fs::metadata(folder)) {
        (Ok(file), Ok(folder)) => file.is_file() && file.dev() == folder.dev(),
        (Err(error), Ok(_)) => error.kind() == ErrorKind::NotFound,
        (_, Err(_)) => false,
    }
}

/// Returns the common storage of all paths. If they differ, the counters of one device would
/// not cover the I/O to the others, so the result is unknown.
fn behind_all(mut all: impl Iterator<Item = Storage>) -> Option<Storage> {
    let first = all.next()?;
    if all.all(|other| other.backing == first.backing) {
        return Some(first);
    }
    Some(Storage {
        path: first.path,
        mount: None,
        backing: Backing::Unknown {
            why: "the files are on different devices".to_owned(),
        },
        layers: Vec::new(),
        total: None,
        available: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(name: &str) -> Storage {
        Storage {
            path: PathBuf::from("/a"),
            mount: None,
            backing: Backing::Device {
                name: name.to_owned(),
            },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    #[test]
    fn files_on_different_devices_are_not_judged_by_the_first() {
        assert_eq!(behind_all([].into_iter()), None);
        let same = [on("sda1"), on("sda1")];
        assert_eq!(behind_all(same.into_iter()), Some(on("sda1")));
        let differ = [on("sda1"), on("sda1"), on("sdb1")];
        let backing = behind_all(differ.into_iter()).map(|storage| storage.backing);
        let why = "the files are on different devices".to_owned();
        assert_eq!(backing, Some(Backing::Unknown { why }));
    }
}
