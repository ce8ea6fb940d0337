//! Host's side of a session with an agent: requests and their answers, notes as lines on standard
//! error, leftovers of killed runs, and the reachability of targets.

use crate::driver::runs::Origin;
use crate::exit::{Failure, Interrupt, Interrupts, on_report_request};
use crate::output::say;
use crate::targets::{On, target};
use crate::{child, stored};
use assay_agent::frame::{FrameError, receive, send};
use assay_model::act::ActOrder;
use assay_model::checkup::Checkup;
use assay_model::condition::{Condition, Offered, Restore, Subject, Undone};
use assay_model::device::DeviceList;
use assay_model::plan::{Place, Plan};
use assay_model::run::Builds;
use assay_model::storage::System;
use assay_model::text::clean;
use assay_model::wire::{
    Feature, FromAgent, Greeting, Inspection, Leftover, LoadNote, NoteWeight, Refusal, ToAgent,
};
use assay_store::{RunSummary, Store};
use assay_target::{AgentSession, Target, WhenLost};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

pub mod acts;
pub mod announce;
pub mod plans;
pub mod records;
pub mod runs;
pub mod trials;

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
                     (update or remove it, or run assay lab agent push)",
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
    pub fn start_in_foreground(target: &mut dyn Target) -> Result<Self, Failure> {
        let session = target.start_in_foreground()?;
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
        if answered.is_err() && watchdog.has_expired() {
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
                    say(&clean(&undone_in_words(undone)));
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

    /// Sends a plan to the agent; its messages then come from [`Host::receive`]. Its jobs have their
    /// options already, so that conditions go without them: not every agent knows such settings.
    pub fn run(&self, plan: &Plan) -> Result<(), Failure> {
        let mut plan = Box::new(plan.clone());
        for condition in &mut plan.conditions {
            condition.settings.retain(|set| !set.subject.is_of_job());
        }
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
const UPDATE_AGENT: &str = "install the agent of this assay there (assay lab agent push), or a newer \
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

/// Filter of repeated notes: notes that copies of a job have in common are printed once.
#[derive(Debug, Default)]
pub struct Repeats(BTreeMap<String, (NoteWeight, u64)>);

impl Repeats {
    /// Returns the line to print for a note; `None` for a repeated one.
    pub fn receive(&mut self, note: &LoadNote) -> Option<String> {
        let line = note_in_words(note);
        if let Some((_, more)) = self.0.get_mut(&line) {
            *more += 1;
            return None;
        }
        self.0.insert(line.clone(), (note.weight, 0));
        Some(line)
    }

    /// Returns the repeated notes with their counts, and forgets all notes.
    pub fn close(&mut self) -> Vec<(NoteWeight, String)> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.filter_map(|(line, (weight, more))| match more {
            0 => None,
            1 => Some((weight, format!("{line} (and once more)"))),
            _ => Some((weight, format!("{line} (and {more} more times)"))),
        })
        .collect()
    }
}

/// Formats a note as a message.
pub fn note_in_words(note: &LoadNote) -> String {
    let weight = match note.weight {
        NoteWeight::Info => "",
        NoteWeight::Warning => "warning: ",
        NoteWeight::Error => "error: ",
    };
    format!("assay: {weight}{}", clean(&note.text))
}

/// Formats a message about a setting that a killed run left in force.
fn undone_in_words(undone: &Undone) -> String {
    let Undone {
        run_id,
        knob,
        old,
        problem,
    } = undone;
    let done = old.as_ref().map_or_else(
        || format!("undid {knob}"),
        |old| format!("put {knob} back to '{old}'"),
    );
    match problem {
        None => format!("assay: run {run_id} was cut off under a condition: {done}"),
        Some(problem) => format!(
            "assay: warning: run {run_id} was cut off under a condition; {knob} stays as it is: \
             {problem}{}",
            old.as_ref().map_or_else(String::new, |old| format!(
                " (before the run it was '{old}')"
            ))
        ),
    }
}

/// Note about a test file that was left behind.
pub fn note_of_leftover(leftover: &Leftover) -> LoadNote {
    let folder = leftover.folder.display();
    let text = match &leftover.problem {
        None => format!(
            "removed the leftover test file of run {}: {folder} ({})",
            leftover.run_id, leftover.size
        ),
        Some(_) if leftover.locked => format!(
            "the test file of run {} in {folder} is locked: a process still uses it, as its agent \
             does while it ends; the next start looks again",
            leftover.run_id
        ),
        Some(problem) => format!(
            "the leftover test file of run {} in {folder} cannot be removed: {problem}",
            leftover.run_id
        ),
    };
    LoadNote {
        weight: NoteWeight::Info,
        text,
    }
}

/// Time limit for the agent of a killed host to end.
const ENDING: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Removes leftover test files where this run and the unfinished ones worked, and marks unfinished
/// runs as interrupted.
pub fn clear_leftovers(host: &mut Host, store: &mut Store, place: &Place) -> Result<(), Failure> {
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    let mut leftovers: Vec<Leftover> = Vec::new();
    let is_here = |run: &&RunSummary| run.target.as_deref() == host.target();
    let here: Vec<&RunSummary> = abandoned.iter().filter(is_here).collect();
    // Runs on other targets are left to a later start there.
    let is_ours = |leftover: &Leftover| here.iter().any(|run| run.id == leftover.run_id);
    let since = Instant::now();
    loop {
        // The search below finds these again if they are still there.
        leftovers.retain(|leftover| !leftover.locked && leftover.problem.is_none());
        for directory in test_directories(place, &here) {
            leftovers.extend(host.sweep(&directory)?);
        }
        // An agent survives its killed host until its current operation ends.
        let is_ending = |leftover: &Leftover| leftover.locked && is_ours(leftover);
        if !leftovers.iter().any(is_ending) || since.elapsed() > ENDING {
            break;
        }
        sleep(LOOK_INTERVAL);
    }
    leftovers.retain(|leftover| !leftover.locked || is_ours(leftover));
    for run in &abandoned {
        let locked = |leftover: &Leftover| leftover.locked && leftover.run_id == run.id;
        // The next start tries again what this one could not remove.
        if !leftovers.iter().any(locked) {
            store.mark_interrupted(&run.id)?;
        }
        say(&format!(
            "assay: run {} on {} was cut off: its {} finished trials are kept (assay report {})",
            run.id, run.path, run.trials_done, run.id
        ));
        if !here.iter().any(|known| known.id == run.id) {
            say(&clean(&format!(
                "assay: run {} was on {}: what it may have left there goes with the next run in \
                 the same place",
                run.id,
                run.target.as_deref().unwrap_or("this machine")
            )));
        } else if !leftovers.iter().any(|leftover| leftover.run_id == run.id) {
            say(&format!(
                "assay: no test file of run {} had to be removed",
                run.id
            ));
        }
    }
    for leftover in &leftovers {
        say(&note_in_words(&note_of_leftover(leftover)));
    }
    Ok(())
}

/// Removes the test files of an agent that was lost, by means of a new one. Failures are left to the
/// next start. Returns the leftovers that were found, except test files in use by other runs.
pub fn clear_leftovers_after_loss(
    target: &mut dyn Target,
    place: &Place,
    run_id: &str,
) -> Vec<Leftover> {
    // Starting an agent also undoes the settings of the lost one.
    let host = Host::start(target);
    let Place::Directory { path } = place else {
        return Vec::new();
    };
    let swept = host.and_then(|mut host| host.sweep(path));
    let mut swept = swept.unwrap_or_default();
    swept.retain(|leftover| !leftover.locked || leftover.run_id == run_id);
    swept
}

/// Returns the directories in which test files may be.
fn test_directories(place: &Place, abandoned: &[&RunSummary]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = abandoned
        .iter()
        .map(|run| run.path.as_str().into())
        .collect();
    if let Place::Directory { path } = place {
        all.push(path.clone());
    }
    all.sort();
    all.dedup();
    all
}

/// Maximum number of targets that are reached at the same time.
const TARGETS_AT_A_TIME: usize = 8;

/// Reason for a target whose thread panicked; the panic's own message is on standard error.
const PANICKED: &str =
    "assay failed while it asked (a defect of assay: please report the message above)";

/// Result of reaching a target: the machine, or the reason of the failure.
pub type Reached = Result<System, String>;

/// Starts an agent on each target and queries the machine. Returns `None` for boards of a labgrid,
/// because they would have to be acquired.
pub fn reach(targets: &[&On]) -> Vec<Option<Reached>> {
    let mut reached = Vec::new();
    for group in targets.chunks(TARGETS_AT_A_TIME) {
        reached.extend(std::thread::scope(|scope| {
            let start = |on| Builder::new().spawn_scoped(scope, move || ask_system(on));
            let asking = group.iter().map(|on| start(on).map_err(Failure::no_thread));
            let asking: Vec<_> = asking.collect();
            let answers = asking.into_iter().map(|thread| match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Some(Err(PANICKED.to_owned()))),
                Err(failure) => Some(Err(failure.to_string())),
            });
            answers.collect::<Vec<_>>()
        }));
    }
    reached
}

