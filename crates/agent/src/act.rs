//! Acts in the slots of a plan: what they may write, the folder they get, and how they ended. The
//! evidence around their steps is taken in [`steps`].
//!
//! - Claims on files that several acts use under the same name: two acts on one file would
//!   measure, and remove, each other's data.
//! - `Scratch`: the file systems that a scenario makes.
//! - `wave()`: simultaneous steps of an act as streams of a load.

mod steps;

use crate::conditions::{Conditions, before_trial, journals};
use crate::frame::FrameError;
use crate::inspect::storage_of;
use crate::permission::{Fatal, device, is_free, not_owned, refuse};
use crate::plan::{Abort, Runner};
use crate::watching::WatchMessage;
use crate::workspace::Folder;
use crate::{load, plan, watching};
use assay_engine::held::shown;
use assay_model::act::watch::Watch;
use assay_model::act::{Act, ActOrder, ActReport, ActSpec};
use assay_model::condition::{Condition, InForce, Restore, Setting, Subject};
use assay_model::evidence::Evidence;
use assay_model::job::Job;
use assay_model::load::blocks::{BlockSizes, Blocks, RwPattern};
use assay_model::load::report::{
    DirectionReport, LoadReport, StreamReport, WaveEvidence, WaveRecord,
};
use assay_model::load::{Durability, Engine, Extent, Load, PerDirection, Stream};
use assay_model::plan::{Plan, Slot};
use assay_model::storage::Storage;
use assay_model::trial::{DirectionTotals, Measurement, Outcome, TrialRecord};
use assay_model::wire::{NoteWeight, Refusal, RunEnd, SlotEnd};
use assay_probe::roots::Roots;
use assay_probe::safety::{FileUse, KernelOwned};
use assay_probe::stack;
use assay_workloads::{ActError, Context, Together};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use steps::{InForceNow, Steps};

/// Carries out acts slot by slot, and reports the trials, each slot and the end to the host.
pub(crate) fn run(mut runner: Runner<'_>, order: &ActOrder) -> Result<(), FrameError> {
    let ended = run_held(&mut runner, order);
    runner.report(ended)
}

/// Holds the files of all acts and carries the acts out; the end of the run.
fn run_held(runner: &mut Runner<'_>, order: &ActOrder) -> Result<RunEnd, Abort> {
    let mut acts = order.acts.clone();
    // Until the end of the run.
    let mut held = Vec::new();
    for act in &mut acts {
        held.push(load::hold_folders_of_act(act).map_err(Abort::Refused)?);
    }
    let mut under = SlotConditions::new(runner, order)?;
    let ended = run_slots(runner, order, &acts, &mut under);
    under.leave(runner)?;
    ended
}

/// Carries out the acts slot by slot.
fn run_slots(
    runner: &mut Runner<'_>,
    order: &ActOrder,
    acts: &[Act],
    under: &mut SlotConditions<'_>,
) -> Result<RunEnd, Abort> {
    let mut progress = Progress {
        restore: order.plan.restore,
        steps: Vec::new(),
        position: 0,
    };
    for (slot, &seed) in order.plan.order.iter().zip(&order.seeds) {
        if runner.is_stopped() {
            return Ok(RunEnd::Cancelled);
        }
        let no_act = || plan::refused("the plan has no such act".to_owned());
        let act = acts.get(slot.job).ok_or_else(no_act)?;
        let entered = under.enter(runner, slot, &progress.restore);
        let mut slot_run = SlotRun {
            runner,
            order,
            act,
            slot,
            seed,
        };
        let (end, report) = match &entered {
            Ok(in_force) => slot_run.carry_out(&mut progress, &under.in_force(in_force))?,
            Err(error) => slot_run.fail(&mut progress, error)?,
        };
        under.after_slot(runner)?;
        let ended = SlotEnd {
            trial: slot.trial,
            report: report.map(Box::new),
        };
        let position = progress.position.saturating_sub(1);
        runner.outbox.keep(runner.inbox, position, Some(ended))?;
        if end != RunEnd::Finished {
            return Ok(end);
        }
    }
    Ok(match runner.is_stopped() {
        true => RunEnd::Cancelled,
        false => RunEnd::Finished,
    })
}

