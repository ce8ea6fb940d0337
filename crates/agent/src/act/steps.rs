//! Evidence for the steps of a work, and the messages about them to the host.

use super::{Progress, Scratch, SlotAct};
use crate::cached::{HeldFiles, are_synchronous, holes, pages, pages_of_parts};
use crate::conditions::Conditions;
use crate::frame::FrameError;
use crate::inbox::Inbox;
use crate::inspect::storage_of;
use crate::outbox::Outbox;
use crate::plan::Runner;
use crate::trial::{not_begun, unix_ms};
use assay_engine::goes_away;
use assay_model::act::powercut::Word;
use assay_model::act::{Act, ActProgress, ActReport};
use assay_model::condition::InForce;
use assay_model::evidence::{Evidence, FileCache, QueueSettings, Snapshot};
use assay_model::job::Job;
use assay_model::storage::{Backing, Storage};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::{self, look_around, with_surroundings};
use assay_probe::stack::device_gone;
use assay_workloads::{ActError, ObservedStep, Observer, StepOutcome, Together};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;
/// Age up to which an earlier look at all processes is reused. A look takes milliseconds, too
/// long before each step of a few milliseconds.
const YOUNG: Duration = Duration::from_secs(1);
/// Shortest step after which the processes are examined again.
const SHORT: Duration = Duration::from_millis(200);
/// Age up to which earlier machine data is reused before a step, and longest step after which
/// it is not read again.
const MOMENT: Duration = Duration::from_millis(20);

/// Conditions in force while a work is carried out.
#[derive(Clone, Copy)]
pub(super) struct InForceNow<'a> {
    /// Values read back at the start of the slot.
    pub(super) read_back: &'a [InForce],
    /// The conditions, to check that the values are still in force.
    pub(super) conditions: Option<&'a Conditions<'a>>,
}

impl InForceNow<'_> {
    /// Value for a work without a condition.
    pub(super) const NOTHING: Self = Self {
        read_back: &[],
        conditions: None,
    };
}

/// Observer of the steps of a work.
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
    processes: Option<(Instant, ProcessIoTable)>,
    /// Last snapshot of the machine, and its time.
    around: Option<(Instant, Snapshot)>,
    /// Last queue settings of a storage, and their time.
    queues: Option<(Instant, Storage, Vec<QueueSettings>)>,
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
    paths: Vec<PathBuf>,
    held: HeldFiles,
    started_unix_ms: u64,
    /// Time at which the clock started, and the snapshot before it.
    before: Option<(Instant, Snapshot)>,
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
            processes: None,
            around: None,
            queues: None,
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
        self.queues = None;
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
    /// same files, so results are cached. A work on main memory has no storage, but its steps
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

    fn look_at_processes(&mut self) {
        let table = ProcessIoTable::take(self.roots, &[std::process::id()]);
        self.processes = Some((Instant::now(), table));
    }

    /// Reads counters before a step, with machine data: for steps that follow each other
    /// closely, the earlier data is reused.
    fn before(&mut self, storage: &Storage) -> Snapshot {
        let old = |(taken, _): &(Instant, Snapshot)| taken.elapsed() > MOMENT;
        if self.around.as_ref().is_none_or(old) {
            let mut around = Snapshot::default();
            look_around(self.roots, &mut around);
            self.around = Some((Instant::now(), around));
        }
        let around = self.around.as_ref().map(|(_, around)| around.clone());
        let counters = snapshot::counters(self.roots, storage);
        with_surroundings(counters, around.unwrap_or_default())
    }

    /// Reads counters after a step; machine data only if the step was not too short.
    fn after(&mut self, storage: &Storage, started: Instant) -> Snapshot {
        let long = started.elapsed() > MOMENT;
        let mut after = snapshot::counters(self.roots, storage);
        if long {
            look_around(self.roots, &mut after);
        }
        after
    }

    /// Returns the cached pages of the region that a copy uses; other steps use whole files.
    fn region(&self, held: &HeldFiles, step: ObservedStep<'_>) -> Option<FileCache> {
        let part = region_of(step.job, step.paths).filter(|_| self.act.act.spec().is_filter())?;
        pages_of_parts(std::iter::once((&*held.path(part.0), part.1, part.2)))
    }

    /// Returns the queue settings of a storage, cached for [`YOUNG`]: they rarely change.
    fn queues(&mut self, storage: &Storage) -> Vec<QueueSettings> {
        if let Some((taken, of, known)) = &self.queues
            && of == storage
            && taken.elapsed() < YOUNG
        {
            return known.clone();
        }
        let queues = counters::queues(self.roots, storage);
        self.queues = Some((Instant::now(), storage.clone(), queues.clone()));
        queues
    }

    /// Returns the evidence of a step whose clock ran.
    fn evidence(&mut self, step: &UnderWay) -> Option<Evidence> {
        let storage = self.storage(&borrowed(&step.paths))?;
        let (started, before) = step.before.as_ref()?;
        let after = step.after.clone()?;
        let other_processes = self.others_since(*started);
        Some(Evidence {
            queues: self.queues(&storage),
            storage,
            before: before.clone(),
            after,
            // No glances: the step runs on the thread that would take them.
            other_processes,
            during: Vec::new(),
        })
    }

    /// Returns other processes that did I/O since a step began; `None` if it was too short to
    /// examine them.
    fn others_since(&mut self, started: Instant) -> Option<Vec<assay_model::evidence::ProcessIo>> {
        if started.elapsed() < SHORT {
            return None;
        }
        let (_, before) = self.processes.take()?;
        self.look_at_processes();
        let (_, after) = self.processes.as_ref()?;
        busiest(&before, after, PROCESSES_KEPT)
    }
}

