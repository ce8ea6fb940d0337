//! A running program and its stream.

use std::fmt;
use std::io::{Read, Write};
use std::process::Child;

/// A running program and its stream. Dropping it closes the stream, which
/// tells the agent to clean up, and waits until the agent is gone.
pub struct Session {
    /// What the program says.
    pub reader: Box<dyn Read + Send>,
    /// To the program; taken by whoever talks. The program sees the end of its
    /// input when this is dropped.
    pub writer: Option<Box<dyn Write + Send>>,
    child: Child,
}

impl Session {
    /// `None` when the child's streams are not pipes.
    pub(crate) fn new(mut child: Child) -> Option<Self> {
        Some(Self {
            reader: Box::new(child.stdout.take()?),
            writer: Some(Box::new(child.stdin.take()?)),
            child,
        })
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
        }
    }

    /// Process id of the program, or of the link to it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.writer.take());
        // A program that is gone already is as good as one that goes now.
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("child", &self.child)
            .finish_non_exhaustive()
    }
}
