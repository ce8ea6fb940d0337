//! `wol.dat` and similar files (`-Q`): offset and latency of each record.

use crate::WorkError;
use assay_engine::held::{self, shown};
use assay_model::work::iozone::Iozone;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Latency of one record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordLatency {
    pub(super) offset: u64,
    pub(super) latency_ns: u64,
    pub(super) bytes: u64,
}

/// First line. Its begin distinguishes such a file from one with other data; files of
/// iozone's children have one space less in the rest.
const HEAD: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n";
const HEAD_BEGINS: &str = "Offset in kBytes   Latency in microseconds ";

/// Checks the files that will be written.
///
/// # Errors
/// If one of them contains other data.
pub(super) fn admit(work: &Iozone) -> Result<(), WorkError> {
    for path in work.latency_paths() {
        match is_free(&path) {
            Ok(true) => {}
            Ok(false) => {
                return Err(WorkError::Refused(format!(
                    "{} is not a file of latencies, so it is not overwritten: move it away, or start -Q in another folder",
                    shown(&path)
                )));
            }
            Err(error) => {
                return Err(WorkError::Refused(format!(
                    "cannot look at {}: {error}",
                    shown(&path)
                )));
            }
        }
    }
    Ok(())
}

/// Returns `true` if the file does not exist, or may be overwritten.
fn is_free(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        found => found?,
    };
    if !found.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let most = HEAD_BEGINS.len() as u64;
    held::open_to_read(path)?
        .take(most)
        .read_to_end(&mut start)?;
    Ok(start.is_empty() || start == HEAD_BEGINS.as_bytes())
}

/// Writes the file of a test.
pub(super) fn write(path: &Path, entries: &[RecordLatency]) -> Result<(), WorkError> {
    let mut text = HEAD.to_owned();
    for entry in entries {
        let (offset, micros) = (entry.offset >> 10, entry.latency_ns / 1000);
        text.push_str(&format!("{offset:10} {micros:10} {:10}\n", entry.bytes));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Does not follow a link that was created meanwhile.
    let opened = held::open(path, flags, Mode::from_raw_mode(0o666));
    let file = opened.map(File::from).map_err(io::Error::from);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| WorkError::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::iozone::Test;

    #[test]
    fn only_files_of_latencies_are_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let work = Iozone {
            tests: vec![Test::Write, Test::Read],
            latency_files: Some(folder.path().to_owned()),
            ..Iozone::default()
        };
        admit(&work).unwrap();
        let path = folder.path().join("rol.dat");
        let entry = RecordLatency {
            offset: 8192,
            latency_ns: 7000,
            bytes: 4096,
        };
        write(&path, &[entry]).unwrap();
        admit(&work).unwrap();
        fs::write(&path, "mine\n").unwrap();
        let error = admit(&work).unwrap_err().to_string();
        assert!(error.contains("rol.dat is not a file of"), "{error}");
        fs::remove_file(&path).unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(admit(&work).is_err());
        assert!(write(&path, &[]).is_err());
        assert_eq!(fs::read(&other).unwrap(), b"");
    }
}
