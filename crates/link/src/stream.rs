//! The stream, and the connections that carry it.

use crate::packet::{NotOfThisVersion, Packet};
use crate::state::{LinkSide, LinkTask};
use crate::times::Times;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// One side of a link; all of its parts are the same side.
#[derive(Clone, Debug)]
pub struct Link {
    shared: Arc<SharedSide>,
    times: Times,
}

/// Reads what the other side writes.
#[derive(Debug)]
pub struct LinkReader(Arc<SharedSide>);

/// Writes to the other side. Dropping it is the end of what is written.
#[derive(Debug)]
pub struct LinkWriter(Arc<SharedSide>);

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It broke, or another one took its place.
    Off,
    /// The other side has ended.
    Done,
}

#[derive(Debug)]
struct SharedSide {
    state: Mutex<LinkSide>,
    changed: Condvar,
}

/// A side that has no connection yet.
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
    /// Goes over a connection until that ends; any other one is of no use from now
    /// on. A connection that is dead ends only when its caller cuts it: see
    /// [`Link::await_silence`].
    ///
    /// # Errors
    /// When the other side is none.
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
                // Without a thread to send with the connection is as good as off.
                Err(_) => Ok(()),
            };
            // Sending ends, unless another connection has begun.
            self.change(|state| state.disconnect(number));
            // It does not panic; if it did, the connection would be off as well.
            let _ = sending.map(ScopedJoinHandle::join);
            taken
        });
        taken.map(|()| match self.lock().is_done() {
            true => Broken::Done,
            false => Broken::Off,
        })
    }

    /// Waits until a connection ends that [`Link::carry`] goes over since then, as long
    /// as the other side says something; whether it fell silent, or is not waited for
    /// any more.
    pub fn await_silence(&self, since: Instant, goes_on: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        while goes_on() {
            let silent = state.heard.max(since).elapsed();
            if silent >= self.times.silence || state.given_up.is_some() {
                return true;
            }
            state = self.wait(state, self.times.silence - silent);
        }
        false
    }

    /// Lets those who wait look again.
    pub fn wake(&self) {
        self.change(|_| ());
    }

    /// Returns the time since the other side was last heard.
    pub fn silent_for(&self) -> Duration {
        self.lock().heard.elapsed()
    }

    /// The other side is not waited for any more. What has arrived is read to its
    /// end; then comes that error, or the end.
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

    /// Waits until it is given up, at most so long; whether it was.
    pub fn await_end(&self, patience: Duration) -> bool {
        self.wait_while(patience, |state| state.given_up.is_none())
    }

    /// Waits until all that was written has arrived, its end included, or the other
    /// side is not waited for any more.
    pub fn await_delivery(&self) {
        let mut state = self.lock();
        while !state.is_delivered() && state.given_up.is_none() {
            state = self.wait(state, self.times.sign);
        }
    }

    /// Gives up when the other side is silent for longer than it is waited for.
    /// Returns then, or when that was given up otherwise.
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
            // Who waits for the end waits for this to be told.
            self.shared.changed.notify_all();
        }
    }

    /// Waits for what is to be sent; `None` when the connection is of no use any more.
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
                // Who reads nothing is alive all the same.
                state.heard = Instant::now();
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
                // There may be room again.
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
