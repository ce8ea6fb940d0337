//! Acts in the slots of a plan: what they may write, the folder they get, and how they ended. The
//! evidence around their steps is taken in [`steps`].

mod admission;
mod claim;
mod hold;
#[cfg(feature = "sqlite")]
mod memory;
mod scratch;
#[cfg(feature = "sqlite")]
mod soak;
mod steps;
mod together;

use crate::conditions::{Conditions, before_trial};
use crate::fatal::Fatal;
use crate::frame::FrameError;
use crate::held_by_name;
use crate::inspect::storage_of;
use crate::load;
use crate::permission::refuse;
use crate::plan::{Abort, Runner, refused};
use crate::watching::{self, WatchMessage};
use crate::workspace::Folder;
use admission::admit;
use assay_model::condition::{Condition, InForce, Restore};
use assay_model::job::Job;
use assay_model::load::Load;
use assay_model::plan::Slot;
use assay_model::storage::Storage;
use assay_model::trial::TrialRecord;
use assay_model::wire::{NoteWeight, Refusal, RunEnd, SlotEnd};
use assay_model::work::acts::ActOrder;
use assay_model::work::watch::Watch;
use assay_model::work::{Work, WorkReport, WorkSpec};
use assay_probe::roots::Roots;
use assay_probe::stack;
use assay_workloads::{Context, WorkError};
use claim::files_of;
use hold::devices_of;
use scratch::{Scratch, kinds_of};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
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
        held.push(held_by_name::of_act(act).map_err(Abort::Refused)?);
    }
    let mut under = Under::new(runner, order)?;
    let ended = run_slots(runner, order, &acts, &mut under);
    under.leave(runner)?;
    ended
}

/// Carries out the acts slot by slot.
fn run_slots(
    runner: &mut Runner<'_>,
    order: &ActOrder,
    acts: &[Work],
    under: &mut Under<'_>,
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
        let no_act = || refused("the plan has no such act".to_owned());
        let act = acts.get(slot.job).ok_or_else(no_act)?;
        let entered = under.enter(runner, slot, &progress.restore);
        let mut workshop = Workshop {
            runner,
            order,
            act,
            slot,
            seed,
        };
        let (end, report) = match &entered {
            Ok(in_force) => workshop.carry_out(&mut progress, &under.in_force(in_force))?,
            Err(error) => workshop.fail(&mut progress, error)?,
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
struct Under<'a> {
    /// The conditions and the storage whose settings they are of; `None` if there are none.
    set: Option<(Conditions<'a>, Storage)>,
    makes_file_systems: bool,
}

impl<'a> Under<'a> {
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
            return Err(refused(format!(
                "a file system on {} destroys all data on it: add --destroy-data",
                path.display()
            )));
        }
        let storage = stack::resolve(runner.roots, path);
        let storage = storage.map_err(|error| refused(error.to_string()))?;
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
        let Some((conditions, storage)) = &mut self.set else {
            return Ok(Vec::new());
        };
        let mut in_force = conditions.enter(slot.condition)?;
        let mounted = conditions.mount_point();
        let mounted = mounted.map(|point| stack::resolve(runner.roots, point));
        let mounted = mounted.transpose().map_err(|error| error.to_string())?;
        let storage = mounted.as_ref().unwrap_or(storage);
        let stop = &runner.controls.stop;
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
struct Workshop<'r, 'a> {
    runner: &'r mut Runner<'a>,
    order: &'r ActOrder,
    act: &'r Work,
    slot: &'r Slot,
    /// Decides orders and contents.
    seed: u64,
}

impl Workshop<'_, '_> {
    /// Carries out the act; its end and its findings.
    fn carry_out(
        &mut self,
        progress: &mut Progress,
        under: &InForceNow<'_>,
    ) -> Result<(RunEnd, Option<WorkReport>), Abort> {
        let (order, act, seed) = (self.order, self.act, self.seed);
        let Runner {
            roots,
            inspected,
            outbox,
            controls,
            ..
        } = *self.runner;
        if let Work::Streams(load) = act {
            let load = Load {
                entropy: seed,
                ..*load.clone()
            };
            return load::run(self.runner, load);
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
            Work::Watch(watch) => look_on(roots, watch, &mut context),
            #[cfg(feature = "sqlite")]
            Work::Memory(work) => {
                assay_workloads::memory::run(work, &memory::Here(roots), &mut context)
            }
            #[cfg(feature = "sqlite")]
            Work::Soak(work) => {
                let path = &work.path;
                let behind = soak::Behind { roots, path };
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
            Err(WorkError::Refused(message)) => Err(refused(message)),
            Err(error) => Ok((end_of(&error, roots, spec, &before), None)),
        }
    }

    /// The condition cannot be made: the steps of the act fail, and those under others need not.
    fn fail(
        &mut self,
        progress: &mut Progress,
        error: &str,
    ) -> Result<(RunEnd, Option<WorkReport>), Abort> {
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

/// The act of a slot.
#[derive(Clone, Copy)]
pub(super) struct SlotAct<'a> {
    run_id: &'a str,
    destroy_data: bool,
    act: &'a Work,
    /// Repetition, from 1; 0 for one that makes no figure.
    trial: u32,
    seed: u64,
    /// Name of the condition that it is carried out under.
    condition: Option<&'a str>,
}

/// Opens and locks everything that no other program may use meanwhile.
fn held(work: &dyn WorkSpec) -> Result<(Vec<OwnedFd>, Vec<UnixListener>), Refusal> {
    Ok((devices_of(work)?, files_of(work)?))
}

/// Observes a command; each sample is sent as progress.
fn look_on(
    roots: &Roots,
    watch: &Watch,
    context: &mut Context<'_>,
) -> Result<WorkReport, WorkError> {
    let observer = &mut *context.observer;
    let mut tell = |told| match told {
        WatchMessage::Remark(text) => observer.note(NoteWeight::Info, text),
        WatchMessage::Sample(sample) => observer.stands(WorkReport::Watching(sample)),
    };
    watching::run(roots, watch, context.stop, &mut tell).map(WorkReport::Watch)
}

/// Returns the storage that a work reads or writes, looked up before it begins, as a device may be
/// gone afterwards. Empty for a filter (`assay dd`), which reports errors of its files itself.
fn storages(roots: &Roots, work: &dyn WorkSpec) -> Vec<Storage> {
    let folder = work.private_folder_in().map(Path::to_owned);
    let paths = work.touches().into_iter().chain(folder);
    let paths = paths.filter(|_| !work.is_filter() && work.measures_storage());
    paths.map(|path| storage_of(roots, &path)).collect()
}

/// Converts an error into the end of the run; `before` is the storage at its begin.
fn end_of(error: &WorkError, roots: &Roots, work: &dyn WorkSpec, before: &[Storage]) -> RunEnd {
    if matches!(error, WorkError::Stopped) {
        return RunEnd::Cancelled;
    }
    let text = error.to_string();
    if work.is_filter() {
        return RunEnd::Failed { error: text };
    }
    if matches!(error, WorkError::Gone { .. }) {
        let device = before.first().map(Storage::words).unwrap_or_default();
        let error = format!("{device}: {text}");
        return RunEnd::DeviceLost { error };
    }
    let mut storages = before.iter();
    let fatal = storages.find_map(|storage| Fatal::of(&text, error.errno(), roots, storage));
    fatal.map_or(RunEnd::Failed { error: text }, RunEnd::from)
}

/// Makes the private folder of a work, if it needs one.
fn folder(work: &dyn WorkSpec, run_id: &str) -> Result<Option<Folder>, Refusal> {
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
