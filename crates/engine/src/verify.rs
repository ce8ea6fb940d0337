//! Verification that a device returns the data that was written to it.
//!
//! Every block, or every `interval` of it, begins with a header. The header contains the
//! block's offset, the time and number of the write, and a checksum of the data after it.
//! Headers have the layout of fio 3.33, so that assay and fio can check each other's
//! blocks. (The one exception is SHA-512, see below.)
//!
//! The common part of all headers is fio's `struct verify_header` on a little-endian machine, 40
//! bytes:
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 2 | `acca` |
//! | 2 | 2 | kind of check |
//! | 4 | 4 | length of the interval, header included |
//! | 8 | 8 | seed of the content |
//! | 16 | 8 | offset of the interval |
//! | 24 | 4 + 4 | time of writing: seconds, nanoseconds |
//! | 32 | 2 | number of the writing thread |
//! | 34 | 2 | number of the write |
//! | 36 | 4 | CRC-32C of the 36 bytes before |
//!
//! The checksums follow a header, in fio's layout.
//!
//! fio's checksums differ from the published ones as follows (as read from, and
//! tested against, fio 3.33):
//! - CRC-7 is CRC-7/MMC, CRC-16 is CRC-16/ARC, CRC-64 is CRC-64/REDIS.
//! - CRC-32 is CRC-32/CKSUM, and CRC-32C is CRC-32/ISCSI, both without the
//!   inversion at the end.
//! - xxHash has the seed 1.
//! - SHA-1 is stored as five words with the lowest byte first.
//! - SHA-256 is padded with the length in the wrong byte order. Only the lowest
//!   byte of each word of the result is stored, followed by the rest of the
//!   last, padded block. It still detects all but one in 2^64 differences.
//! - SHA-512 is never computed: fio stores the first 128 bytes of the data,
//!   overwritten from the front by the last (length modulo 128) bytes, so
//!   damage between them is not detected. **assay writes the true SHA-512**,
//!   followed by zeros, which fio rejects. When it checks a block of fio, assay
//!   compares these stored bytes.

mod state;

pub(crate) use state::{InFlight, VerifyState};

use crate::buffer::{IoBuf, Mixture};
use crate::held::HeldFolder;
use crate::sys::lock;
use crate::{EngineError, buffer, held};
use assay_model::load::blocks::{Verify, VerifyKind};
use assay_model::load::{ContentPattern, WriteContent};
use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_32_CKSUM, CRC_64_REDIS, Crc};
use md5::{Digest, Md5};
use rustix::thread::{CpuSet, sched_setaffinity};
use sha1::Sha1;
use sha2::Sha512;
use sha2::block_api::compress256;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use thiserror::Error;
use twox_hash::XxHash32;

/// Prepares blocks for a later check, and checks them.
#[derive(Debug)]
pub(crate) struct Verifier {
    kind: VerifyKind,
    interval: usize,
    /// Offset of the header in the interval.
    place: usize,
    /// Pattern that fills blocks, unless it is empty.
    pattern: ContentPattern,
    /// Content that fills blocks if there is no pattern.
    mixture: Mixture,
    thread: u16,
}

/// Values for the headers of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockMark {
    /// Offset of the block in its file.
    pub(crate) offset: u64,
    /// Seed of the random content, drawn for each write; any number is valid.
    pub(crate) seed: u64,
    /// Number of the write in its stream. Headers keep the lowest 16 bits.
    pub(crate) number: u64,
    /// Time of writing: seconds and nanoseconds.
    pub(crate) time: (u32, u32),
}

/// Expected values of a block that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Offset of the block in its file.
    pub(crate) offset: u64,
    /// Number of the expected write, if known: see [`BlockMark::number`].
    pub(crate) number: Option<u64>,
    /// See [`BlockMark::seed`].
    pub(crate) seed: Option<u64>,
}

/// A block that differs from the data that was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{length} bytes at offset {offset}: {what}")]
pub(crate) struct Mismatch {
    /// Offset of the differing interval in the file.
    pub(crate) offset: u64,
    /// Length of the interval in bytes.
    pub(crate) length: u32,
    /// Difference: the values found and expected.
    pub(crate) what: String,
}

