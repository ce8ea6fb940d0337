//! A byte stream between two processes that outlives its connections: written bytes
//! arrive in order and exactly once, however often the connection breaks.
//!
//! Each side keeps written bytes until the peer acknowledges them. On a new connection,
//! each side first sends the number of bytes that it has received. Both sides repeat this
//! number periodically ([`Times`]), so a side that receives nothing for long knows that
//! the connection is dead, even if the operating system reports no error.
//!
//! The link does not interpret the bytes and does not open connections: the caller opens
//! one and passes it to [`Link::carry`].
//!
//! A packet on a connection is a byte for the kind, a number of eight bytes (little endian), and
//! data of the length that the number gives.

use std::collections::VecDeque;
use std::fmt;
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

/// Buffered bytes in each direction from which on writers (or the peer) wait. A single
/// write is buffered as a whole, so the buffer may exceed this.
const KEPT: usize = 1 << 20;
/// Received bytes after which an acknowledgement is sent at once. It is well below
/// [`KEPT`], so the peer does not wait for an acknowledgement.
const ACK_AFTER_BYTES: u64 = 256 << 10;

/// Next task for a connection.
#[derive(Debug, PartialEq, Eq)]
enum LinkTask {
    Send(Packet),
    /// Nothing to send before this time.
    WaitUntil(Instant),
}

/// State of one side of a link.
#[derive(Debug)]
struct LinkSide {
    outgoing: Outgoing,
    incoming: Incoming,
    /// Time of the last packet from the peer.
    received: Instant,
    /// Number of the current connection; threads of an earlier one stop.
    connection: u64,
    /// `true` while the current connection is up.
    connected: bool,
    /// Set once the side no longer waits for the peer; the inner value is the error, if
    /// any.
    given_up: Option<Option<String>>,
}

/// Data written on this side.
#[derive(Debug, Default)]
struct Outgoing {
    /// Bytes that the peer has not acknowledged.
    kept: VecDeque<u8>,
    /// Position in the stream of the first byte in `kept`.
    from: u64,
    /// The writer is closed.
    ended: bool,
    /// The peer has acknowledged the end.
    end_arrived: bool,
    /// Position of the next byte to send over this connection; `None` until the peer has
    /// acknowledged something over it.
    next: Option<u64>,
    /// The end has been sent over this connection.
    end_sent: bool,
}

/// Data written on the other side.
#[derive(Debug, Default)]
struct Incoming {
    /// Received bytes that have not been read yet.
    taken: VecDeque<u8>,
    /// Received bytes; the end counts as one.
    arrived: u64,
    ended: bool,
    /// Last count of received bytes that was sent over this connection, and the time.
    told: Option<(u64, Instant)>,
}

impl LinkSide {
    fn new() -> Self {
        Self {
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            received: Instant::now(),
            connection: 0,
            connected: false,
            given_up: None,
        }
    }

    /// Begins a new connection, and returns its number.
    fn connect(&mut self) -> u64 {
        self.outgoing.next = None;
        self.outgoing.end_sent = false;
        self.incoming.told = None;
        self.connection += 1;
        self.connected = true;
        self.connection
    }

    /// Ends a connection, unless another one has replaced it.
    fn disconnect(&mut self, connection: u64) {
        if self.connection == connection {
            self.connection += 1;
            self.connected = false;
        }
    }

    fn may_write(&self) -> bool {
        self.outgoing.kept.len() < KEPT
    }

    fn write(&mut self, bytes: &[u8]) {
        self.outgoing.kept.extend(bytes);
    }

    fn end(&mut self) {
        self.outgoing.ended = true;
    }

    fn may_take(&self) -> bool {
        self.incoming.taken.len() < KEPT
    }

    /// Reads received bytes; `None` if there are none now but more may follow.
    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        let taken = &mut self.incoming.taken;
        if taken.is_empty() && !self.incoming.ended {
            return None;
        }
        let count = into.len().min(taken.len());
        for (place, byte) in into.iter_mut().zip(taken.drain(..count)) {
            *place = byte;
        }
        Some(count)
    }

    /// `true` if everything written here has arrived on the other side, the end included.
    fn is_delivered(&self) -> bool {
        self.outgoing.end_arrived
    }

    /// `true` if the peer has ended its stream and was sent the acknowledgement of that
    /// over this connection.
    fn is_done(&self) -> bool {
        let told = self.incoming.told.map(|(arrived, _)| arrived);
        self.incoming.ended && told == Some(self.incoming.arrived)
    }

    /// Returns the next task.
    fn task(&mut self, times: Times, now: Instant) -> LinkTask {
        let due = match self.incoming.told {
            None => now,
            Some((told, when)) => {
                let news = self.incoming.arrived - told;
                match news >= ACK_AFTER_BYTES || (news > 0 && self.incoming.ended) {
                    true => now,
                    false => when + times.sign,
                }
            }
        };
        if due <= now {
            self.incoming.told = Some((self.incoming.arrived, now));
            return LinkTask::Send(Packet::Seen(self.incoming.arrived));
        }
        match self.outgoing.next_packet() {
            Some(packet) => LinkTask::Send(packet),
            None => LinkTask::WaitUntil(due),
        }
    }

    /// Processes a packet from the peer.
    fn take(&mut self, packet: Packet, now: Instant) -> Result<(), NotOfThisVersion> {
        self.received = now;
        match packet {
            Packet::Seen(arrived) => self.outgoing.arrived(arrived),
            // The peer sends data only after the first acknowledgement, which contains
            // the position to resume from.
            Packet::Data(_) | Packet::End
                if self.incoming.ended || self.incoming.told.is_none() =>
            {
                Err(NotOfThisVersion)
            }
            Packet::Data(data) => {
                self.incoming.arrived += data.len() as u64;
                self.incoming.taken.extend(data);
                Ok(())
            }
            Packet::End => {
                self.incoming.arrived += 1;
                self.incoming.ended = true;
                Ok(())
            }
        }
    }
}

