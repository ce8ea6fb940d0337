//! Overwriting: a file, or a part of a device, consists of slots with one write each.

use super::StreamWriter;
use super::content::{SECTOR, SLOTS, Sector, Stream};
use super::{Findings, StreamStorage};
use crate::WorkError;
use assay_engine::buffer::IoBuf;
use assay_engine::held;
use assay_model::work::powercut::{DurabilityKind, KnownWrites};
use rustix::fs::{Mode, OFlags};
use rustix::io::ReadWriteFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;

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
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, WorkError> {
        let path = place.file();
        let failed = |doing, error: io::Error| WorkError::io(doing, &path, &error);
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
            Ok(()) => look_at(
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

fn look_at(
    kind: DurabilityKind,
    stream: Stream,
    (slot, required): (u64, u64),
    bytes: &[u8],
    atomic: u32,
    findings: &mut Findings,
) {
    let sectors = (0_u32..).zip(bytes.chunks(SECTOR));
    let found: Vec<Sector> = sectors
        .map(|(index, sector)| stream.look(kind, slot, index, sector))
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
