//! The binary trace of `blktrace(8)`, as the kernel writes it for each
//! processor and `blkparse -d` merges it.
//!
//! It is a sequence of records of 48 bytes (`struct blk_io_trace` of
//! `linux/blktrace_api.h`), in the byte order of the machine that recorded
//! them. Only queued requests are replayed, because the later events result
//! from the block layer. Completions give the number of I/Os in flight.

use crate::{Action, EventTime, RecordedIo, TraceEvent, TraceSource, damaged};
use assay_model::load::Ddir;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;

const RECORD_BYTES: usize = 48;
/// The first three bytes of the first word; the last one is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Bytes of a sector, independent of the device.
const SECTOR: u64 = 512;

/// Event codes: the lower half of `action`.
const QUEUED: u32 = 1;
const COMPLETED: u32 = 8;
/// Category bits: the upper half of `action`.
const WRITE: u32 = 1 << (1 + 16);
const FLUSH: u32 = 1 << (2 + 16);
const NOTIFY: u32 = 1 << (10 + 16);
const DISCARD: u32 = 1 << (13 + 16);

/// The kernel's own form of a device number: 12 bits major, 20 bits minor.
const MINOR_BITS: u32 = 20;

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// Returns the byte order of a file with this beginning; `None` if it is
    /// not a block trace.
    pub fn of(start: &[u8]) -> Option<Self> {
        let first: [u8; 4] = start.get(..4)?.try_into().ok()?;
        if u32::from_le_bytes(first) & !0xff == MAGIC {
            Some(Self::Little)
        } else if u32::from_be_bytes(first) & !0xff == MAGIC {
            Some(Self::Big)
        } else {
            None
        }
    }

    fn u16(self, raw: &[u8; RECORD_BYTES], at: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes(raw, at)),
            Self::Big => u16::from_be_bytes(bytes(raw, at)),
        }
    }

    fn u32(self, raw: &[u8; RECORD_BYTES], at: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes(raw, at)),
            Self::Big => u32::from_be_bytes(bytes(raw, at)),
        }
    }

    fn u64(self, raw: &[u8; RECORD_BYTES], at: usize) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes(raw, at)),
            Self::Big => u64::from_be_bytes(bytes(raw, at)),
        }
    }
}

/// Returns `N` bytes of a record, from `at`.
fn bytes<const N: usize>(raw: &[u8; RECORD_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|index| raw[at + index])
}

/// The fields of a record that are used here.
struct Record {
    magic: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    /// Length of additional data after the record, which is skipped.
    extra_bytes: u16,
}

impl Record {
    fn parse(raw: &[u8; RECORD_BYTES], order: ByteOrder) -> Self {
        // Unused fields: `sequence` at 4, `pid` at 32, `cpu` at 40, `error` at
        // 44.
        Self {
            magic: order.u32(raw, 0),
            time_ns: order.u64(raw, 8),
            sector: order.u64(raw, 16),
            bytes: order.u32(raw, 24),
            action: order.u32(raw, 28),
            device: order.u32(raw, 36),
            extra_bytes: order.u16(raw, 46),
        }
    }
}

/// Function that returns the file for a device, by its major and minor number.
pub type DeviceFiles = Box<dyn Fn(u32, u32) -> Option<PathBuf> + Send>;

/// A block trace being read.
pub struct BlktraceSource<R> {
    input: R,
    order: ByteOrder,
    names: DeviceFiles,
    /// Alignment to which lengths are rounded up, for a device with larger
    /// sectors than the recorded one.
    align: u32,
    /// Number of the last record read, from 1.
    record_number: u64,
    files: Vec<PathBuf>,
    /// Device number of each file.
    devices: Vec<u32>,
    /// Events of the last record, which may contain two.
    waiting: VecDeque<TraceEvent>,
}

