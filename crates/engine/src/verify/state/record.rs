//! A record of a state file: fio's `struct thread_io_list`.
//!
//! | bytes | |
//! |---|---|
//! | 8 | pairs listed |
//! | 4, 4 | I/O depth, number of files |
//! | 8 | writes issued |
//! | 8 | number of the stream, from 0 |
//! | 56 | state of a random generator: 8 for its kind, six words |
//! | 64 | name, cut, with a zero at its end |
//! | 16 each | pairs, of which there is room for one an I/O of the depth and file |

const NAME_BYTES: usize = 64;
const RANDOM_BYTES: usize = 56;

#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) stream: u64,
    pub(super) depth: u32,
    pub(super) files: u32,
    pub(super) issued: u64,
    /// File numbers and offsets.
    pub(super) pairs: Vec<(u64, u64)>,
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let room = (self.depth as usize).saturating_mul(self.files as usize);
        let pairs = &self.pairs[..self.pairs.len().min(room)];
        let mut bytes = (pairs.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.depth.to_le_bytes());
        bytes.extend_from_slice(&self.files.to_le_bytes());
        bytes.extend_from_slice(&self.issued.to_le_bytes());
        bytes.extend_from_slice(&self.stream.to_le_bytes());
        // assay's orders and contents do not come from fio's generator.
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

    /// Takes a record from the front of `bytes`; `None` if they are too few.
    pub(super) fn take(bytes: &mut &[u8]) -> Option<Self> {
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
