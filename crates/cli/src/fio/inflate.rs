//! `--inflate-log=FILE`: a compressed log as text.

use crate::exit::Failure;
use crate::output::print;
use flate2::bufread::ZlibDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Prints a log that was stored compressed (`log_store_compressed`): zlib
/// streams, one after the other.
pub fn inflate(path: &Path) -> Result<(), Failure> {
    let problem = |error: io::Error| {
        Failure::failed(format!(
            "cannot inflate the log {}: {error}",
            path.display()
        ))
    };
    let file = File::open(path).map_err(problem)?;
    let mut log = BufReader::new(file);
    print(|out| {
        while !log.fill_buf()?.is_empty() {
            io::copy(&mut ZlibDecoder::new(&mut log), out)?;
        }
        Ok(())
    })
}
