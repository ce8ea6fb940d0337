//! A machine that is reached through a program of the system, such as ssh, with the user's settings
//! for that program.
//!
//! A single program and connection are enough: the program starts a shell on the machine that
//! receives the agent, verifies it, runs it and removes it again (see `boot`). No text from the
//! user passes through that shell; paths reach the agent as messages.

use crate::agents::{Agents, Installed};
use crate::boot::{Boot, Fault, Role, StartedAgent};
use crate::session::{Kept, LinkComplaint};
use crate::{
    AgentOrder, AgentSession, AgentState, AgentThere, GivenUpAgent, Target, TargetError, agents,
    boot,
};
use assay_link::{Broken, Link, NotOfThisVersion, Times, link};
use assay_model::text::no_thread;
use assay_model::wire::Feature;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use std::{fmt, io};
use thiserror::Error;

/// Longest silence in the dialogue with the shell. Connecting has a separate limit in ssh
/// (`ConnectTimeout`).
const SILENCE: Duration = Duration::from_secs(30);
/// Time limit for an agent to clean up before the link is cut; the agent continues to clean up
/// without the link.
pub(crate) const PARTING: Duration = Duration::from_secs(60);

/// A program that runs a command on another machine and connects its own standard streams to those
/// of the command, byte by byte.
pub trait Program: Clone + Send + 'static {
    /// Returns the name of the machine.
    fn target(&self) -> String;

    /// Returns the program with the arguments that make it run `command` on the machine.
    fn carrying_out(&self, command: &str) -> Command;

    /// Returns the command by which a user reaches the machine without assay.
    fn by_hand(&self) -> String;

    /// Returns why the machine cannot be reached, and a remedy.
    fn why_unreachable(&self, complaints: &Complaints) -> String;

    /// Finds the machine if the user named none.
    ///
    /// # Errors
    /// If no machine, or more than one, is found.
    fn find(&mut self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A machine, and the program that reaches it.
#[derive(Clone, Debug)]
pub struct Remote<P> {
    pub(crate) program: P,
    pub(crate) agents: Agents,
    pub(crate) when_lost: WhenLost,
    /// Longest permitted silence of the shell on the machine.
    pub(crate) silence: Duration,
    /// Prints a message about the link, one line each.
    pub(crate) tell: fn(&str),
    /// Agent that was started last.
    started: Option<StartedAgent>,
}

/// Failure to reach a machine, with the error messages of the program.
pub(crate) struct Failed {
    pub(crate) fault: Fault,
    complaints: Complaints,
    /// The time limit for silence has expired.
    silent: bool,
}

impl<P: Program> Remote<P> {
    /// Creates a target whose agents stop when the link is lost.
    pub(crate) fn over(program: P) -> Self {
        Self {
            program,
            agents: Agents::installed(),
            when_lost: WhenLost::Stop,
            silence: SILENCE,
            tell: |_| (),
            started: None,
        }
    }

    /// Sets the behaviour for a lost link, and the function that prints messages about it, one line
    /// each.
    #[must_use]
    pub fn when_lost(mut self, when_lost: WhenLost, tell: fn(&str)) -> Self {
        (self.when_lost, self.tell) = (when_lost, tell);
        self
    }

    /// Reconnects to a kept agent.
    pub(crate) fn reach_again(
        &self,
        folder: &str,
        patience: Duration,
    ) -> Result<AgentSession, Failed> {
        let command = boot::command_again();
        let reached = self.reach(&command, patience, |boot| boot.run_again(folder));
        reached.map(|(session, ())| session)
    }

    /// Runs a command on the machine, and completes a dialogue with it.
    pub(crate) fn talk<T>(
        &self,
        command: &str,
        talk: impl FnOnce(Boot<'_>) -> Result<T, Fault>,
    ) -> Result<T, TargetError> {
        let reached = self.reach(command, self.silence, talk);
        let (_, said) = reached.map_err(|failed| failed.into_error(&self.program))?;
        Ok(said)
    }

    /// Runs a command other than the agent on the machine. The session's streams are the command's;
    /// its error message gives the reason if the machine cannot be reached. The command must not
    /// contain text from the user, because a shell interprets it.
    ///
    /// # Errors
    /// If the program that reaches the machine cannot be started.
    pub fn carry_out(&self, command: &'static str) -> Result<AgentSession, TargetError> {
        let mut child = self.spawn(command)?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let complaints = complaints.unwrap_or_default();
        let program = self.program.clone();
        let in_words = move || {
            complaints.await_end();
            Some(program.why_unreachable(&complaints))
        };
        Ok(AgentSession::over(child, Box::new(in_words), PARTING))
    }

    /// Runs a command on the machine, and starts a dialogue with it.
    fn reach<T>(
        &self,
        command: &str,
        patience: Duration,
        talk: impl FnOnce(Boot<'_>) -> Result<T, Fault>,
    ) -> Result<(AgentSession, T), Failed> {
        let mut child = self.spawn(command).map_err(|error| Failed {
            fault: Fault::NoAgent(error),
            complaints: Complaints::default(),
            silent: false,
        })?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let complaints = complaints.unwrap_or_default();
        let received = complaints.clone();
        let mut session = AgentSession::over(child, Box::new(move || received.last()), PARTING);
        let failed = |error: io::Error| Failed {
            fault: Fault::Failed(error.to_string()),
            complaints: Complaints::default(),
            silent: false,
        };
        let watchdog = session.must_answer_within(patience).map_err(failed)?;
        let target = self.program.target();
        match talk(Boot::new(
            &target,
            &self.agents,
            &mut session,
            (&watchdog, patience),
        )) {
            Ok(done) => {
                drop(watchdog);
                Ok((session, done))
            }
            Err(fault) => {
                let silent = watchdog.has_expired();
                drop(watchdog);
                session.give_up();
                drop(session);
                complaints.await_end();
                Err(Failed {
                    fault,
                    complaints,
                    silent,
                })
            }
        }
    }

    fn spawn(&self, command: &str) -> Result<Child, TargetError> {
        let mut command = self.program.carrying_out(command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C on the terminal reaches only the host.
            .process_group(0);
        command
            .spawn()
            .map_err(|error| not_there(&self.program, &command, &error))
    }
}

impl<P: Program> Target for Remote<P> {
    fn name(&self) -> Option<String> {
        Some(self.program.target())
    }

    fn needs(&mut self, feature: Feature) {
        self.agents.needs = Some(feature);
    }

    fn needed(&self) -> Option<Feature> {
        self.agents.needs
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.program.find()?;
        let role = match self.when_lost {
            WhenLost::Stop => Role::Serve,
            WhenLost::Wait(grace) => Role::Keep(grace),
        };
        let reached = self.reach(&boot::command(), self.silence, |boot| boot.run(role));
        let (session, started) = reached.map_err(|failed| failed.into_error(&self.program))?;
        let folder = started.folder.clone();
        self.started = Some(started);
        Ok(match self.when_lost {
            WhenLost::Stop => session,
            WhenLost::Wait(grace) => {
                over(self, folder, grace, session).map_err(|error| TargetError::NotStarted {
                    target: self.program.target(),
                    why: error.to_string(),
                })?
            }
        })
    }

    fn give_up_installed(&mut self) -> Option<GivenUpAgent> {
        let StartedAgent { folder, installed } = self.started.take()?;
        let installed = installed?;
        if installed.replaceable {
            self.agents.given_up = Some(folder);
        }
        Some(installed)
    }

    fn start_in_foreground(&mut self) -> Result<AgentSession, TargetError> {
        Err(TargetError::NotInForeground(self.program.target()))
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        self.program.find()?;
        carry_out(self, order)
    }
}

/// Returns the error for a program that is not installed or cannot be started.
pub(crate) fn not_there(
    program: &impl Program,
    command: &Command,
    error: &io::Error,
) -> TargetError {
    let name = command.get_program().to_string_lossy();
    TargetError::NotStarted {
        target: program.target(),
        why: format!(
            "{name} cannot be started here ({error}): install it, or put its folder into PATH"
        ),
    }
}

impl Failed {
    /// Converts the failure into an error for the user.
    pub(crate) fn into_error(self, program: &impl Program) -> TargetError {
        let target = program.target();
        let complaints = self.complaints;
        match (self.fault, self.silent) {
            (Fault::NoAgent(error), _) => error,
            (_, true) => TargetError::Unreachable {
                target,
                why: format!(
                    "no answer: it may be off, busy or hanging; try {} by hand",
                    program.by_hand()
                ),
            },
            (Fault::NotReached, false) => TargetError::Unreachable {
                target,
                why: program.why_unreachable(&complaints),
            },
            (Fault::Gone, false) => TargetError::Unreachable {
                target,
                why: "the agent there has ended".to_owned(),
            },
            (Fault::Failed(why), false) => TargetError::NotStarted {
                target,
                why: match complaints.last() {
                    Some(line) => format!("{why} ({line})"),
                    None => why,
                },
            },
        }
    }
}

/// Time limit of one attempt to reconnect.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Shortest and longest pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// Connects to the agent in the folder of that name over the session `first`, and
/// reconnects whenever the connection is lost.
fn over<P: Program>(
    remote: &Remote<P>,
    folder: String,
    grace: Duration,
    first: AgentSession,
) -> io::Result<AgentSession> {
    let times = Times::within(grace);
    let (link, reader, writer) = link(times);
    let complaint = LinkComplaint::default();
    let links = Links {
        remote: remote.clone(),
        folder,
        times,
        link: link.clone(),
        complaint: Arc::clone(&complaint),
    };
    let links = Builder::new()
        .spawn(move || links.follow(first))
        .map_err(no_thread)?;
    let kept = Kept {
        link,
        complaint,
        links: Some(links),
    };
    Ok(AgentSession::kept(reader, writer, kept, PARTING))
}

/// Reconnects to the agent.
struct Links<P> {
    remote: Remote<P>,
    /// Name of the agent's folder.
    folder: String,
    times: Times,
    link: Link,
    complaint: LinkComplaint,
}

impl<P: Program> Links<P> {
    fn follow(self, mut session: AgentSession) {
        loop {
            match self.carry(session) {
                Err(error) => {
                    let why = format!("{error}: update the older of agent and program");
                    return self.link.give_up(Some(why));
                }
                Ok(Broken::Done) => return self.link.give_up(None),
                Ok(Broken::Off) if self.link.is_given_up() => return,
                Ok(Broken::Off) => {}
            }
            match self.go_again() {
                Some(next) => session = next,
                None => return,
            }
        }
    }

    /// Carries the link over one connection until that ends.
    fn carry(&self, mut session: AgentSession) -> Result<Broken, NotOfThisVersion> {
        let (reader, writer) = session.take_streams();
        let (ended, link) = (AtomicBool::new(false), &self.link);
        let since = Instant::now();
        let carried = std::thread::scope(|threads| {
            let carrying = Builder::new().spawn_scoped(threads, || {
                let carried = link.carry(reader, writer);
                ended.store(true, Ordering::Relaxed);
                link.wake();
                carried
            });
            let Ok(carrying) = carrying else {
                return Ok(Broken::Off);
            };
            if link.await_silence(since, || !ended.load(Ordering::Relaxed)) {
                session.cut();
            }
            // The thread does not panic; if it did, the connection would be down as well.
            carrying.join().unwrap_or(Ok(Broken::Off))
        });
        if carried != Ok(Broken::Done) {
            session.give_up();
        }
        let complaint = session.complaint();
        *self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = complaint;
        carried
    }

    /// Opens another connection; `None` if the link was given up.
    fn go_again(&self) -> Option<AgentSession> {
        let target = self.remote.program.target();
        let grace = self.times.grace.as_secs();
        self.report(&format!(
            "{target}: connection lost; reconnecting for at most {grace} s"
        ));
        let mut pause = FIRST_PAUSE;
        let mut why = String::new();
        while self.link.silent_for() < self.times.grace {
            if self.link.await_end(pause) {
                return None;
            }
            match self.remote.reach_again(&self.folder, ATTEMPT) {
                Ok(session) => {
                    self.report(&format!("{target}: connected again"));
                    return Some(session);
                }
                Err(failed) if matches!(failed.fault, Fault::Gone) => {
                    let gone = "the agent there has ended, or the machine was restarted";
                    self.link.give_up(Some(gone.to_owned()));
                    return None;
                }
                Err(failed) => why = failed.into_error(&self.remote.program).to_string(),
            }
            pause = LAST_PAUSE.min(pause * 2);
        }
        let why = format!("no new connection within {grace} s ({why})");
        self.link.give_up(Some(why));
        None
    }

    fn report(&self, line: &str) {
        (self.remote.tell)(line);
    }
}

/// Script that lists agents, and removes them if `$1` is the word `remove`. Installed agents
/// are always removed, since a running program does not need its file. A folder of a
/// transferred agent is removed only if no process runs from it and none can be about to.
///
/// Folders of transferred agents have names that other programs do not use, with 16
/// hexadecimal digits. A base folder may be a link to another one, so they are listed by
/// their physical paths. Folders of other users are ignored.
const LISTING: &str = "\
    gone() { \
    case $1 in */.assay-agent/*) if [ -f \"$1\" ] && rm -f \"$1\"; then echo assay-boot removed \"$1\"; fi;; esac; \
    }; \
    if [ \"$1\" = remove ]; then \
    installed gone; rm -rf \"${HOME:-/root}/.assay-agent\" /data/local/tmp/.assay-agent; \
    fi; \
    installed about; \
    h=[0-9a-f]; h=$h$h$h$h; \
    for base in \"${TMPDIR:-/dev/shm}\" /dev/shm /tmp /var/tmp \"${HOME:-/root}\" /data/local/tmp; do \
    for dir in \"$base\"/assay-agent-$h$h$h$h; do \
    dir=$(cd \"$dir\" 2>/dev/null && pwd -P) || continue; \
    [ -O \"$dir\" ] || continue; \
    state=left; \
    for exe in /proc/[0-9]*/exe; do \
    [ \"$(readlink \"$exe\" 2>/dev/null)\" = \"$dir/agent\" ] && state=running; \
    done; \
    [ -x \"$dir/agent\" ] || [ -n \"$(find \"$dir\" -prune -mmin +10 2>/dev/null)\" ] || state=running; \
    if [ $state = left ] && [ \"$1\" = remove ] && rm -rf \"$dir\"; then state=removed; fi; \
    echo assay-boot $state \"$dir\"; \
    done; done; \
    echo assay-boot end";

/// Executes an order.
fn carry_out<P: Program>(
    remote: &Remote<P>,
    order: AgentOrder,
) -> Result<Vec<AgentThere>, TargetError> {
    let word = match order {
        AgentOrder::Push => return push(remote),
        AgentOrder::List => "list",
        AgentOrder::Remove => "remove",
    };
    let functions = agents::FUNCTIONS;
    let command = format!("exec sh -c '{functions}{LISTING}' sh {word}");
    let own = hashes(&remote.agents.folders);
    let lines = remote.talk(&command, |boot| boot.listing())?;
    let mut all: Vec<AgentThere> = Vec::new();
    for found in lines.iter().filter_map(|line| read(line, &own)) {
        // A folder may be found under several names.
        if !all.iter().any(|known| known.path == found.path) {
            all.push(found);
        }
    }
    Ok(all)
}

/// Installs the small and the larger agent; only the small one if there is no larger one.
fn push<P: Program>(remote: &Remote<P>) -> Result<Vec<AgentThere>, TargetError> {
    let mut pushed: Vec<AgentThere> = Vec::new();
    for needs in [None, Some(Feature::Sqlite)] {
        let mut remote = remote.clone();
        remote.agents.needs = needs;
        match remote.talk(&boot::command(), |boot| boot.stay()) {
            // If the small agent is missing, the larger one is installed in its place.
            Ok((path, _)) if pushed.iter().any(|known| known.path == path) => {}
            Ok((path, is_new)) => pushed.push(AgentThere {
                path,
                state: match is_new {
                    true => AgentState::Pushed,
                    false => AgentState::Kept,
                },
                greeting: None,
            }),
            Err(TargetError::NoAgent { .. }) if needs.is_some() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pushed)
}

/// Returns the hashes of this program's agents.
fn hashes(folders: &[PathBuf]) -> Vec<String> {
    let folders = folders.iter().filter_map(|folder| folder.read_dir().ok());
    let files = folders
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let agents = files.filter(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("assay-agent-")
    });
    agents
        .filter_map(|path| Some(boot::hash(&std::fs::read(path).ok()?)))
        .collect()
}

/// Parses a line of the listing: one about an installed agent, or `left PATH`, `running
/// PATH`, `removed PATH`.
fn read(line: &str, own: &[String]) -> Option<AgentThere> {
    if let Some(agent) = Installed::read(line) {
        let state = match (own.contains(&agent.hash), agent.trusted) {
            (true, _) => AgentState::Kept,
            (false, true) => AgentState::Other,
            (false, false) => AgentState::Foreign,
        };
        return Some(AgentThere {
            path: agent.path,
            state,
            greeting: agent.greeting,
        });
    }
    let (word, path) = line.split_once(' ')?;
    let state = match word {
        "left" => AgentState::Left,
        "running" => AgentState::Running,
        "removed" => AgentState::Removed,
        _ => return None,
    };
    Some(AgentThere {
        path: path.to_owned(),
        state,
        greeting: None,
    })
}

/// Default time limit to reconnect: enough to replug a cable, or for an overloaded
/// network to recover.
const GRACE: Duration = Duration::from_secs(120);
/// Shortest time limit, in seconds. With less, a busy machine would count as lost.
const SHORTEST: u64 = 10;
/// Longest time limit, in seconds: one week. With more, abandoned agents would remain too
/// long.
const LONGEST: u64 = 7 * 24 * 3600;

/// Behaviour of the agent and of the host when their link is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// The agent stops and cleans up at once.
    Stop,
    /// The agent completes the current trial, keeps its record, and waits this time for
    /// the host to reconnect; then it stops and cleans up.
    Wait(Duration),
}

/// Error for a text that is not such a behaviour.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("write stop, wait, or wait=TIME with a time from 10s to 7d (30s, 5m, 1h)")]
pub struct WhenLostError;

impl Default for WhenLost {
    fn default() -> Self {
        Self::Wait(GRACE)
    }
}

impl FromStr for WhenLost {
    type Err = WhenLostError;

    fn from_str(text: &str) -> Result<Self, WhenLostError> {
        match text.split_once('=') {
            None if text == "stop" => Ok(Self::Stop),
            None if text == "wait" => Ok(Self::default()),
            Some(("wait", time)) => seconds(time)
                .filter(|seconds| (SHORTEST..=LONGEST).contains(seconds))
                .map(|seconds| Self::Wait(Duration::from_secs(seconds)))
                .ok_or(WhenLostError),
            _ => Err(WhenLostError),
        }
    }
}

fn seconds(time: &str) -> Option<u64> {
    let unit = time
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(time.len());
    let (number, unit) = time.split_at(unit);
    let unit = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

impl fmt::Display for WhenLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("stop"),
            Self::Wait(grace) => write!(f, "wait={}s", grace.as_secs()),
        }
    }
}

/// Lines that are kept; older lines are dropped.
const LINES: usize = 40;
/// Bytes kept of each line.
const WIDTH: usize = 400;
/// Time limit for the last messages after the program has ended.
const OUTPUT_LIMIT: Duration = Duration::from_secs(1);

/// Last lines on standard error of the program that reaches a machine; these include those of
/// the remote shell.
#[derive(Clone, Debug, Default)]
pub struct Complaints(Arc<CapturedStderr>);

#[derive(Debug, Default)]
struct CapturedStderr {
    lines: Mutex<VecDeque<String>>,
    /// Disconnected when the reading thread ends.
    reading: Mutex<Option<Receiver<()>>>,
}

impl Complaints {
    /// Collects the lines of a text.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let complaints = Self::default();
        complaints.read(text.as_bytes());
        complaints
    }

    /// Reads a stream to its end on a new thread. Without a thread there are no messages.
    pub(crate) fn listen(stderr: impl Read + Send + 'static) -> Self {
        let complaints = Self::default();
        let received = complaints.clone();
        let (reads, reading) = channel();
        *complaints
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(reading);
        let _ = Builder::new().spawn(move || {
            let _until_the_end: Sender<()> = reads;
            received.read(stderr);
        });
        complaints
    }

    /// Waits until the stream is read to its end, at most [`OUTPUT_LIMIT`]: a process that the
    /// program left may hold the stream open.
    pub(crate) fn await_end(&self) {
        let reading = self
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = reading.as_ref() {
            // An error means that the reading thread has ended.
            let _ = reading.recv_timeout(OUTPUT_LIMIT);
        }
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, stderr: impl Read) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        // Only the beginning of a long line is kept in memory.
        while read_line(&mut stderr, &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                let mut lines = self.lines();
                if lines.len() == LINES {
                    lines.pop_front();
                }
                lines.push_back(text);
            }
        }
    }

    /// Returns the last line; `None` if no line was captured.
    pub(crate) fn last(&self) -> Option<String> {
        let lines = self.lines();
        lines.back().cloned()
    }

    /// Returns the first line that contains `words`.
    pub(crate) fn with(&self, words: &str) -> Option<String> {
        let lines = self.lines();
        lines.iter().find(|line| line.contains(words)).cloned()
    }
}

