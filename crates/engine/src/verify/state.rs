//! Record of an interrupted stream's writes, kept for a later check.
//!
//! The file has fio's format (version 3); all numbers are little-endian.
//!
//! | bytes | |
//! |---|---|
//! | 8 | version: 3 |
//! | 8 | length of the data after these 24 bytes |
//! | 8 | CRC-32C of it, without the inversion at the end |
//!
//! The data is a [`Record`]: the completed writes, newest first.
//!
//! fio assumes that all writes except the last `depth` ones were completed, but any number of
//! later I/Os may overtake one. assay therefore adds a second record of the same layout, which fio
//! ignores. Its name is `assay: not completed`, and it lists two pairs for each write that was
//! **not** completed: its file and offset, its number and length.

use super::crc32c;
use crate::EngineError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const VERSION: u64 = 3;
/// Version, length and checksum.
const HEAD_BYTES: usize = 24;
const NOT_COMPLETED: &str = "assay: not completed";
/// Largest accepted length in bytes: the state of 64 files at an I/O depth of 65536.
const MOST_BYTES: u64 = 128 << 20;

/// Writes of a stream up to its interruption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VerifyState {
    /// Name of the job.
    pub(crate) name: String,
    /// Number of the stream among all streams, from 0.
    pub(crate) stream: u64,
    /// I/Os in flight at once.
    pub(crate) depth: u32,
    /// Number of the stream's files.
    pub(crate) files: u32,
    /// Number of writes submitted to the kernel.
    pub(crate) issued: u64,
    /// File and offset of the last completed writes, newest first; at most
    /// `depth` for each file are kept.
    pub(crate) completed: Vec<(u64, u64)>,
    /// Writes that were not completed; `None` if fio wrote the state.
    pub(crate) in_flight: Option<Vec<InFlight>>,
}

/// A write that may or may not have reached the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// Number of the write in its stream, from 0.
    pub(crate) number: u64,
    /// Number of the file.
    pub(crate) file: u64,
    /// Offset in the file, in bytes.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) length: u64,
}

impl VerifyState {
    /// Returns the path of a stream's state: `local-<job>-<stream>-verify.state` in `folder`, with
    /// dots for the slashes of the job's name.
    pub(crate) fn path(folder: &Path, job: &str, stream: u64) -> PathBuf {
        folder.join(format!(
            "local-{}-{stream}-verify.state",
            job.replace('/', ".")
        ))
    }

    /// Returns true if write `number` (from 0) to these bytes of a file is known to have
    /// completed, so that its data must be found.
    pub(crate) fn should_verify(&self, number: u64, file: u64, bytes: &Range<u64>) -> bool {
        let Some(in_flight) = &self.in_flight else {
            return self.fio_would_verify(number, file, bytes.start);
        };
        let touches = |write: &InFlight| {
            write.file == file
                && write.offset < bytes.end
                && bytes.start < write.offset.saturating_add(write.length)
        };
        number < self.issued && !in_flight.iter().any(touches)
    }

    fn fio_would_verify(&self, number: u64, file: u64, offset: u64) -> bool {
        let depth = u64::from(self.depth);
        let is_old = number.saturating_add(depth) < self.issued;
        is_old || number < self.issued && self.completed.contains(&(file, offset))
    }

