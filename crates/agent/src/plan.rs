//! Execution of a plan: admission, test file, and trials under their conditions.

use crate::conditions::{self, Conditions, before_trial, can_restore};
use crate::frame::FrameError;
use crate::inspect::{is_simulated, simulated_storage};
use crate::messages::{Inbox, Outbox};
use crate::permission::{Fatal, Inspected, is_free, refuse};
use crate::trial::{Bench, EndedTrial, not_begun};
use crate::workspace::Workspace;
use assay_engine::load::Controls;
use assay_engine::{EngineError, Progress, held, layout};
use assay_model::condition::Restore;
use assay_model::job::FileState;
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::trial::TrialRecord;
use assay_model::wire::{FromAgent, Refusal, RunEnd, SlotEnd};
use assay_probe::roots::Roots;
use assay_probe::stack;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::slice::from_ref;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest time for writing a test file, as a share of the time of the preceding part. Test files
/// then take less than a fifth of the run.
const NEW_FILE: f64 = 0.2;

/// A plan under way.
pub(crate) struct Runner<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) inspected: &'a Inspected,
    pub(crate) outbox: &'a Outbox,
    pub(crate) inbox: &'a mut Inbox,
    pub(crate) plan: &'a Plan,
    /// Preparation before the next slot.
    pub(crate) restore: Restore,
    pub(crate) controls: &'a Controls,
    /// Number of trials in earlier slots, if these jobs are an act of an order; only all of them end
    /// a slot then.
    pub(crate) earlier: Option<u32>,
    /// Number of trials that the host has.
    pub(crate) handed_over: u32,
}

impl<'a> Runner<'a> {
    /// Runs the jobs of the plan, and reports each trial and the end to the host.
    pub(crate) fn jobs(mut self) -> Result<(), FrameError> {
        let ended = self.run();
        self.report(ended)
    }

    /// Sends the end of the run.
    pub(crate) fn report(&self, ended: Result<RunEnd, Abort>) -> Result<(), FrameError> {
        self.outbox.send(&match ended {
            Ok(end) => FromAgent::Done { end },
            Err(Abort::Refused(refusal)) => FromAgent::Refused(refusal),
            Err(Abort::Link(error)) => return Err(error),
        })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.controls.stop.load(Ordering::Relaxed)
    }

    /// Runs the jobs; the end of the run.
    pub(crate) fn run(&mut self) -> Result<RunEnd, Abort> {
        let storage = self.admit()?;
        can_restore(self.roots, &storage, &self.plan.restore).map_err(refused)?;
        let mut conditions = self.conditions(&storage)?;
        conditions.rehearse(&self.controls.stop).map_err(refused)?;
        let mut end = RunEnd::Finished;
        for stretch in self.plan.stretches() {
            if self.is_stopped() {
                end = RunEnd::Cancelled;
                break;
            }
            end = self.run_stretch(stretch, &storage, &mut conditions)?;
            if end != RunEnd::Finished {
                break;
            }
        }
        self.leave(&mut conditions)?;
        Ok(end)
    }

