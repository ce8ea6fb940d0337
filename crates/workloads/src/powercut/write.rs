//! Streams: each is a thread that makes one write after the other, until the power is cut or the
//! host stops it. Each kind of write has its verification:
//!
//! - `Renamer`: a new file, renamed over the old one.
//! - `Appender`: records appended to a file.
//! - `SlotWriter`: slots with one write each, of a file or a part of a device, overwritten.
//! - `RowWriter`: rows committed by SQLite.

use super::{Findings, StreamStorage, StreamWriter, boot_id, folder};
use crate::{ActError, Context};
use assay_engine::buffer::IoBuf;
use assay_engine::held;
use assay_engine::held::{HeldFolder, let_sqlite_in, shown};
use assay_model::act::powercut::{DurabilityKind, FOLDER, KnownWrites, Powercut, Word};
use assay_model::rng::SplitMix64;
use assay_model::wire::NoteWeight;
use rusqlite::{Connection, Error, OpenFlags, params};
use rustix::fs::{Mode, OFlags, syncfs};
use rustix::io::ReadWriteFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;
use std::{fs, io};

/// Interval at which a stop request is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The streams, and the folder that they write in; `None` for a device.
type Prepared = (Vec<Box<dyn StreamWriter>>, Option<HeldFolder>);

/// Message from a stream.
enum StreamMessage {
    Word(Word),
    Failed(String),
}

/// Writes until the host stops the act or disconnects, or the power is cut.
pub(super) fn run(work: &Powercut, context: &mut Context<'_>) -> Result<(), ActError> {
    let (writers, _made) = prepare(work, context.seed)?;
    context
        .observer
        .powercut(Word::Ready { boot_id: boot_id() });
    let stop = AtomicBool::new(false);
    let started = std::thread::scope(|scope| {
        let (tell, told) = channel();
        for (number, writer) in (0_u32..).zip(writers) {
            let (tell, stop) = (tell.clone(), &stop);
            let kind = work.kinds[number as usize];
            let write = move || drive(number, kind, writer, &tell, stop);
            if let Err(error) = Builder::new().spawn_scoped(scope, write) {
                stop.store(true, Ordering::Relaxed);
                return Err(ActError::no_thread(error));
            }
        }
        drop(tell);
        pass_on(&told, context, &stop);
        Ok(())
    });
    started?;
    match context.stopped() {
        true => Err(ActError::Stopped),
        false => Err(ActError::failed("all writing streams have ended")),
    }
}

/// Forwards messages to the host until all streams have ended.
fn pass_on(told: &Receiver<StreamMessage>, context: &mut Context<'_>, stop: &AtomicBool) {
    loop {
        if context.stopped() {
            stop.store(true, Ordering::Relaxed);
        }
        match told.recv_timeout(LOOK_EVERY) {
            Ok(StreamMessage::Word(word)) => context.observer.powercut(word),
            Ok(StreamMessage::Failed(why)) => context.observer.note(NoteWeight::Warning, why),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn drive(
    stream: u32,
    kind: DurabilityKind,
    mut writer: Box<dyn StreamWriter>,
    tell: &Sender<StreamMessage>,
    stop: &AtomicBool,
) {
    for sequence in 1.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begun = tell.send(StreamMessage::Word(Word::Begun { stream, sequence }));
        let said = match writer.write(sequence) {
            Ok(()) => StreamMessage::Word(Word::Acknowledged { stream, sequence }),
            Err(error) => {
                StreamMessage::Failed(format!("{}, write {sequence}: {error}", kind.name()))
            }
        };
        let failed = matches!(said, StreamMessage::Failed(_));
        if begun.is_err() || tell.send(said).is_err() || failed {
            return;
        }
    }
}

/// Prepares all streams and the folder of their files; their initial content is durable.
pub(super) fn prepare(work: &Powercut, seed: u64) -> Result<Prepared, ActError> {
    let made = match work.device {
        true => None,
        false => Some(make_anew(work)?),
    };
    let mut writers = Vec::new();
    for (number, &kind) in (0_u32..).zip(&work.kinds) {
        let folder = made.as_ref().map_or(&*work.path, HeldFolder::path);
        let place = StreamStorage {
            work,
            folder,
            number,
            kind,
        };
        let stream = Stream { seed, number };
        let writer: Box<dyn StreamWriter> = match kind {
            DurabilityKind::Rename => Box::new(Renamer::prepare(&place, stream)?),
            DurabilityKind::Append => Box::new(Appender::prepare(&place, stream)?),
            DurabilityKind::Sqlite => Box::new(RowWriter::prepare(&place, stream)?),
            _ => Box::new(SlotWriter::prepare(&place, stream)?),
        };
        writers.push(writer);
    }
    if let Some(made) = &made {
        // The files' directory entries must be durable as well.
        syncfs(made).map_err(|errno| ActError::call("syncfs", errno))?;
    }
    Ok((writers, made))
}

/// Makes a new folder, and removes that of the previous cycle.
fn make_anew(work: &Powercut) -> Result<HeldFolder, ActError> {
    let path = folder(work);
    let above = HeldFolder::open(&work.path).map_err(|e| ActError::io("open", &work.path, &e))?;
    match fs::remove_dir_all(above.path().join(FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(ActError::io("remove", &path, &error));
        }
        _ => {}
    }
    HeldFolder::make(above.path(), FOLDER).map_err(|error| ActError::io("make", &path, &error))
}

/// Smallest unit that any device writes.
pub(super) const SECTOR: usize = 512;
/// Slots of a stream: few enough that most are overwritten, so that old and new contents differ,
/// and enough that many are checked.
pub(super) const SLOTS: u64 = 128;
/// Begin of each sector.
const MAGIC: u64 = u64::from_le_bytes(*b"assaycut");
/// Bytes of the head: magic, seed, stream, index in the write, slot, sequence.
const HEAD: usize = 40;

/// Identity of a stream's writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Seed of the cycle.
    pub(super) seed: u64,
    /// Index among the streams.
    pub(super) number: u32,
}

/// Content of a sector. Each sector of each write has a head that identifies it, and bytes derived
/// from the head. This exposes a sector that was half written or never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// Content of this write; 0 for the initial content.
    Of(u64),
    /// Zeros: never written.
    Zero,
    /// Begin of this write's content, followed by something else.
    Torn(u64),
    /// Content that was never written there.
    Garbage,
}