impl Verifier {
    /// Creates a verifier for the blocks of one stream; `thread` is the stream's number in
    /// the headers.
    pub(crate) fn new(spec: &Verify, thread: u16) -> Self {
        let header = header_bytes(spec.kind);
        Self {
            kind: spec.kind,
            interval: spec.interval as usize,
            // A header that overlapped its final position could not be swapped back.
            place: match spec.offset as usize {
                0 => 0,
                place => place.max(header),
            },
            pattern: spec.pattern.clone(),
            mixture: Mixture::new(&WriteContent::default()),
            thread,
        }
    }

    /// Uses the compressibility that `content` sets. Other settings of `content` do not
    /// apply to verified blocks.
    pub(crate) fn with_content(mut self, content: &WriteContent) -> Self {
        self.mixture = Mixture::new(content);
        self
    }

    /// Returns the size of a header with its checksum, in bytes.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the longest header has 168 bytes"
    )]
    pub(crate) fn header_bytes(&self) -> u32 {
        header_bytes(self.kind) as u32
    }

    /// Returns the smallest length of a block or interval that holds a header at its offset
    /// and at least one byte to check.
    pub(crate) fn smallest_interval(&self) -> u64 {
        (self.place + header_bytes(self.kind) + 1) as u64
    }

    /// Writes content and headers into a block. ([`VerifyKind::Null`] does not change the
    /// block.)
    pub(crate) fn stamp(&self, block: &mut [u8], mark: BlockMark) {
        if self.kind == VerifyKind::Null {
            return;
        }
        if self.pattern.bytes.is_empty() {
            self.mixture.fill(block, mark.seed, mark.offset);
        } else {
            buffer::fill_pattern(block, &self.pattern, mark.offset);
        }
        if self.kind == VerifyKind::Pattern {
            return;
        }
        let interval = self.interval_of(block.len());
        let mut header = Header {
            kind: code(self.kind),
            length: length_u32(interval),
            seed: mark.seed,
            offset: mark.offset,
            time: mark.time,
            thread: self.thread,
            number: low_16_bits(mark.number),
        };
        for piece in block.chunks_mut(interval) {
            self.put_header(piece, header);
            header.offset = header.offset.wrapping_add(interval as u64);
        }
    }

    /// Checks a block that was read. The block is changed during the check and restored
    /// afterwards.
    pub(crate) fn check(&self, block: &mut [u8], expected: Expected) -> Result<(), Mismatch> {
        let interval = self.interval_of(block.len());
        let length = block.len();
        match self.kind {
            VerifyKind::Null => return Ok(()),
            VerifyKind::Pattern => {
                return self
                    .check_pattern(block, 0, expected.offset)
                    .map_err(|what| mismatch(expected.offset, length, what));
            }
            _ => {}
        }
        for (i, piece) in block.chunks_mut(interval).enumerate() {
            let skip = i * interval;
            self.swap_header(piece);
            let answer = self.check_interval(piece, skip, expected);
            self.swap_header(piece);
            answer.map_err(|what| mismatch(expected.offset + skip as u64, piece.len(), what))?;
        }
        Ok(())
    }

    /// Returns the distance between the headers of a block of `length` bytes: the requested
    /// interval if the block is a multiple of it.
    fn interval_of(&self, length: usize) -> usize {
        if self.interval > 0 && length.is_multiple_of(self.interval) {
            self.interval
        } else {
            length
        }
        .max(1)
    }

    /// Moves the header to its offset in the interval, or back to the front.
    fn swap_header(&self, piece: &mut [u8]) {
        let length = header_bytes(self.kind);
        if self.place > 0 && piece.len() >= self.place + length {
            let (front, back) = piece.split_at_mut(self.place);
            front[..length].swap_with_slice(&mut back[..length]);
        }
    }

    fn put_header(&self, piece: &mut [u8], header: Header) {
        if piece.len() < header_bytes(self.kind) {
            return; // Too small, which the check reports.
        }
        let (head, data) = piece.split_at_mut(header_bytes(self.kind));
        let (common, sum) = head.split_at_mut(BYTES);
        common.copy_from_slice(&header.encode());
        write_checksum(self.kind, data, sum);
        self.swap_header(piece);
    }

    /// Checks one interval. `piece` starts with its header, `skip` bytes after the start of
    /// the block.
    fn check_interval(&self, piece: &[u8], skip: usize, expected: Expected) -> Result<(), String> {
        let Some((head, data)) = piece.split_at_checked(header_bytes(self.kind)) else {
            return Err(format!(
                "too few for a header, which takes {}",
                header_bytes(self.kind)
            ));
        };
        let (common, sum) = head.split_at(BYTES);
        let header = Header::decode(common)?;
        self.check_header(header, piece.len(), expected.offset + skip as u64)?;
        check_write(header, expected)?;
        match self.kind {
            VerifyKind::Header | VerifyKind::PatternHeader => {
                self.check_pattern(data, skip + head.len(), expected.offset)
            }
            kind => check_checksum(kind, data, sum),
        }
    }

    fn check_header(&self, header: Header, length: usize, offset: u64) -> Result<(), String> {
        if !is_code_of(header.kind, self.kind) {
            return Err(format!(
                "the header is of another kind of check: found {}, expected {} ({})",
                header.kind,
                code(self.kind),
                checksum_name(self.kind),
            ));
        }
        if header.length as usize != length {
            return Err(format!(
                "the header is of a block of another length: found {}, expected {length}",
                header.length
            ));
        }
        if header.offset != offset {
            return Err(format!(
                "the header is of a block at another offset: found {}, expected {offset}",
                header.offset
            ));
        }
        Ok(())
    }

    fn check_pattern(&self, data: &[u8], skip: usize, offset: u64) -> Result<(), String> {
        match buffer::first_difference(data, skip, &self.pattern, offset) {
            None => Ok(()),
            Some(difference) => Err(format!(
                "byte {} of the block differs from the pattern: found {:02x}, expected {:02x}",
                skip + difference.at,
                difference.found,
                difference.expected
            )),
        }
    }
}