    /// The conditions of the plan; none is in force yet.
    pub(crate) fn conditions(&self, storage: &Storage) -> Result<Conditions<'a>, Abort> {
        let Plan {
            run_id, conditions, ..
        } = self.plan;
        let journals = conditions::journals();
        Conditions::new(self.roots, storage, run_id, conditions, journals).map_err(refused)
    }

    /// Undoes the condition in force.
    pub(crate) fn leave(&self, conditions: &mut Conditions<'_>) -> Result<(), FrameError> {
        let mut problems = conditions.leave().into_iter();
        problems.try_for_each(|problem| self.outbox.warn(problem))
    }

    /// Looks again at what the host has already looked at: things may have
    /// changed, and it is this side that writes.
    fn admit(&self) -> Result<Storage, Abort> {
        let path = self.plan.place.path();
        if is_simulated(path) {
            return simulated_storage(path).map_err(refused);
        }
        let storage =
            stack::resolve(self.roots, path).map_err(|error| refused(error.to_string()))?;
        if matches!(self.plan.place, Place::Device { .. }) {
            is_free(self.roots, path).map_err(Abort::Refused)?;
            self.is_inspected(path, None)?;
        }
        let writes = self.plan.jobs.iter().any(|planned| planned.job.rw.writes());
        if matches!(self.plan.place, Place::File { .. }) && writes {
            let path = path.display();
            return Err(refused(format!(
                "{path} is not assay's and is never written"
            )));
        }
        Ok(storage)
    }

    fn is_inspected(&self, path: &Path, held: Option<&File>) -> Result<(), Abort> {
        let checked = self.inspected.check(self.roots, path, held);
        checked.map_err(Abort::Refused)
    }

    /// Runs the trials of one workspace, which is made before and removed afterwards.
    fn run_stretch(
        &mut self,
        stretch: Range<usize>,
        storage: &Storage,
        conditions: &mut Conditions<'_>,
    ) -> Result<RunEnd, Abort> {
        let made = match self.make_file_system(stretch.start, conditions) {
            Ok(made) => made,
            Err(error) => return self.fail_all(stretch, &error),
        };
        let (place, storage) = match &made {
            Some((place, storage)) => (place, storage),
            None => (&self.plan.place, storage),
        };
        let workspace = Workspace::new(place, &self.plan.run_id).map_err(|error| {
            let place = place.path().display();
            refused(format!("cannot make test files in {place}: {error}"))
        })?;
        if let Workspace::Device { path, held } = &workspace {
            self.is_inspected(path, Some(held))?;
        }
        let bench = Bench {
            roots: self.roots,
            storage,
            workspace: &workspace,
            stop: &self.controls.stop,
            seed: self.plan.seed,
        };
        let end = self.run_parts(stretch, &bench, conditions)?;
        if let Some(problem) = workspace.clear() {
            self.outbox.warn(problem)?;
        }
        Ok(end)
    }

    /// Runs the trials of one workspace in parts. Each part gets a new test file if writing it
    /// takes little of the time.
    fn run_parts(
        &mut self,
        stretch: Range<usize>,
        bench: &Bench<'_>,
        conditions: &mut Conditions<'_>,
    ) -> Result<RunEnd, Abort> {
        let begun = Instant::now();
        if let Some(end) = self.prepare_data(bench.storage, bench.workspace) {
            return Ok(end);
        }
        let writing = begun.elapsed();
        let mut longest = Duration::ZERO;
        for part in self.plan.parts(stretch) {
            if writing <= longest {
                self.renew_data(bench.workspace)?;
            }
            let begun = Instant::now();
            let end = self.run_trials(part, bench, conditions)?;
            if end != RunEnd::Finished {
                return Ok(end);
            }
            longest = begun.elapsed().mul_f64(NEW_FILE);
        }
        Ok(RunEnd::Finished)
    }

    /// Replaces the test file by a new one. If that fails, for lack of space or because the run is
    /// stopped, the old file remains.
    fn renew_data(&self, workspace: &Workspace) -> Result<(), Abort> {
        let Some(path) = workspace.next_data().filter(|_| self.needs_data()) else {
            return Ok(());
        };
        let written = self.write_data(&path, false).is_ok();
        if let Err(error) = workspace.take_next_data(written) {
            self.outbox
                .warn(format!("the test file stays the same: {error}"))?;
        }
        Ok(())
    }

    /// Mounts the file system for the trials from a position on; `None` if the plan makes none.
    fn make_file_system(
        &self,
        position: usize,
        conditions: &mut Conditions<'_>,
    ) -> Result<Option<(Place, Storage)>, String> {
        let (Some(point), Some(slot)) = (conditions.mount_point(), self.plan.order.get(position))
        else {
            return Ok(None);
        };
        let path = point.to_owned();
        conditions.enter(slot.condition)?;
        let storage = stack::resolve(self.roots, &path).map_err(|error| error.to_string())?;
        Ok(Some((Place::Directory { path }, storage)))
    }

    /// Writes the test file if a job needs it. Returns the end of the run if that fails.
    fn prepare_data(&self, storage: &Storage, workspace: &Workspace) -> Option<RunEnd> {
        let nothing_to_write = matches!(workspace, Workspace::File(_) | Workspace::Simulated(_));
        if nothing_to_write || !self.needs_data() {
            return None;
        }
        let is_device = matches!(workspace, Workspace::Device { .. });
        match self.write_data(&workspace.data(), is_device) {
            Ok(()) => None,
            Err(EngineError::Stopped) => Some(RunEnd::Cancelled),
            Err(error) => {
                let (errno, error) = (error.errno(), error.to_string());
                let fatal = Fatal::of(&error, errno, self.roots, storage);
                Some(fatal.map_or(RunEnd::Failed { error }, RunEnd::from))
            }
        }
    }

    /// Returns true if a job of the plan needs a file whose blocks are all written.
    fn needs_data(&self) -> bool {
        let mut jobs = self.plan.jobs.iter();
        jobs.any(|planned| planned.job.file_state == FileState::Written)
    }

    /// Writes all blocks of a new file, or of the region of a device, and reports the progress.
    fn write_data(&self, path: &Path, is_device: bool) -> Result<(), EngineError> {
        let made = match is_device {
            true => held::open(path, OFlags::WRONLY, Mode::empty()).map(File::from),
            false => held::create_new(path),
        };
        let file = made.map_err(|errno| EngineError::file("create", path, errno.into()))?;
        let seed = SplitMix64::new(self.plan.seed).next_u64();
        let total = self.plan.file_size;
        let mut send = |done| self.outbox.post(&FromAgent::Preparing { done, total });
        layout::write(&file, path, total, seed, &self.controls.stop, &mut send)
    }

    fn run_trials(
        &mut self,
        stretch: Range<usize>,
        bench: &Bench<'_>,
        conditions: &mut Conditions<'_>,
    ) -> Result<RunEnd, Abort> {
        for (position, slot) in self.slots(stretch) {
            if self.is_stopped() {
                return Ok(RunEnd::Cancelled);
            }
            let planned = self.planned(slot)?;
            self.started(slot)?;
            let mut send = |progress: Progress| self.outbox.post(&message(progress));
            let prepared = conditions.enter(slot.condition).and_then(|mut in_force| {
                let Bench {
                    roots,
                    storage,
                    stop,
                    ..
                } = *bench;
                in_force.extend(before_trial(roots, storage, &self.restore, stop)?);
                Ok(in_force)
            });
            let EndedTrial { mut record, fatal } = match &prepared {
                Ok(_) => bench.run(&planned.job, slot.trial, position, &mut send),
                Err(error) => EndedTrial {
                    record: self.not_begun(slot, position, error)?,
                    fatal: Fatal::of(error, None, bench.roots, bench.storage),
                },
            };
            record.in_force = prepared.unwrap_or_default();
            record.under(conditions.still());
            self.restore = self.restore.after(from_ref(&record));
            self.hand_over(slot, record)?;
            if let Some(fatal) = fatal {
                return Ok(fatal.into());
            }
        }
        Ok(RunEnd::Finished)
    }

    /// Records these trials as failed, because their file system cannot be made.
    fn fail_all(&mut self, stretch: Range<usize>, error: &str) -> Result<RunEnd, Abort> {
        for (position, slot) in self.slots(stretch) {
            if self.is_stopped() {
                return Ok(RunEnd::Cancelled);
            }
            self.started(slot)?;
            let record = self.not_begun(slot, position, error)?;
            self.hand_over(slot, record)?;
        }
        Ok(RunEnd::Finished)
    }

    fn started(&self, slot: &Slot) -> Result<(), Abort> {
        let job = Box::new(self.planned(slot)?.job.clone());
        Ok(self.outbox.send(&FromAgent::TrialStarted { job })?)
    }

    fn not_begun(&self, slot: &Slot, position: u32, error: &str) -> Result<TrialRecord, Abort> {
        let job = &self.planned(slot)?.job;
        let seed = self.plan.seed;
        Ok(not_begun(job, slot.trial, position, seed, error.to_owned()))
    }

    /// Sends a trial to the host, and waits until it is stored.
    fn hand_over(&mut self, slot: &Slot, mut record: TrialRecord) -> Result<(), FrameError> {
        let condition = self.plan.condition_of(slot);
        record.condition = condition.map(|found| found.name.clone());
        record.position += self.earlier.unwrap_or(0);
        let position = record.position;
        self.handed_over += 1;
        self.outbox.send(&FromAgent::TrialDone(Box::new(record)))?;
        let end = self.earlier.is_none().then_some(SlotEnd {
            trial: slot.trial,
            report: None,
        });
        self.outbox.keep(self.inbox, position, end)
    }

    fn planned(&self, slot: &Slot) -> Result<&'a PlannedJob, Abort> {
        let planned = self.plan.jobs.get(slot.job);
        planned.ok_or_else(|| refused(format!("the plan has no job {}", slot.job)))
    }

    /// Returns the slots of a stretch with their positions in the plan.
    fn slots(&self, stretch: Range<usize>) -> impl Iterator<Item = (u32, &'a Slot)> + use<'a> {
        let slots = (0..).zip(&self.plan.order);
        slots.skip(stretch.start).take(stretch.len())
    }
}

fn message(progress: Progress) -> FromAgent {
    FromAgent::Progress {
        elapsed_ns: progress.elapsed_ns,
        bytes: progress.bytes,
        ios: progress.ios,
    }
}

/// Reason of an early end of a plan.
pub(crate) enum Abort {
    Refused(Refusal),
    Link(FrameError),
}

impl From<FrameError> for Abort {
    fn from(error: FrameError) -> Self {
        Self::Link(error)
    }
}

pub(crate) fn refused(message: String) -> Abort {
    Abort::Refused(refuse(message))
}