/// The conditions of the slots.
struct SlotConditions<'a> {
    /// The conditions and the storage whose settings they are of; `None` if there are none.
    set: Option<(Conditions<'a>, Storage)>,
    makes_file_systems: bool,
}

impl<'a> SlotConditions<'a> {
    fn new(runner: &Runner<'a>, order: &ActOrder) -> Result<Self, Abort> {
        let plan = &order.plan;
        let makes_file_systems = plan.makes_file_systems();
        if plan.conditions.is_empty() {
            return Ok(Self {
                set: None,
                makes_file_systems,
            });
        }
        let path = plan.place.path();
        if makes_file_systems && !order.destroy_data {
            return Err(plan::refused(format!(
                "a file system on {} destroys all data on it: add --destroy-data",
                path.display()
            )));
        }
        let storage = stack::resolve(runner.roots, path);
        let storage = storage.map_err(|error| plan::refused(error.to_string()))?;
        let conditions = runner.conditions(&storage)?;
        Ok(Self {
            set: Some((conditions, storage)),
            makes_file_systems,
        })
    }

    /// Brings the condition of a slot into force, prepares the storage, and returns the settings
    /// that were read back.
    fn enter(
        &mut self,
        runner: &Runner<'_>,
        slot: &Slot,
        restore: &Restore,
    ) -> Result<Vec<InForce>, String> {
        let stop = &runner.controls.stop;
        let Some((conditions, storage)) = &mut self.set else {
            if *restore == Restore::default() {
                return Ok(Vec::new());
            }
            let storage = stack::resolve(runner.roots, runner.plan.place.path());
            let storage = storage.map_err(|error| error.to_string())?;
            let prepared = before_trial(runner.roots, &storage, restore, stop)?;
            return Ok(prepared.into_iter().collect());
        };
        let mut in_force = conditions.enter(slot.condition)?;
        let mounted = conditions.mount_point();
        let mounted = mounted.map(|point| stack::resolve(runner.roots, point));
        let mounted = mounted.transpose().map_err(|error| error.to_string())?;
        let storage = mounted.as_ref().unwrap_or(storage);
        in_force.extend(before_trial(runner.roots, storage, restore, stop)?);
        Ok(in_force)
    }

    fn in_force<'s>(&'s self, read_back: &'s [InForce]) -> InForceNow<'s> {
        InForceNow {
            read_back,
            conditions: self.set.as_ref().map(|(conditions, _)| conditions),
        }
    }

    /// Every slot gets a new file system.
    fn after_slot(&mut self, runner: &Runner<'_>) -> Result<(), FrameError> {
        match self.makes_file_systems {
            true => self.leave(runner),
            false => Ok(()),
        }
    }

    fn leave(&mut self, runner: &Runner<'_>) -> Result<(), FrameError> {
        match &mut self.set {
            Some((conditions, _)) => runner.leave(conditions),
            None => Ok(()),
        }
    }
}

/// State that the slots of an order pass on.
pub(super) struct Progress {
    /// Preparation before the next slot.
    restore: Restore,
    /// Steps of the acts so far, each once.
    steps: Vec<Job>,
    /// Position of the next trial.
    position: u32,
}

impl Progress {
    /// Counts a trial, and returns its position.
    fn count(&mut self, record: &TrialRecord) {
        self.position += 1;
        self.restore = self.restore.after(from_ref(record));
        if !self.steps.iter().any(|job| job.name == record.job.name) {
            self.steps.push(record.job.clone());
        }
    }
}

/// A slot under way.
struct SlotRun<'r, 'a> {
    runner: &'r mut Runner<'a>,
    order: &'r ActOrder,
    act: &'r Act,
    slot: &'r Slot,
    /// Decides orders and contents.
    seed: u64,
}

