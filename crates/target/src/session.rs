//! A running agent and its stream.

use crate::{Target, TargetError};
use assay_link::Link;
use assay_model::text::no_thread;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use std::{fmt, io};

/// Time limit for the peer of an abandoned connection to end.
const CUT: Duration = Duration::from_secs(1);
/// Time limit for a kept agent to end if it was given no command.
const DISMISSED: Duration = Duration::from_secs(10);

/// A running agent and its stream. Dropping the session closes the stream, at which the agent
/// cleans up, and waits until the agent has ended.
pub struct AgentSession {
    /// Output of the agent.
    pub reader: Box<dyn Read + Send>,
    /// Input of the agent; a caller may take it. Dropping it ends the agent's input.
    pub writer: Option<Box<dyn Write + Send>>,
    carrier: Carrier,
    /// Time limit for the agent to end; `None`: no limit.
    parting: Option<Duration>,
}

/// Process or connection that carries the stream.
enum Carrier {
    /// The agent itself.
    Agent(Child),
    /// A program that reaches the machine of the agent.
    Link(Child, Complaint, Linking),
    /// Links to an agent that outlives them.
    Kept(Kept),
}

/// Function that returns the last error message of a connection.
pub(crate) type Complaint = Box<dyn Fn() -> Option<String> + Send>;

impl AgentSession {
    /// Creates a session with an agent on its standard streams.
    pub(crate) fn new(mut child: Child) -> Self {
        let (reader, writer) = streams(&mut child);
        Self {
            reader,
            writer,
            carrier: Carrier::Agent(child),
            parting: None,
        }
    }

    /// Creates a session with an agent on another stream.
    pub(crate) fn with_stream(
        child: Child,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Some(Box::new(writer)),
            carrier: Carrier::Agent(child),
            parting: None,
        }
    }

    /// Creates a session over a program whose standard streams are those of the agent. The
    /// agent can clean up without the connection, so closing waits at most `parting`.
    pub(crate) fn over(mut child: Child, complaint: Complaint, parting: Duration) -> Self {
        let (reader, writer) = streams(&mut child);
        let linking = Linking::new(child.id());
        Self {
            reader,
            writer,
            carrier: Carrier::Link(child, complaint, linking),
            parting: Some(parting),
        }
    }

    /// Creates a session with an agent that outlives its connections.
    pub(crate) fn kept(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        kept: Kept,
        parting: Duration,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Some(Box::new(writer)),
            carrier: Carrier::Kept(kept),
            parting: Some(parting),
        }
    }

    /// Takes the streams out of the session, for another component.
    pub(crate) fn take_streams(&mut self) -> (impl Read + Send + use<>, impl Write + Send + use<>) {
        let reader = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let writer = self.writer.take();
        (reader, writer.unwrap_or_else(|| Box::new(io::sink())))
    }

    /// Starts a time limit: the stream ends unless the returned watchdog is dropped in time.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn must_answer_within(&self, patience: Duration) -> io::Result<Watchdog> {
        let why = format!("no answer within {} s", patience.as_secs());
        Watchdog::new(patience, self.cutter_for(why))
    }

    /// Returns a function that ends the stream at once, while this session exists: for a
    /// machine whose power was cut.
    pub fn cutter(&self) -> Box<dyn FnOnce() + Send> {
        self.cutter_for("it was cut".to_owned())
    }

    fn cutter_for(&self, why: String) -> Box<dyn FnOnce() + Send> {
        match &self.carrier {
            Carrier::Agent(child) => {
                let id = child.id();
                Box::new(move || kill(id))
            }
            Carrier::Link(child, ..) => {
                let id = child.id();
                Box::new(move || kill_group(id))
            }
            Carrier::Kept(kept) => Box::new(kept.cutter(why)),
        }
    }

    /// Ends the stream at once.
    pub(crate) fn cut(&self) {
        self.cutter()();
    }

    /// Abandons the session. A program that carries a connection has one second to end. A
    /// local agent gets all the time that it needs.
    pub fn give_up(&mut self) {
        drop(self.writer.take());
        if self.parting.is_some() {
            self.parting = Some(CUT);
            self.reader = Box::new(io::empty());
        }
        if let Carrier::Kept(kept) = &self.carrier {
            kept.cutter("the connection was given up".to_owned())();
        }
    }

    /// Abandons the session with an agent that was given no command, see
    /// [`AgentSession::give_up`]. A kept agent ends with its input, instead of waiting for a
    /// host that does not reconnect.
    pub fn dismiss(&mut self) {
        if !matches!(self.carrier, Carrier::Kept(_)) {
            return self.give_up();
        }
        drop(self.writer.take());
        self.parting = Some(DISMISSED);
        self.reader = Box::new(io::empty());
    }

    /// Returns the last error message of the connection, in one line.
    pub fn complaint(&self) -> Option<String> {
        match &self.carrier {
            Carrier::Agent(_) => None,
            Carrier::Link(_, complaint, _) => complaint(),
            Carrier::Kept(kept) => kept.complaint(),
        }
    }
}