impl Outgoing {
    fn next_packet(&mut self) -> Option<Packet> {
        let next = self.next?;
        // Acknowledged bytes are no longer kept: nothing is sent in that case.
        let start = usize::try_from(next.checked_sub(self.from)?).ok()?;
        let data: Vec<u8> = self
            .kept
            .iter()
            .skip(start)
            .take(LONGEST)
            .copied()
            .collect();
        if !data.is_empty() {
            self.next = Some(next + data.len() as u64);
            return Some(Packet::Data(data));
        }
        if self.ended && !self.end_sent {
            self.end_sent = true;
            return Some(Packet::End);
        }
        None
    }

    /// Processes an acknowledgement: drops the acknowledged bytes, and sets the position
    /// to resume from.
    fn arrived(&mut self, arrived: u64) -> Result<(), NotOfThisVersion> {
        let written = self.from + self.kept.len() as u64;
        let bytes = arrived.min(written);
        let end = arrived - bytes;
        let news = bytes
            .checked_sub(self.from)
            .and_then(|news| usize::try_from(news).ok());
        let Some(news) = news.filter(|_| end <= u64::from(self.ended)) else {
            return Err(NotOfThisVersion);
        };
        self.kept.drain(..news);
        self.from = bytes;
        if end > 0 {
            self.end_arrived = true;
            self.end_sent = true;
        }
        if self.next.is_none() {
            self.next = Some(bytes);
        }
        Ok(())
    }
}

/// Data in one packet, at most, in bytes.
const LONGEST: usize = 64 << 10;

const SEEN: u8 = b'S';
const DATA: u8 = b'D';
const END: u8 = b'E';

/// Packet from one side to the other.
#[derive(Debug, PartialEq, Eq)]
enum Packet {
    /// Acknowledges this number of received bytes; the end of the stream counts as one.
    Seen(u64),
    /// The next bytes of the stream.
    Data(Vec<u8>),
    /// End of the stream.
    End,
}

impl Packet {
    /// Writes the packet in one call, and flushes.
    fn send(&self, writer: &mut impl Write) -> io::Result<()> {
        let (kind, number, data) = match self {
            Self::Seen(arrived) => (SEEN, *arrived, &[][..]),
            Self::Data(data) => (DATA, data.len() as u64, data.as_slice()),
            Self::End => (END, 0, &[][..]),
        };
        let mut packet = Vec::with_capacity(9 + data.len());
        packet.push(kind);
        packet.extend(number.to_le_bytes());
        packet.extend(data);
        writer.write_all(&packet)?;
        writer.flush()
    }

    /// Reads one packet; `None` if the connection ended, also within a packet.
    ///
    /// # Errors
    /// [`NotOfThisVersion`] if the bytes are not a packet.
    fn receive(reader: &mut impl Read) -> Result<Option<Self>, NotOfThisVersion> {
        let mut head = [0; 9];
        // An error of the connection is equivalent to its end: the caller opens another one.
        if reader.read_exact(&mut head).is_err() {
            return Ok(None);
        }
        let [kind, number @ ..] = head;
        let number = u64::from_le_bytes(number);
        match (kind, usize::try_from(number)) {
            (SEEN, _) => Ok(Some(Self::Seen(number))),
            (END, Ok(0)) => Ok(Some(Self::End)),
            (DATA, Ok(length)) if (1..=LONGEST).contains(&length) => {
                let mut data = vec![0; length];
                Ok(reader.read_exact(&mut data).ok().map(|()| Self::Data(data)))
            }
            _ => Err(NotOfThisVersion),
        }
    }
}

/// Error for data that a link of this version never sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOfThisVersion;

impl fmt::Display for NotOfThisVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side sends a stream of another version")
    }
}

impl std::error::Error for NotOfThisVersion {}

/// Interval of keep-alive packets, at most.
const SIGN: Duration = Duration::from_secs(5);
/// Silence after which a connection is regarded as dead, at most.
const SILENCE: Duration = Duration::from_secs(30);

/// Times of a link. Both sides must use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time that a side waits for its peer, over all connections, before it gives up the link.
    pub grace: Duration,
    /// Interval of keep-alive packets.
    pub sign: Duration,
    /// Silence after which a connection is regarded as dead.
    pub silence: Duration,
}

impl Times {
    /// Returns the times for a grace period: a dead connection is noticed well within it, so that a
    /// new one can be opened in time.
    pub fn within(grace: Duration) -> Self {
        Self {
            grace,
            sign: SIGN.min(grace / 12),
            silence: SILENCE.min(grace / 3),
        }
    }
}

#[cfg(test)]
mod tests;
