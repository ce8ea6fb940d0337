//! Output of the agent, written by a thread of its own: a host that reads slowly never delays a
//! trial or the evidence around it.

use crate::frame::{FrameError, encode};
use crate::inbox::{Ending, Event, Inbox};
use assay_model::text::no_thread;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight, ToAgent};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Takes messages without waiting. Dropping it waits until all are written or
/// the stream is broken.
pub(crate) struct Outbox {
    shared: Arc<OutboxShared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct OutboxShared {
    state: Mutex<OutboxState>,
    changed: Condvar,
}

#[derive(Default)]
struct OutboxState {
    /// Encoded messages, oldest first.
    queue: VecDeque<Vec<u8>>,
    /// Latest progress, newer than everything in `queue`. Older progress is discarded.
    progress: Option<Vec<u8>>,
    closed: bool,
}

impl Outbox {
    /// Starts writing; `ending` hears it when the stream breaks.
    ///
    /// # Errors
    /// When no thread can be made.
    pub(crate) fn open(writer: impl Write + Send + 'static, ending: Ending) -> io::Result<Self> {
        let shared = Arc::new(OutboxShared::default());
        let source = Arc::clone(&shared);
        let work = move || {
            if let Err(error) = write_all(&source, writer) {
                ending.end(Err(FrameError::Link(error)));
            }
        };
        let writer = std::thread::Builder::new().spawn(work).map_err(no_thread)?;
        Ok(Self {
            shared,
            writer: Some(writer),
        })
    }

    /// Has the host store the trials up to a position, and waits for it: its writing must not
    /// fall into the next trial. A cancel and the end of the session end the wait.
    pub(crate) fn keep(&self, inbox: &mut Inbox, position: u32) -> Result<(), FrameError> {
        self.send(&FromAgent::KeepTrials { position })?;
        while let Some(event) = inbox.next() {
            match event {
                Event::Request(ToAgent::Stored { position: stored }) if stored == position => {
                    break;
                }
                Event::Request(ToAgent::Cancel) => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Sends a message; all of them arrive, in this order.
    ///
    /// # Errors
    /// When it is too long for a frame.
    pub(crate) fn send(&self, message: &FromAgent) -> Result<(), FrameError> {
        let frame = encode(message)?;
        let mut state = self.shared.lock();
        state.queue.push_back(frame);
        state.progress = None;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Sends a warning for the user.
    ///
    /// # Errors
    /// As [`Outbox::send`].
    pub(crate) fn warn(&self, text: String) -> Result<(), FrameError> {
        let weight = NoteWeight::Warning;
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }))
    }

    /// Says how far the work is; an older word that was not written yet is
    /// dropped.
    pub(crate) fn tell(&self, message: &FromAgent) {
        // A few numbers always fit into a frame.
        self.shared.lock().progress = encode(message).ok();
        self.shared.changed.notify_one();
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(writer) = self.writer.take() {
            // It does not panic; if it did, there would be nothing to write.
            let _ = writer.join();
        }
    }
}

impl OutboxShared {
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next frame to write; `None` at the end.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            let frame = state.queue.pop_front().or_else(|| state.progress.take());
            if frame.is_some() || state.closed {
                return frame;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn write_all(source: &OutboxShared, mut writer: impl Write) -> io::Result<()> {
    while let Some(frame) = source.next() {
        writer.write_all(&frame)?;
        writer.flush()?;
    }
    Ok(())
}