impl SlotRun<'_, '_> {
    /// Carries out the act; its end and its findings.
    fn carry_out(
        &mut self,
        progress: &mut Progress,
        under: &InForceNow<'_>,
    ) -> Result<(RunEnd, Option<ActReport>), Abort> {
        let (order, act, seed) = (self.order, self.act, self.seed);
        let Runner {
            roots,
            inspected,
            outbox,
            controls,
            ..
        } = *self.runner;
        match act {
            Act::Streams(load) => {
                let load = Load {
                    entropy: seed,
                    ..*load.clone()
                };
                return load::run(self.runner, load);
            }
            Act::Jobs(jobs) => return self.run_jobs(jobs, progress),
            _ => {}
        }
        let spec = act.spec();
        let warnings = admit(roots, spec, order.destroy_data).map_err(Abort::Refused)?;
        // Devices and files are held until all is over.
        let _held = held(spec).map_err(Abort::Refused)?;
        let checked = inspected.check_all(roots, &spec.writes());
        checked.map_err(Abort::Refused)?;
        let folder = folder(spec, &order.plan.run_id).map_err(Abort::Refused)?;
        for text in warnings {
            outbox.warn(text)?;
        }
        let before = storages(roots, spec);
        let kinds = kinds_of(spec);
        let mut steps = self.steps(progress, under, &kinds);
        let mut context = Context {
            seed,
            folder: folder.as_ref().map(Folder::path),
            stop: &controls.stop,
            report_now: &controls.report_now,
            observer: &mut steps,
        };
        let ended = match act {
            Act::Watch(watch) => watch_command(roots, watch, &mut context),
            #[cfg(feature = "sqlite")]
            Act::Memory(work) => {
                assay_workloads::memory::run(work, &ThisMachine(roots), &mut context)
            }
            #[cfg(feature = "sqlite")]
            Act::Soak(work) => {
                let path = &work.path;
                let behind = DeviceBehind { roots, path };
                assay_workloads::soak::run(work, &behind, &mut context)
            }
            work => assay_workloads::run(work, &mut context),
        };
        steps.close()?;
        if let Some(problem) = folder.and_then(Folder::clear) {
            outbox.warn(problem)?;
        }
        match ended {
            Ok(report) => Ok((self.end(), Some(report))),
            Err(ActError::Refused(message)) => Err(plan::refused(message)),
            Err(error) => Ok((end_of(&error, roots, spec, &before), None)),
        }
    }

    /// Runs the jobs of a plan, each of whose trials is stored as it ends. Such an order has no
    /// conditions.
    fn run_jobs(
        &mut self,
        jobs: &Plan,
        progress: &mut Progress,
    ) -> Result<(RunEnd, Option<ActReport>), Abort> {
        let warnings = admit(self.runner.roots, jobs, self.order.destroy_data);
        for text in warnings.map_err(Abort::Refused)? {
            self.runner.outbox.warn(text)?;
        }
        let order = &self.order.plan;
        let plan = Plan {
            run_id: order.run_id.clone(),
            seed: self.seed,
            ..jobs.clone()
        };
        let mut runner = Runner {
            roots: self.runner.roots,
            inspected: self.runner.inspected,
            outbox: self.runner.outbox,
            inbox: &mut *self.runner.inbox,
            plan: &plan,
            restore: progress.restore,
            controls: self.runner.controls,
            earlier: Some(progress.position),
            handed_over: 0,
        };
        let end = runner.run()?;
        progress.position += runner.handed_over;
        progress.restore = runner.restore;
        Ok((end, None))
    }

    /// The condition cannot be made: the steps of the act fail, and those under others need not.
    fn fail(
        &mut self,
        progress: &mut Progress,
        error: &str,
    ) -> Result<(RunEnd, Option<ActReport>), Abort> {
        let jobs = match progress.steps.is_empty() {
            true => self
                .order
                .plan
                .jobs
                .iter()
                .map(|planned| planned.job.clone())
                .collect(),
            false => progress.steps.clone(),
        };
        let mut steps = self.steps(progress, &InForceNow::NOTHING, &[]);
        steps.fail_all(&jobs, error);
        steps.close()?;
        Ok((self.end(), None))
    }

