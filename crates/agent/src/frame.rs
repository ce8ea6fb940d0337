//! Messages on a byte stream: a length of four bytes (little endian), then that many
//! bytes of JSON.

mod tree;

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// Bytes of a message, at most: ten times the size of a trial of weeks with all its
/// intervals and histograms.
pub const MAX_FRAME: u32 = 64 << 20;

/// Bytes that are allocated at once for an announced message.
const MOST_ARE_SHORTER: u32 = 64 << 10;

/// Reason why a message could not be sent or received.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The stream failed.
    #[error("the connection was lost: {0}")]
    Link(#[from] io::Error),
    /// The received length exceeds [`MAX_FRAME`].
    #[error("the other side announced a message of {0} bytes; at most {MAX_FRAME} are taken")]
    TooLong(u32),
    /// The message to send exceeds [`MAX_FRAME`].
    #[error("a message of {0} bytes is too long to be sent; at most {MAX_FRAME} are taken")]
    Oversized(usize),
    /// The message to send cannot be represented in JSON.
    #[error("a message cannot be written as JSON: {0}")]
    Unsendable(serde_json::Error),
    /// The received bytes are not a message of this version.
    #[error("the other side sent something that is not a message of this version: {0}")]
    NotAMessage(serde_json::Error),
}

/// Sends one message and flushes.
///
/// # Errors
/// If the stream fails or the message is longer than [`MAX_FRAME`].
pub fn send(writer: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    writer.write_all(&encode(message)?)?;
    writer.flush()?;
    Ok(())
}

/// Encodes a message as a frame.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    // Space for the length.
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message).map_err(FrameError::Unsendable)?;
    let body = frame.len() - 4;
    match u32::try_from(body) {
        Ok(length) if length <= MAX_FRAME => frame[..4].copy_from_slice(&length.to_le_bytes()),
        _ => return Err(FrameError::Oversized(body)),
    }
    Ok(frame)
}

/// Receives one message; `None` if the stream ended between messages.
///
/// # Errors
/// If the stream fails or ends within a message, or the bytes are not such a message.
pub fn receive<M: DeserializeOwned>(reader: &mut impl Read) -> Result<Option<M>, FrameError> {
    let Some(body) = body(reader)? else {
        return Ok(None);
    };
    let message = serde_json::from_slice(&body).map_err(FrameError::NotAMessage)?;
    Ok(Some(message))
}

/// Receives like [`receive`], with less code for each type, but more memory for a long
/// message.
pub(crate) fn receive_small<M: DeserializeOwned>(
    reader: &mut impl Read,
) -> Result<Option<M>, FrameError> {
    let Some(body) = body(reader)? else {
        return Ok(None);
    };
    let message = tree::from_slice(&body).map_err(FrameError::NotAMessage)?;
    Ok(Some(message))
}

/// Reads the body of one message.
fn body(reader: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = [0; 4];
    match first_bytes(reader, &mut length)? {
        0 => return Ok(None),
        got => reader.read_exact(&mut length[got..])?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME {
        return Err(FrameError::TooLong(length));
    }
    // Beyond this size the buffer grows as bytes arrive, so that an announced length
    // alone uses little memory.
    let mut body = Vec::with_capacity(length.min(MOST_ARE_SHORTER) as usize);
    let got = reader.take(u64::from(length)).read_to_end(&mut body)?;
    if got < length as usize {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(body))
}

/// Reads like `Read::read`, and repeats after a signal.
fn first_bytes(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            got => return got,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::wire::{Greeting, ToAgent};

    #[test]
    fn messages_survive_the_stream() {
        let mut stream = Vec::new();
        let hello = ToAgent::Hello(Greeting::of_host());
        send(&mut stream, &hello).unwrap();
        send(&mut stream, &ToAgent::Cancel).unwrap();
        let mut reader = stream.as_slice();
        let first = receive::<ToAgent>(&mut reader).unwrap();
        assert_eq!(first, Some(hello));
        assert_eq!(receive(&mut reader).unwrap(), Some(ToAgent::Cancel));
        assert_eq!(receive::<ToAgent>(&mut reader).unwrap(), None);
    }

    #[test]
    fn a_message_of_our_own_that_is_too_long_is_not_blamed_on_the_other_side() {
        let mut stream = Vec::new();
        let long = "x".repeat(MAX_FRAME as usize);
        let error = send(&mut stream, &long).unwrap_err();
        assert!(matches!(error, FrameError::Oversized(_)), "{error}");
        assert!(!error.to_string().contains("other side"), "{error}");
        assert!(stream.is_empty());
    }

    #[test]
    fn what_is_not_a_message_is_refused() {
        let mut long: &[u8] = &[255, 255, 255, 255];
        assert!(matches!(
            receive::<ToAgent>(&mut long),
            Err(FrameError::TooLong(_))
        ));
        let mut cut: &[u8] = &[10, 0, 0, 0, b'{'];
        assert!(matches!(
            receive::<ToAgent>(&mut cut),
            Err(FrameError::Link(_))
        ));
        let mut other: &[u8] = &[2, 0, 0, 0, b'h', b'i'];
        assert!(matches!(
            receive::<ToAgent>(&mut other),
            Err(FrameError::NotAMessage(_))
        ));
    }
}
