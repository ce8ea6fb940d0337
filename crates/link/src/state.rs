//! State of one side of a stream, in both directions, and the packets on a connection.
//!
//! A packet is a byte for the kind, a number of eight bytes (little endian), and data of the length
//! that the number gives.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Buffered bytes in each direction from which on writers (or the peer) wait. A single
/// write is buffered as a whole, so the buffer may exceed this.
const KEPT: usize = 1 << 20;
/// Received bytes after which an acknowledgement is sent at once. It is well below
/// [`KEPT`], so the peer does not wait for an acknowledgement.
const ACK_AFTER_BYTES: u64 = 256 << 10;

/// Next task for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkTask {
    Send(Packet),
    /// Nothing to send before this time.
    WaitUntil(Instant),
}

/// State of one side of a link.
#[derive(Debug)]
pub(crate) struct LinkSide {
    outgoing: Outgoing,
    incoming: Incoming,
    /// Time of the last packet from the peer.
    pub(crate) received: Instant,
    /// Number of the current connection; threads of an earlier one stop.
    pub(crate) connection: u64,
    /// `true` while the current connection is up.
    pub(crate) connected: bool,
    /// Set once the side no longer waits for the peer; the inner value is the error, if
    /// any.
    pub(crate) given_up: Option<Option<String>>,
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
    pub(crate) fn new() -> Self {
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
    pub(crate) fn connect(&mut self) -> u64 {
        self.outgoing.next = None;
        self.outgoing.end_sent = false;
        self.incoming.told = None;
        self.connection += 1;
        self.connected = true;
        self.connection
    }

    /// Ends a connection, unless another one has replaced it.
    pub(crate) fn disconnect(&mut self, connection: u64) {
        if self.connection == connection {
            self.connection += 1;
            self.connected = false;
        }
    }

    pub(crate) fn may_write(&self) -> bool {
        self.outgoing.kept.len() < KEPT
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.outgoing.kept.extend(bytes);
    }

    pub(crate) fn end(&mut self) {
        self.outgoing.ended = true;
    }

    pub(crate) fn may_take(&self) -> bool {
        self.incoming.taken.len() < KEPT
    }

    /// Reads received bytes; `None` if there are none now but more may follow.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Option<usize> {
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
    pub(crate) fn is_delivered(&self) -> bool {
        self.outgoing.end_arrived
    }

    /// `true` if the peer has ended its stream and was sent the acknowledgement of that
    /// over this connection.
    pub(crate) fn is_done(&self) -> bool {
        let told = self.incoming.told.map(|(arrived, _)| arrived);
        self.incoming.ended && told == Some(self.incoming.arrived)
    }

    /// Returns the next task.
    pub(crate) fn task(&mut self, times: Times, now: Instant) -> LinkTask {
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
    pub(crate) fn take(&mut self, packet: Packet, now: Instant) -> Result<(), NotOfThisVersion> {
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
pub(crate) const LONGEST: usize = 64 << 10;

const SEEN: u8 = b'S';
const DATA: u8 = b'D';
const END: u8 = b'E';

/// Packet from one side to the other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// Acknowledges this number of received bytes; the end of the stream counts as one.
    Seen(u64),
    /// The next bytes of the stream.
    Data(Vec<u8>),
    /// End of the stream.
    End,
}

impl Packet {
    /// Writes the packet in one call, and flushes.
    pub(crate) fn send(&self, writer: &mut impl Write) -> io::Result<()> {
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
    pub(crate) fn receive(reader: &mut impl Read) -> Result<Option<Self>, NotOfThisVersion> {
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
mod tests {
    use super::*;
    use std::time::Duration;

    const TIMES: Times = Times {
        grace: Duration::from_secs(120),
        sign: Duration::from_secs(5),
        silence: Duration::from_secs(30),
    };

    /// Carries packets between two sides until there is nothing to do, or `most` packets
    /// were carried; the remainder is lost.
    fn carry(a: &mut LinkSide, b: &mut LinkSide, most: usize) {
        let now = Instant::now();
        a.connect();
        b.connect();
        let mut carried = 0;
        loop {
            let mut idle = true;
            for turn in [true, false] {
                let (from, to) = match turn {
                    true => (&mut *a, &mut *b),
                    false => (&mut *b, &mut *a),
                };
                if let LinkTask::Send(packet) = from.task(TIMES, now) {
                    if carried == most {
                        return;
                    }
                    carried += 1;
                    idle = false;
                    to.take(packet, now).unwrap();
                }
            }
            if idle {
                return;
            }
        }
    }

    fn read(state: &mut LinkSide) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 20];
        let count = state.read(&mut bytes).unwrap_or_default();
        bytes.truncate(count);
        bytes
    }

    #[test]
    fn what_is_written_arrives_once_wherever_a_connection_breaks() {
        let text: Vec<u8> = (0..=250).cycle().take(3 * LONGEST + 17).collect();
        for broken_after in 0..8 {
            let (mut a, mut b) = (LinkSide::new(), LinkSide::new());
            a.write(&text);
            b.write(b"answer");
            b.end();
            carry(&mut a, &mut b, broken_after);
            let mut got = read(&mut b);
            a.write(b"more");
            a.end();
            carry(&mut a, &mut b, broken_after + 1);
            carry(&mut a, &mut b, usize::MAX);
            got.extend(read(&mut b));
            let all = [text.as_slice(), b"more"].concat();
            assert!(
                got == all,
                "broken after {broken_after}: {} bytes",
                got.len()
            );
            assert_eq!(read(&mut a), b"answer");
            assert!(a.is_done() && b.is_done(), "{broken_after}: {a:?} {b:?}");
            assert_eq!(a.read(&mut [0]), Some(0));
        }
    }

    #[test]
    fn who_says_what_cannot_be_is_not_believed() {
        let now = Instant::now();
        let connected = || {
            let mut state = LinkSide::new();
            state.write(b"abc");
            state.connect();
            assert_eq!(state.task(TIMES, now), LinkTask::Send(Packet::Seen(0)));
            state
        };
        assert_eq!(connected().take(Packet::Seen(3), now), Ok(()));
        assert_eq!(
            connected().take(Packet::Seen(4), now),
            Err(NotOfThisVersion)
        );
        let mut state = connected();
        state.end();
        state.take(Packet::Seen(4), now).unwrap();
        assert!(state.is_delivered());
        assert_eq!(state.take(Packet::Seen(2), now), Err(NotOfThisVersion));
        state.take(Packet::End, now).unwrap();
        for more in [Packet::End, Packet::Data(vec![1])] {
            assert_eq!(state.take(more, now), Err(NotOfThisVersion));
        }
        let mut fresh = LinkSide::new();
        assert_eq!(
            fresh.take(Packet::Data(vec![1]), now),
            Err(NotOfThisVersion)
        );
    }

    #[test]
    fn a_side_that_has_nothing_to_say_gives_a_sign_now_and_then() {
        let now = Instant::now();
        let mut state = LinkSide::new();
        state.connect();
        assert_eq!(state.task(TIMES, now), LinkTask::Send(Packet::Seen(0)));
        assert_eq!(
            state.task(TIMES, now),
            LinkTask::WaitUntil(now + TIMES.sign)
        );
        let later = now + TIMES.sign;
        assert_eq!(state.task(TIMES, later), LinkTask::Send(Packet::Seen(0)));
    }

    #[test]
    fn packets_survive_a_connection() {
        let packets = [
            Packet::Seen(u64::MAX),
            Packet::Data(vec![7; LONGEST]),
            Packet::End,
        ];
        let mut wire = Vec::new();
        for packet in &packets {
            packet.send(&mut wire).unwrap();
        }
        let mut reader = wire.as_slice();
        for packet in packets {
            assert_eq!(Packet::receive(&mut reader), Ok(Some(packet)));
        }
        assert_eq!(Packet::receive(&mut reader), Ok(None));
    }

    #[test]
    fn what_is_no_packet_is_refused_and_a_cut_one_is_the_end() {
        for wire in [&[b'S'; 3][..], b"", b"D\x02\0\0\0\0\0\0\0x"] {
            assert_eq!(Packet::receive(&mut &*wire), Ok(None), "{wire:?}");
        }
        for wire in [
            &[0; 9][..],
            b"yyyyyyyyy",
            b"D\0\0\0\0\0\0\0\0",
            b"D\x01\0\x01\0\0\0\0\0",
            &[255; 9],
            b"E\x01\0\0\0\0\0\0\0",
        ] {
            assert_eq!(
                Packet::receive(&mut &*wire),
                Err(NotOfThisVersion),
                "{wire:?}"
            );
        }
    }
}
