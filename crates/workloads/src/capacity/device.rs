//! A whole device, filled or probed.

use super::check::Checker;
use super::probe::{self, Probe};
use super::steps::{Measured, job, measured};
use super::store::{BlockStore, DirectFile, Use};
use super::write::write_all;
use crate::meter::Meter;
use crate::progress::ProgressReporter;
use crate::{Context, WorkError};
use assay_engine::held::shown;
use assay_model::wire::NoteWeight;
use assay_model::work::capacity::{
    CapacityPart, CapacityReport, CapacityStep, Fill, SECTOR_BYTES, Tally,
};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// So many blocks that could not be put back are named.
const NAMED: usize = 16;

/// Writes a device from its first to its last sector, and reads it back.
pub(super) fn fill(
    path: &Path,
    fill: &Fill,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let mut store = open(path, if fill.write { Use::Write } else { Use::Read })?;
    let length = store.bytes().min(fill.limit_bytes.unwrap_or(u64::MAX));
    let length = length - length % SECTOR_BYTES;
    if fill.write {
        write(path, &mut store, length, context)?;
    }
    if fill.verify {
        let steps_done = u32::from(fill.write);
        report.differs = check(path, &mut store, length, steps_done, context)?;
    }
    Ok(())
}

fn write(
    path: &Path,
    store: &mut DirectFile,
    length: u64,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let job = job::of_writing(length, store.is_direct());
    let mut progress = ProgressReporter::new("write", 0, Some(length));
    measured(&job, path, context, |meter, context| {
        let (came, done) = match write_all(store, length, meter, &mut progress, context) {
            Ok(came) => (came, Ok(())),
            Err((came, error)) => (came, Err(error)),
        };
        let found = found(store, part(path, came, meter, None));
        Measured { found, done }
    })
}

/// Checks a device; returns true if any data differs from the data written.
fn check(
    path: &Path,
    store: &mut DirectFile,
    length: u64,
    steps_done: u32,
    context: &mut Context<'_>,
) -> Result<bool, WorkError> {
    let job = job::of_checking(length, store.is_direct());
    let mut progress = ProgressReporter::new("verify", steps_done, Some(length));
    let mut differs = false;
    measured(&job, path, context, |meter, context| {
        let told = (&mut progress, context);
        let (tally, done) = Checker::new().check(store, 0, length, meter, told);
        let found = found(store, part(path, tally.bytes(), meter, Some(tally)));
        differs = found.differs();
        Measured { found, done }
    })?;
    Ok(differs)
}

fn found(store: &DirectFile, part: CapacityPart) -> CapacityStep {
    CapacityStep {
        announced_bytes: Some(store.bytes()),
        parts: vec![part],
        ..CapacityStep::default()
    }
}

fn part(path: &Path, bytes: u64, meter: &Meter, found: Option<Tally>) -> CapacityPart {
    CapacityPart {
        name: shown(path),
        offset: 0,
        bytes,
        elapsed_ns: meter.now_ns(),
        found,
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
    let job = job::of_probing(announced, store.is_direct());
    let mut progress = ProgressReporter::new("probe", 0, None);
    let mut not_restored = Vec::new();
    let done = measured(&job, path, context, |meter, context| {
        let probed = probe::probe(&mut Probe {
            store: &mut store,
            meter,
            progress: &mut progress,
            context,
            done: 0,
        });
        let (probed, done) = match probed {
            Ok(probed) => {
                report.differs = !probed.is_good();
                not_restored.clone_from(&probed.not_restored);
                (Some(probed), Ok(()))
            }
            Err(ended) => {
                not_restored = ended.not_restored;
                report.differs = !not_restored.is_empty();
                (None, Err(ended.error))
            }
        };
        let found = CapacityStep {
            announced_bytes: Some(announced),
            probed,
            ..CapacityStep::default()
        };
        Measured { found, done }
    });
    if let Some(text) = unrestored(&not_restored) {
        context.observer.note(NoteWeight::Warning, text);
    }
    done
}

/// Names blocks that could not be put back.
fn unrestored(blocks: &[u64]) -> Option<String> {
    let (first, last) = (blocks.first()?, blocks.last()?);
    let some: Vec<String> = blocks.iter().take(NAMED).map(u64::to_string).collect();
    let more = match blocks.len() > NAMED {
        true => format!(" and more up to {last}"),
        false => String::new(),
    };
    Some(format!(
        "{} of the probed blocks could not be put back as they were, the first at offset {first}: \
         restore 4 KiB each at {}{more} from a copy",
        blocks.len(),
        some.join(", ")
    ))
}

fn open(path: &Path, purpose: Use) -> Result<DirectFile, WorkError> {
    let is_device = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    if !is_device {
        return Err(WorkError::Refused(format!(
            "{} is neither a folder nor a block device",
            shown(path)
        )));
    }
    DirectFile::open(path, purpose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_were_not_put_back_are_named() {
        assert_eq!(unrestored(&[]), None);
        let few = unrestored(&[4_096, 12_288]).unwrap();
        assert!(few.starts_with("2 of the probed blocks") && few.contains("at 4096, 12288 from"));
        let many: Vec<u64> = (0..100).map(|block| block * 4_096).collect();
        assert!(
            unrestored(&many)
                .unwrap()
                .contains("61440 and more up to 405504 from")
        );
    }
}