    fn steps<'s>(
        &'s mut self,
        progress: &'s mut Progress,
        under: &'s InForceNow<'s>,
        kinds: &'s [Condition],
    ) -> Steps<'s> {
        let act = SlotAct {
            run_id: &self.order.plan.run_id,
            destroy_data: self.order.destroy_data,
            act: self.act,
            trial: self.slot.trial,
            seed: self.seed,
            condition: self
                .order
                .plan
                .condition_of(self.slot)
                .map(|found| &*found.name),
        };
        let scratch = Scratch::new(self.runner.roots, act, kinds);
        Steps::new(self.runner, act, progress, under, scratch)
    }

    fn end(&self) -> RunEnd {
        match self.runner.is_stopped() {
            true => RunEnd::Cancelled,
            false => RunEnd::Finished,
        }
    }
}

/// This machine, read from files of its kernel, for an act on main memory.
#[cfg(feature = "sqlite")]
struct ThisMachine<'a>(&'a Roots);

#[cfg(feature = "sqlite")]
impl assay_workloads::memory::MachineInfo for ThisMachine<'_> {
    fn machine(&self) -> assay_model::act::memory::Machine {
        assay_probe::system::describe_memory(self.0, assay_engine::memory::usable_cpus())
    }

    fn throttled(&self) -> Option<u64> {
        assay_probe::system::throttled(self.0)
    }

    fn huge_bytes(&self, from: u64, to: u64) -> Option<u64> {
        assay_probe::system::huge_bytes(self.0, from, to)
    }

    fn physical(&self, address: u64) -> Option<u64> {
        assay_probe::system::physical_address(self.0, address)
    }
}

/// Device behind the path of a soak.
#[cfg(feature = "sqlite")]
struct DeviceBehind<'a> {
    roots: &'a Roots,
    path: &'a Path,
}

#[cfg(feature = "sqlite")]
impl assay_workloads::soak::DeviceHealth for DeviceBehind<'_> {
    fn health(&self) -> Option<assay_model::act::soak::Health> {
        let storage = storage_of(self.roots, self.path);
        let mut layer = storage.device()?.clone();
        crate::inspect::ask_registers(self.roots, &mut layer);
        assay_model::act::soak::Health::of(&layer.identity)
    }
}

/// The act of a slot.
#[derive(Clone, Copy)]
pub(super) struct SlotAct<'a> {
    run_id: &'a str,
    destroy_data: bool,
    act: &'a Act,
    /// Repetition, from 1; 0 for one that makes no figure.
    trial: u32,
    seed: u64,
    /// Name of the condition that it is carried out under.
    condition: Option<&'a str>,
}

/// Opens and locks everything that no other program may use meanwhile.
fn held(work: &dyn ActSpec) -> Result<(Vec<OwnedFd>, Vec<UnixListener>), Refusal> {
    Ok((devices_of(work)?, files_of(work)?))
}

/// Observes a command; each sample is sent as progress.
fn watch_command(
    roots: &Roots,
    watch: &Watch,
    context: &mut Context<'_>,
) -> Result<ActReport, ActError> {
    let observer = &mut *context.observer;
    let mut tell = |told| match told {
        WatchMessage::Remark(text) => observer.note(NoteWeight::Info, text),
        WatchMessage::Sample(sample) => observer.interim_report(ActReport::Watching(sample)),
    };
    watching::run(roots, watch, context.stop, &mut tell).map(ActReport::Watch)
}

/// Returns the storage that an act reads or writes, looked up before it begins, as a device may be
/// gone afterwards. Empty for a filter (`assay dd`), which reports errors of its files itself.
fn storages(roots: &Roots, work: &dyn ActSpec) -> Vec<Storage> {
    let folder = work.private_folder_in().map(Path::to_owned);
    let paths = work.touches().into_iter().chain(folder);
    let paths = paths.filter(|_| !work.is_filter() && work.measures_storage());
    paths.map(|path| storage_of(roots, &path)).collect()
}

/// Converts an error into the end of the run; `before` is the storage at its begin.
fn end_of(error: &ActError, roots: &Roots, work: &dyn ActSpec, before: &[Storage]) -> RunEnd {
    if matches!(error, ActError::Stopped) {
        return RunEnd::Cancelled;
    }
    let text = error.to_string();
    if work.is_filter() {
        return RunEnd::Failed { error: text };
    }
    if matches!(error, ActError::Gone { .. }) {
        let device = before.first().map(Storage::words).unwrap_or_default();
        let error = format!("{device}: {text}");
        return RunEnd::DeviceLost { error };
    }
    let mut storages = before.iter();
    let fatal = storages.find_map(|storage| Fatal::of(&text, error.errno(), roots, storage));
    fatal.map_or(RunEnd::Failed { error: text }, RunEnd::from)
}