/// Checks that a block, which was trimmed, reads as zeros.
pub(crate) fn check_zero(block: &[u8], offset: u64) -> Result<(), Mismatch> {
    match block.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(mismatch(
            offset,
            block.len(),
            format!(
                "byte {at} of the trimmed block is not zero: found {:02x}",
                block[at]
            ),
        )),
    }
}

/// Checks that the header belongs to the expected write.
fn check_write(header: Header, expected: Expected) -> Result<(), String> {
    if let Some(number) = expected.number
        && header.number != low_16_bits(number)
    {
        return Err(format!(
            "the header is of another write: found number {}, expected {}",
            header.number,
            low_16_bits(number)
        ));
    }
    if let Some(seed) = expected.seed
        && header.seed != seed
    {
        return Err(format!(
            "the header is of another write: found seed {:016x}, expected {seed:016x}",
            header.seed
        ));
    }
    Ok(())
}

fn header_bytes(kind: VerifyKind) -> usize {
    match kind {
        VerifyKind::Pattern | VerifyKind::Null => 0,
        kind => BYTES + checksum_bytes(kind),
    }
}

fn mismatch(offset: u64, length: usize, what: String) -> Mismatch {
    Mismatch {
        offset,
        length: length_u32(length),
        what,
    }
}

fn length_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "headers have room for 16 bits"
)]
const fn low_16_bits(number: u64) -> u16 {
    number as u16
}

/// Size of a header in bytes.
const BYTES: usize = 40;
const MAGIC: u16 = 0xacca;
const CRC_AT: usize = 36;
/// Code that an older fio used for CRC-32C computed in hardware.
const CRC32C_HARDWARE: u16 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    kind: u16,
    length: u32,
    seed: u64,
    offset: u64,
    time: (u32, u32),
    thread: u16,
    number: u16,
}