impl<R: Read> BlktraceSource<R> {
    /// Creates a source whose lengths are rounded up to a multiple of `align`
    /// (0: not rounded).
    pub fn new(input: R, order: ByteOrder, align: u32, names: DeviceFiles) -> Self {
        Self {
            input,
            order,
            names,
            align: align.max(1),
            record_number: 0,
            files: Vec::new(),
            devices: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    fn bad(&self, problem: &str) -> io::Error {
        damaged(&format!("record {}: {problem}", self.record_number))
    }

    fn failed(&self, source: io::Error) -> io::Error {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return self.bad("truncated: the file ends within it");
        }
        source
    }

    fn read_record(&mut self) -> io::Result<Option<Record>> {
        self.record_number += 1;
        let mut raw = [0; RECORD_BYTES];
        let first = loop {
            match self.input.read(&mut raw[..1]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => break answer,
            }
        };
        if first.map_err(|error| self.failed(error))? == 0 {
            return Ok(None);
        }
        self.input
            .read_exact(&mut raw[1..])
            .map_err(|error| self.failed(error))?;
        let record = Record::parse(&raw, self.order);
        if record.magic & !0xff != MAGIC {
            return Err(self.bad(&format!(
                "not a blktrace record (magic number {:#010x})",
                record.magic
            )));
        }
        if record.magic & 0xff != VERSION {
            return Err(self.bad(&format!(
                "version {} instead of {VERSION}",
                record.magic & 0xff
            )));
        }
        let extra = u64::from(record.extra_bytes);
        let skipped = io::copy(&mut (&mut self.input).take(extra), &mut io::sink());
        if skipped.map_err(|error| self.failed(error))? < extra {
            return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(Some(record))
    }

    /// Adds the events of a record to `waiting`; none if the record is neither
    /// a queued nor a completed request.
    fn events_of(&mut self, record: &Record) -> io::Result<()> {
        let what = record.action & 0xffff;
        if !matches!(what, QUEUED | COMPLETED) || record.action & NOTIFY != 0 {
            return Ok(());
        }
        let flush = record.action & (FLUSH | DISCARD) == FLUSH;
        if record.bytes == 0 && !flush {
            return Ok(());
        }
        let Some(io) = self.io_of(record) else {
            return Err(self.bad(&format!(
                "no valid range: {} bytes at sector {}",
                record.bytes, record.sector
            )));
        };
        let file = self.file_of(record.device)?;
        if what == COMPLETED {
            if record.bytes > 0 {
                self.waiting.push_back(TraceEvent {
                    file,
                    action: Action::Done(io),
                    time: EventTime::At(record.time_ns),
                });
            }
            return Ok(());
        }
        // A write may request a flush before it. (fio then replays only the
        // flush.)
        let flush = flush.then_some(Action::Sync);
        let io = (record.bytes > 0).then_some(Action::Io(io));
        let time = EventTime::At(record.time_ns);
        let events = flush.into_iter().chain(io);
        self.waiting
            .extend(events.map(|action| TraceEvent { file, action, time }));
        Ok(())
    }

    /// Returns the I/O of a record; `None` if it ends beyond the largest
    /// offset.
    fn io_of(&self, record: &Record) -> Option<RecordedIo> {
        let ddir = if record.action & DISCARD != 0 {
            Ddir::Trim
        } else if record.action & WRITE != 0 {
            Ddir::Write
        } else {
            Ddir::Read
        };
        let offset = record.sector.checked_mul(SECTOR)?;
        let length = record.bytes.checked_next_multiple_of(self.align)?;
        offset.checked_add(u64::from(length))?;
        Some(RecordedIo {
            ddir,
            offset,
            length,
        })
    }

    /// Returns the number of the file for a device.
    fn file_of(&mut self, device: u32) -> io::Result<usize> {
        if let Some(known) = self.devices.iter().position(|&d| d == device) {
            return Ok(known);
        }
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        let path = (self.names)(major, minor).ok_or_else(|| {
            self.bad(&format!(
                "this machine has no device {major}:{minor}: name the one to use \
                 (replay_redirect)"
            ))
        })?;
        self.devices.push(device);
        self.files.push(path);
        Ok(self.devices.len() - 1)
    }
}

impl<R: Read> TraceSource for BlktraceSource<R> {
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let Some(record) = self.read_record()? else {
                return Ok(None);
            };
            self.events_of(&record)?;
        }
    }

    fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_order_shows_in_the_magic_number() {
        let start = MAGIC | VERSION;
        assert_eq!(ByteOrder::of(&start.to_le_bytes()), Some(ByteOrder::Little));
        assert_eq!(ByteOrder::of(&start.to_be_bytes()), Some(ByteOrder::Big));
        assert_eq!(ByteOrder::of(b"fio version 3 iolog"), None);
        assert_eq!(ByteOrder::of(&[7, 0x74]), None);
    }
}
