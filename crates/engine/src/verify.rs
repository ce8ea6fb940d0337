//! Verification that a device returns the data that was written to it.
//!
//! Every block, or every `interval` of it, begins with a header. The header contains the
//! block's offset, the time and number of the write, and a checksum of the data after it.
//! Headers have the layout of fio 3.33, so that assay and fio can check each other's
//! blocks. (The one exception is SHA-512, see [`checksum`].)

mod checksum;
mod dump;
mod header;
mod pool;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use pool::{Check, CheckPool, Checked};
pub(crate) use state::{InFlight, VerifyState};

use crate::content::{Mixture, pattern};
use assay_model::load::content::{ContentPattern, WriteContent};
use assay_model::load::verify::{Verify, VerifyKind};
use header::Header;
use thiserror::Error;

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
            pattern::fill(block, &self.pattern, mark.offset);
        }
        if self.kind == VerifyKind::Pattern {
            return;
        }
        let interval = self.interval_of(block.len());
        let mut header = Header {
            kind: header::code(self.kind),
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
        let (common, sum) = head.split_at_mut(header::BYTES);
        common.copy_from_slice(&header.encode());
        checksum::write(self.kind, data, sum);
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
        let (common, sum) = head.split_at(header::BYTES);
        let header = Header::decode(common)?;
        self.check_header(header, piece.len(), expected.offset + skip as u64)?;
        check_write(header, expected)?;
        match self.kind {
            VerifyKind::Header | VerifyKind::PatternHeader => {
                self.check_pattern(data, skip + head.len(), expected.offset)
            }
            kind => checksum::check(kind, data, sum),
        }
    }

    fn check_header(&self, header: Header, length: usize, offset: u64) -> Result<(), String> {
        if !header::is_code_of(header.kind, self.kind) {
            return Err(format!(
                "the header is of another kind of check: found {}, expected {} ({})",
                header.kind,
                header::code(self.kind),
                checksum::name(self.kind),
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
        match pattern::first_difference(data, skip, &self.pattern, offset) {
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
        kind => header::BYTES + checksum::bytes(kind),
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