/// Makes the private folder of an act, if it needs one.
fn folder(work: &dyn ActSpec, run_id: &str) -> Result<Option<Folder>, Refusal> {
    let Some(parent) = work.private_folder_in() else {
        return Ok(None);
    };
    let made = Folder::new(parent, run_id);
    made.map(Some).map_err(|error| {
        refuse(format!(
            "cannot make test files in {}: {error}",
            parent.display()
        ))
    })
}

/// Standard output of the agent.
const STDOUT: &str = "/proc/self/fd/1";
/// Suffix of files that an act makes in a folder of the user.
const IN_FOLDERS: &str = "h2w";

/// Checks everything that an act would write, before it writes anything; returns warnings
/// for the user.
///
/// # Errors
/// When it would write a device or a file that is in use, or a device without
/// its user's word.
fn admit(roots: &Roots, work: &dyn ActSpec, destroy_data: bool) -> Result<Vec<String>, Refusal> {
    let written = written(work);
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let owned = KernelOwned::scan(roots);
    let mut warnings = Vec::new();
    for path in written {
        match device(&path) {
            Some(node) if !destroy_data => {
                let node = node.display();
                return Err(refuse(format!(
                    "{node} is a block device: this destroys all data on it; if that is what you \
                     want, add --destroy-data"
                )));
            }
            Some(node) => is_free(roots, &node)?,
            None => warnings.extend(not_owned(&path, uses(&owned, &path))?),
        }
    }
    Ok(warnings)
}

/// Returns every path that an act may write, including standard output.
fn written(work: &dyn ActSpec) -> Vec<PathBuf> {
    let mut written = work.writes();
    if work.writes_stdout()
        // A pipe has no path and needs no permission.
        && let Ok(path) = fs::canonicalize(STDOUT)
    {
        written.push(path);
    }
    written
}

/// Returns the uses of the files that are written at a path. In a folder, only files with
/// a certain suffix are written; swap space beside them does not matter.
fn uses(owned: &KernelOwned<'_>, path: &Path) -> Vec<FileUse> {
    if !path.is_dir() {
        return owned.uses_of(path);
    }
    let mut uses = owned.uses_below(path);
    uses.retain(|found| found.file.extension() == Some(OsStr::new(IN_FOLDERS)));
    uses
}

/// Claims the files of an act until the returned value is dropped or the process ends. A
/// claim is an abstract socket (unix(7)): a kill would leave a lock file behind, and a
/// lock on a file has no effect once the file is removed and made again. Other acts on
/// this machine in the same network namespace see the claim; other programs do not.
///
/// # Errors
/// If another act has claimed one of the files.
fn files_of(work: &dyn ActSpec) -> Result<Vec<UnixListener>, Refusal> {
    let mut files = work.claims();
    files.sort();
    files.dedup();
    let mut claims = Vec::new();
    for path in files {
        let Some(name) = name_of(&path) else {
            continue;
        };
        let address = SocketAddr::from_abstract_name(name);
        match address.and_then(|address| UnixListener::bind_addr(&address)) {
            Ok(claim) => claims.push(claim),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::ADDRINUSE) => {
                return Err(refuse(format!(
                    "another assay works on {} now: wait for its end, or {}",
                    shown(&path),
                    work.claim_remedy()
                )));
            }
            // Without abstract sockets, there is no protection.
            Err(_) => {}
        }
    }
    Ok(claims)
}

/// Returns the name of a claim: the folder and the file's name in it, so that it is the
/// same before and after the file is made. `None` if the folder does not exist.
fn name_of(path: &Path) -> Option<String> {
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => fs::canonicalize(path.parent()?)
            .ok()?
            .join(path.file_name()?),
    };
    let folder = fs::metadata(real.parent()?).ok()?;
    let mut hasher = DefaultHasher::new();
    real.file_name()?.hash(&mut hasher);
    Some(format!(
        "assay/{}/{}/{:x}",
        folder.dev(),
        folder.ino(),
        hasher.finish()
    ))
}

