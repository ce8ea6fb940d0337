//! Recorded I/O: action, file, offset, length and time of each event, read from traces of any
//! format. [`recording`] has a complete trace, its statistics, and its adaptation to another size,
//! written as an iolog.
//!
//! Apart from the reader passed to it, this crate does no I/O.
//!
//! [`IologSource`] and [`parse_block_event`] read text:
//!
//! Block events:
//!
//! - `blkparse` in its own format (`%D %2c %8s %5T.%9t %5p %2a %3d`, then
//!   `SECTOR + SECTORS`), see blkparse(1).
//! - Tracepoints (`block_bio_queue`, `block_rq_insert`, `block_rq_issue`,
//!   `block_rq_complete` of `include/trace/events/block.h`), as `trace-cmd report`,
//!   `perf script` and `/sys/kernel/tracing/trace` print them: the prefix differs,
//!   but each has the time and a colon before the event's name.
//!
//! Lines of other events, headings and summaries are skipped.
//!
//! An iolog has one event per line. The first line contains the version. Then follow `FILE ACTION`
//! for files (add, open, close) and `FILE ACTION OFFSET LENGTH` for I/O (read, write, trim, sync,
//! datasync). Version 3 starts each line with the time in microseconds; version 2 has `FILE wait
//! MICROSECONDS 0` instead.
//!
//! [`BlktraceSource`] reads the binary trace of `blktrace(8)`, as the kernel writes it for each
//! processor and `blkparse -d` merges it. It is a sequence of records of 48 bytes (`struct
//! blk_io_trace` of `linux/blktrace_api.h`), in the byte order of the machine that recorded them.
//! Only queued requests are replayed, because the later events result from the block layer.
//! Completions give the number of I/Os in flight.

pub mod recording;

use assay_model::load::Ddir;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::io::{self, BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Index into [`TraceSource::files`].
    pub file: usize,
    /// Action that the event reports.
    pub action: Action,
    /// Time of the event.
    pub time: EventTime,
}

/// Action that a trace reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An I/O began.
    Io(RecordedIo),
    /// An I/O was completed.
    Done(RecordedIo),
    /// fsync, or a flush of the device.
    Sync,
    /// fdatasync.
    Datasync,
    /// The file was opened.
    Open,
    /// The file was closed.
    Close,
}

/// A recorded I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedIo {
    /// Direction of the I/O.
    pub ddir: Ddir,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

impl RecordedIo {
    /// First offset after the I/O.
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}

/// Time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Time on the trace's clock, in nanoseconds.
    At(u64),
    /// Time since the previous event, in nanoseconds.
    After(u64),
}

/// A trace of one format, read sequentially. After an error it must not be read
/// further.
pub trait TraceSource {
    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// If the input cannot be read or is damaged. The error contains the line or
    /// record.
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>>;

    /// Returns the files that occurred so far.
    fn files(&self) -> &[PathBuf];
}

/// Creates the error of an unusable trace. `problem` contains the position and the
/// reason.
pub fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Bytes of a sector, independent of the device.
const SECTOR: u64 = 512;

/// Stage of an I/O in the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockStage {
    /// The I/O was submitted to the block layer by a program or file system.
    Queued,
    /// The I/O was sent to the driver, merged or split.
    Issued,
    /// The I/O was completed.
    Done,
}

/// An event read from one line.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// Time on the trace's clock.
    pub at_ns: u64,
    /// `MAJOR:MINOR`.
    pub device: String,
    /// Stage of the I/O.
    pub stage: BlockStage,
    /// True if a flush precedes the action, or is the action.
    pub flush: bool,
    /// Action other than the flush.
    pub action: Option<Action>,
}

/// Parses a line; `None` if it contains no event.
///
/// # Errors
/// If a line begins as an event but cannot be parsed. The error contains the line
/// number.
pub fn parse_block_event(line: &str, number: u64) -> io::Result<Option<BlockEvent>> {
    let parsed = match tracepoint(line) {
        Some((stage, time, rest)) => of_tracepoint(stage, time, rest),
        None => blkparse(line),
    };
    parsed.map_err(|problem| damaged(&format!("line {number}: {problem}")))
}