fn ask_system(on: &On) -> Option<Reached> {
    if matches!(on, On::Labgrid(_)) {
        return None;
    }
    let asked = target(on, WhenLost::Stop).and_then(|mut there| {
        let mut host = Host::start(there.as_mut())?;
        Ok(host.inspect(Path::new("/"))?.system)
    });
    Some(asked.map_err(|failure| failure.to_string()))
}

/// Formats a machine such as `aarch64, Linux 6.1.0, root`, or the reason why it was not reached.
pub fn reached_in_words(reached: &Reached) -> String {
    let system = match reached {
        Ok(system) => system,
        Err(why) => return format!("not reached: {why}"),
    };
    let board = system.board.as_ref().or(system.hostname.as_ref());
    let user = if system.root { "root" } else { "not root" };
    let mut words: Vec<&str> = board.map(String::as_str).into_iter().collect();
    let kernel = format!("Linux {}", system.kernel);
    words.extend([system.machine.as_str(), kernel.as_str(), user]);
    words.join(", ")
}

/// Adds the result of reaching a target to its JSON; `reached` is `None` if it was not tried.
pub fn describe_reached(value: &mut Value, reached: Option<&Reached>) {
    let system = reached.and_then(|reached| reached.as_ref().ok());
    value["reached"] = reached.map(Result::is_ok).into();
    value["error"] = reached.and_then(|reached| reached.clone().err()).into();
    value["machine"] = system.map(|system| system.machine.clone()).into();
    value["kernel"] = system.map(|system| system.kernel.clone()).into();
    value["board"] = system.and_then(|system| system.board.clone()).into();
    value["root"] = system.map(|system| system.root).into();
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

    #[test]
    fn what_comes_again_is_counted() {
        let mut repeats = Repeats::default();
        let mut received = |text: &str| {
            repeats.receive(&LoadNote {
                weight: NoteWeight::Error,
                text: text.to_owned(),
            })
        };
        let lines = ["b", "a", "b", "c", "b", "c"].map(&mut received);
        let said = |text: &str| Some(format!("assay: error: {text}"));
        assert_eq!(lines, [said("b"), said("a"), None, said("c"), None, None]);
        let again = ["b (and 2 more times)", "c (and once more)"];
        let again = again.map(|text| (NoteWeight::Error, format!("assay: error: {text}")));
        assert_eq!(repeats.close(), again);
        assert!(repeats.close().is_empty());
    }

    #[test]
    fn a_note_cannot_steer_a_terminal() {
        let note = LoadNote {
            weight: NoteWeight::Warning,
            text: "job \u{1b}[31m".to_owned(),
        };
        assert_eq!(note_in_words(&note), "assay: warning: job \\u{1b}[31m");
    }
}
