//! Messages on a byte stream: two lengths of four bytes (little endian), then JSON of the first
//! length and a record of the second.

use super::ExchangeError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Maximum length of the JSON and of the record. Records are not longer even before they are
/// compressed.
const LONGEST: u32 = 64 << 20;
/// Memory allocated at once for an announced length.
const MOST_ARE_SHORTER: u32 = 64 << 10;

/// Writes a message, without flushing.
pub fn send(
    writer: &mut impl Write,
    message: &impl Serialize,
    record: &[u8],
) -> Result<(), ExchangeError> {
    let json = serde_json::to_vec(message).map_err(io::Error::from)?;
    for part in [&json[..], record] {
        let length = u32::try_from(part.len()).ok();
        let length = length.filter(|length| *length <= LONGEST).ok_or_else(|| {
            ExchangeError::Protocol(format!("a message of {} bytes is too long", part.len()))
        })?;
        writer.write_all(&length.to_le_bytes())?;
    }
    writer.write_all(&json)?;
    Ok(writer.write_all(record)?)
}

/// Reads a message and its record; `None` if the stream ended between messages.
pub fn receive<M: DeserializeOwned>(
    reader: &mut impl Read,
) -> Result<Option<(M, Vec<u8>)>, ExchangeError> {
    let mut first = [0; 1];
    match reader.read_exact(&mut first) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut rest = [0; 7];
    reader.read_exact(&mut rest)?;
    let ([a], [b, c, d, e, f, g, h]) = (first, rest);
    let json = body(reader, u32::from_le_bytes([a, b, c, d]))?;
    let record = body(reader, u32::from_le_bytes([e, f, g, h]))?;
    let message = serde_json::from_slice(&json)
        .map_err(|error| ExchangeError::Protocol(format!("not a message of assay: {error}")))?;
    Ok(Some((message, record)))
}

fn body(reader: &mut impl Read, length: u32) -> Result<Vec<u8>, ExchangeError> {
    if length > LONGEST {
        return Err(ExchangeError::Protocol(format!(
            "it announces {length} bytes, and at most {LONGEST} are taken"
        )));
    }
    // The buffer grows as bytes arrive, so that an announced length alone costs little memory.
    let mut body = Vec::with_capacity(length.min(MOST_ARE_SHORTER) as usize);
    reader.take(length.into()).read_to_end(&mut body)?;
    match body.len() == length as usize {
        true => Ok(body),
        false => Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
    }
}
