//! Host's side of a session with an agent.

use crate::child;
use crate::driver::notes;
use crate::driver::runs::Origin;
use crate::exit::Failure;
use crate::interrupt::{Interrupt, Interrupts, on_report_request};
use crate::output::say;
use assay_agent::frame::{FrameError, receive, send};
use assay_model::act::ActOrder;
use assay_model::checkup::Checkup;
use assay_model::condition::{Condition, Offered, Restore, Subject};
use assay_model::device::DeviceList;
use assay_model::plan::Plan;
use assay_model::run::Builds;
use assay_model::text::clean;
use assay_model::wire::{Feature, FromAgent, Greeting, Inspection, Leftover, Refusal, ToAgent};
use assay_target::{AgentSession, Target};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time limit for an agent's greeting; long enough for a busy board.
const GREETING: Duration = Duration::from_secs(30);
/// Time limit for an agent to undo the settings of killed runs.
const UNDOING: Duration = Duration::from_secs(120);

/// Limit on the total size of an agent's notes, in bytes.
const MOST_NOTES: usize = 16 << 20;

/// A session with an agent.
pub struct Host {
    // Declared before the session, so that it is dropped first and closes the agent's input.
    requests: Requests,
    session: AgentSession,
    origin: Origin,
    /// Total size of the agent's notes so far, in bytes.
    noted_bytes: usize,
}