/// Returns the stage of a tracepoint, its time, and the text after its name.
fn tracepoint(line: &str) -> Option<(BlockStage, &str, &str)> {
    const NAMES: [(&str, BlockStage); 4] = [
        ("block_bio_queue: ", BlockStage::Queued),
        ("block_rq_insert: ", BlockStage::Queued),
        ("block_rq_issue: ", BlockStage::Issued),
        ("block_rq_complete: ", BlockStage::Done),
    ];
    let (at, name, stage) = NAMES
        .iter()
        .find_map(|(name, stage)| Some((line.find(name)?, name, *stage)))?;
    let before = line.get(..at)?.trim_end_matches("block:").trim_end();
    let time = before.strip_suffix(':')?.rsplit(' ').next()?;
    Some((stage, time, line.get(at + name.len()..)?))
}

fn of_tracepoint(stage: BlockStage, time: &str, rest: &str) -> Result<Option<BlockEvent>, String> {
    let mut words = rest.split_whitespace();
    let (Some(device), Some(rwbs)) = (words.next(), words.next()) else {
        return Err("the event names no device".to_owned());
    };
    line_of(stage, time, device, rwbs, words)
}

/// Parses a line of blkparse. Lines with other actions than Q, D and C are skipped.
fn blkparse(line: &str) -> Result<Option<BlockEvent>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [device, cpu, sequence, time, _pid, action, rwbs, rest @ ..] = words.as_slice() else {
        return Ok(None);
    };
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    if !device.contains(',') || !number(cpu) || !number(sequence) {
        return Ok(None);
    }
    let stage = match *action {
        "Q" => BlockStage::Queued,
        "D" => BlockStage::Issued,
        "C" => BlockStage::Done,
        _ => return Ok(None),
    };
    line_of(stage, time, device, rwbs, rest.iter().copied())
}

/// Creates an event. `words` follow the letters and may contain `SECTOR + SECTORS`.
fn line_of<'a>(
    stage: BlockStage,
    time: &str,
    device: &str,
    rwbs: &str,
    words: impl Iterator<Item = &'a str>,
) -> Result<Option<BlockEvent>, String> {
    let words: Vec<&str> = words.collect();
    let extent = words.windows(3).find(|three| three[1] == "+");
    let (sector, sectors) = match extent {
        Some(three) => (whole(three[0], "sector")?, whole(three[2], "sectors")?),
        None => (0, 0),
    };
    let Some((flush, ddir)) = letters(rwbs) else {
        return Ok(None);
    };
    let io = |ddir: Ddir| {
        let offset = sector.checked_mul(SECTOR)?;
        let length = u32::try_from(sectors.checked_mul(SECTOR)?).ok()?;
        offset.checked_add(u64::from(length))?;
        Some(RecordedIo {
            ddir,
            offset,
            length,
        })
    };
    let action = match ddir.filter(|_| sectors > 0) {
        None => None,
        Some(ddir) => {
            let io = io(ddir);
            let io =
                io.ok_or_else(|| format!("no valid range: {sectors} sectors at sector {sector}"))?;
            Some(match stage {
                BlockStage::Done => Action::Done(io),
                BlockStage::Queued | BlockStage::Issued => Action::Io(io),
            })
        }
    };
    Ok(Some(BlockEvent {
        at_ns: nanoseconds(time)?,
        device: device.replace(',', ":"),
        stage,
        flush,
        action,
    }))
}

/// Parses the letters of an I/O (`blk_fill_rwbs` of the kernel). A leading `F` is a
/// flush before it; then D, W, R, F (a flush alone) or N; the remaining letters are
/// hints. `None` if nothing is read, written or flushed.
fn letters(rwbs: &str) -> Option<(bool, Option<Ddir>)> {
    let (flush, rest) = match rwbs.strip_prefix('F') {
        Some(rest) => (true, rest),
        None => (false, rwbs),
    };
    match rest.bytes().next() {
        Some(b'D') => Some((flush, Some(Ddir::Trim))),
        Some(b'W') => Some((flush, Some(Ddir::Write))),
        Some(b'R') => Some((flush, Some(Ddir::Read))),
        _ if flush => Some((true, None)),
        _ => None,
    }
}

