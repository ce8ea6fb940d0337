//! Which files the replay of a trace would write: a trace names them itself.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// `BLK_IO_TRACE_MAGIC` of `linux/blktrace_api.h`; its lowest byte is the
/// version.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;
/// Length of `struct blk_io_trace`, and where in it the device's number and the
/// length of what follows stand.
const RECORD: usize = 48;
const DEVICE_AT: usize = 36;
const EXTRA_AT: usize = 46;

/// The files that an iolog writes or trims, or the devices in a binary trace of
/// blktrace. Of a trace that cannot be read: none, for it cannot be replayed either.
pub(super) fn written(trace: &Path) -> Vec<PathBuf> {
    let Ok(mut reader) = File::open(trace).map(BufReader::new) else {
        return Vec::new();
    };
    let mut paths = if is_blktrace(&mut reader) {
        devices(reader)
    } else {
        names(reader, &["write", "trim"])
    };
    paths.sort();
    paths.dedup();
    paths
}

/// The files to which an iolog does one of these `actions`. A binary trace has
/// devices only, and names none here.
pub(super) fn files_of(trace: &Path, actions: &[&str]) -> Vec<PathBuf> {
    let Ok(mut reader) = File::open(trace).map(BufReader::new) else {
        return Vec::new();
    };
    if is_blktrace(&mut reader) {
        return Vec::new();
    }
    names(reader, actions)
}

fn is_blktrace(reader: &mut impl BufRead) -> bool {
    let Ok([a, b, c, d, ..]) = reader.fill_buf() else {
        return false;
    };
    let word = [*a, *b, *c, *d];
    [u32::from_le_bytes(word), u32::from_be_bytes(word)]
        .iter()
        .any(|magic| magic & 0xffff_ff00 == BLKTRACE_MAGIC)
}

/// An iolog has a line `NAME write OFFSET LENGTH` for each write, with the time
/// in front of it in version 3.
fn names(reader: impl BufRead, actions: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in reader.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.split_whitespace().collect();
        let ([name, action, _, _] | [_, name, action, _, _]) = words[..] else {
            continue;
        };
        if !actions.contains(&action) {
            continue;
        }
        if found.last().is_none_or(|last| last != Path::new(name)) {
            found.push(PathBuf::from(name));
        }
    }
    found
}

/// A device's number has the minor in its lower 20 bits (`MINORBITS`).
fn devices(mut reader: impl Read) -> Vec<PathBuf> {
    let mut numbers = std::collections::BTreeSet::new();
    let mut record = [0; RECORD];
    while reader.read_exact(&mut record).is_ok() {
        let native = record[..4] == (BLKTRACE_MAGIC | 7).to_le_bytes();
        let number = word(&record, DEVICE_AT, native);
        let extra = if native {
            u16::from_le_bytes([record[EXTRA_AT], record[EXTRA_AT + 1]])
        } else {
            u16::from_be_bytes([record[EXTRA_AT], record[EXTRA_AT + 1]])
        };
        numbers.insert(number);
        let skipped = std::io::copy(
            &mut reader.by_ref().take(extra.into()),
            &mut std::io::sink(),
        );
        if skipped.is_err() {
            break;
        }
    }
    numbers.into_iter().map(node).collect()
}

fn word(record: &[u8; RECORD], at: usize, little: bool) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&record[at..at + 4]);
    if little {
        u32::from_le_bytes(bytes)
    } else {
        u32::from_be_bytes(bytes)
    }
}

/// The kernel links each number to the device's folder, which has its name.
fn node(number: u32) -> PathBuf {
    let entry = format!("/sys/dev/block/{}:{}", number >> 20, number & 0xf_ffff);
    let folder = std::fs::canonicalize(entry).unwrap_or_default();
    Path::new("/dev").join(folder.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(content: &[u8]) -> Vec<PathBuf> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        written(file.path())
    }

    #[test]
    fn both_versions_of_an_iolog_name_their_files() {
        let log = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 0 4096\n";
        assert_eq!(trace(log.as_bytes()), [PathBuf::from("/dev/a")]);
        let log = "fio version 3 iolog\n0 /dev/a add\n5 /dev/b add\n9 /dev/b write 0 4096\n9 /dev/a read 0 1\n";
        assert_eq!(
            trace(log.as_bytes()),
            [PathBuf::from("/dev/b")],
            "a is only read"
        );
    }

    #[test]
    fn actions_are_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "fio version 2 iolog\n/a write 0 1\n/b trim 0 1\n",
        )
        .unwrap();
        assert_eq!(files_of(file.path(), &["trim"]), [PathBuf::from("/b")]);
        assert_eq!(files_of(file.path(), &["write"]), [PathBuf::from("/a")]);
    }

    #[test]
    fn a_binary_trace_names_devices_by_number() {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&(BLKTRACE_MAGIC | 7).to_le_bytes());
        record[EXTRA_AT] = 3;
        let mut two = [&record[..], b"abc"].concat();
        record[DEVICE_AT] = 1;
        two.extend_from_slice(&record);
        two.extend_from_slice(b"abc");
        // Neither number is a device: the folder itself, which is none either.
        assert_eq!(trace(&two), [PathBuf::from("/dev/")]);
    }

    #[test]
    fn what_cannot_be_read_names_nothing() {
        assert!(written(Path::new("/no/such/trace")).is_empty());
        assert!(trace(b"").is_empty());
    }
}