impl Header {
    fn encode(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.time.1.to_le_bytes());
        bytes[32..34].copy_from_slice(&self.thread.to_le_bytes());
        bytes[34..36].copy_from_slice(&self.number.to_le_bytes());
        let crc = crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes a header; the error describes why the bytes are not a header.
    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(bytes) = bytes.first_chunk::<BYTES>() else {
            return Err(format!("too few bytes for a header: {}", bytes.len()));
        };
        let magic = u16::from_le_bytes(at(bytes, 0));
        if magic != MAGIC {
            return Err(format!(
                "there is no header: found {magic:04x}, expected {MAGIC:04x}"
            ));
        }
        let stored = u32::from_le_bytes(at(bytes, CRC_AT));
        let computed = crc32c(&bytes[..CRC_AT]);
        if stored != computed {
            return Err(format!(
                "crc32c of the header differs: found {computed:08x}, expected {stored:08x}"
            ));
        }
        Ok(Self {
            kind: u16::from_le_bytes(at(bytes, 2)),
            length: u32::from_le_bytes(at(bytes, 4)),
            seed: u64::from_le_bytes(at(bytes, 8)),
            offset: u64::from_le_bytes(at(bytes, 16)),
            time: (
                u32::from_le_bytes(at(bytes, 24)),
                u32::from_le_bytes(at(bytes, 28)),
            ),
            thread: u16::from_le_bytes(at(bytes, 32)),
            number: u16::from_le_bytes(at(bytes, 34)),
        })
    }
}

fn at<const N: usize>(bytes: &[u8; BYTES], place: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[place + i])
}

/// Returns fio's code of a kind of check.
const fn code(kind: VerifyKind) -> u16 {
    match kind {
        VerifyKind::Header => 1,
        VerifyKind::Md5 => 2,
        VerifyKind::Crc64 => 3,
        VerifyKind::Crc32 => 4,
        VerifyKind::Crc32c => 5,
        VerifyKind::Crc16 => 7,
        VerifyKind::Crc7 => 8,
        VerifyKind::Sha256 => 9,
        VerifyKind::Sha512 => 10,
        VerifyKind::Sha3224 => 11,
        VerifyKind::Sha3256 => 12,
        VerifyKind::Sha3384 => 13,
        VerifyKind::Sha3512 => 14,
        VerifyKind::Xxhash => 15,
        VerifyKind::Sha1 => 16,
        VerifyKind::PatternHeader => 17,
        VerifyKind::Pattern => 18,
        VerifyKind::Null => 19,
    }
}

/// Returns true if a header with that code may precede data of that kind.
const fn is_code_of(found: u16, kind: VerifyKind) -> bool {
    found == code(kind) || found == CRC32C_HARDWARE && matches!(kind, VerifyKind::Crc32c)
}

impl Verifier {
    /// Writes the mismatching interval of `block` to `<name of file>.<offset>.received` in
    /// `folder`, and its expected content to `….expected`, if that is known: see
    /// [`Verifier::expected_block`]. Replaces existing files of these names, without following
    /// links. Returns the paths of the files written.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn dump(
        &self,
        folder: &Path,
        file: &Path,
        block: &[u8],
        expected: Expected,
        mismatch: &Mismatch,
    ) -> Result<Vec<PathBuf>, EngineError> {
        let held = HeldFolder::if_open_to_others(folder)
            .map_err(|source| EngineError::file("open", folder, source))?;
        let folder = held.as_ref().map_or(folder, HeldFolder::path);
        let skip = usize::try_from(mismatch.offset.saturating_sub(expected.offset));
        let skip = skip.unwrap_or(usize::MAX).min(block.len());
        let end = skip.saturating_add(mismatch.length as usize);
        let interval = skip..end.min(block.len());

        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", mismatch.offset));
        let path = |what: &str| {
            let mut name = name.clone();
            name.push(what);
            folder.join(name)
        };
        let mut written = vec![save(&path(".received"), &block[interval.clone()])?];
        if let Some(wanted) = self.expected_block(block, skip, expected) {
            written.push(save(&path(".expected"), &wanted[interval])?);
        }
        Ok(written)
    }

    /// Returns the content that `block` should have held, as far as it is known: patterns always
    /// are, and random content if its seed is known or is given by the intact header `skip` bytes
    /// into the block (unless another program made it). Unknown header fields, such as the time of
    /// writing, are zero.
    fn expected_block(&self, block: &[u8], skip: usize, expected: Expected) -> Option<Vec<u8>> {
        let header = self.header_at(block, skip);
        let told = header.filter(|header| self.content_is_ours(block.len(), *header, block, skip));
        let seed = expected.seed.or(told.map(|header| header.seed));
        let is_pattern = !self.pattern.bytes.is_empty();
        if seed.is_none() && !is_pattern {
            return None;
        }
        let number = header.map(|header| header.number.into());
        let mut wanted = vec![0; block.len()];
        let mark = BlockMark {
            offset: expected.offset,
            seed: seed.or(header.map(|header| header.seed)).unwrap_or(0),
            number: expected.number.or(number).unwrap_or(0),
            time: header.map_or((0, 0), |header| header.time),
        };
        self.stamp(&mut wanted, mark);
        Some(wanted)
    }

    fn header_at(&self, block: &[u8], skip: usize) -> Option<Header> {
        let from = block.get(skip + self.place..)?;
        Header::decode(from.get(..BYTES)?).ok()
    }

    /// Returns true if content generated from the header's seed has the checksum stored after the
    /// header.
    fn content_is_ours(&self, length: usize, header: Header, block: &[u8], skip: usize) -> bool {
        if matches!(self.kind, VerifyKind::Header | VerifyKind::PatternHeader) {
            return false;
        }
        let mut made = vec![0; length];
        let mark = BlockMark {
            offset: header.offset.saturating_sub(skip as u64),
            seed: header.seed,
            number: header.number.into(),
            time: header.time,
        };
        self.stamp(&mut made, mark);
        let place = skip + self.place;
        let sum = place + BYTES..place + header_bytes(self.kind);
        made.get(sum.clone()) == block.get(sum)
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<PathBuf, EngineError> {
    let written = match held::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => held::create_new(path)
            .map_err(io::Error::from)
            .and_then(|mut file| file.write_all(bytes)),
    };
    written.map_err(|source| EngineError::file("write", path, source))?;
    Ok(held::named(path).into_owned())
}