/// Opens each device that an act writes exclusively, until the returned descriptors are
/// closed: it cannot be mounted meanwhile, and was not mounted since it was checked. Some
/// acts open their devices exclusively themselves; they are skipped, because a second
/// exclusive open would fail.
///
/// # Errors
/// If a device is in use. Other errors of opening are left to the act to report.
fn devices_of(work: &dyn ActSpec) -> Result<Vec<OwnedFd>, Refusal> {
    if work.opens_own_devices() {
        return Ok(Vec::new());
    }
    let mut held = BTreeMap::new();
    for node in work.writes().iter().filter_map(|path| device(path)) {
        let Ok(meta) = fs::metadata(&node) else {
            continue;
        };
        // One device may have several names.
        if held.contains_key(&meta.rdev()) {
            continue;
        }
        match hold(&node) {
            Ok(fd) => drop(held.insert(meta.rdev(), fd)),
            Err(Errno::BUSY) => {
                return Err(refuse(format!(
                    "{} is in use and is left alone: it was mounted or is held by a program",
                    node.display()
                )));
            }
            Err(_) => {}
        }
    }
    Ok(held.into_values().collect())
}

fn hold(node: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match open(node, flags | OFlags::RDONLY, Mode::empty()) {
        // The user may have permission for writing only.
        Err(Errno::ACCESS) => open(node, flags | OFlags::WRONLY, Mode::empty()),
        other => other,
    }
}

/// Returns the file systems that an act makes, as conditions; each kind once.
fn kinds_of(work: &dyn ActSpec) -> Vec<Condition> {
    let mut kinds: Vec<Condition> = Vec::new();
    for kind in work
        .file_systems()
        .map_or_else(Vec::new, |(_, kinds)| kinds)
    {
        let condition = Condition::of(vec![Setting {
            subject: Subject::Mkfs,
            value: kind.to_owned(),
        }]);
        if !kinds.contains(&condition) {
            kinds.push(condition);
        }
    }
    kinds
}

/// Scratch device of a scenario, and the file system on it. The file systems are conditions: a
/// journal records them before they are made, so that the next start unmounts those of a killed
/// run.
struct Scratch<'a> {
    roots: &'a Roots,
    act: SlotAct<'a>,
    kinds: &'a [Condition],
    made: Option<Conditions<'a>>,
}

impl<'a> Scratch<'a> {
    const fn new(roots: &'a Roots, act: SlotAct<'a>, kinds: &'a [Condition]) -> Self {
        Self {
            roots,
            act,
            kinds,
            made: None,
        }
    }

    /// Makes a file system on the device, which destroys its data, and mounts it; returns
    /// the mount point.
    fn make(&mut self, kind: &str) -> Result<PathBuf, ActError> {
        let device = self.act.act.spec().file_systems();
        let device = device
            .filter(|_| self.act.destroy_data)
            .map(|(path, _)| path);
        let device = device.ok_or_else(|| {
            refused("a file system destroys all data on a device: give one, and --destroy-data")
        })?;
        let mut kinds = self.kinds.iter();
        let index = kinds.position(|known| known.settings.iter().any(|s| s.value == kind));
        let storage = stack::resolve(self.roots, device).map_err(|e| failed(e.to_string()))?;
        let run_id = self.act.run_id;
        let conditions = Conditions::new(self.roots, &storage, run_id, self.kinds, journals());
        let conditions = self.made.insert(conditions.map_err(failed)?);
        conditions.enter(index).map_err(failed)?;
        let point = conditions.mount_point().map(PathBuf::from);
        point.ok_or_else(|| refused("there is no such file system in this scenario"))
    }

    /// Unmounts the file system; returns the first problem as an error.
    fn leave(&mut self) -> Result<(), ActError> {
        match self.close().into_iter().next() {
            Some(problem) => Err(failed(problem)),
            None => Ok(()),
        }
    }

    /// Unmounts the file system; returns one line for each problem.
    fn close(&mut self) -> Vec<String> {
        self.made
            .take()
            .map_or_else(Vec::new, |mut made| made.leave())
    }
}

