//! Stored form of records: JSON, which is zlib-compressed for trials and imports.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Maximum size of a decompressed record. Records of assay are much smaller, and messages of the
/// protocol have the same limit; a damaged or hostile record may exceed it.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Serializes headers, names of files and tags as text, so that SQLite's JSON functions and its
/// shell can read them.
pub fn to_text(record: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string(record)?)
}

/// Inverse of [`to_text`].
pub fn from_text<T: DeserializeOwned>(text: &str) -> io::Result<T> {
    Ok(serde_json::from_str(text)?)
}

/// Serializes and compresses a trial or an import. Refuses a record too large to be read again.
pub fn to_blob(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    match json.len() as u64 > MAX_RECORD_BYTES {
        true => Err(too_long()),
        false => compressed(&json),
    }
}

/// Compresses the whole text at once: serde writes a few bytes at a time, and each write to the
/// encoder is slow.
fn compressed(json: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json)?;
    encoder.finish()
}

fn too_long() -> io::Error {
    io::Error::other("it is longer than 64 MiB")
}

/// Inverse of [`to_blob`]; zlib's checksum detects flipped bits.
pub fn from_blob<T: DeserializeOwned>(blob: &[u8]) -> io::Result<T> {
    let mut json = Vec::new();
    ZlibDecoder::new(blob)
        .take(MAX_RECORD_BYTES + 1)
        .read_to_end(&mut json)?;
    if json.len() as u64 > MAX_RECORD_BYTES {
        return Err(too_long());
    }
    Ok(serde_json::from_slice(&json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_longer_than_it_may_be_is_neither_read_nor_written() {
        let text = |bytes: u64| "x".repeat(usize::try_from(bytes).unwrap());
        let fits = to_blob(&text(MAX_RECORD_BYTES - 2)).unwrap();
        assert!(fits.len() < 1 << 20, "it is small until it is read");
        assert_eq!(
            from_blob::<String>(&fits).unwrap().len() as u64,
            MAX_RECORD_BYTES - 2
        );
        let large = text(MAX_RECORD_BYTES);
        let json = serde_json::to_vec(&large).unwrap();
        let read = from_blob::<String>(&compressed(&json).unwrap());
        for why in [to_blob(&large).unwrap_err(), read.unwrap_err()] {
            assert_eq!(why.to_string(), "it is longer than 64 MiB");
        }
    }
}
