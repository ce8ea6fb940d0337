//! Records as they lie in the file: JSON, that of trials zlib-compressed.

use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{self, Read, Write};

/// No trial comes near this size; a damaged or hostile record may.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// The header as text, so that SQLite's JSON functions can read it.
pub fn header_to_text(header: &RunHeader) -> io::Result<String> {
    Ok(serde_json::to_string(header)?)
}

/// Inverse of [`header_to_text`].
pub fn header_from_text(text: &str) -> io::Result<RunHeader> {
    Ok(serde_json::from_str(text)?)
}

/// Series and histograms compress well. The whole text goes into the encoder at
/// once: it takes its time for each of the few bytes that serde writes.
pub fn trial_to_blob(record: &TrialRecord) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json)?;
    encoder.finish()
}

/// Inverse of [`trial_to_blob`]; zlib's checksum finds flipped bits.
pub fn trial_from_blob(blob: &[u8]) -> io::Result<TrialRecord> {
    let mut json = Vec::new();
    ZlibDecoder::new(blob)
        .take(MAX_RECORD_BYTES)
        .read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}
