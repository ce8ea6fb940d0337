//! Writes to files: a new file renamed over the old one, and an append to a file.

use super::StreamWriter;
use super::content::{SECTOR, Sector, Stream};
use super::{Findings, StreamStorage};
use crate::WorkError;
use assay_engine::held;
use assay_model::work::powercut::{DurabilityKind, KnownWrites};
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// Replaces the file by a new one.
pub(super) struct Renamer {
    folder: PathBuf,
    stream: Stream,
    bytes: Vec<u8>,
}

impl Renamer {
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, WorkError> {
        let mut renamer = Self {
            folder: place.folder.to_owned(),
            stream,
            bytes: vec![0; DurabilityKind::Rename.bytes()],
        };
        renamer
            .write(0)
            .map_err(|error| WorkError::io("write", &place.file(), &error))?;
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
        .map(|(index, sector)| stream.look(DurabilityKind::Rename, 0, index, sector))
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
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, WorkError> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let file = held::open(&place.file(), flags, Mode::RUSR | Mode::WUSR);
        let file = file.map_err(|errno| WorkError::io("open", &place.file(), &errno.into()))?;
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
        .map(|(index, sector)| stream.look(DurabilityKind::Append, sequence, index, sector))
        .max_by_key(rank)
        .unwrap_or(Sector::Zero)
}
