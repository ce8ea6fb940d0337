//! The stream, and the connections that carry it.

use crate::state::{LinkSide, LinkTask, NotOfThisVersion, Packet, Times};
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Handle of one side of a link; clones refer to the same side.
#[derive(Clone, Debug)]
pub struct Link {
    shared: Arc<SharedSide>,
    times: Times,
}

/// Reads the bytes that the peer writes.
#[derive(Debug)]
pub struct LinkReader(Arc<SharedSide>);

/// Writes bytes for the peer. Dropping it ends the stream.
#[derive(Debug)]
pub struct LinkWriter(Arc<SharedSide>);

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It failed, or another connection replaced it.
    Off,
    /// The peer has ended its stream.
    Done,
}

#[derive(Debug)]
struct SharedSide {
    state: Mutex<LinkSide>,
    changed: Condvar,
}

/// Creates a side of a link, without a connection.
pub fn link(times: Times) -> (Link, LinkReader, LinkWriter) {
    let shared = Arc::new(SharedSide {
        state: Mutex::new(LinkSide::new()),
        changed: Condvar::new(),
    });
    let (reader, writer) = (
        LinkReader(Arc::clone(&shared)),
        LinkWriter(Arc::clone(&shared)),
    );
    (Link { shared, times }, reader, writer)
}

impl Link {
    /// Carries the link over a connection until that ends; replaces an earlier
    /// connection. A dead connection ends only when the caller closes it: see
    /// [`Link::await_silence`].
    ///
    /// # Errors
    /// [`NotOfThisVersion`] if the peer does not speak this version of the protocol.
    pub fn carry(
        &self,
        mut reader: impl Read,
        writer: impl Write + Send,
    ) -> Result<Broken, NotOfThisVersion> {
        let number = self.change(LinkSide::connect);
        let taken = std::thread::scope(|threads| {
            let sending = Builder::new().spawn_scoped(threads, || self.send(number, writer));
            let taken = match &sending {
                Ok(_) => self.take(number, &mut reader),
                // Without a thread for sending, the connection is useless.
                Err(_) => Ok(()),
            };
            // Ends sending, unless another connection has begun.
            self.change(|state| state.disconnect(number));
            // The thread does not panic; if it did, the connection would be down as well.
            let _ = sending.map(ScopedJoinHandle::join);
            taken
        });
        taken.map(|()| match self.lock().is_done() {
            true => Broken::Done,
            false => Broken::Off,
        })
    }

    /// Waits until nothing has arrived since `since` for the time limit of silence, or
    /// the link is given up (`true`), or until `goes_on` returns `false` (`false`).
    pub fn await_silence(&self, since: Instant, goes_on: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        while goes_on() {
            let silent = state.received.max(since).elapsed();
            if silent >= self.times.silence || state.given_up.is_some() {
                return true;
            }
            state = self.wait(state, self.times.silence - silent);
        }
        false
    }

    /// Wakes all waiting threads, which check their conditions again.
    pub fn wake(&self) {
        self.change(|_| ());
    }

    /// Returns the time since the last packet from the peer.
    pub fn silent_for(&self) -> Duration {
        self.lock().received.elapsed()
    }

    /// Stops waiting for the peer. Bytes that have arrived can still be read; then
    /// reading returns the error `why`, or the end of the stream if `why` is `None`.
    pub fn give_up(&self, why: Option<String>) {
        self.change(|state| {
            state.given_up.get_or_insert(why);
        });
    }

    /// `true` if the link was given up.
    pub fn is_given_up(&self) -> bool {
        self.lock().given_up.is_some()
    }

    /// `true` if the link has a connection now.
    pub fn is_connected(&self) -> bool {
        self.lock().connected
    }

    /// Waits at most `patience` until the link is given up; `true` if it was.
    pub fn await_end(&self, patience: Duration) -> bool {
        self.wait_while(patience, |state| state.given_up.is_none())
    }

    /// Waits until the peer has acknowledged everything including the end, or the link is
    /// given up.
    pub fn await_delivery(&self) {
        let mut state = self.lock();
        while !state.is_delivered() && state.given_up.is_none() {
            state = self.wait(state, self.times.sign);
        }
    }

    /// Gives up the link when the peer is silent for longer than the grace period.
    /// Returns when the link is given up, for any reason.
    pub fn watch(&self) {
        loop {
            let silent = self.silent_for();
            if silent >= self.times.grace {
                self.give_up(None);
            }
            if self.await_end(self.times.grace.saturating_sub(silent)) {
                return;
            }
        }
    }

    fn send(&self, number: u64, mut writer: impl Write) {
        while let Some(packet) = self.next_packet(number) {
            if packet.send(&mut writer).is_err() {
                return;
            }
            // The state changed when the packet was taken from it; waiting threads may
            // depend on it.
            self.shared.changed.notify_all();
        }
    }

    /// Waits for a packet to send; `None` if the connection was replaced or the link
    /// given up.
    fn next_packet(&self, number: u64) -> Option<Packet> {
        let mut state = self.lock();
        while state.connection == number && state.given_up.is_none() {
            let now = Instant::now();
            match state.task(self.times, now) {
                LinkTask::Send(packet) => return Some(packet),
                LinkTask::WaitUntil(due) => state = self.wait(state, due - now),
            }
        }
        None
    }

    fn take(&self, number: u64, reader: &mut impl Read) -> Result<(), NotOfThisVersion> {
        while let Some(packet) = Packet::receive(reader)? {
            let mut state = self.lock();
            while !state.may_take() && state.connection == number && state.given_up.is_none() {
                // This side does not read while its buffer is full; the peer is not
                // silent.
                state.received = Instant::now();
                state = self.wait(state, self.times.sign);
            }
            if state.connection != number || state.given_up.is_some() {
                break;
            }
            state.take(packet, Instant::now())?;
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    fn wait_while(&self, patience: Duration, goes_on: impl Fn(&LinkSide) -> bool) -> bool {
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.lock(), patience, |state| goes_on(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !goes_on(&state)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, LinkSide>,
        patience: Duration,
    ) -> MutexGuard<'a, LinkSide> {
        let waited = self.shared.changed.wait_timeout(state, patience);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change<T>(&self, act: impl FnOnce(&mut LinkSide) -> T) -> T {
        self.shared.change(act)
    }

    fn lock(&self) -> MutexGuard<'_, LinkSide> {
        self.shared.lock()
    }
}

impl SharedSide {
    fn lock(&self) -> MutexGuard<'_, LinkSide> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, act: impl FnOnce(&mut LinkSide) -> T) -> T {
        let made = act(&mut self.lock());
        self.changed.notify_all();
        made
    }

    fn wait<'a>(&self, state: MutexGuard<'a, LinkSide>) -> MutexGuard<'a, LinkSide> {
        let waited = self.changed.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for LinkReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let mut state = self.0.lock();
        loop {
            if let Some(count) = state.read(into) {
                // A full buffer has space again.
                self.0.changed.notify_all();
                return Ok(count);
            }
            match &state.given_up {
                Some(Some(why)) => return Err(io::Error::other(why.clone())),
                Some(None) => return Ok(0),
                None => state = self.0.wait(state),
            }
        }
    }
}

impl Write for LinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        while !state.may_write() && state.given_up.is_none() {
            state = self.0.wait(state);
        }
        if state.given_up.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.write(bytes);
        self.0.changed.notify_all();
        Ok(bytes.len())
    }

    /// Does nothing: written data is already on its way.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LinkWriter {
    fn drop(&mut self) {
        self.0.change(LinkSide::end);
    }
}

#[cfg(test)]
mod tests;