/// Sender of requests to the agent; can be used from several threads.
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

    /// Cancels the last request. A failed send means that the agent has ended, which the receiver
    /// notices.
    pub fn cancel(&self) {
        let _ = self.send(&ToAgent::Cancel);
    }

    /// Closes the agent's input.
    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Host {
    /// Starts the agent on a target and exchanges greetings.
    pub fn start(target: &mut dyn Target) -> Result<Self, Failure> {
        Self::start_within(target, GREETING)
    }

    /// Starts the agent on a machine that may still be booting: each step gets at most `patience`. An
    /// installed agent that does not work is replaced by the program's own.
    pub fn start_within(target: &mut dyn Target, patience: Duration) -> Result<Self, Failure> {
        let session = target.start()?;
        let failure = match Self::greeted(target, session, patience) {
            Ok(host) => return Ok(host),
            Err(failure) => failure,
        };
        match target.give_up_installed() {
            None => Err(failure),
            Some(agent) if agent.replaceable => {
                let session = target.start()?;
                // Print this only after the restart: on a lost machine the installed agent is not at fault.
                say(&clean(&format!(
                    "assay: {failure}; it is installed there as {}, assay sends its own instead \
                     (update or remove it, or run assay agent push)",
                    agent.path
                )));
                Self::greeted(target, session, patience)
            }
            Some(agent) => Err(failure.and(&Failure::usage(format!(
                "it is installed there as {}: update or remove it",
                agent.path
            )))),
        }
    }

    /// Returns a function that ends the link to the agent at once, as long as this host exists.
    pub fn cutter(&self) -> Box<dyn FnOnce() + Send> {
        self.session.cutter()
    }

    /// Starts an agent that has this program's standard streams and terminal, for works that copy the
    /// streams or run a command of the user.
    pub fn start_in_front(target: &mut dyn Target) -> Result<Self, Failure> {
        let session = target.start_in_front()?;
        Self::greeted(target, session, GREETING)
    }

    fn greeted(
        target: &dyn Target,
        mut session: AgentSession,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let requests = Requests(Arc::new(Mutex::new(session.writer.take())));
        let mut host = Self {
            requests,
            session,
            origin: Origin {
                target: target.name(),
                unit: target.unit(),
                project: target.project(),
                builds: None,
            },
            noted_bytes: 0,
        };
        let agent = host.within(patience, Self::greet)?;
        host.origin.builds = Some(host.agree(agent, target.needed())?);
        host.within(UNDOING.max(patience), Self::undo_abandoned)?;
        Ok(host)
    }

    /// Cuts the link if the agent does not answer `ask` within `patience`.
    fn within<T>(
        &mut self,
        patience: Duration,
        ask: fn(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let watchdog = self.session.must_answer_within(patience);
        let watchdog = watchdog.map_err(Failure::no_thread)?;
        let answered = ask(self);
        if answered.is_err() && watchdog.has_barked() {
            let seconds = patience.as_secs();
            return Err(self.lost(&format!("the agent did not answer within {seconds} s")));
        }
        answered
    }

    /// Returns the name of the agent's machine; `None` for this one.
    pub fn target(&self) -> Option<&str> {
        self.origin.target.as_deref()
    }

    /// Returns the origin of the runs of this session: names that the user gave, and builds.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn greet(&mut self) -> Result<Greeting, Failure> {
        match self.ask(&ToAgent::Hello(Greeting::of_host()))? {
            FromAgent::Hello(agent) => Ok(agent),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Determines the common protocol. Ends an agent that has none, or lacks the feature that the
    /// command needs.
    fn agree(&mut self, agent: Greeting, needed: Option<Feature>) -> Result<Builds, Failure> {
        agreed(agent, needed).map_err(|why| {
            self.give_up();
            Failure::usage(self.placed(&why))
        })
    }

    /// Undoes the settings that killed runs left in force, and reports the results.
    fn undo_abandoned(&mut self) -> Result<(), Failure> {
        match self.ask(&ToAgent::Undo)? {
            FromAgent::Undone { agents, settings } => {
                if agents > 0 {
                    say("assay: an agent there had lost its host; it was ended");
                }
                for undone in &settings {
                    say(&clean(&notes::of_undone(undone)));
                }
                Ok(())
            }
            other => Err(self.unexpected(&other)),
        }
    }

    /// Queries the values that the kernel offers for settings of the storage behind a path.
    pub fn offers(&mut self, path: &Path, subjects: Vec<Subject>) -> Result<Vec<Offered>, Failure> {
        let path = path.to_owned();
        match self.ask(&ToAgent::Offers { path, subjects })? {
            FromAgent::Offers { offered } => Ok(offered),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Sets conditions once and undoes them, as a check. Returns the folder or device to work on under
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
            other => Err(self.unexpected(&other)),
        }
    }

    /// Inspects a path. In a child process, waits until the parent has checked that no other child
    /// measures the same storage.
    pub fn inspect(&mut self, path: &Path) -> Result<Inspection, Failure> {
        let path = path.to_owned();
        match self.ask(&ToAgent::Inspect { path })? {
            FromAgent::Inspected(inspection) => {
                child::claim(&inspection)?;
                Ok(*inspection)
            }
            other => Err(self.unexpected(&other)),
        }
    }

    /// Queries all disks of the machine.
    pub fn devices(&mut self) -> Result<DeviceList, Failure> {
        match self.ask(&ToAgent::Devices)? {
            FromAgent::Devices(list) => Ok(*list),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Queries the state of the machine, and of the storage behind a path.
    pub fn checkup(&mut self, path: Option<&Path>) -> Result<Checkup, Failure> {
        let path = path.map(Path::to_owned);
        match self.ask(&ToAgent::Checkup { path })? {
            FromAgent::Checkup(checkup) => Ok(*checkup),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Removes leftovers of killed runs in a directory.
    pub fn sweep(&mut self, directory: &Path) -> Result<Vec<Leftover>, Failure> {
        let directory = directory.to_owned();
        match self.ask(&ToAgent::Sweep { directory })? {
            FromAgent::Swept { leftovers } => Ok(leftovers),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Sends a plan to the agent; its messages then come from [`Host::receive`].
    pub fn run(&self, plan: &Plan) -> Result<(), Failure> {
        let plan = Box::new(plan.clone());
        self.send(&ToAgent::Run { plan })
    }

    /// Asks the agent to carry out acts; [`Host::receive`] receives its messages.
    pub fn run_acts(&self, order: ActOrder) -> Result<(), Failure> {
        let order = Box::new(order);
        self.send(&ToAgent::RunActs { order })
    }

    /// Handles signals from now on: the first one cancels the agent's task, after `say`, and SIGUSR1
    /// requests an interim report.
    pub fn obey_signals(
        &self,
        interrupts: Interrupts,
        say: impl FnOnce() + Send + 'static,
    ) -> Result<Interrupt, Failure> {
        let requests = self.requests();
        on_report_request(move || {
            // As in `Requests::cancel`, a failed send is noticed elsewhere.
            let _ = requests.send(&ToAgent::ReportNow);
        })?;
        let requests = self.requests();
        Interrupt::catch_with(interrupts, move || {
            say();
            requests.cancel();
        })
    }

    /// Acknowledges to the agent that a trial is stored.
    pub fn stored(&self, position: u32) -> Result<(), Failure> {
        self.send(&ToAgent::Stored { position })
    }

    /// Receives the next message of the agent.
    pub fn receive(&mut self) -> Result<FromAgent, Failure> {
        let received = receive(&mut self.session.reader);
        if received.is_err() {
            self.give_up();
        }
        match received.map_err(|error| self.lost_by(&error))? {
            Some(FromAgent::Refused(Refusal { usage, message })) => Err(if usage {
                Failure::usage(message)
            } else {
                Failure::failed(message)
            }),
            Some(message) => {
                self.limit_notes(&message)?;
                Ok(message)
            }
            None => Err(self.lost("the agent ended unexpectedly")),
        }
    }

    /// Handles a message that does not belong to the current task. Late progress of a task that has
    /// ended is ignored.
    ///
    /// # Errors
    /// If the message is an answer that was not requested.
    pub fn pass_over(&mut self, stray: &FromAgent) -> Result<(), Failure> {
        match stray.is_answer() {
            true => Err(self.unexpected(stray)),
            false => Ok(()),
        }
    }

    /// Limits the total size of notes, which are shown or stored: a faulty agent must not fill this machine.
    fn limit_notes(&mut self, message: &FromAgent) -> Result<(), Failure> {
        let FromAgent::LoadNote(note) = message else {
            return Ok(());
        };
        self.noted_bytes += note.text.len() + 1;
        if self.noted_bytes <= MOST_NOTES {
            return Ok(());
        }
        self.give_up();
        Err(self.lost("the agent sends notes without end"))
    }

    /// Failure for an agent that is gone, with its machine and the error of its link.
    fn lost(&self, what: &str) -> Failure {
        let complaint = self.session.complaint().map(|line| format!(" ({line})"));
        Failure::lost(self.placed(what) + &complaint.unwrap_or_default())
    }

    /// Prefixes a message with the name of the other machine.
    fn placed(&self, what: &str) -> String {
        match &self.origin.target {
            Some(target) => format!("{target}: {what}"),
            None => what.to_owned(),
        }
    }

    /// Returns a sender of requests to the agent.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    fn ask(&mut self, request: &ToAgent) -> Result<FromAgent, Failure> {
        match self.requests.send(request) {
            // After a failed send, the last message received may give the reason.
            Ok(()) | Err(FrameError::Link(_)) => self.receive(),
            Err(error) => Err(self.lost_by(&error)),
        }
    }

    fn send(&self, request: &ToAgent) -> Result<(), Failure> {
        let sent = self.requests.send(request);
        sent.map_err(|error| self.lost_by(&error))
    }

    /// Discards all further messages. Before the greetings the agent has no task, and is ended at once.
    fn give_up(&mut self) {
        match self.origin.builds {
            None => self.session.dismiss(),
            Some(_) => self.session.give_up(),
        }
    }

    /// Failure for an unexpected message; the session is given up.
    fn unexpected(&mut self, message: &FromAgent) -> Failure {
        self.give_up();
        let text = format!("{message:?}");
        let name = text.split([' ', '(', '{']).next().unwrap_or_default();
        Failure::failed(format!("the agent answered with an unexpected {name}"))
    }

    fn lost_by(&self, error: &FrameError) -> Failure {
        self.lost(&format!("lost the agent: {error}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.requests.close();
    }
}

/// Remedy for an agent that is too old, or lacks features.
const UPDATE_AGENT: &str = "install the agent of this assay there (assay agent push), or a newer \
                            package of assay-agent";

/// Returns the builds of both sides if they have a common protocol, else the reason.
fn agreed(agent: Greeting, needed: Option<Feature>) -> Result<Builds, String> {
    let own = Greeting::of_host();
    if agent.newest == 0 {
        return Err(format!(
            "the agent is from before protocol 1 (its version is {}), this is assay {}: {UPDATE_AGENT}",
            agent.version,
            build_in_words(&own)
        ));
    }
    let both = format!(
        "the agent is of assay {}, this is assay {}",
        build_in_words(&agent),
        build_in_words(&own)
    );
    let Some(protocol) = own.common(&agent) else {
        return Err(match agent.newest < own.oldest {
            true => format!("{both}: {UPDATE_AGENT}"),
            false => format!("{both}: update this assay"),
        });
    };
    match needed {
        Some(feature) if !agent.has(feature) => Err(format!(
            "the agent has no '{feature}', which this command needs; {both}: {UPDATE_AGENT}"
        )),
        _ => Ok(Builds {
            host: own.build,
            agent: agent.build,
            protocol,
        }),
    }
}

/// Build and protocol of one side: `0.1.0 with protocol 1`.
fn build_in_words(side: &Greeting) -> String {
    let Greeting {
        oldest,
        newest,
        build,
        ..
    } = side;
    match oldest == newest {
        true => format!("{build} with protocol {newest}"),
        false => format!("{build} with protocols {oldest} to {newest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::wire::NEWEST;

    fn agent(oldest: u32, newest: u32, features: &[Feature]) -> Greeting {
        Greeting {
            oldest,
            newest,
            build: "0.9.0+abc".to_owned(),
            ..Greeting::with(features.iter().copied())
        }
    }

    #[test]
    fn a_newer_agent_with_an_unknown_feature_is_used_as_far_as_both_know() {
        let mut newer = agent(NEWEST, NEWEST + 1, &[Feature::Loads]);
        newer.features.push("of tomorrow".to_owned());
        let builds = agreed(newer, Some(Feature::Loads)).unwrap();
        assert_eq!(builds.agent, "0.9.0+abc");
        assert_eq!(builds.host, Greeting::of_host().build);
        assert_eq!(builds.protocol, NEWEST);
    }

    #[test]
    fn a_refusal_names_both_sides_the_feature_and_the_remedy() {
        let own = format!("this is assay {}", build_in_words(&Greeting::of_host()));
        let old = Greeting {
            version: 11,
            ..Greeting::default()
        };
        for (agent, needed, expected) in [
            (
                old,
                None,
                ["before protocol 1", "version is 11", UPDATE_AGENT],
            ),
            (
                agent(3, 4, &[]),
                None,
                ["0.9.0+abc with protocols 3 to 4", "", "update this assay"],
            ),
            (
                agent(NEWEST, NEWEST, &[Feature::Works]),
                Some(Feature::Sqlite),
                ["has no 'sqlite'", "0.9.0+abc with protocol 2", UPDATE_AGENT],
            ),
        ] {
            let why = agreed(agent, needed).unwrap_err();
            assert!(why.contains(&own), "{why}");
            assert!(expected.iter().all(|words| why.contains(words)), "{why}");
        }
    }
}
