//! A whole device, filled or probed.

use super::check::Checker;
use super::probe::{self, Probe};
use super::steps::{Measured, job, measured};
use super::store::{BlockStore, DirectFile, Use};
use super::write::write_all;
use crate::meter::Meter;
use crate::pulse::Pulse;
use crate::{Context, WorkError};
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_model::work::capacity::{CapacityReport, Fill, Part, SECTOR_BYTES, Tally};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Writes a device from its first to its last sector, and reads it back.
pub(super) fn fill(
    path: &Path,
    fill: &Fill,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let mut store = open(path, if fill.write { Use::Write } else { Use::Read })?;
    let announced = store.bytes();
    report.announced_bytes = Some(announced);
    let length = announced.min(fill.limit_bytes.unwrap_or(u64::MAX));
    let length = length - length % SECTOR_BYTES;
    let name = path.display().to_string();
    if fill.write {
        let job = job::of_writing(length, store.is_direct());
        let mut pulse = Pulse::new("write", 0, Some(length));
        let mut bytes = 0;
        let done = measured(&job, path, context, |meter, context| {
            let wrote = write_all(&mut store, length, meter, &mut pulse, context);
            let (came, done) = split(wrote);
            bytes = came;
            let part = part(&name, came, meter, None);
            let parts = vec![part];
            Measured { parts, done }
        });
        report.written_bytes = Some(bytes);
        done?;
    }
    if fill.verify {
        let job = job::of_checking(length, store.is_direct());
        let mut pulse = Pulse::new("verify", u32::from(fill.write), Some(length));
        let mut found = Tally::default();
        let done = measured(&job, path, context, |meter, context| {
            let told = (&mut pulse, context);
            let checked = Checker::new().check(&mut store, 0, length, meter, told);
            let (tally, done) = split(checked);
            found = tally.clone();
            let part = part(&name, tally.bytes(), meter, Some(tally));
            let parts = vec![part];
            Measured { parts, done }
        });
        report.found = Some(found);
        done?;
    }
    Ok(())
}

fn part(name: &str, bytes: u64, meter: &Meter, found: Option<Tally>) -> Part {
    Part {
        name: name.to_owned(),
        offset: 0,
        bytes,
        elapsed_ns: meter.now_ns(),
        found,
    }
}

/// What came of it, and what ended it early.
fn split<T>(came: Result<T, (T, WorkError)>) -> (T, Result<(), WorkError>) {
    match came {
        Ok(value) => (value, Ok(())),
        Err((value, error)) => (value, Err(error)),
    }
}

/// Probes a device.
pub(super) fn probe(
    path: &Path,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let mut store = open(path, Use::Write)?;
    let announced = store.bytes();
    report.announced_bytes = Some(announced);
    let job = job::of_probing(announced, store.is_direct());
    let mut pulse = Pulse::new("probe", 0, None);
    let mut found = None;
    let done = measured(&job, path, context, |meter, context| {
        let probed = probe::probe(&mut Probe {
            store: &mut store,
            meter,
            pulse: &mut pulse,
            context,
            done: 0,
        });
        let done = probed.map(|probed| found = Some(probed));
        let parts = Vec::new();
        Measured { parts, done }
    });
    if let Some(probed) = &found {
        let written = Bytes(probed.blocks_written * probed.block_bytes);
        if !probed.not_restored.is_empty() {
            let text = format!(
                "{} of the {written} written could not be put back as they were",
                Bytes(probed.not_restored.len() as u64 * probed.block_bytes)
            );
            context.observer.note(NoteWeight::Warning, text);
        }
        report.written_bytes = Some(written.0);
    }
    report.probed = found;
    done
}

fn open(path: &Path, purpose: Use) -> Result<DirectFile, WorkError> {
    let is_device = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    if !is_device {
        return Err(WorkError::Refused(format!(
            "{} is neither a folder nor a block device",
            path.display()
        )));
    }
    DirectFile::open(path, purpose)
}