fn whole(word: &str, what: &str) -> Result<u64, String> {
    let number = word.parse();
    number.map_err(|_| format!("{what} '{}' is not a number", word.escape_debug()))
}

/// Parses `SECONDS.FRACTION` with up to nine digits after the point.
fn nanoseconds(word: &str) -> Result<u64, String> {
    let bad = || format!("time '{}' is not a number of seconds", word.escape_debug());
    let (seconds, fraction) = word.split_once('.').ok_or_else(bad)?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_empty() || fraction.len() > 9 || !digits(fraction) || !digits(seconds) {
        return Err(bad());
    }
    let seconds: u64 = seconds.parse().map_err(|_| bad())?;
    let nanoseconds: u64 = format!("{fraction:0<9}").parse().map_err(|_| bad())?;
    seconds
        .checked_mul(1_000_000_000)
        .and_then(|whole| whole.checked_add(nanoseconds))
        .ok_or_else(bad)
}

/// Maximum line length: a path has at most 4096 bytes.
const LONGEST_LINE: u64 = 8192;
/// Minimum wait in microseconds; shorter ones are ignored, as fio documents it.
const SHORTEST_WAIT: u64 = 100;

/// An iolog being read.
pub struct IologSource<R> {
    input: R,
    version: Version,
    line: Vec<u8>,
    /// Number of the current line, from 1.
    line_number: u64,
    files: Vec<PathBuf>,
    numbers: HashMap<Vec<u8>, usize>,
    /// Sum of the waits since the last event, in nanoseconds (version 2).
    waited_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

/// A line without its time.
enum IologLine {
    Nothing,
    /// Wait in microseconds.
    Wait(u64),
    Event(usize, Action),
}

impl<R: BufRead> IologSource<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If it cannot be read, or is not that of an iolog.
    pub fn open(input: R) -> io::Result<Self> {
        let mut source = Self {
            input,
            version: Version::Three,
            line: Vec::new(),
            line_number: 0,
            files: Vec::new(),
            numbers: HashMap::new(),
            waited_ns: 0,
        };
        source.read_line()?;
        source.version = match source.line.trim_ascii_end() {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            _ => {
                return Err(source.bad(
                    "neither a blktrace file nor an iolog of version 2 or 3 \
                     ('fio version 3 iolog')",
                ));
            }
        };
        Ok(source)
    }