static CRC7: Crc<u8> = Crc::<u8>::new(&CRC_7_MMC);
static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_UNINVERTED);
static CRC64: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);
const CRC_32_UNINVERTED: Algorithm<u32> = Algorithm {
    xorout: 0,
    // CRC of "123456789": the published value without its inversion.
    check: !CRC_32_CKSUM.check,
    ..CRC_32_CKSUM
};
const XXHASH_SEED: u32 = 1;
/// FIPS 180-4, 5.3.3.
const SHA256_START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const SHA256_BLOCK: usize = 64;
const SHA512_BLOCK: usize = 128;
/// Length of the longest checksum, in bytes.
const MOST_BYTES: usize = SHA512_BLOCK;

/// Returns the size of the checksum after a header, in bytes.
const fn checksum_bytes(kind: VerifyKind) -> usize {
    match kind {
        VerifyKind::Crc7 => 1,
        VerifyKind::Crc16 => 2,
        VerifyKind::Crc32 | VerifyKind::Crc32c | VerifyKind::Xxhash => 4,
        VerifyKind::Crc64 => 8,
        VerifyKind::Md5 => 16,
        VerifyKind::Sha1 => 20,
        VerifyKind::Sha3224 => 28,
        VerifyKind::Sha3256 => 32,
        VerifyKind::Sha3384 => 48,
        VerifyKind::Sha3512 => 64,
        VerifyKind::Sha256 => SHA256_BLOCK,
        VerifyKind::Sha512 => SHA512_BLOCK,
        VerifyKind::Header | VerifyKind::Pattern | VerifyKind::PatternHeader | VerifyKind::Null => {
            0
        }
    }
}

/// Returns the name of a checksum for messages.
const fn checksum_name(kind: VerifyKind) -> &'static str {
    match kind {
        VerifyKind::Crc7 => "crc7",
        VerifyKind::Crc16 => "crc16",
        VerifyKind::Crc32 => "crc32",
        VerifyKind::Crc32c => "crc32c",
        VerifyKind::Crc64 => "crc64",
        VerifyKind::Md5 => "md5",
        VerifyKind::Sha1 => "sha1",
        VerifyKind::Sha256 => "sha256",
        VerifyKind::Sha512 => "sha512",
        VerifyKind::Sha3224 => "sha3-224",
        VerifyKind::Sha3256 => "sha3-256",
        VerifyKind::Sha3384 => "sha3-384",
        VerifyKind::Sha3512 => "sha3-512",
        VerifyKind::Xxhash => "xxhash",
        VerifyKind::Header => "header",
        VerifyKind::Pattern => "pattern",
        VerifyKind::PatternHeader => "pattern with header",
        VerifyKind::Null => "null",
    }
}