    /// Writes the state and flushes it to the device.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), EngineError> {
        let body = self.encode();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
        for number in [VERSION, body.len() as u64, crc32c(&body).into()] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&body);
        let write = || -> io::Result<()> {
            let mut file = File::create(path)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(|source| EngineError::file("write the verify state to", path, source))
    }

    /// Reads a state that assay or fio saved.
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a state.
    pub(crate) fn load(path: &Path) -> Result<Self, EngineError> {
        let failed = |source| EngineError::file("read the verify state from", path, source);
        let length = fs::metadata(path).map_err(failed)?.len();
        if length > MOST_BYTES {
            return Err(failed(io::Error::other("it is far too long for one")));
        }
        let bytes = fs::read(path).map_err(failed)?;
        Self::decode(&bytes).map_err(|problem| failed(io::Error::other(problem)))
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Record {
            name: self.name.clone(),
            stream: self.stream,
            depth: self.depth,
            files: self.files,
            issued: self.issued,
            pairs: self.completed.clone(),
        }
        .encode();
        if let Some(in_flight) = &self.in_flight {
            let pairs =
                |write: &InFlight| [(write.file, write.offset), (write.number, write.length)];
            let pairs: Vec<_> = in_flight.iter().flat_map(pairs).collect();
            let record = Record {
                name: NOT_COMPLETED.to_owned(),
                stream: self.stream,
                depth: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
                files: 1,
                issued: self.issued,
                pairs,
            };
            body.extend_from_slice(&record.encode());
        }
        body
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        const TOO_SHORT: &str = "it is too short for one";
        let (head, mut body) = bytes.split_at_checked(HEAD_BYTES).ok_or(TOO_SHORT)?;
        let (words, _) = head.as_chunks::<8>();
        let [version, length, crc] = [0, 1, 2].map(|i: usize| u64::from_le_bytes(words[i]));
        if version != VERSION {
            return Err("it has another version than 3, or is none");
        }
        if body.len() as u64 != length {
            return Err("its length is not what it says");
        }
        if u64::from(crc32c(body)) != crc {
            return Err("its checksum differs: it is damaged");
        }
        let record = Record::take(&mut body).ok_or(TOO_SHORT)?;
        Ok(Self {
            name: record.name,
            stream: record.stream,
            depth: record.depth,
            files: record.files,
            issued: record.issued,
            completed: record.pairs,
            in_flight: Record::take(&mut body)
                .filter(|record| record.name == NOT_COMPLETED)
                .map(|record| not_completed(&record.pairs)),
        })
    }
}

fn not_completed(pairs: &[(u64, u64)]) -> Vec<InFlight> {
    let (writes, _) = pairs.as_chunks::<2>();
    let write = |&[(file, offset), (number, length)]: &[_; 2]| InFlight {
        number,
        file,
        offset,
        length,
    };
    writes.iter().map(write).collect()
}

const NAME_BYTES: usize = 64;
const RANDOM_BYTES: usize = 56;

/// A record of a state file: fio's `struct thread_io_list`.
///
/// | bytes | |
/// |---|---|
/// | 8 | pairs listed |
/// | 4, 4 | I/O depth, number of files |
/// | 8 | writes issued |
/// | 8 | number of the stream, from 0 |
/// | 56 | state of a random generator: 8 for its kind, six words |
/// | 64 | name, cut, with a zero at its end |
/// | 16 each | pairs, of which there is room for one an I/O of the depth and file |
#[derive(Debug)]
struct Record {
    name: String,
    stream: u64,
    depth: u32,
    files: u32,
    issued: u64,
    /// File numbers and offsets.
    pairs: Vec<(u64, u64)>,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let room = (self.depth as usize).saturating_mul(self.files as usize);
        let pairs = &self.pairs[..self.pairs.len().min(room)];
        let mut bytes = (pairs.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.depth.to_le_bytes());
        bytes.extend_from_slice(&self.files.to_le_bytes());
        bytes.extend_from_slice(&self.issued.to_le_bytes());
        bytes.extend_from_slice(&self.stream.to_le_bytes());
        // Zeros, because assay does not use fio's random generator.
        bytes.extend_from_slice(&[0; RANDOM_BYTES]);
        let name = self.name.as_bytes();
        let name = &name[..name.len().min(NAME_BYTES - 1)];
        bytes.extend_from_slice(name);
        bytes.resize(bytes.len() + NAME_BYTES - name.len(), 0);
        for i in 0..room {
            let (file, offset) = pairs.get(i).copied().unwrap_or_default();
            bytes.extend_from_slice(&file.to_le_bytes());
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        bytes
    }

    /// Removes a record from the front of `bytes`; `None` if they are too short.
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let listed = number(bytes)?;
        let (depth, files) = (half(bytes)?, half(bytes)?);
        let (issued, stream) = (number(bytes)?, number(bytes)?);
        bytes.split_off(..RANDOM_BYTES)?;
        let name = bytes.split_off(..NAME_BYTES)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut pairs = Vec::new();
        for i in 0..u64::from(depth) * u64::from(files) {
            let pair = (number(bytes)?, number(bytes)?);
            if i < listed {
                pairs.push(pair);
            }
        }
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            stream,
            depth,
            files,
            issued,
            pairs,
        })
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let number = bytes.split_off(..8)?.first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