impl Stream {
    /// Returns the slot of a write of a kind that overwrites.
    pub(super) fn slot(self, kind: DurabilityKind, sequence: u64) -> u64 {
        match kind {
            DurabilityKind::Rename => 0,
            DurabilityKind::Append | DurabilityKind::Sqlite => sequence,
            _ => self.random(sequence, u64::MAX).below(SLOTS),
        }
    }

    /// Fills `bytes`, which are whole sectors, with the content of a write.
    pub(super) fn fill(self, slot: u64, sequence: u64, bytes: &mut [u8]) {
        for (index, sector) in (0_u32..).zip(bytes.chunks_mut(SECTOR)) {
            self.sector(slot, sequence, index, sector);
        }
    }

    fn sector(self, slot: u64, sequence: u64, index: u32, sector: &mut [u8]) {
        let place = u64::from(self.number) << 32 | u64::from(index);
        let words = [MAGIC, self.seed, place, slot, sequence];
        let (head, rest) = sector.split_at_mut(HEAD);
        for (bytes, word) in head.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut rng = self.random(sequence, slot << 16 | u64::from(index));
        for chunk in rest.chunks_mut(8) {
            let word = rng.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    fn random(self, sequence: u64, place: u64) -> SplitMix64 {
        let mut rng = SplitMix64::new(self.seed ^ u64::from(self.number).rotate_left(40));
        let first = rng.next_u64() ^ sequence;
        let mut rng = SplitMix64::new(first);
        let second = rng.next_u64() ^ place;
        SplitMix64::new(second)
    }

    /// Identifies the content of a slot's sector.
    pub(super) fn parse(self, kind: DurabilityKind, slot: u64, index: u32, data: &[u8]) -> Sector {
        if data.iter().all(|byte| *byte == 0) {
            return Sector::Zero;
        }
        let word = |at: usize| {
            let bytes = data.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let Some(sequence) = word(32) else {
            return Sector::Garbage;
        };
        let mut expected = [0; SECTOR];
        self.sector(slot, sequence, index, &mut expected);
        let same = expected.iter().zip(data).take_while(|(a, b)| a == b);
        match same.count() {
            SECTOR if sequence == 0 || self.slot(kind, sequence) == slot => Sector::Of(sequence),
            // An equal head alone may be left from an old sector; equal bytes after it are
            // conclusive.
            same if same > HEAD && same < SECTOR => Sector::Torn(sequence),
            _ => Sector::Garbage,
        }
    }
}

/// Replaces the file by a new one.
pub(super) struct Renamer {
    folder: PathBuf,
    stream: Stream,
    bytes: Vec<u8>,
}

impl Renamer {
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, ActError> {
        let mut renamer = Self {
            folder: place.folder.to_owned(),
            stream,
            bytes: vec![0; DurabilityKind::Rename.bytes()],
        };
        renamer
            .write(0)
            .map_err(|error| ActError::io("write", &place.file(), &error))?;
        Ok(renamer)
    }
}

impl StreamWriter for Renamer {
    fn write(&mut self, sequence: u64) -> io::Result<()> {
        self.stream.fill(0, sequence, &mut self.bytes);
        let new = self.folder.join("rename.new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut file = File::from(held::open(&new, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(&self.bytes)?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(DurabilityKind::Rename.name()))?;
        held::open_to_read(&self.folder)?.sync_all()
    }
}

/// Records that are read past the last acknowledged one: more than a writer makes while its
/// messages are in transit.
const BEYOND: u64 = 64 << 10;

/// Reads the file up to `longest` bytes, and one more byte if it is longer: on a damaged file
/// system a file may have any length.
fn read(place: &StreamStorage<'_>, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = held::open_to_read(&place.file())?;
    file.take(longest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks that the file is one whole write, the last acknowledged or a later one.
pub(super) fn verify_renamed(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) {
    let required = known.acknowledged;
    findings.found.checked = u64::from(required > 0);
    let bytes = match read(place, DurabilityKind::Rename.bytes() as u64) {
        Ok(bytes) => bytes,
        Err(error) => return findings.lost(required, &error.to_string()),
    };
    let sectors = (0_u32..).zip(bytes.chunks(SECTOR));
    let found: Vec<Sector> = sectors
        .map(|(index, sector)| stream.parse(DurabilityKind::Rename, 0, index, sector))
        .collect();
    match found.first() {
        Some(Sector::Of(sequence))
            if bytes.len() == DurabilityKind::Rename.bytes()
                && found.iter().all(|s| *s == found[0]) =>
        {
            if *sequence < required {
                findings.lost(required, &format!("the file is that of write {sequence}"));
            } else {
                findings.there(*sequence, required);
            }
        }
        _ => findings.torn(format!(
            "neither the old file nor the new one: {} bytes{}, which begin with {:?}",
            bytes.len(),
            match bytes.len() > DurabilityKind::Rename.bytes() {
                true => " or more",
                false => "",
            },
            found.first()
        )),
    }
}

/// Appends records.
pub(super) struct Appender {
    file: File,
    stream: Stream,
    bytes: Vec<u8>,
}

impl Appender {
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, ActError> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let file = held::open(&place.file(), flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(|errno| ActError::io("open", &place.file(), &errno.into()))?;
        Ok(Self {
            file: file.into(),
            stream,
            bytes: vec![0; DurabilityKind::Append.bytes()],
        })
    }
}

impl StreamWriter for Appender {
    fn write(&mut self, sequence: u64) -> io::Result<()> {
        self.stream.fill(sequence, sequence, &mut self.bytes);
        self.file.write_all(&self.bytes)?;
        self.file.sync_all()
    }
}

/// Checks that all acknowledged records are there in order. After them there may be more records,
/// or a part of one.
pub(super) fn verify_appended(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) {
    findings.found.checked = known.acknowledged;
    let length = DurabilityKind::Append.bytes();
    let longest = known
        .acknowledged
        .saturating_add(BEYOND)
        .saturating_mul(length as u64);
    let bytes = read(place, longest).unwrap_or_default();
    if bytes.len() as u64 > longest {
        findings.torn(format!(
            "the file has more than {longest} bytes, which is more than was written"
        ));
    }
    let there = bytes.len().div_ceil(length) as u64;
    for sequence in 1..=known.acknowledged.max(there) {
        let start = usize::try_from(sequence - 1).unwrap_or(usize::MAX);
        let start = start.saturating_mul(length).min(bytes.len());
        let record = &bytes[start..(start + length).min(bytes.len())];
        let found = worst(stream, sequence, record);
        let acknowledged = sequence <= known.acknowledged;
        match (found, acknowledged) {
            (Sector::Of(_), _) if record.len() == length => {
                findings.there(sequence, known.acknowledged);
            }
            (Sector::Torn(_), _) => {
                findings.torn(format!("record {sequence} has a partly written sector"))
            }
            (Sector::Garbage, _) => {
                findings.garbage(format!(
                    "record {sequence} holds data that was never written"
                ));
            }
            (_, true) => {
                let what = format!("only {} of its bytes are there", record.len());
                findings.lost(sequence, &what);
            }
            // Zeros or a part of a record belong to a write in progress.
            (_, false) => {}
        }
    }
    findings.judge_order();
}

/// Returns the content of a record's worst sector.
fn worst(stream: Stream, sequence: u64, record: &[u8]) -> Sector {
    let sectors = (0_u32..).zip(record.chunks_exact(SECTOR));
    let rank = |sector: &Sector| match sector {
        Sector::Garbage => 3,
        Sector::Torn(_) => 2,
        Sector::Zero => 1,
        Sector::Of(_) => 0,
    };
    sectors
        .map(|(index, sector)| stream.parse(DurabilityKind::Append, sequence, index, sector))
        .max_by_key(rank)
        .unwrap_or(Sector::Zero)
}

/// Bytes of a device for each stream, enough for slots of the largest kind.
pub(super) const EXTENT: u64 = SLOTS * (16 << 10);

/// Overwrites slots.
pub(super) struct SlotWriter {
    file: File,
    base: u64,
    kind: DurabilityKind,
    stream: Stream,
    buffer: IoBuf,
}

impl SlotWriter {
    /// Fills every slot with content that is not yet a write, and flushes it to the storage.
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, ActError> {
        let path = place.file();
        let failed = |doing, error: io::Error| ActError::io(doing, &path, &error);
        let plain = open(place, OFlags::empty()).map_err(|error| failed("open", error))?;
        let mut buffer = IoBuf::zeroed(place.kind.bytes());
        for slot in 0..SLOTS {
            stream.fill(slot, 0, buffer.block_mut());
            let at = place.base() + slot * place.kind.bytes() as u64;
            plain
                .write_all_at(buffer.block(), at)
                .map_err(|error| failed("write", error))?;
        }
        plain.sync_all().map_err(|error| failed("flush", error))?;
        let flags = match place.kind {
            DurabilityKind::Dsync => OFlags::DSYNC,
            DurabilityKind::Fua => OFlags::DIRECT,
            _ => OFlags::empty(),
        };
        Ok(Self {
            file: open(place, flags).map_err(|error| failed("open", error))?,
            base: place.base(),
            kind: place.kind,
            stream,
            buffer,
        })
    }
}

fn open(place: &StreamStorage<'_>, mut flags: OFlags) -> io::Result<File> {
    flags.set(OFlags::CREATE, !place.work.device);
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(held::open(&place.file(), flags | OFlags::RDWR, mode)?.into())
}

impl StreamWriter for SlotWriter {
    fn write(&mut self, sequence: u64) -> io::Result<()> {
        let slot = self.stream.slot(self.kind, sequence);
        self.stream.fill(slot, sequence, self.buffer.block_mut());
        let at = self.base + slot * self.kind.bytes() as u64;
        if self.kind == DurabilityKind::Fua {
            let block = [IoSlice::new(self.buffer.block())];
            let written = rustix::io::pwritev2(&self.file, &block, at, ReadWriteFlags::DSYNC)?;
            return match written == self.kind.bytes() {
                true => Ok(()),
                false => Err(io::ErrorKind::WriteZero.into()),
            };
        }
        self.file.write_all_at(self.buffer.block(), at)?;
        match self.kind {
            DurabilityKind::Fdatasync => self.file.sync_data(),
            DurabilityKind::Fsync => self.file.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Checks that every slot contains the last acknowledged write or a later one; its sectors
/// may be of several of these, because a write is not atomic as a whole.
pub(super) fn verify(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    atomic: u32,
    findings: &mut Findings,
) {
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for sequence in 1..=known.acknowledged {
        last.insert(stream.slot(place.kind, sequence), sequence);
    }
    findings.found.checked = last.len() as u64;
    let file = held::open_to_read(&place.file());
    let mut bytes = vec![0; place.kind.bytes()];
    for slot in 0..SLOTS {
        let required = last.get(&slot).copied().unwrap_or(0);
        let at = place.base() + slot * place.kind.bytes() as u64;
        let read = match &file {
            Ok(file) => file
                .read_exact_at(&mut bytes, at)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(()) => judge_slot(
                place.kind,
                stream,
                (slot, required),
                &bytes,
                atomic,
                findings,
            ),
            Err(why) if required > 0 => findings.lost(required, &format!("slot {slot}: {why}")),
            Err(_) => {}
        }
    }
    findings.judge_order();
}

fn judge_slot(
    kind: DurabilityKind,
    stream: Stream,
    (slot, required): (u64, u64),
    bytes: &[u8],
    atomic: u32,
    findings: &mut Findings,
) {
    let sectors = (0_u32..).zip(bytes.chunks(SECTOR));
    let found: Vec<Sector> = sectors
        .map(|(index, sector)| stream.parse(kind, slot, index, sector))
        .collect();
    let at = |index: usize| format!("slot {slot}, sector {index}");
    for (index, sector) in found.iter().enumerate() {
        match *sector {
            Sector::Torn(sequence) => {
                findings.torn(format!(
                    "{}: holds only a part of write {sequence}",
                    at(index)
                ));
                return;
            }
            Sector::Garbage => {
                findings.garbage(format!(
                    "{}: holds data that was never written there",
                    at(index)
                ));
                return;
            }
            Sector::Zero => {
                findings.lost(required, &format!("{} holds zeros", at(index)));
                return;
            }
            Sector::Of(sequence) if sequence < required => {
                findings.lost(required, &format!("{} holds write {sequence}", at(index)));
                return;
            }
            Sector::Of(_) => {}
        }
    }
    let unit = (atomic as usize / SECTOR).clamp(1, found.len());
    if let Some(index) = found
        .chunks(unit)
        .position(|unit| unit.iter().any(|s| *s != unit[0]))
    {
        findings.torn(format!(
            "{}: two writes within {atomic} bytes",
            at(index * unit)
        ));
        return;
    }
    let whole = found.iter().all(|sector| *sector == found[0]);
    if let (Sector::Of(sequence), true) = (found[0], whole) {
        findings.there(sequence, required);
    } else {
        findings.found.beyond += 1;
    }
}

/// Inserts a row in a separate transaction.
pub(super) struct RowWriter {
    database: Connection,
    stream: Stream,
    bytes: Vec<u8>,
}

impl RowWriter {
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, ActError> {
        let opened = open_rows(place).and_then(|database| {
            database.execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
                 CREATE TABLE writes (sequence INTEGER PRIMARY KEY, content BLOB NOT NULL);
                 PRAGMA wal_checkpoint(TRUNCATE);",
            )?;
            Ok(database)
        });
        let failed = |error: Error| ActError::failed(format!("{}: {error}", shown(&place.file())));
        Ok(Self {
            database: opened.map_err(failed)?,
            stream,
            bytes: vec![0; DurabilityKind::Sqlite.bytes()],
        })
    }
}

fn open_rows(place: &StreamStorage<'_>) -> Result<Connection, Error> {
    let refused = |error: io::Error| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        Error::SqliteFailure(code, Some(error.to_string()))
    };
    let_sqlite_in().map_err(refused)?;
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(place.file(), flags)
}

impl StreamWriter for RowWriter {
    fn write(&mut self, sequence: u64) -> io::Result<()> {
        self.stream.fill(sequence, sequence, &mut self.bytes);
        let number = i64::try_from(sequence).map_err(io::Error::other)?;
        self.database
            .prepare_cached("INSERT INTO writes VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute(params![number, self.bytes]))
            .map(|_| ())
            .map_err(io::Error::other)
    }
}

/// Checks that the database is intact and contains every acknowledged row unchanged.
pub(super) fn verify_rows(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) {
    findings.found.checked = known.acknowledged;
    if let Err(error) = verify_stream(place, stream, known, findings) {
        findings.garbage(format!("the database cannot be read: {error}"));
        findings.found.lost += known.acknowledged;
    }
    findings.judge_order();
}

fn verify_stream(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) -> Result<(), Error> {
    let database = open_rows(place)?;
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound != "ok" {
        findings.garbage(format!("integrity_check: {sound}"));
    }
    let mut rows = database.prepare("SELECT sequence, content FROM writes ORDER BY sequence")?;
    let mut rows = rows.query([])?;
    let mut expected = vec![0; DurabilityKind::Sqlite.bytes()];
    let mut next = 1;
    while let Some(row) = rows.next()? {
        let sequence: i64 = row.get(0)?;
        let sequence = u64::try_from(sequence).unwrap_or(0);
        let content: Vec<u8> = row.get(1)?;
        for missing in next..sequence.min(known.acknowledged + 1) {
            findings.lost(missing, "its row is missing");
        }
        next = sequence + 1;
        stream.fill(sequence, sequence, &mut expected);
        match content == expected {
            true => findings.there(sequence, known.acknowledged),
            false => findings.garbage(format!("row {sequence} is not as it was written")),
        }
    }
    for missing in next..=known.acknowledged {
        findings.lost(missing, "its row is missing");
    }
    Ok(())
}