/// Writes the checksum of `data` to `sum`, which has the length that [`checksum_bytes`]
/// returns.
fn write_checksum(kind: VerifyKind, data: &[u8], sum: &mut [u8]) {
    match kind {
        VerifyKind::Crc7 => sum.copy_from_slice(&[CRC7.checksum(data)]),
        VerifyKind::Crc16 => sum.copy_from_slice(&CRC16.checksum(data).to_le_bytes()),
        VerifyKind::Crc32 => sum.copy_from_slice(&CRC32.checksum(data).to_le_bytes()),
        VerifyKind::Crc32c => sum.copy_from_slice(&crc32c(data).to_le_bytes()),
        VerifyKind::Crc64 => sum.copy_from_slice(&CRC64.checksum(data).to_le_bytes()),
        VerifyKind::Xxhash => {
            sum.copy_from_slice(&XxHash32::oneshot(XXHASH_SEED, data).to_le_bytes());
        }
        VerifyKind::Md5 => sum.copy_from_slice(&Md5::digest(data)),
        VerifyKind::Sha1 => {
            sum.copy_from_slice(&Sha1::digest(data));
            sum.chunks_mut(4).for_each(<[u8]>::reverse);
        }
        VerifyKind::Sha256 => sum.copy_from_slice(&sha256_of_fio(data)),
        VerifyKind::Sha512 => {
            let (digest, rest) = sum.split_at_mut(SHA512_BLOCK / 2);
            digest.copy_from_slice(&Sha512::digest(data));
            rest.fill(0);
        }
        VerifyKind::Sha3224 => sum.copy_from_slice(&Sha3_224::digest(data)),
        VerifyKind::Sha3256 => sum.copy_from_slice(&Sha3_256::digest(data)),
        VerifyKind::Sha3384 => sum.copy_from_slice(&Sha3_384::digest(data)),
        VerifyKind::Sha3512 => sum.copy_from_slice(&Sha3_512::digest(data)),
        VerifyKind::Header | VerifyKind::Pattern | VerifyKind::PatternHeader | VerifyKind::Null => {
        }
    }
}

/// Compares the checksum of `data` with the stored one.
fn check_checksum(kind: VerifyKind, data: &[u8], stored: &[u8]) -> Result<(), String> {
    let mut space = [0; MOST_BYTES];
    let computed = &mut space[..checksum_bytes(kind)];
    write_checksum(kind, data, computed);
    if computed == stored || kind == VerifyKind::Sha512 && is_sha512_of_fio(data, stored) {
        return Ok(());
    }
    Err(format!(
        "{} of the {} bytes behind the header differs: found {}, expected {}",
        checksum_name(kind),
        data.len(),
        hex(computed),
        hex(stored)
    ))
}

/// Computes CRC-32C without the inversion at the end.
fn crc32c(data: &[u8]) -> u32 {
    !::crc32c::crc32c(data)
}

fn sha256_of_fio(data: &[u8]) -> [u8; SHA256_BLOCK] {
    let mut state = SHA256_START;
    let (blocks, rest) = data.as_chunks::<SHA256_BLOCK>();
    compress256(&mut state, blocks);
    let mut last = [0; SHA256_BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let length_at = SHA256_BLOCK - 8;
    if rest.len() >= length_at {
        compress256(&mut state, &[last]);
        last.fill(0);
    }
    last[length_at..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    compress256(&mut state, &[last]);
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word.to_le_bytes()[0];
    }
    last
}

/// Returns true if `stored` is fio's SHA-512 field for `data`. For less than
/// 128 bytes of data, fio stores and compares uninitialized memory; such blocks
/// are rejected.
fn is_sha512_of_fio(data: &[u8], stored: &[u8]) -> bool {
    let (blocks, rest) = data.as_chunks::<SHA512_BLOCK>();
    let (tail, beyond) = stored.split_at(rest.len());
    let begins_alike = |first: &[u8; SHA512_BLOCK]| beyond == &first[rest.len()..];
    tail == rest && blocks.first().is_some_and(begins_alike)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Maximum number of blocks in the pool for each of its threads.
const BLOCKS_PER_THREAD: usize = 8;

/// A block to check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) buf: IoBuf,
    /// Length of the block; its buffer may be longer.
    pub(crate) length: u32,
    pub(crate) expected: Expected,
    /// Tag for the caller's use.
    pub(crate) tag: u64,
}

/// A block that was checked.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) check: Check,
    pub(crate) result: Result<(), Mismatch>,
}

