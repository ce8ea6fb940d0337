//! Capacity check: storage is filled and read back, or probed.

mod check;
mod device;
mod files;
mod folder;
mod probe;
mod steps;
pub(crate) mod store;

use crate::files::write_back;
use crate::progress::ProgressReporter;
use crate::{Context, WorkError};
use assay_engine::held::{self, shown};
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_model::work::WorkReport;
use assay_model::work::capacity::{
    Capacity, CapacityPart, CapacityReport, CapacityStep, Fill, Task,
};
use check::Checker;
use files::{name, offset};
use folder::Filled;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use steps::{Measured, job, measured};
use store::{BlockStore, DirectFile, Use};

/// Chunks after which storage is flushed, so that the device's cache does not hide how far the
/// writing has come.
const CHUNKS_PER_FLUSH: u32 = 16;

/// Fills, checks or probes.
///
/// # Errors
/// If the path is neither a folder nor a device, and for failures other than a difference in
/// the data. A stop is not an error: the report then contains the progress so far.
pub(crate) fn run(work: &Capacity, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    let path = &work.path;
    if let Task::Fill(fill) = &work.task {
        files::check_range(fill)?;
    }
    let found = fs::metadata(path).map_err(|error| WorkError::io("look at", path, &error))?;
    let mut report = CapacityReport::default();
    let done = match &work.task {
        Task::Fill(fill) if found.is_dir() => in_folder(path, fill, &mut report, context),
        _ if found.is_dir() => Err(WorkError::Refused(format!(
            "{} is a folder: only a block device can be probed",
            shown(path)
        ))),
        Task::Fill(fill) => device::fill(path, fill, &mut report, context),
        Task::Probe => device::probe(path, &mut report, context),
    };
    match done {
        Ok(()) | Err(WorkError::Stopped) => Ok(WorkReport::Capacity(report)),
        Err(error) => Err(error),
    }
}

fn in_folder(
    folder: &Path,
    fill: &Fill,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let mut filled = Filled::default();
    let written;
    let fill = if fill.write {
        written = files::within_limit(fill);
        &written
    } else {
        fill
    };
    if fill.write {
        clear(folder, fill, context)?;
        let wrote = write_files(folder, fill, &mut filled, context);
        report.kept = filled.parts.iter().map(|part| part.name.clone()).collect();
        if wrote.is_err() && !report.kept.is_empty() {
            say_kept(&filled, folder, context);
        }
        wrote?;
    }
    if fill.verify {
        report.differs = check_files(folder, fill, context)?;
    }
    if fill.remove && fill.verify {
        tidy(folder, &filled, report, context)?;
    }
    Ok(())
}

/// Removes files of an earlier run that are in the way, as f3write does, but refuses to remove
/// files that other programs wrote.
fn clear(folder: &Path, fill: &Fill, context: &mut Context<'_>) -> Result<(), WorkError> {
    let old = files::list(folder, fill)?;
    if old.is_empty() {
        return Ok(());
    }
    for (&number, path) in &old {
        files::is_ours(number, path)?;
    }
    for path in old.values() {
        held::remove_file(path).map_err(|error| WorkError::io("remove", path, &error))?;
    }
    let numbers: Vec<String> = old.keys().copied().map(name).collect();
    let text = format!("removed what an earlier run left: {}", span(&numbers));
    context.observer.note(NoteWeight::Info, text);
    // The file system may free the space of removed files only when it writes back.
    write_back(folder)
}

/// Free space below this counts as none, in bytes: a file system may need it for the metadata
/// of a file.
const LEAST_ROOM: u64 = 1 << 20;

/// Returns the free space in a file system; for root, with the part reserved for root.
fn free_bytes(folder: &Path) -> Result<u64, WorkError> {
    let stat = rustix::fs::statvfs(folder)
        .map_err(|errno| WorkError::call(format!("cannot look at {}", shown(folder)), errno))?;
    let blocks = match rustix::process::geteuid().is_root() {
        true => stat.f_bfree,
        false => stat.f_bavail,
    };
    Ok(blocks.saturating_mul(stat.f_frsize))
}