/// Reads the beginning of the next line; `false` at the end of the stream.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    loop {
        let Ok(chunk) = from.fill_buf() else {
            return false;
        };
        if chunk.is_empty() {
            return !line.is_empty();
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = WIDTH - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_limits() {
        for (text, seconds) in [
            ("wait", 120),
            ("wait=10", 10),
            ("wait=5m", 300),
            ("wait=7d", LONGEST),
        ] {
            assert_eq!(
                text.parse(),
                Ok(WhenLost::Wait(Duration::from_secs(seconds)))
            );
        }
        assert_eq!("stop".parse(), Ok(WhenLost::Stop));
        for text in [
            "", "stop=1", "wait=", "wait=9s", "wait=8d", "wait=1w", "wait=-1", "wait=s",
        ] {
            assert_eq!(text.parse::<WhenLost>(), Err(WhenLostError), "{text}");
        }
        let again: WhenLost = WhenLost::default().to_string().parse().unwrap();
        assert_eq!(again, WhenLost::default());
    }

    #[test]
    fn a_flood_of_complaints_takes_little_room() {
        let complaints = Complaints::default();
        complaints.read(io::repeat(b'x').take(10 << 20));
        complaints.read("line\n".repeat(100_000).as_bytes());
        let lines = complaints.lines();
        assert_eq!(lines.len(), LINES);
        drop(lines);
        let complaints = Complaints::default();
        complaints.read(io::repeat(b'x').take(10 << 20));
        assert_eq!(complaints.last().unwrap().len(), WIDTH);
    }
}
