//! A session: requests in, records out.

use crate::fatal::Fatal;
use crate::frame::{FrameError, receive, send};
use crate::inspect::{inspect, uses};
use crate::trial::{Bench, Ended};
use crate::workspace::{Workspace, sweep};
use assay_engine::{EngineError, Progress, layout};
use assay_model::job::FileState;
use assay_model::plan::{Place, Plan};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::units::Bytes;
use assay_model::wire::{FromAgent, Leftover, Refusal, RunEnd, ToAgent, WIRE_VERSION};
use assay_probe::roots::Roots;
use assay_probe::stack;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// Serves a host until it closes the stream. A broken or closed stream stops
/// the trial under way and removes the test files.
///
/// # Errors
/// When the stream breaks.
pub fn serve(reader: impl Read + Send + 'static, writer: impl Write) -> Result<(), FrameError> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop);
    let requests = listen(reader, Arc::clone(&stop));
    Session {
        writer,
        requests,
        stop,
        roots: Roots::default(),
    }
    .run()
}

/// A request to end the process ends the trial first and cleans up.
fn stop_on_signals(stop: &Arc<AtomicBool>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Cannot fail for these signals; without it the next start cleans up.
        let _ = signal_hook::flag::register(signal, Arc::clone(stop));
    }
}

/// Reads requests on a thread of its own, so that a cancel, or the end of the
/// stream, is heard while a trial runs.
fn listen(mut reader: impl Read + Send + 'static, stop: Arc<AtomicBool>) -> Receiver<ToAgent> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        while let Ok(Some(request)) = receive::<ToAgent>(&mut reader) {
            if request == ToAgent::Cancel {
                stop.store(true, Ordering::Relaxed);
            }
            if sender.send(request).is_err() {
                return;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    receiver
}

struct Session<W> {
    writer: W,
    /// Ends when the host has closed the stream.
    requests: Receiver<ToAgent>,
    stop: Arc<AtomicBool>,
    roots: Roots,
}

impl<W: Write> Session<W> {
    fn run(mut self) -> Result<(), FrameError> {
        while let Ok(request) = self.requests.recv() {
            match request {
                ToAgent::Hello { .. } => self.send(&FromAgent::Hello {
                    version: WIRE_VERSION,
                })?,
                ToAgent::Inspect { path } => {
                    let answer = match inspect(&self.roots, &path) {
                        Ok(inspection) => FromAgent::Inspected(Box::new(inspection)),
                        Err(refusal) => FromAgent::Refused(refusal),
                    };
                    self.send(&answer)?;
                }
                ToAgent::Sweep { directory } => self.send(&FromAgent::Swept {
                    leftovers: sweep(&directory),
                })?,
                ToAgent::Run { plan } => self.run_plan(&plan)?,
                ToAgent::Stored { .. } | ToAgent::Cancel => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, message: &FromAgent) -> Result<(), FrameError> {
        send(&mut self.writer, message)
    }

    fn run_plan(&mut self, plan: &Plan) -> Result<(), FrameError> {
        let answer = match self.try_plan(plan) {
            Ok((end, leftover)) => FromAgent::RunDone { end, leftover },
            Err(Abort::Refused(refusal)) => FromAgent::Refused(refusal),
            Err(Abort::Link(error)) => return Err(error),
        };
        self.send(&answer)
    }

    /// How the run ended, and what of it could not be removed.
    fn try_plan(&mut self, plan: &Plan) -> Result<(RunEnd, Option<Leftover>), Abort> {
        let storage = self.admit(plan)?;
        let workspace = Workspace::new(plan).map_err(|error| {
            let place = plan.place.path().display();
            refused(format!("cannot make test files in {place}: {error}"))
        })?;
        let end = match self.prepare_data(plan, &storage, &workspace)? {
            Some(end) => end,
            None => self.run_trials(plan, &storage, &workspace)?,
        };
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
        &mut self,
        plan: &Plan,
        storage: &Storage,
        workspace: &Workspace,
    ) -> Result<Option<RunEnd>, Abort> {
        let wanted =
            |planned: &assay_model::plan::PlannedJob| planned.job.file_state == FileState::Written;
        if matches!(workspace, Workspace::File(_)) || !plan.jobs.iter().any(wanted) {
            return Ok(None);
        }
        let mut broken = None;
        let written = {
            let (writer, stop) = (&mut self.writer, &self.stop);
            let mut tell = |done: Bytes| {
                let message = FromAgent::Preparing {
                    done,
                    total: plan.file_size,
                };
                if let Err(error) = send(writer, &message) {
                    stop.store(true, Ordering::Relaxed);
                    broken = Some(error);
                }
            };
            write_data(&workspace.data(), plan, stop, &mut tell)
        };
        if let Some(error) = broken {
            return Err(Abort::Link(error));
        }
        Ok(match written {
            Ok(()) => None,
            Err(EngineError::Stopped) => Some(RunEnd::Cancelled),
            Err(error) => {
                let (errno, error) = (error.errno(), error.to_string());
                let fatal = Fatal::of(&error, errno, &self.roots, storage);
                Some(fatal.map_or(RunEnd::Failed { error }, RunEnd::from))
            }
        })
    }

    fn run_trials(
        &mut self,
        plan: &Plan,
        storage: &Storage,
        workspace: &Workspace,
    ) -> Result<RunEnd, Abort> {
        for (position, slot) in (0..).zip(&plan.order) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(RunEnd::Cancelled);
            }
            let Some(planned) = plan.jobs.get(slot.job) else {
                return Err(refused(format!("the plan has no job {}", slot.job)));
            };
            self.send(&FromAgent::TrialStarted { position })?;
            let bench = Bench {
                roots: &self.roots,
                storage,
                workspace,
                stop: &self.stop,
                seed: plan.seed,
            };
            let writer = &mut self.writer;
            // A host that does not hear progress does not hear the result
            // either: that one is told.
            let mut tell = |progress: Progress| drop(send(writer, &told(progress)));
            let Ended { record, fatal } = bench.run(&planned.job, slot.trial, position, &mut tell);
            self.send(&FromAgent::TrialDone(Box::new(record)))?;
            if let Some(fatal) = fatal {
                return Ok(fatal.into());
            }
            self.await_stored(position);
        }
        Ok(RunEnd::Finished)
    }

    /// Waits until the host has stored a trial: its writing must not fall into
    /// the next one.
    fn await_stored(&self, position: u32) {
        while let Ok(request) = self.requests.recv() {
            if request == (ToAgent::Stored { position }) || request == ToAgent::Cancel {
                return;
            }
        }
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
        .map_err(|source| EngineError::File {
            operation: "create",
            path: path.to_owned(),
            source,
        })?;
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