fn refused(problem: &str) -> ActError {
    ActError::Refused(problem.to_owned())
}

fn failed(message: String) -> ActError {
    ActError::Failed {
        message,
        errno: None,
    }
}

/// Builds the record of acts that ran together, from the side of one of them. The steps become
/// streams of a load, as which they are judged: the kernel's counters are those of all steps
/// together.
fn wave(all: &[Together], index: u32, evidence: &Evidence, started_unix_ms: u64) -> WaveRecord {
    let streams: Vec<Stream> = all.iter().map(stream).collect();
    let reports = all.iter().map(|one| report(one, started_unix_ms));
    WaveRecord {
        load: Load {
            streams,
            ..Load::default()
        },
        report: LoadReport {
            streams: reports.collect(),
            evidence: vec![WaveEvidence {
                wave: 0,
                streams: (0..).take(all.len()).collect(),
                evidence: evidence.clone(),
                stops: Vec::new(),
            }],
            stopped: all.iter().any(|one| one.outcome == Outcome::Interrupted),
            ..LoadReport::default()
        },
        members: vec![index],
    }
}

fn stream(one: &Together) -> Stream {
    let job: &Job = &one.job;
    let block = u32::try_from(job.bs.0).unwrap_or(u32::MAX);
    let mut stream = Stream::new(&job.name);
    stream.blocks = Blocks {
        rw: RwPattern {
            read: job.rw.reads(),
            write: job.rw.writes(),
            random: job.rw.is_random(),
            ..RwPattern::default()
        },
        sizes: PerDirection::all(BlockSizes::fixed(block)),
        ..Blocks::default()
    };
    stream.region.size = Some(Extent::Bytes(job.size.0));
    stream.engine = Engine {
        kind: job.ioengine,
        ..Engine::default()
    };
    stream.durability = Durability::of_job(job.direct, job.sync, job.flush);
    stream
}

fn report(one: &Together, started_unix_ms: u64) -> StreamReport {
    let none = Measurement::default();
    let measured = one.came.measured.as_ref().unwrap_or(&none);
    let way = |totals: &DirectionTotals| DirectionReport {
        ios: totals.ios,
        bytes: totals.bytes,
        runtime_ns: measured.elapsed_ns,
        ..DirectionReport::default()
    };
    let (problem, errors) = match &one.outcome {
        Outcome::Failed { error } => (Some(error.clone()), 1),
        _ => (None, 0),
    };
    let completed = one.outcome == Outcome::Completed;
    StreamReport {
        started: one.came.measured.is_some(),
        started_unix_ms,
        errno: measured
            .errors
            .first
            .first()
            .and_then(|e| e.errno)
            .unwrap_or(0),
        total_errors: errors,
        problem,
        runtime_ns: measured.elapsed_ns,
        elapsed_ns: measured.elapsed_ns,
        directions: PerDirection {
            read: way(&measured.read),
            write: way(&measured.write),
            ..PerDirection::default()
        },
        moved_bytes: PerDirection {
            read: measured.read.bytes,
            write: measured.write.bytes,
            trim: 0,
        },
        sync: measured.flush.clone(),
        unflushed_bytes: measured.unflushed_bytes,
        flushed_at_end: completed && one.job.flush.at_end.is_some(),
        errors: measured.errors.clone(),
        cpu: measured.cpu,
        ..StreamReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::iozone::Iozone;
    use std::path::PathBuf;

    fn on(files: &[PathBuf]) -> Iozone {
        Iozone {
            files: files.to_vec(),
            ..Iozone::default()
        }
    }

    #[test]
    fn a_file_is_claimed_once_by_whatever_name_and_whether_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["iozone.tmp", "other"].map(|name| folder.path().join(name));
        let held = files_of(&on(&[file.clone(), file.clone()])).unwrap();
        fs::write(&file, "").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let refusal = files_of(&on(&[other.clone(), path.clone()])).unwrap_err();
            assert!(refusal.message.contains("another assay works on"));
        }
        assert!(files_of(&on(&[other])).is_ok(), "and nothing stays claimed");
        drop(held);
        assert!(files_of(&on(&[file])).is_ok());
    }
}
