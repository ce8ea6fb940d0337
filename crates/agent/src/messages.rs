//! Messages of a session. Input: requests, requests to stop, and the end of the session, also by a
//! signal. Output: written by a separate thread, so that a host that reads slowly never delays a
//! trial or the evidence for it.

use crate::exit_watchdog::ExitWatchdog;
use crate::frame::{FrameError, encode, receive_small};
use assay_engine::load::Controls;
#[cfg(feature = "works")]
use assay_model::act::ActOrder;
use assay_model::plan::Plan;
use assay_model::text::no_thread;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight, SlotEnd, ToAgent};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Event of a session.
pub(crate) enum Event {
    Request(ToAgent),
    /// A plan, and the controls to stop it.
    Run(Box<Plan>, Arc<Controls>),
    /// Acts, and what can be asked of them meanwhile.
    #[cfg(feature = "works")]
    RunActs(Box<ActOrder>, Arc<Controls>),
}

/// End of a session: the host closed the stream or a signal arrived (`Ok`), or one of the
/// streams failed.
type End = Result<(), FrameError>;

/// Queue of events.
pub(crate) struct Inbox {
    events: Receiver<Result<Event, End>>,
    ended: Option<End>,
}

/// Handle that ends the session.
#[derive(Clone)]
pub(crate) struct Ending {
    events: Sender<Result<Event, End>>,
    stops: Stops,
    exit_watchdog: ExitWatchdog,
}

impl Inbox {
    /// Reads requests on a new thread, so that a cancel or the end of the stream takes effect
    /// while a trial runs.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn open(mut reader: impl Read + Send + 'static) -> io::Result<(Self, Ending)> {
        let (events, receiver) = channel();
        let ending = Ending {
            events,
            stops: Stops::default(),
            exit_watchdog: ExitWatchdog::default(),
        };
        let at_end = ending.clone();
        let read = move || {
            at_end.end(listen(&mut reader, &at_end));
            at_end.exit_watchdog.host_gone();
        };
        Builder::new().spawn(read).map_err(no_thread)?;
        let inbox = Self {
            events: receiver,
            ended: None,
        };
        Ok((inbox, ending))
    }

    /// Waits for the next event; `None` if the session is over.
    pub(crate) fn next(&mut self) -> Option<Event> {
        if self.ended.is_some() {
            return None;
        }
        match self.events.recv() {
            Ok(Ok(event)) => return Some(event),
            Ok(Err(end)) => self.ended = Some(end),
            Err(_) => self.ended = Some(Ok(())),
        }
        None
    }

    /// Returns the end of the session.
    pub(crate) fn close(self) -> End {
        self.ended.unwrap_or(Ok(()))
    }
}

impl Ending {
    /// Stops all runs, and ends the session.
    pub(crate) fn end(&self, how: End) {
        self.exit_watchdog.ending();
        self.stops.end();
        // Without a receiver, the session is over already.
        let _ = self.events.send(Err(how));
    }

    /// Returns the last resort, which ends the process if the session does not end.
    pub(crate) fn exit_watchdog(&self) -> ExitWatchdog {
        self.exit_watchdog.clone()
    }
}