impl Drop for AgentSession {
    fn drop(&mut self) {
        drop(self.writer.take());
        let watchdog = self.parting;
        let watchdog = watchdog.and_then(|parting| self.must_answer_within(parting).ok());
        if let Some(watchdog) = &watchdog {
            drain(&mut self.reader, watchdog);
        }
        match &mut self.carrier {
            Carrier::Agent(child) => await_and_reap(child, watchdog),
            Carrier::Link(child, _, linking) => {
                await_end(child);
                linking.over();
                await_and_reap(child, watchdog);
            }
            Carrier::Kept(kept) => kept.await_end(),
        }
    }
}

/// Returns the standard streams of a child that are pipes.
fn streams(child: &mut Child) -> (Box<dyn Read + Send>, Option<Box<dyn Write + Send>>) {
    let reader: Box<dyn Read + Send> = match child.stdout.take() {
        Some(stdout) => Box::new(stdout),
        None => Box::new(io::empty()),
    };
    let writer = child.stdin.take();
    (
        reader,
        writer.map(|stdin| Box::new(stdin) as Box<dyn Write + Send>),
    )
}

/// Reads and discards the remaining output of an agent: an agent that cannot write would not
/// end.
fn drain(reader: &mut impl Read, watchdog: &Watchdog) {
    let mut chunk = [0; 4096];
    while !watchdog.has_expired() && reader.read(&mut chunk).is_ok_and(|read| read > 0) {}
}

fn await_and_reap(child: &mut Child, watchdog: Option<Watchdog>) {
    await_end(child);
    drop(watchdog);
    // The child has ended; an error makes no difference.
    let _ = child.wait();
}

/// Waits until a child has ended, but does not reap it: the PID remains valid for threads that
/// may still send a signal.
pub fn await_end(child: &Child) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    if let Some(id) = id {
        // A child that cannot be waited for does not exist.
        while matches!(waitid(WaitId::Pid(id), ended), Err(Errno::INTR)) {}
    }
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// The machine that this program runs on.
#[derive(Clone, Debug)]
pub struct Local {
    program: OsString,
    args: Vec<OsString>,
}

impl Local {
    /// Creates a target whose agent is a program with arguments.
    pub fn new(program: impl Into<OsString>, args: &[&str]) -> Self {
        Self {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }

    fn in_foreground(&self) -> io::Result<AgentSession> {
        let (requests, to_agent) = io::pipe()?;
        let (from_agent, answers) = io::pipe()?;
        let mut command = self.command();
        for end in [requests.as_fd(), answers.as_fd()] {
            // The agent inherits the descriptor. No other child is started meanwhile.
            fcntl_setfd(end, FdFlags::empty())?;
            command.arg(end.as_raw_fd().to_string());
        }
        let child = command.spawn()?;
        Ok(AgentSession::with_stream(child, from_agent, to_agent))
    }

    fn not_started(&self, source: io::Error) -> TargetError {
        TargetError::Spawn {
            program: self.program.to_string_lossy().into_owned(),
            source,
        }
    }
}

impl Target for Local {
    fn name(&self) -> Option<String> {
        None
    }

    /// Starts the agent in a separate process group: a Ctrl-C on the terminal reaches
    /// only the host, which then stops the agent in an orderly way.
    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map(AgentSession::new)
            .map_err(|source| self.not_started(source))
    }

    /// Starts the agent in this program's process group, so that it may read from the
    /// terminal.
    fn start_in_foreground(&mut self) -> Result<AgentSession, TargetError> {
        self.in_foreground()
            .map_err(|source| self.not_started(source))
    }
}

/// Time limit. Ends a stream, usually by killing the process that carries it, unless the
/// watchdog is dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    expired: Arc<AtomicBool>,
    more: Sender<Duration>,
}

impl Watchdog {
    /// Kills a process after `patience`. The process must not be reaped meanwhile: its
    /// PID could be reused.
    ///
    /// # Errors
    /// If no thread can be started; the process is killed then.
    pub(crate) fn over(pid: u32, patience: Duration) -> io::Result<Self> {
        Self::new(patience, move || kill(pid)).inspect_err(|_| kill(pid))
    }

