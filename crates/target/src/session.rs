//! A running agent and its stream.

use crate::kept::Kept;
use crate::watchdog::{Linking, Watchdog, kill, kill_group};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fmt;
use std::io::{self, Read, Write};
use std::process::Child;
use std::time::Duration;

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
    while !watchdog.has_barked() && reader.read(&mut chunk).is_ok_and(|read| read > 0) {}
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