fn write_files(
    folder: &Path,
    fill: &Fill,
    filled: &mut Filled,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let announced = free_bytes(folder)?;
    let total = announced
        .min(fill.limit_bytes.unwrap_or(u64::MAX))
        .min(files::full_bytes(fill).unwrap_or(u64::MAX));
    let wanted = fill.limit_bytes.unwrap_or(u64::MAX).min(LEAST_ROOM);
    if announced < wanted {
        return Err(WorkError::Refused(format!(
            "not enough space in {}: {} are free, and a test file needs at least {}",
            shown(folder),
            Bytes(announced),
            Bytes(wanted)
        )));
    }
    let job = job::of_writing(total, false);
    let mut progress = ProgressReporter::new("write", 0, Some(total));
    let done = measured(&job, folder, context, |meter, context| {
        let done = folder::write(folder, fill, filled, meter, (&mut progress, context));
        let found = CapacityStep {
            announced_bytes: Some(announced),
            parts: filled.parts.clone(),
            ..CapacityStep::default()
        };
        Measured { found, done }
    });
    // The files' directory entries must survive a power cut, like their data.
    if let Ok(folder) = held::open_to_read(folder) {
        let _ = rustix::fs::fsync(folder);
    }
    done
}

/// Checks the files; returns true if any data differs from the data written.
fn check_files(folder: &Path, fill: &Fill, context: &mut Context<'_>) -> Result<bool, WorkError> {
    let files = files::list(folder, fill)?;
    let Some(first) = files.values().next() else {
        return Err(WorkError::Refused(format!(
            "no files to check (1.h2w, ...) in {}: run without --verify-only first",
            shown(folder)
        )));
    };
    let direct = DirectFile::open(first, Use::Read)?.is_direct();
    let mut lengths = Vec::new();
    for (&number, path) in &files {
        let meta = fs::metadata(path).map_err(|error| WorkError::io("look at", path, &error))?;
        lengths.push((number, meta.len()));
    }
    let total = lengths.iter().map(|(_, bytes)| bytes).sum();
    let job = job::of_checking(total, direct);
    let mut progress = ProgressReporter::new("verify", u32::from(fill.write), Some(total));
    let mut differs = false;
    measured(&job, folder, context, |meter, context| {
        let mut parts = Vec::new();
        let done = check_each(&files, &mut parts, meter, (&mut progress, context));
        let missing = files::missing(&files, fill);
        let found = CapacityStep {
            parts,
            missing: missing.named,
            missing_files: missing.files,
            short: files::short(&lengths),
            ..CapacityStep::default()
        };
        differs = found.differs();
        Measured { found, done }
    })?;
    Ok(differs)
}

fn check_each(
    files: &BTreeMap<u32, PathBuf>,
    parts: &mut Vec<CapacityPart>,
    meter: &mut crate::meter::Meter,
    (progress, context): (&mut ProgressReporter, &mut Context<'_>),
) -> Result<(), WorkError> {
    let mut checker = Checker::new();
    for (&number, path) in files {
        let began_ns = meter.now_ns();
        let mut store = DirectFile::open(path, Use::Read)?;
        let length = store.bytes();
        let (found, ended) = checker.check(
            &mut store,
            offset(number),
            length,
            meter,
            (progress, context),
        );
        parts.push(CapacityPart {
            name: name(number),
            offset: offset(number),
            bytes: found.bytes(),
            elapsed_ns: meter.now_ns().saturating_sub(began_ns),
            found: Some(found),
        });
        ended?;
    }
    Ok(())
}

/// Removes the files of this run, unless some data differs from the data written: then the
/// files may be needed for analysis.
fn tidy(
    folder: &Path,
    filled: &Filled,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    if filled.files.is_empty() {
        return Ok(());
    }
    if report.differs {
        say_kept(filled, folder, context);
        return Ok(());
    }
    for path in &filled.files {
        held::remove_file(path).map_err(|error| WorkError::io("remove", path, &error))?;
    }
    report.kept.clear();
    Ok(())
}

fn say_kept(filled: &Filled, folder: &Path, context: &mut Context<'_>) {
    let names: Vec<String> = filled.parts.iter().map(|part| part.name.clone()).collect();
    let text = format!(
        "kept {} with {} in {}: assay capacity --verify-only checks what was written",
        span(&names),
        Bytes(filled.bytes()),
        shown(folder)
    );
    context.observer.note(NoteWeight::Warning, text);
}

/// Formats a range of names: `1.h2w`, or `1.h2w to 7.h2w`.
fn span(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests;