    /// Reads the next line; returns `false` at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.line_number += 1;
        let read = (&mut self.input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)?;
        if read as u64 == LONGEST_LINE && self.line.last() != Some(&b'\n') {
            return Err(self.bad(&format!("longer than {LONGEST_LINE} bytes")));
        }
        Ok(read > 0)
    }

    fn bad(&self, problem: &str) -> io::Error {
        damaged(&format!("line {}: {problem}", self.line_number))
    }

    /// Parses the current line; `None` if it contains no event.
    fn parse(&mut self) -> io::Result<Option<TraceEvent>> {
        let line = std::mem::take(&mut self.line);
        let event = self.parse_fields(&line);
        self.line = line;
        event.map_err(|problem| self.bad(&problem))
    }

    fn parse_fields(&mut self, line: &[u8]) -> Result<Option<TraceEvent>, String> {
        let mut fields = line
            .split(u8::is_ascii_whitespace)
            .filter(|field| !field.is_empty());
        let stamp = match self.version {
            Version::Two => None,
            Version::Three => match fields.next() {
                None => return Ok(None),
                Some(field) => Some(number(field, "time")?.saturating_mul(1_000)),
            },
        };
        let fields: Vec<&[u8]> = fields.take(5).collect();
        let (file, action) = match self.parse_action(&fields)? {
            IologLine::Nothing => return Ok(None),
            IologLine::Wait(micros) => {
                if micros >= SHORTEST_WAIT {
                    let wait_ns = micros.saturating_mul(1_000);
                    self.waited_ns = self.waited_ns.saturating_add(wait_ns);
                }
                return Ok(None);
            }
            IologLine::Event(file, action) => (file, action),
        };
        let time = match stamp {
            Some(at_ns) => EventTime::At(at_ns),
            None => EventTime::After(std::mem::take(&mut self.waited_ns)),
        };
        Ok(Some(TraceEvent { file, action, time }))
    }

    /// Parses the fields after the time.
    fn parse_action(&mut self, fields: &[&[u8]]) -> Result<IologLine, String> {
        match *fields {
            [] if self.version == Version::Two => Ok(IologLine::Nothing),
            [name, b"add"] => {
                self.add(name);
                Ok(IologLine::Nothing)
            }
            [name, b"open"] => Ok(IologLine::Event(self.number_of(name)?, Action::Open)),
            [name, b"close"] => Ok(IologLine::Event(self.number_of(name)?, Action::Close)),
            [_, action] => Err(format!(
                "unknown action '{}': add, open and close stand alone, others need offset and length",
                action.escape_ascii()
            )),
            [_, b"wait", time, _] if self.version == Version::Two => {
                Ok(IologLine::Wait(number(time, "wait")?))
            }
            [_, b"wait", ..] => Err("version 3 has timestamps instead of 'wait'".to_owned()),
            [name, action, offset, length] => {
                let offset = number(offset, "offset")?;
                let action = io_action(action, offset, number(length, "length")?)?;
                Ok(IologLine::Event(self.number_of(name)?, action))
            }
            _ => Err(match self.version {
                Version::Two => "expected FILE ACTION [OFFSET LENGTH]".to_owned(),
                Version::Three => "expected TIME FILE ACTION [OFFSET LENGTH]".to_owned(),
            }),
        }
    }

    fn add(&mut self, name: &[u8]) {
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name.to_vec(), self.files.len());
            self.files.push(PathBuf::from(OsStr::from_bytes(name)));
        }
    }

    fn number_of(&self, name: &[u8]) -> Result<usize, String> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let name = name.escape_ascii();
            format!("no earlier line adds the file '{name}' ('{name} add')")
        })
    }
}