/// Threads that check blocks in parallel with the stream's reads (`verify_async`).
#[derive(Debug)]
pub(crate) struct CheckPool {
    shared: Arc<PoolShared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct PoolShared {
    queues: Mutex<Queues>,
    /// Signals that a block waits, or that the pool was closed.
    work: Condvar,
    /// Signals that a block was checked.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Queues {
    waiting: VecDeque<Check>,
    done: Vec<Checked>,
    /// Number of blocks submitted and not yet returned.
    inside: usize,
    closed: bool,
}

impl CheckPool {
    /// Starts `threads` threads (at least one), on the given processors only,
    /// or on any if `cpus` is empty.
    ///
    /// # Errors
    /// If the threads cannot be started, or may not run on these processors.
    pub(crate) fn new(
        threads: u32,
        cpus: &[u32],
        verifier: &Arc<Verifier>,
    ) -> Result<Self, EngineError> {
        let number = threads.max(1);
        let failed = |source| EngineError::Threads { number, source };
        let cpus = cpu_set(cpus).map_err(failed)?;
        let mut pool = Self {
            shared: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..number {
            let (shared, verifier) = (Arc::clone(&pool.shared), Arc::clone(verifier));
            let thread = std::thread::Builder::new()
                .name("assay-verify".to_owned())
                .spawn(move || {
                    if let Some(cpus) = cpus {
                        // The set was tested before. If a processor was removed
                        // since then, the blocks are checked on any other.
                        let _ = sched_setaffinity(None, &cpus);
                    }
                    check_all(&shared, &verifier);
                })
                .map_err(failed)?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Submits a block. If the pool is full, the error returns the block; the
    /// caller must first remove checked blocks.
    pub(crate) fn submit(&self, check: Check) -> Result<(), Check> {
        let mut queues = lock(&self.shared.queues);
        if queues.inside >= BLOCKS_PER_THREAD * self.threads.len() {
            return Err(check);
        }
        queues.inside += 1;
        queues.waiting.push_back(check);
        drop(queues);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Returns the blocks that were checked so far.
    pub(crate) fn take_done(&self) -> Vec<Checked> {
        take_done(&mut lock(&self.shared.queues))
    }

    /// Waits until a block is checked and returns the checked blocks; empty if
    /// no block is in the pool.
    pub(crate) fn wait_done(&self) -> Vec<Checked> {
        let idle = |queues: &mut Queues| queues.done.is_empty() && queues.inside > 0;
        let queues = self.shared.done.wait_while(lock(&self.shared.queues), idle);
        take_done(&mut queues.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for CheckPool {
    fn drop(&mut self) {
        lock(&self.shared.queues).closed = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

fn take_done(queues: &mut Queues) -> Vec<Checked> {
    let done = std::mem::take(&mut queues.done);
    queues.inside -= done.len();
    done
}

/// Checks blocks until the pool is closed.
fn check_all(shared: &PoolShared, verifier: &Verifier) {
    let idle = |queues: &mut Queues| queues.waiting.is_empty() && !queues.closed;
    loop {
        let queues = shared.work.wait_while(lock(&shared.queues), idle);
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        if queues.closed {
            return;
        }
        let Some(mut check) = queues.waiting.pop_front() else {
            continue;
        };
        drop(queues);
        let block = &mut check.buf.block_mut()[..check.length as usize];
        let result = verifier.check(block, check.expected);
        lock(&shared.queues).done.push(Checked { check, result });
        shared.done.notify_one();
    }
}

/// Returns the set of these processors, after testing that a thread may run
/// there; `None` if `cpus` is empty.
fn cpu_set(cpus: &[u32]) -> io::Result<Option<CpuSet>> {
    if cpus.is_empty() {
        return Ok(None);
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no processor {cpu}")));
        }
        set.set(cpu as usize);
    }
    // Tested on a separate thread, so that the caller keeps its processors.
    let tried = std::thread::scope(|scope| {
        let attempt = std::thread::Builder::new().spawn_scoped(scope, || {
            sched_setaffinity(None, &set).map_err(io::Error::from)
        })?;
        attempt.join().unwrap_or(Ok(()))
    });
    tried.map(|()| Some(set))
}

#[cfg(test)]
mod tests;
