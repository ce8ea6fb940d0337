//! Output of the agent, written by a separate thread: a host that reads slowly never delays a
//! trial or the evidence for it.

use crate::frame::{FrameError, encode};
use crate::inbox::{Ending, Event, Inbox};
use assay_model::text::no_thread;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight, SlotEnd, ToAgent};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Queue of messages. Dropping it waits until all are written or the stream has failed.
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
    /// Starts the writing thread, which ends the session through `ending` if the stream fails.
    ///
    /// # Errors
    /// If no thread can be started.
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
    pub(crate) fn keep(
        &self,
        inbox: &mut Inbox,
        position: u32,
        slot: Option<SlotEnd>,
    ) -> Result<(), FrameError> {
        self.send(&FromAgent::KeepTrials { position, slot })?;
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

    /// Sends a message; messages arrive completely and in order.
    ///
    /// # Errors
    /// If it is too long for a frame.
    pub(crate) fn send(&self, message: &FromAgent) -> Result<(), FrameError> {
        let frame = encode(message)?;
        let mut state = self.shared.lock();
        state.queue.push_back(frame);
        state.progress = None;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Sends a warning for the user.
    pub(crate) fn warn(&self, text: String) -> Result<(), FrameError> {
        let weight = NoteWeight::Warning;
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }))
    }

    /// Sends the progress; replaces an older progress message that was not written yet.
    pub(crate) fn tell(&self, message: &FromAgent) {
        // A progress message always fits into a frame.
        self.shared.lock().progress = encode(message).ok();
        self.shared.changed.notify_one();
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(writer) = self.writer.take() {
            // The thread does not panic; if it did, there would be nothing to write.
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