    pub(crate) fn new(
        patience: Duration,
        end_stream: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let expired = Arc::new(AtomicBool::new(false));
        let has_expired = Arc::clone(&expired);
        let (more, again) = channel::<Duration>();
        let wait = move || {
            let mut patience = patience;
            loop {
                match again.recv_timeout(patience) {
                    Ok(more) => patience = more,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
            has_expired.store(true, Ordering::Relaxed);
            end_stream();
        };
        Builder::new().spawn(wait).map_err(no_thread)?;
        Ok(Self { expired, more })
    }

    /// Restarts the time limit, with a new value.
    pub fn restart(&self, patience: Duration) {
        // An expired watchdog no longer receives; then this has no effect.
        let _ = self.more.send(patience);
    }

    /// `true` if the time limit has expired.
    pub fn has_expired(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
    }
}

/// Kills a process; one that has ended is ignored.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills the group of a process with all its children, for example the proxy command by
/// which ssh reaches a machine behind another.
pub(crate) fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// PIDs of the programs that carry a connection now.
static LINKS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Entry of a program in [`LINKS`].
#[derive(Debug)]
pub(crate) struct Linking(u32);

impl Linking {
    pub(crate) fn new(pid: u32) -> Self {
        let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        links.push(pid);
        Self(pid)
    }

    /// Removes the entry after the program has ended: its PID may be reused.
    pub(crate) fn over(&self) {
        let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|pid| *pid != self.0);
    }
}

/// Kills the programs that carry connections, for a process that exits at once: a program
/// that is still connecting would not notice the exit. The agents behind them see the end
/// of their input.
pub fn end_links() {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    links.iter().copied().for_each(kill_group);
}

/// This side of a connection to a kept agent, which outlives its link. The agent runs in a separate
/// process, behind an abstract socket (`assay_agent`'s `pushed`). The shell of each connection
/// starts a relay to it; a new relay replaces an older one. Both ends of the `Link` keep bytes
/// until they are acknowledged, so the session above does not notice a lost connection: the agent
/// ends its trial and waits until the host has stored it.
pub(crate) struct Kept {
    pub(crate) link: Link,
    pub(crate) complaint: LinkComplaint,
    /// Thread that opens and carries the connections.
    pub(crate) links: Option<JoinHandle<()>>,
}

/// Error message of the last connection.
pub(crate) type LinkComplaint = Arc<Mutex<Option<String>>>;

impl Kept {
    /// Returns a function that ends the stream.
    pub(crate) fn cutter(&self, why: String) -> impl FnOnce() + Send + 'static {
        let link = self.link.clone();
        move || link.give_up(Some(why))
    }

    pub(crate) fn complaint(&self) -> Option<String> {
        self.complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the thread that carries the connections has ended.
    pub(crate) fn await_end(&mut self) {
        if let Some(links) = self.links.take() {
            // The thread does not panic; if it did, it would have ended as well.
            let _ = links.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Local, Target};
    use std::io::{Read, Write};

    #[test]
    fn an_agent_talks_over_its_standard_streams() {
        let mut session = Local::new("cat", &[]).start().unwrap();
        session.writer.take().unwrap().write_all(b"hello").unwrap();
        let mut received = String::new();
        session.reader.read_to_string(&mut received).unwrap();
        assert_eq!(received, "hello");
    }

    #[test]
    fn an_agent_in_foreground_talks_over_the_descriptors_of_its_arguments() {
        let script = "read line <&$1; echo got $line >&$2";
        let mut local = Local::new("bash", &["-c", script, "name"]);
        let mut session = local.start_in_foreground().unwrap();
        session.writer.take().unwrap().write_all(b"word\n").unwrap();
        let mut received = String::new();
        session.reader.read_to_string(&mut received).unwrap();
        assert_eq!(received, "got word\n", "and the stream ends with the agent");
    }

    #[test]
    fn a_missing_agent_is_named() {
        let error = Local::new("/no/such/agent", &[]).start().unwrap_err();
        assert!(error.to_string().contains("/no/such/agent"), "{error}");
    }

    #[test]
    fn a_stream_that_says_nothing_ends() {
        let mut session = Local::new("sleep", &["1000"]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_millis(1))
            .unwrap();
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 0);
        assert!(watchdog.has_expired());
    }

    #[test]
    fn who_answers_in_time_is_left_alone() {
        let mut session = Local::new("cat", &[]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_secs(1000))
            .unwrap();
        session.writer.as_mut().unwrap().write_all(b"x").unwrap();
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 1);
        assert!(!watchdog.has_expired());
    }

    #[test]
    fn the_last_word_on_patience_counts() {
        let mut session = Local::new("sleep", &["1000"]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_secs(1000))
            .unwrap();
        watchdog.restart(Duration::from_millis(1));
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 0);
        assert!(watchdog.has_expired());
    }
}
