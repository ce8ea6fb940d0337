//! Checks for certain failures before the measurement, which may take hours.

use crate::exit::Failure;
use assay_model::storage::folder_of;
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use assay_model::work::iozone::{Iozone, Test};
use assay_report::xlsx;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

/// Fails if there is not enough space for the files, the workbook's folder does not exist, or the
/// workbook would replace a file that assay did not write.
pub fn check(
    work: &Iozone,
    inspection: &Inspection,
    workbook: Option<&Path>,
) -> Result<(), Failure> {
    has_room(work, inspection)?;
    workbook.map_or(Ok(()), |asked| {
        let (path, _) = xlsx::file_name(asked);
        has_folder(&path)?;
        may_be_replaced(&path)
    })
}

/// Checks the space for the files of all children, each as large as the largest file.
fn has_room(work: &Iozone, inspection: &Inspection) -> Result<(), Failure> {
    if !work.tests.contains(&Test::Write) {
        return Ok(());
    }
    let largest = work.rows.iter().map(|row| row.file_kib).max().unwrap_or(0);
    let files = work.children.iter().copied().max().unwrap_or(1).max(1);
    let wanted = Bytes(largest.saturating_mul(1024).saturating_mul(files.into()));
    let room = match inspection.kind {
        PathKind::Device { size } | PathKind::Simulated { size } => size,
        // An existing file is overwritten, so that its own space counts.
        PathKind::File { length, .. } => {
            let free = inspection.storage.available.unwrap_or(Bytes(u64::MAX));
            Bytes(free.0.saturating_add(length.0))
        }
        PathKind::Directory { .. } => inspection.storage.available.unwrap_or(Bytes(u64::MAX)),
    };
    if wanted <= room {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "not enough space for {} {} of {}: {} has {room} free; choose a smaller -s, -g or -t",
        files,
        if files == 1 { "file" } else { "files" },
        Bytes(largest.saturating_mul(1024)),
        inspection.path.display()
    )))
}

fn has_folder(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot write {}: there is no folder {}",
        path.display(),
        folder.display()
    )))
}

/// Refuses to replace a file that was not written by assay, or was saved since. A workbook of assay
/// is replaced, as iozone does it.
fn may_be_replaced(path: &Path) -> Result<(), Failure> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened,
    };
    let is_ours = |file: File| {
        let is_empty = file.metadata().is_ok_and(|meta| meta.len() == 0);
        is_empty || xlsx::is_untouched(BufReader::new(file))
    };
    if file.is_ok_and(is_ours) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is no workbook of assay's, or was saved since: name another one with -b, or move it \
         away",
        path.display()
    )))
}