fn listen(reader: &mut impl Read, session: &Ending) -> End {
    let stops = &session.stops;
    while let Some(request) = receive_small::<ToAgent>(reader)? {
        let event = match request {
            ToAgent::Run { plan } => Event::Run(plan, stops.of_new_run()),
            #[cfg(feature = "works")]
            ToAgent::RunActs { order } => Event::RunActs(order, stops.of_new_run()),
            request => {
                match request {
                    ToAgent::Cancel => {
                        stops.cancel();
                        session.exit_watchdog.cancelled();
                    }
                    ToAgent::ReportNow => stops.report_now(),
                    _ => {}
                }
                Event::Request(request)
            }
        };
        if session.events.send(Ok(event)).is_err() {
            break;
        }
    }
    Ok(())
}

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
            if let Err(error) = write_frames(&source, writer) {
                ending.end(Err(FrameError::Link(error)));
            }
        };
        let writer = Builder::new().spawn(work).map_err(no_thread)?;
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

    /// Posts the progress; replaces an older progress message that was not written yet.
    pub(crate) fn post(&self, message: &FromAgent) {
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

fn write_frames(source: &OutboxShared, mut writer: impl Write) -> io::Result<()> {
    while let Some(frame) = source.next() {
        writer.write_all(&frame)?;
        writer.flush()?;
    }
    Ok(())
}

/// Controls of each run. A cancel affects the runs requested before it, never a later
/// one.
#[derive(Clone, Debug, Default)]
struct Stops(Arc<Mutex<StopsState>>);

#[derive(Debug, Default)]
struct StopsState {
    runs: Vec<Arc<Controls>>,
    ended: bool,
}

impl Stops {
    /// Creates the controls of a run that was just requested.
    fn of_new_run(&self) -> Arc<Controls> {
        self.with(|state| {
            let controls = Arc::new(Controls::default());
            controls.stop.store(state.ended, Ordering::Relaxed);
            state.runs.push(Arc::clone(&controls));
            controls
        })
    }

    /// Requests a report of every run; plans ignore this.
    fn report_now(&self) {
        self.with(|state| {
            for controls in &state.runs {
                controls.report_now.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Stops every run requested so far.
    fn cancel(&self) {
        self.with(StopsState::stop_all);
    }

    /// Stops these and all later runs, because the session is over.
    fn end(&self) {
        self.with(|state| {
            state.ended = true;
            state.stop_all();
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut StopsState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StopsState {
    fn stop_all(&mut self) {
        for controls in self.runs.drain(..) {
            controls.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Handles signals that end the process. The first one ends the session and cleans up; a
/// later one ends the process at once.
pub(crate) struct EndingSignals(Option<Handle>);

impl EndingSignals {
    /// Catches SIGINT and SIGTERM.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn catch(ending: Ending) -> io::Result<Self> {
        Self::handle(ending, &[SIGINT, SIGTERM])
    }

    /// Catches both, but handles only SIGTERM: the host handles SIGINT.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn catch_but_interrupts(ending: Ending) -> io::Result<Self> {
        Self::handle(ending, &[SIGTERM])
    }

    /// Handles SIGHUP as well, unless the process ignores it, as under `nohup`.
    fn handle(ending: Ending, handled: &'static [i32]) -> io::Result<Self> {
        let with_hangup = !is_ignored(SIGHUP);
        // Cannot fail for these signals. Without handlers, the next start cleans up.
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
            return Ok(Self(None));
        };
        let handle = signals.handle();
        let wait = move || {
            let obeys = |signal: &i32| handled.contains(signal) || *signal == SIGHUP && with_hangup;
            for signal in signals.forever().filter(obeys) {
                ending.exit_watchdog().signalled(signal);
                ending.end(Ok(()));
            }
        };
        Builder::new().spawn(wait).map_err(no_thread)?;
        Ok(Self(Some(handle)))
    }
}

impl Drop for EndingSignals {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}

/// Returns `true` if this process ignores a signal since its start, as `nohup` arranges
/// for SIGHUP: a bit of `SigIgn` in `/proc/self/status`.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_is_about_earlier_runs_only() {
        let stops = Stops::default();
        let first = stops.of_new_run();
        stops.cancel();
        let second = stops.of_new_run();
        assert!(first.stop.load(Ordering::Relaxed));
        assert!(!second.stop.load(Ordering::Relaxed));
    }

    #[test]
    fn the_end_is_about_all() {
        let stops = Stops::default();
        let first = stops.of_new_run();
        stops.end();
        assert!(first.stop.load(Ordering::Relaxed));
        assert!(stops.of_new_run().stop.load(Ordering::Relaxed));
    }
}