impl<R: BufRead> TraceSource for IologSource<R> {
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>> {
        while self.read_line()? {
            if let Some(event) = self.parse()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Parses an action on bytes of a file. The offset and length of flushes are
/// ignored.
fn io_action(action: &[u8], offset: u64, length: u64) -> Result<Action, String> {
    let ddir = match action {
        b"read" => Ddir::Read,
        b"write" => Ddir::Write,
        b"trim" => Ddir::Trim,
        b"sync" => return Ok(Action::Sync),
        b"datasync" => return Ok(Action::Datasync),
        _ => {
            return Err(format!(
                "unknown action '{}': read, write, trim, sync, datasync or wait",
                action.escape_ascii()
            ));
        }
    };
    let length = u32::try_from(length).map_err(|_| format!("length {length} is above 4 GiB"))?;
    if offset.checked_add(u64::from(length)).is_none() {
        return Err(format!(
            "{length} bytes at offset {offset} end beyond the largest offset (2^64)"
        ));
    }
    Ok(Action::Io(RecordedIo {
        ddir,
        offset,
        length,
    }))
}

fn number(field: &[u8], what: &str) -> Result<u64, String> {
    std::str::from_utf8(field)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("{what} '{}' is not a number", field.escape_ascii()))
}

const RECORD_BYTES: usize = 48;
/// The first three bytes of the first word; the last one is the version.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;
const BLKTRACE_VERSION: u32 = 7;

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
        if u32::from_le_bytes(first) & !0xff == BLKTRACE_MAGIC {
            Some(Self::Little)
        } else if u32::from_be_bytes(first) & !0xff == BLKTRACE_MAGIC {
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
        if record.magic & !0xff != BLKTRACE_MAGIC {
            return Err(self.bad(&format!(
                "not a blktrace record (magic number {:#010x})",
                record.magic
            )));
        }
        if record.magic & 0xff != BLKTRACE_VERSION {
            return Err(self.bad(&format!(
                "version {} instead of {BLKTRACE_VERSION}",
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

    fn io(ddir: Ddir, offset: u64, length: u32) -> Option<Action> {
        Some(Action::Io(RecordedIo {
            ddir,
            offset,
            length,
        }))
    }

    fn parsed(line: &str) -> BlockEvent {
        parse_block_event(line, 1).unwrap().unwrap()
    }

    #[test]
    fn each_program_puts_other_words_in_front() {
        let lines = [
            "  8,0    3        1     1.000000500   697  D  WS 223490 + 8 [kjournald]",
            "       fio-1234  [000] .....     1.000000500: block_rq_issue: 8,0 WS 4096 () 223490 + 8 [fio]",
            "fio  1234 [000]     1.000000500:      block:block_rq_issue: 8,0 WS 4096 () 223490 + 8 [fio]",
            "     a b-1234  [000]     1.000000500: block_rq_issue:       8,0 WS 4096 () 223490 + 8 none,0,0 [fio]",
        ];
        for line in lines {
            let event = parsed(line);
            assert_eq!(event.at_ns, 1_000_000_500, "{line}");
            assert_eq!(event.device, "8:0");
            assert_eq!(event.stage, BlockStage::Issued);
            assert_eq!(event.action, io(Ddir::Write, 223_490 * 512, 4096), "{line}");
            assert!(!event.flush);
        }
    }

    #[test]
    fn flushes_trims_and_completions_are_told_apart() {
        let event = parsed("x-1 [0] 1.5: block_bio_queue: 8,0 FWFS 8 + 8 [x]");
        assert_eq!(
            (event.flush, event.action),
            (true, io(Ddir::Write, 4096, 4096))
        );
        assert_eq!(
            (event.at_ns, event.stage),
            (1_500_000_000, BlockStage::Queued)
        );
        let event = parsed("x-1 [0] 1.5: block_rq_issue: 8,0 FF 0 () 0 + 0 [x]");
        assert_eq!((event.flush, event.action), (true, None));
        let event = parsed("x-1 [0] 1.5: block_bio_queue: 8,0 DS 8 + 8 [x]");
        assert_eq!(event.action, io(Ddir::Trim, 4096, 4096));
        let event = parsed("x-1 [0] 1.5: block_rq_complete: 8,0 R () 8 + 8 [0]");
        assert_eq!(event.stage, BlockStage::Done);
        assert!(matches!(event.action, Some(Action::Done(_))));
    }

    #[test]
    fn lines_without_an_event_are_skipped() {
        let lines = [
            "# tracer: nop",
            "CPU0 (8,0):",
            " Reads Queued:           0,        0KiB  Writes Queued:  1,  4KiB",
            "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [x]",
            "  8,0    3        1     0.000000000   697  Q   N 0 + 0 [x]",
            "x-1 [0] 1.5: sched_switch: prev_comm=x",
            "",
        ];
        for line in lines {
            assert_eq!(parse_block_event(line, 1).unwrap(), None, "{line}");
        }
    }

    #[test]
    fn a_damaged_event_is_named() {
        let lines = [
            ("x-1 [0] soon: block_rq_issue: 8,0 W 0 () 8 + 8 [x]", "time"),
            (
                "x-1 [0] 1.5: block_rq_issue: 8,0 W 0 () z + 8 [x]",
                "sector",
            ),
            ("x-1 [0] 1.5: block_rq_issue: 8,0", "device"),
            (
                "8,0 3 1 0.5 697 Q W 18446744073709551615 + 8 [x]",
                "no valid range",
            ),
        ];
        for (line, words) in lines {
            let problem = parse_block_event(line, 7).unwrap_err().to_string();
            assert!(
                problem.contains(words) && problem.contains("line 7"),
                "{problem}"
            );
        }
    }

    #[test]
    fn the_byte_order_shows_in_the_magic_number() {
        let start = BLKTRACE_MAGIC | BLKTRACE_VERSION;
        assert_eq!(ByteOrder::of(&start.to_le_bytes()), Some(ByteOrder::Little));
        assert_eq!(ByteOrder::of(&start.to_be_bytes()), Some(ByteOrder::Big));
        assert_eq!(ByteOrder::of(b"fio version 3 iolog"), None);
        assert_eq!(ByteOrder::of(&[7, 0x74]), None);
    }
}