impl Observer for Steps<'_> {
    fn begins(&mut self, step: ObservedStep<'_>) {
        self.send(&FromAgent::TrialStarted {
            job: Box::new(step.job.clone()),
        });
        self.step = Some(UnderWay {
            job: step.job.clone(),
            paths: Vec::new(),
            held: HeldFiles::default(),
            started_unix_ms: unix_ms(),
            before: None,
            after: None,
        });
    }

    /// Reads the counters last, because the clock starts right afterwards.
    fn clock_starts(&mut self, step: ObservedStep<'_>) {
        let old = |(taken, _): &(Instant, ProcessIoTable)| taken.elapsed() > YOUNG;
        if self.processes.as_ref().is_none_or(old) {
            self.look_at_processes();
        }
        let Some(storage) = self.storage(step.paths) else {
            return;
        };
        // Other works remove files while their clock runs.
        let held = match self.act.act {
            Act::Copy(_) | Act::Iozone(_) => HeldFiles::hold(step.paths.iter().copied()),
            _ => HeldFiles::default(),
        };
        let queues = self.queues(&storage);
        let (file_cache, region_cache) = (pages(step.paths), self.region(&held, step));
        let part = (step.job.rw.reads() && step.job.direct).then_some(step);
        let before = Snapshot {
            file_cache,
            region_cache,
            queues,
            holes: part.and_then(|part| holes(region_of(part.job, part.paths).into_iter())),
            ..self.before(&storage)
        };
        if let Some(under_way) = &mut self.step {
            under_way.held = held;
            under_way.paths = step.paths.iter().map(|path| path.to_path_buf()).collect();
            under_way.before = Some((Instant::now(), before));
        }
    }

    /// Reads the counters first, before slow operations.
    fn clock_stopped(&mut self) {
        let Some(mut step) = self.step.take() else {
            return;
        };
        if let Some(storage) = self.storage(&borrowed(&step.paths)) {
            let started = step
                .before
                .as_ref()
                .map_or_else(Instant::now, |(at, _)| *at);
            let counters = self.after(&storage, started);
            let paths = step.paths.iter().map(|path| step.held.path(path));
            let paths: Vec<Cow<'_, Path>> = paths.collect();
            let observed = ObservedStep {
                job: &step.job,
                paths: &borrowed(&step.paths),
            };
            step.after = Some(Snapshot {
                file_cache: pages(&paths),
                region_cache: self.region(&step.held, observed),
                synchronous_files: are_synchronous(&paths),
                file_change: step.held.change(),
                ..counters
            });
        }
        self.step = Some(step);
    }

    fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
        let Some(step) = self.step.take() else {
            return;
        };
        let evidence = self.evidence(&step);
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
        let Some(step) = self.step.take() else {
            return;
        };
        let evidence = self.evidence(&step);
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
        self.outbox.tell(&FromAgent::ActProgress(progress.clone()));
    }

    fn powercut(&mut self, word: Word) {
        self.send(&FromAgent::Powercut(word));
    }

    fn stands(&mut self, report: ActReport) {
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

/// Returns the part of its only file that a job uses: offset and length.
fn region_of<'a>(job: &Job, paths: &[&'a Path]) -> Option<(&'a Path, u64, u64)> {
    let [path] = paths else {
        return None;
    };
    Some((path, job.offset.0, job.size.0))
}

fn borrowed(paths: &[PathBuf]) -> Vec<&Path> {
    paths.iter().map(PathBuf::as_path).collect()
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