fn half(bytes: &mut &[u8]) -> Option<u32> {
    let number = bytes.split_off(..4)?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::needs;

    fn state() -> VerifyState {
        VerifyState {
            name: "job".to_owned(),
            stream: 2,
            depth: 2,
            files: 1,
            issued: 10,
            completed: vec![(0, 36864), (0, 32768)],
            in_flight: Some(vec![InFlight {
                number: 3,
                file: 0,
                offset: 12288,
                length: 4096,
            }]),
        }
    }

    fn block(number: u64) -> Range<u64> {
        number * 4096..(number + 1) * 4096
    }

    #[test]
    fn a_state_is_read_as_it_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = VerifyState::path(folder.path(), "a/b", 2);
        assert!(path.ends_with("local-a.b-2-verify.state"));
        for state in [
            state(),
            VerifyState::default(),
            VerifyState {
                in_flight: None,
                ..state()
            },
        ] {
            state.save(&path).unwrap();
            assert_eq!(VerifyState::load(&path).unwrap(), state);
        }
    }

    #[test]
    fn any_damage_is_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = VerifyState::path(folder.path(), "job", 0);
        assert!(VerifyState::load(&path).is_err());
        state().save(&path).unwrap();
        let good = fs::read(&path).unwrap();
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1;
            assert!(VerifyState::decode(&bad).is_err(), "byte {i}");
            assert!(VerifyState::decode(&good[..i]).is_err(), "cut at {i}");
        }
        fs::write(&path, &good[..50]).unwrap();
        let error = VerifyState::load(&path).unwrap_err().to_string();
        assert!(error.contains("local-job-0-verify.state"), "{error}");
    }

    #[test]
    fn a_write_that_was_overtaken_is_not_expected() {
        let state = state();
        let known = |number| state.should_verify(number, 0, &block(number));
        let not_known: Vec<u64> = (0..12).filter(|&number| !known(number)).collect();
        assert_eq!(not_known, [3, 10, 11]);
        // An earlier write to the place of one in flight may be half gone.
        assert!(!state.should_verify(1, 0, &(12287..12289)));
        assert!(state.should_verify(1, 1, &block(3)));
    }

    #[test]
    fn a_state_of_fio_tells_the_last_writes_by_their_offsets() {
        let state = VerifyState {
            in_flight: None,
            ..state()
        };
        let known = |number, place| state.should_verify(number, 0, &block(place));
        assert!(known(7, 0));
        assert!(!known(8, 0));
        assert!(known(8, 8));
        assert!(known(9, 9));
        assert!(!known(10, 9));
    }

    #[test]
    fn fio_reads_the_states_saved_here() {
        needs!("fio-verify-state");
        let folder = tempfile::tempdir().unwrap();
        let path = VerifyState::path(folder.path(), "job", 2);
        state().save(&path).unwrap();
        let output = assay_testkit::command("fio-verify-state")
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        for wanted in [
            "Name:\t\tjob",
            "Completions:\t2",
            "Depth:\t\t2",
            "Number IOs:\t10",
            "Index:\t\t2",
            "(file= 0) 36864",
            "(file= 0) 32768",
        ] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    }

    /// fio saves its state when its trigger fires, here before the end of a slow
    /// run.
    #[test]
    fn states_that_fio_saves_are_read_here() {
        needs!("fio");
        let folder = tempfile::tempdir().unwrap();
        let status = assay_testkit::command("fio")
            .args(["--name=a/b", "--filename=file", "--size=1m", "--bs=4k"])
            .args(["--rw=write", "--verify=crc32c", "--rate_iops=50"])
            .args(["--trigger-timeout=1", "--trigger=true", "--thread"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let state = VerifyState::load(&VerifyState::path(folder.path(), "a/b", 0)).unwrap();
        assert_eq!((&*state.name, state.stream), ("a/b", 0), "{status:?}");
        assert_eq!((state.depth, state.files), (1, 1));
        assert!((1..256).contains(&state.issued), "{state:?}");
        assert_eq!(state.completed.len(), 1);
        assert_eq!(state.in_flight, None);
        let last = state.issued - 1;
        assert!(state.should_verify(last - 1, 0, &block(last - 1)));
        assert!(!state.should_verify(last + 1, 0, &block(last + 1)));
    }
}
