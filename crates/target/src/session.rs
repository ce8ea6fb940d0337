//! A running agent and its stream.

use crate::watchdog::Watchdog;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fmt;
use std::io::{Read, Write};
use std::process::Child;
use std::time::Duration;

/// How long the other side of a link may take to end that was given up.
const CUT: Duration = Duration::from_secs(5);

/// A running agent and its stream. Dropping it closes the stream, which
/// tells the agent to clean up, and waits until the agent is gone.
pub struct Session {
    /// What the agent says.
    pub reader: Box<dyn Read + Send>,
    /// To the agent; taken by whoever talks. The agent sees the end of its
    /// input when this is dropped.
    pub writer: Option<Box<dyn Write + Send>>,
    child: Child,
    link: Option<Link>,
}

/// What is between this machine and the agent's.
pub(crate) struct Link {
    /// What it complains about, so far.
    pub(crate) complaint: Box<dyn Fn() -> Option<String> + Send>,
    /// How long the agent may take to end. It goes on without the link, if it
    /// must.
    pub(crate) parting: Duration,
}

impl Session {
    /// `None` when the child's streams are not pipes.
    pub(crate) fn new(mut child: Child) -> Option<Self> {
        let (reader, writer) = (child.stdout.take()?, child.stdin.take()?);
        Some(Self::with_stream(child, reader, writer))
    }

    /// A child that is talked to over a stream of its own.
    pub(crate) fn with_stream(
        child: Child,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Some(Box::new(writer)),
            child,
            link: None,
        }
    }

    /// The same when the child is a link to the agent.
    pub(crate) fn over(mut self, link: Link) -> Self {
        self.link = Some(link);
        self
    }

    /// Process id of the agent, or of the link to it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The stream ends unless what this gives is dropped in time.
    #[must_use]
    pub fn must_answer_within(&self, patience: Duration) -> Watchdog {
        Watchdog::over(self.pid(), patience)
    }

    /// Nothing that comes over the link is wanted any more: its other side has only a
    /// moment to end. An agent of this machine gets all the time that it needs.
    pub fn give_up(&mut self) {
        drop(self.writer.take());
        if let Some(link) = &mut self.link {
            link.parting = CUT;
            self.reader = Box::new(std::io::empty());
        }
    }

    /// What the link to the agent complains about, in one line.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.link.as_ref()?.complaint)()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.writer.take());
        let watchdog = self
            .link
            .as_ref()
            .map(|link| self.must_answer_within(link.parting));
        if let Some(watchdog) = &watchdog {
            drain(&mut self.reader, watchdog);
        }
        await_end(&self.child);
        drop(watchdog);
        // An agent that is gone already is as good as one that goes now.
        let _ = self.child.wait();
    }
}

/// What an agent still says is for nobody; one that cannot say it would not end.
fn drain(reader: &mut impl Read, watchdog: &Watchdog) {
    let mut chunk = [0; 4096];
    while !watchdog.has_barked() && reader.read(&mut chunk).is_ok_and(|read| read > 0) {}
}

/// Waits until a child has ended, and leaves its number to it: a watchdog may still
/// use it.
fn await_end(child: &Child) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    if let Some(id) = id {
        // One that cannot be waited for is not there.
        while matches!(waitid(WaitId::Pid(id), ended), Err(Errno::INTR)) {}
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("child", &self.child)
            .finish_non_exhaustive()
    }
}
