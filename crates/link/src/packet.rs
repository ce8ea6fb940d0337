//! Packets on a connection: a byte for the kind, a number of eight bytes (little endian), and data
//! of the length that the number gives.

use std::fmt;
use std::io::{self, Read, Write};

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

#[cfg(test)]
mod tests {
    use super::*;

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
