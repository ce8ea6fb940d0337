//! The host's side of a session with an agent.

use crate::exit::Failure;
use crate::leftovers;
use crate::output::say;
use assay_agent::frame::{FrameError, receive, send};
use assay_model::condition::{Condition, Offered, Restore, Subject};
use assay_model::load::Load;
use assay_model::plan::Plan;
use assay_model::text::clean;
use assay_model::wire::{FromAgent, Inspection, Leftover, Refusal, ToAgent, WIRE_VERSION};
use assay_model::work::WorkOrder;
use assay_target::{Session, Target, TargetError};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The word that makes this program an agent, whatever its name is: no command
/// of assay, no option and no job file of fio.
pub const AGENT: &str = "--serve-as-assay-agent";

/// A session with an agent.
pub struct Host {
    // Before the session: it is dropped first, and with it the agent's input.
    requests: Requests,
    session: Session,
}

/// The way to the agent; can be used from several threads.
#[derive(Clone)]
pub struct Requests(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl Requests {
    /// Sends one request.
    pub fn send(&self, request: &ToAgent) -> Result<(), FrameError> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_mut() {
            Some(writer) => send(writer, request),
            None => Ok(()),
        }
    }

    /// Ends the agent's input.
    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Host {
    /// Starts the agent on a target and greets it.
    pub fn start(target: &mut dyn Target) -> Result<Self, Failure> {
        Self::greeted(target.spawn(&agent()?))
    }

    /// Starts an agent that has this program's standard streams and terminal:
    /// for what copies them, or runs a command of the user's.
    pub fn start_in_front(target: &mut dyn Target) -> Result<Self, Failure> {
        Self::greeted(target.spawn_in_front(&agent()?))
    }

    fn greeted(spawned: Result<Session, TargetError>) -> Result<Self, Failure> {
        let mut session = spawned.map_err(|error| Failure::failed(error.to_string()))?;
        let requests = Requests(Arc::new(Mutex::new(session.writer.take())));
        let mut host = Self { requests, session };
        host.greet()?;
        host.undo_abandoned()?;
        Ok(host)
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let greeting = ToAgent::Hello {
            version: WIRE_VERSION,
        };
        match self.ask(&greeting)? {
            FromAgent::Hello { version } if version == WIRE_VERSION => Ok(()),
            FromAgent::Hello { version } => Err(Failure::failed(format!(
                "the agent speaks version {version}, this assay version {WIRE_VERSION}: update the older one"
            ))),
            other => Err(unexpected(&other)),
        }
    }

    /// Undoes the settings that killed runs left, and says what became of them.
    fn undo_abandoned(&mut self) -> Result<(), Failure> {
        match self.ask(&ToAgent::Undo)? {
            FromAgent::Undone { settings } => {
                for undone in &settings {
                    say(&clean(&leftovers::undone_in_words(undone)));
                }
                Ok(())
            }
            other => Err(unexpected(&other)),
        }
    }

    /// What the kernel offers to be set of the storage behind a path.
    pub fn offers(&mut self, path: &Path, subjects: Vec<Subject>) -> Result<Vec<Offered>, Failure> {
        let path = path.to_owned();
        match self.ask(&ToAgent::Offers { path, subjects })? {
            FromAgent::Offers { offered } => Ok(offered),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes conditions once and undoes them. The folder or device to work on under
    /// them.
    pub fn rehearse(
        &mut self,
        run_id: &str,
        path: &Path,
        conditions: &[Condition],
        restore: Restore,
    ) -> Result<PathBuf, Failure> {
        let rehearse = ToAgent::Rehearse {
            run_id: run_id.to_owned(),
            path: path.to_owned(),
            conditions: conditions.to_vec(),
            restore,
        };
        match self.ask(&rehearse)? {
            FromAgent::Rehearsed { place } => Ok(place),
            other => Err(unexpected(&other)),
        }
    }

    /// What is behind a path.
    pub fn inspect(&mut self, path: &Path) -> Result<Inspection, Failure> {
        let path = path.to_owned();
        match self.ask(&ToAgent::Inspect { path })? {
            FromAgent::Inspected(inspection) => Ok(*inspection),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes what killed runs left in a directory.
    pub fn sweep(&mut self, directory: &Path) -> Result<Vec<Leftover>, Failure> {
        let directory = directory.to_owned();
        match self.ask(&ToAgent::Sweep { directory })? {
            FromAgent::Swept { leftovers } => Ok(leftovers),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks the agent to run a plan; what it says is then to be
    /// [heard](Host::hear).
    pub fn run(&self, plan: &Plan) -> Result<(), Failure> {
        let plan = Box::new(plan.clone());
        self.requests.send(&ToAgent::Run { plan }).map_err(lost)
    }

    /// Asks the agent to run a load; what it says is then to be
    /// [heard](Host::hear).
    pub fn run_load(&self, load: &Load) -> Result<(), Failure> {
        let load = Box::new(load.clone());
        self.requests.send(&ToAgent::RunLoad { load }).map_err(lost)
    }

    /// Asks the agent to carry out a work; what it says is then to be
    /// [heard](Host::hear).
    pub fn run_work(&self, order: WorkOrder) -> Result<(), Failure> {
        let order = Box::new(order);
        self.requests
            .send(&ToAgent::RunWork { order })
            .map_err(lost)
    }

    /// Tells the agent that a trial is safely stored.
    pub fn stored(&self, position: u32) -> Result<(), Failure> {
        self.requests
            .send(&ToAgent::Stored { position })
            .map_err(lost)
    }

    /// Asks the agent to stop what it was asked for last.
    pub fn cancel(&self) -> Result<(), Failure> {
        self.requests.send(&ToAgent::Cancel).map_err(lost)
    }

    /// The next thing the agent says.
    pub fn hear(&mut self) -> Result<FromAgent, Failure> {
        match receive(&mut self.session.reader).map_err(lost)? {
            Some(FromAgent::Refused(Refusal { usage, message })) => Err(if usage {
                Failure::usage(message)
            } else {
                Failure::failed(message)
            }),
            Some(message) => Ok(message),
            None => Err(Failure::lost("the agent ended unexpectedly")),
        }
    }

    /// The way to the agent.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    fn ask(&mut self, request: &ToAgent) -> Result<FromAgent, Failure> {
        self.requests.send(request).map_err(lost)?;
        self.hear()
    }
}

/// What is started as an agent.
fn agent() -> Result<[OsString; 2], Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("cannot find the assay program: {error}")))?;
    Ok([program.into(), AGENT.into()])
}

impl Drop for Host {
    fn drop(&mut self) {
        self.requests.close();
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "to be handed to map_err as it is"
)]
fn lost(error: FrameError) -> Failure {
    Failure::lost(format!("lost the agent: {error}"))
}

fn unexpected(message: &FromAgent) -> Failure {
    let text = format!("{message:?}");
    let name = text.split([' ', '(', '{']).next().unwrap_or_default();
    Failure::failed(format!("the agent answered with an unexpected {name}"))
}
