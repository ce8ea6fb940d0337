//! Records as they lie in the file: JSON, that of trials and imports
//! zlib-compressed.

use assay_model::figures::Import;
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// No record comes near this size; a damaged or hostile record may.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// The header as text, so that SQLite's JSON functions can read it.
pub fn header_to_text(header: &RunHeader) -> io::Result<String> {
    Ok(serde_json::to_string(header)?)
}

/// Inverse of [`header_to_text`].
pub fn header_from_text(text: &str) -> io::Result<RunHeader> {
    Ok(serde_json::from_str(text)?)
}

/// Names of files, for the sqlite3 shell too.
pub fn files_to_text(files: &[String]) -> io::Result<String> {
    Ok(serde_json::to_string(files)?)
}

/// Inverse of [`files_to_text`].
pub fn files_from_text(text: &str) -> io::Result<Vec<String>> {
    Ok(serde_json::from_str(text)?)
}

/// Series and histograms compress well.
pub fn trial_to_blob(record: &TrialRecord) -> io::Result<Vec<u8>> {
    to_blob(record)
}

/// Inverse of [`trial_to_blob`]; zlib's checksum finds flipped bits.
pub fn trial_from_blob(blob: &[u8]) -> io::Result<TrialRecord> {
    from_blob(blob)
}

/// Everything that was taken in, once: lists need no more than the columns.
pub fn import_to_blob(import: &Import) -> io::Result<Vec<u8>> {
    to_blob(import)
}

/// Inverse of [`import_to_blob`].
pub fn import_from_blob(blob: &[u8]) -> io::Result<Import> {
    from_blob(blob)
}

/// The whole text goes into the encoder at once: it takes its time for each of
/// the few bytes that serde writes.
fn to_blob(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json)?;
    encoder.finish()
}

fn from_blob<T: DeserializeOwned>(blob: &[u8]) -> io::Result<T> {
    let mut json = Vec::new();
    ZlibDecoder::new(blob)
        .take(MAX_RECORD_BYTES)
        .read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}
