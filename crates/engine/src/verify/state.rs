//! What an interrupted stream had written, kept for a later check.
//!
//! The file is fio's (version 3), all numbers with the lowest byte first:
//!
//! | bytes | |
//! |---|---|
//! | 8 | version: 3 |
//! | 8 | length of what follows these 24 bytes |
//! | 8 | CRC-32C of it, without the inversion at the end |
//! | 8 | completions listed |
//! | 4, 4 | I/O depth, number of files |
//! | 8 | writes issued |
//! | 8 | number of the stream, from 0 |
//! | 56 | state of a random generator: 8 for its kind, six words |
//! | 64 | name of the job, cut, with a zero at its end |
//! | 16 each | file number and offset of a completed write, for each I/O of the depth and each file |
//!
//! fio takes the writes before the last `depth` ones for completed, but an I/O
//! may be overtaken by any number of others. assay therefore adds the writes
//! that were **not** completed, where fio does not look:
//!
//! | bytes | |
//! |---|---|
//! | 8 | `assay-vs` |
//! | 8 | how many follow |
//! | 32 each | number of the write, file number, offset, length |

use super::checksum::crc32c;
use crate::error::EngineError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const VERSION: u64 = 3;
const NAME_BYTES: usize = 64;
const RANDOM_WORDS: usize = 7;
const EXTENSION: &[u8; 8] = b"assay-vs";
/// A file beyond this is none of ours: 64 files at an I/O depth of 65536.
const MOST_BYTES: u64 = 128 << 20;

/// What a stream had written when it was interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Of its job.
    pub(crate) name: String,
    /// Its number among all streams, from 0.
    pub(crate) stream: u64,
    /// I/Os in flight at once.
    pub(crate) depth: u32,
    /// Number of its files.
    pub(crate) files: u32,
    /// Writes handed to the kernel.
    pub(crate) issued: u64,
    /// File and offset of the last completed writes, newest first; at most
    /// `depth` for each file are kept.
    pub(crate) completed: Vec<(u64, u64)>,
    /// Writes that were not completed; `None` if fio wrote the state.
    pub(crate) in_flight: Option<Vec<InFlight>>,
}

/// A write of which nobody knows whether it reached the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// The how many-th write of the stream, from 0.
    pub(crate) number: u64,
    /// Number of its file.
    pub(crate) file: u64,
    /// In its file.
    pub(crate) offset: u64,
    /// In bytes.
    pub(crate) length: u64,
}

impl State {
    /// Where the state of a stream is kept: `local-<job>-<stream>-verify.state`
    /// in `folder`, with dots for the slashes of the job's name.
    pub(crate) fn path(folder: &Path, job: &str, stream: u64) -> PathBuf {
        folder.join(format!(
            "local-{}-{stream}-verify.state",
            job.replace('/', ".")
        ))
    }

    /// Whether the write with that number (from 0), to these bytes of a file,
    /// is known to have completed, so that they must be found.
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

    /// Writes the state, and makes sure that it is on the device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), EngineError> {
        let body = self.encode();
        let mut bytes = Vec::with_capacity(24 + body.len());
        put(&mut bytes, VERSION);
        put(&mut bytes, body.len() as u64);
        put(&mut bytes, crc32c(&body).into());
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
    /// The file cannot be read, or is not such a state.
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
        let room = self.depth as usize * self.files as usize;
        let completed = &self.completed[..self.completed.len().min(room)];
        let mut body = Vec::new();
        put(&mut body, completed.len() as u64);
        body.extend_from_slice(&self.depth.to_le_bytes());
        body.extend_from_slice(&self.files.to_le_bytes());
        put(&mut body, self.issued);
        put(&mut body, self.stream);
        // Content does not come from this generator: there is nothing to keep.
        body.resize(body.len() + 8 * RANDOM_WORDS, 0);
        let name = self.name.as_bytes();
        let name = &name[..name.len().min(NAME_BYTES - 1)];
        body.extend_from_slice(name);
        body.resize(body.len() + NAME_BYTES - name.len(), 0);
        for i in 0..room {
            let (file, offset) = completed.get(i).copied().unwrap_or_default();
            put(&mut body, file);
            put(&mut body, offset);
        }
        if let Some(in_flight) = &self.in_flight {
            body.extend_from_slice(EXTENSION);
            put(&mut body, in_flight.len() as u64);
            for write in in_flight {
                put(&mut body, write.number);
                put(&mut body, write.file);
                put(&mut body, write.offset);
                put(&mut body, write.length);
            }
        }
        body
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut head = Reader(bytes);
        let too_short = "it is too short for one";
        let version = head.number().ok_or(too_short)?;
        if version != VERSION {
            return Err("it has another version than 3, or is none");
        }
        let length = head.number().ok_or(too_short)?;
        let crc = head.number().ok_or(too_short)?;
        if head.0.len() as u64 != length {
            return Err("its length is not what it says");
        }
        if u64::from(crc32c(head.0)) != crc {
            return Err("its checksum differs: it is damaged");
        }
        Self::decode_body(head).ok_or(too_short)
    }

    fn decode_body(mut body: Reader<'_>) -> Option<Self> {
        let completed = body.number()?;
        let (depth, files) = (body.half()?, body.half()?);
        let (issued, stream) = (body.number()?, body.number()?);
        body.take(8 * RANDOM_WORDS)?;
        let name = body.take(NAME_BYTES)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut writes = Vec::new();
        for i in 0..u64::from(depth) * u64::from(files) {
            let write = (body.number()?, body.number()?);
            if i < completed {
                writes.push(write);
            }
        }
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            stream,
            depth,
            files,
            issued,
            completed: writes,
            in_flight: decode_in_flight(body)?,
        })
    }
}

/// The part that only assay writes; the inner `None`: it is not there.
#[expect(
    clippy::option_option,
    reason = "the outer one ends the reading of a short file"
)]
fn decode_in_flight(mut body: Reader<'_>) -> Option<Option<Vec<InFlight>>> {
    if body.take(EXTENSION.len()) != Some(EXTENSION) {
        return Some(None);
    }
    let mut in_flight = Vec::new();
    for _ in 0..body.number()? {
        in_flight.push(InFlight {
            number: body.number()?,
            file: body.number()?,
            offset: body.number()?,
            length: body.number()?,
        });
    }
    Some(Some(in_flight))
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Takes numbers from the front of bytes, until there are none.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    fn half(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
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
        let path = State::path(folder.path(), "a/b", 2);
        assert!(path.ends_with("local-a.b-2-verify.state"));
        for state in [
            state(),
            State::default(),
            State {
                in_flight: None,
                ..state()
            },
        ] {
            state.save(&path).unwrap();
            assert_eq!(State::load(&path).unwrap(), state);
        }
    }

    #[test]
    fn any_damage_is_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = State::path(folder.path(), "job", 0);
        assert!(State::load(&path).is_err());
        state().save(&path).unwrap();
        let good = fs::read(&path).unwrap();
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1;
            assert!(State::decode(&bad).is_err(), "byte {i}");
            assert!(State::decode(&good[..i]).is_err(), "cut at {i}");
        }
        fs::write(&path, &good[..50]).unwrap();
        let error = State::load(&path).unwrap_err().to_string();
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
        let state = State {
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
}
