//! A session: requests in, records out.

use crate::conditions::{self, Conditions, before_trial};
use crate::fatal::Fatal;
use crate::frame::FrameError;
use crate::inbox::{Ending, Event, Inbox};
use crate::inspect::{inspect, uses};
use crate::last_resort::LastResort;
use crate::load;
use crate::outbox::Outbox;
use crate::permission::refuse;
use crate::signals::EndingSignals;
use crate::trial::{Bench, Ended};
use crate::work;
use crate::workspace::{Workspace, sweep};
use assay_engine::{EngineError, Progress, layout};
use assay_model::condition::Subject;
use assay_model::job::FileState;
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::units::Bytes;
use assay_model::wire::{
    FromAgent, Leftover, LoadNote, NoteWeight, Refusal, RunEnd, ToAgent, WIRE_VERSION,
};
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serves a host until it closes the stream. A broken or closed stream, or a
/// signal that asks to end, stops the trial under way and removes the test
/// files. A load that does not end although it must is given up with the whole
/// process: some seconds after the stream was closed, or at the next signal.
///
/// # Errors
/// When a stream breaks, or what the host sends is not a message; it is told
/// before, if it still listens.
pub fn serve(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> Result<(), FrameError> {
    serve_until(reader, writer, EndingSignals::catch)
}

/// As [`serve`], for an agent that was started in front of a terminal and is
/// talked to over two descriptors that it inherited. A Ctrl-C there reaches the
/// host too, which then says what is to be done.
///
/// # Errors
/// As [`serve`], and when one of the descriptors is not open.
pub fn serve_in_front(requests: RawFd, answers: RawFd) -> Result<(), FrameError> {
    let reader = assay_engine::inherited(requests)?;
    let writer = assay_engine::inherited(answers)?;
    serve_until(reader, writer, EndingSignals::catch_but_interrupts)
}

fn serve_until(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    catch: fn(Ending) -> EndingSignals,
) -> Result<(), FrameError> {
    // People ask a copying program how far it is; who asks the agent, or a work
    // that has nothing to say, must end nothing.
    assay_engine::survive_wakes()?;
    let (inbox, ending) = Inbox::open(reader);
    let last_resort = ending.last_resort();
    let signals = catch(ending.clone());
    let outbox = Outbox::open(writer, ending)?;
    let mut session = Session {
        outbox,
        inbox,
        last_resort: last_resort.clone(),
        roots: Roots::default(),
    };
    let ended = session.run().and_then(|()| session.inbox.close());
    if let Err(error) = &ended {
        // The last word, whether or not it is heard.
        let message = format!("the agent ends: {error}");
        let usage = false;
        let _ = session
            .outbox
            .send(&FromAgent::Refused(Refusal { usage, message }));
    }
    // Waits until all is said.
    drop(session.outbox);
    last_resort.session_over();
    drop(signals);
    ended
}

struct Session {
    outbox: Outbox,
    inbox: Inbox,
    last_resort: LastResort,
    roots: Roots,
}

impl Session {
    fn run(&mut self) -> Result<(), FrameError> {
        while let Some(event) = self.inbox.next() {
            match event {
                Event::Run(plan, controls) => self.run_plan(&plan, &controls.stop)?,
                Event::RunLoad(load, controls) => {
                    let _under_way = self.last_resort.load_begins(&load);
                    load::run(&self.roots, &self.outbox, &load, &controls)?;
                }
                Event::RunWork(order, controls) => {
                    let last_resort = self.last_resort.clone();
                    let _under_way = last_resort.work_begins(&order.work);
                    work::run(
                        &self.roots,
                        &self.outbox,
                        &mut self.inbox,
                        &order,
                        &controls,
                    )?;
                }
                Event::Request(request) => self.answer(&request)?,
            }
        }
        Ok(())
    }

    fn answer(&self, request: &ToAgent) -> Result<(), FrameError> {
        let answer = match request {
            ToAgent::Hello { .. } => FromAgent::Hello {
                version: WIRE_VERSION,
            },
            ToAgent::Inspect { path } => match inspect(&self.roots, path) {
                Ok(inspection) => FromAgent::Inspected(Box::new(inspection)),
                Err(refusal) => FromAgent::Refused(refusal),
            },
            ToAgent::Sweep { directory } => FromAgent::Swept {
                leftovers: sweep(directory),
            },
            ToAgent::Undo => FromAgent::Undone {
                settings: conditions::undo_abandoned(&self.roots, &conditions::journals()),
            },
            ToAgent::Offers { path, subjects } => self.offers(path, subjects),
            // A run is an event of its own; the others came too late for one.
            ToAgent::Run { .. }
            | ToAgent::RunLoad { .. }
            | ToAgent::RunWork { .. }
            | ToAgent::Stored { .. }
            | ToAgent::ReportNow
            | ToAgent::Cancel => return Ok(()),
        };
        self.outbox.send(&answer)
    }

    fn offers(&self, path: &Path, subjects: &[Subject]) -> FromAgent {
        let offered = stack::resolve(&self.roots, path)
            .map_err(|error| error.to_string())
            .and_then(|storage| conditions::offers(&self.roots, &storage, subjects));
        match offered {
            Ok(offered) => FromAgent::Offers { offered },
            Err(message) => FromAgent::Refused(refuse(message)),
        }
    }

    fn run_plan(&mut self, plan: &Plan, stop: &AtomicBool) -> Result<(), FrameError> {
        let answer = match self.try_plan(plan, stop) {
            Ok((end, leftover)) => FromAgent::RunDone { end, leftover },
            Err(Abort::Refused(refusal)) => FromAgent::Refused(refusal),
            Err(Abort::Link(error)) => return Err(error),
        };
        self.outbox.send(&answer)
    }

    /// How the run ended, and what of it could not be removed.
    fn try_plan(
        &mut self,
        plan: &Plan,
        stop: &AtomicBool,
    ) -> Result<(RunEnd, Option<Leftover>), Abort> {
        let storage = self.admit(plan)?;
        let roots = self.roots.clone();
        let mut conditions =
            Conditions::new(&roots, &storage, plan, conditions::journals()).map_err(refused)?;
        conditions.rehearse().map_err(refused)?;
        let workspace = Workspace::new(plan).map_err(|error| {
            let place = plan.place.path().display();
            refused(format!("cannot make test files in {place}: {error}"))
        })?;
        let end = match self.prepare_data(plan, &storage, &workspace, stop) {
            Some(end) => end,
            None => {
                let bench = Bench {
                    roots: &roots,
                    storage: &storage,
                    workspace: &workspace,
                    stop,
                    seed: plan.seed,
                };
                self.run_trials(plan, &bench, &mut conditions)?
            }
        };
        for problem in conditions.leave() {
            self.warn(problem)?;
        }
        Ok((end, workspace.clear()))
    }

    /// Looks again at what the host has already looked at: things may have
    /// changed, and it is this side that writes.
    fn admit(&self, plan: &Plan) -> Result<Storage, Abort> {
        let path = plan.place.path();
        let storage =
            stack::resolve(&self.roots, path).map_err(|error| refused(error.to_string()))?;
        if let (Place::Device { path }, Some(top)) = (&plan.place, storage.top()) {
            let reasons = uses(&self.roots, path, &top.name);
            if !reasons.is_empty() {
                let message = format!("{} is in use: {}", path.display(), reasons.join("; "));
                return Err(refused(message));
            }
        }
        let writes = plan.jobs.iter().any(|planned| planned.job.rw.writes());
        if matches!(plan.place, Place::File { .. }) && writes {
            let path = path.display();
            return Err(refused(format!(
                "{path} is not assay's and is never written"
            )));
        }
        Ok(storage)
    }

    /// Writes the test file for real. A result ends the run.
    fn prepare_data(
        &self,
        plan: &Plan,
        storage: &Storage,
        workspace: &Workspace,
        stop: &AtomicBool,
    ) -> Option<RunEnd> {
        let wanted = |planned: &PlannedJob| planned.job.file_state == FileState::Written;
        if matches!(workspace, Workspace::File(_)) || !plan.jobs.iter().any(wanted) {
            return None;
        }
        let total = plan.file_size;
        let mut tell = |done: Bytes| self.outbox.tell(&FromAgent::Preparing { done, total });
        match write_data(&workspace.data(), plan, stop, &mut tell) {
            Ok(()) => None,
            Err(EngineError::Stopped) => Some(RunEnd::Cancelled),
            Err(error) => {
                let (errno, error) = (error.errno(), error.to_string());
                let fatal = Fatal::of(&error, errno, &self.roots, storage);
                Some(fatal.map_or(RunEnd::Failed { error }, RunEnd::from))
            }
        }
    }

    fn run_trials(
        &mut self,
        plan: &Plan,
        bench: &Bench<'_>,
        conditions: &mut Conditions<'_>,
    ) -> Result<RunEnd, Abort> {
        for (position, slot) in (0..).zip(&plan.order) {
            if bench.stop.load(Ordering::Relaxed) {
                return Ok(RunEnd::Cancelled);
            }
            let Some(planned) = plan.jobs.get(slot.job) else {
                return Err(refused(format!("the plan has no job {}", slot.job)));
            };
            self.outbox.send(&FromAgent::TrialStarted { position })?;
            let mut tell = |progress: Progress| self.outbox.tell(&told(progress));
            let prepared = conditions.enter(slot.condition).and_then(|in_force| {
                before_trial(bench.roots, bench.storage, &plan.restore, bench.stop)?;
                Ok(in_force)
            });
            let Ended { mut record, fatal } = match &prepared {
                Ok(_) => bench.run(&planned.job, slot.trial, position, &mut tell),
                Err(error) => bench.not_begun(&planned.job, slot.trial, position, error.clone()),
            };
            record.condition = plan.condition_of(slot).map(|found| found.name.clone());
            record.in_force = prepared.unwrap_or_default();
            self.outbox.send(&FromAgent::TrialDone(Box::new(record)))?;
            if let Some(fatal) = fatal {
                return Ok(fatal.into());
            }
            self.inbox.await_stored(position);
        }
        Ok(RunEnd::Finished)
    }

    fn warn(&self, text: String) -> Result<(), FrameError> {
        let weight = NoteWeight::Warning;
        self.outbox
            .send(&FromAgent::LoadNote(LoadNote { weight, text }))
    }
}

fn told(progress: Progress) -> FromAgent {
    FromAgent::Progress {
        elapsed_ns: progress.elapsed_ns,
        bytes: progress.bytes,
        ios: progress.ios,
    }
}

fn write_data(
    path: &Path,
    plan: &Plan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Bytes),
) -> Result<(), EngineError> {
    let is_device = matches!(plan.place, Place::Device { .. });
    let file = OpenOptions::new()
        .write(true)
        .create_new(!is_device)
        .open(path)
        .map_err(|error| EngineError::file("create", path, error))?;
    let seed = SplitMix64::new(plan.seed).next_u64();
    layout::write(&file, path, plan.file_size, seed, stop, tell)
}

/// Why a plan ends before its time.
enum Abort {
    Refused(Refusal),
    Link(FrameError),
}

impl From<FrameError> for Abort {
    fn from(error: FrameError) -> Self {
        Self::Link(error)
    }
}

fn refused(message: String) -> Abort {
    Abort::Refused(Refusal {
        usage: true,
        message,
    })
}
