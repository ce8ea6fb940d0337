//! Capacity check: storage is filled and read back, or probed.

mod device;
mod files;
mod probe;

use crate::observer::{Meter, ProgressReporter};
use crate::write_back;
use crate::{ActError, Context};
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::act::ActReport;
use assay_model::act::capacity::{
    Capacity, CapacityPart, CapacityReport, CapacityStep, Fill, SECTOR, SECTOR_BYTES, Tally, Task,
    classify,
};
use assay_model::job::Direction;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use device::{Measured, job, measured};
use files::{Filled, name, offset};
use rustix::fs::{Advice, Mode, OFlags, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Chunks after which storage is flushed, so that the device's cache does not hide how far the
/// writing has come.
const CHUNKS_PER_FLUSH: u32 = 16;

/// Fills, checks or probes.
///
/// # Errors
/// If the path is neither a folder nor a device, and for failures other than a difference in
/// the data. A stop is not an error: the report then contains the progress so far.
pub(crate) fn run(work: &Capacity, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    let path = &work.path;
    if let Task::Fill(fill) = &work.task {
        files::check_range(fill)?;
    }
    let found = fs::metadata(path).map_err(|error| ActError::io("look at", path, &error))?;
    let mut report = CapacityReport::default();
    let done = match &work.task {
        Task::Fill(fill) if found.is_dir() => in_folder(path, fill, &mut report, context),
        Task::ProbeFree => device::probe_free(path, &mut report, context),
        Task::Probe if found.is_dir() => Err(ActError::Refused(format!(
            "{} is a folder: only a block device can be probed",
            shown(path)
        ))),
        Task::Fill(fill) => device::fill(path, fill, &mut report, context),
        Task::Probe => device::probe(path, &mut report, context),
    };
    match done {
        Ok(()) | Err(ActError::Stopped) => Ok(ActReport::Capacity(report)),
        Err(error) => Err(error),
    }
}

fn in_folder(
    folder: &Path,
    fill: &Fill,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
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
fn clear(folder: &Path, fill: &Fill, context: &mut Context<'_>) -> Result<(), ActError> {
    let old = files::list(folder, fill)?;
    if old.is_empty() {
        return Ok(());
    }
    for (&number, path) in &old {
        files::is_ours(number, path)?;
    }
    for path in old.values() {
        held::remove_file(path).map_err(|error| ActError::io("remove", path, &error))?;
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
fn free_bytes(folder: &Path) -> Result<u64, ActError> {
    let stat = rustix::fs::statvfs(folder)
        .map_err(|errno| ActError::call(format!("cannot look at {}", shown(folder)), errno))?;
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
) -> Result<(), ActError> {
    let announced = free_bytes(folder)?;
    let total = announced
        .min(fill.limit_bytes.unwrap_or(u64::MAX))
        .min(files::full_bytes(fill).unwrap_or(u64::MAX));
    let wanted = fill.limit_bytes.unwrap_or(u64::MAX).min(LEAST_ROOM);
    if announced < wanted {
        return Err(ActError::Refused(format!(
            "not enough space in {}: {} are free, and a test file needs at least {}",
            shown(folder),
            Bytes(announced),
            Bytes(wanted)
        )));
    }
    let job = job::of_writing(total, false);
    let mut progress = ProgressReporter::new("write", 0, Some(total));
    let done = measured(&job, folder, context, |meter, context| {
        let done = files::write(folder, fill, filled, meter, (&mut progress, context));
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
fn check_files(folder: &Path, fill: &Fill, context: &mut Context<'_>) -> Result<bool, ActError> {
    let files = files::list(folder, fill)?;
    let Some(first) = files.values().next() else {
        return Err(ActError::Refused(format!(
            "no files to check (1.h2w, ...) in {}: run without --verify-only first",
            shown(folder)
        )));
    };
    let direct = DirectFile::open(first, Use::Read)?.is_direct();
    let mut lengths = Vec::new();
    for (&number, path) in &files {
        let meta = fs::metadata(path).map_err(|error| ActError::io("look at", path, &error))?;
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
    meter: &mut Meter,
    (progress, context): (&mut ProgressReporter, &mut Context<'_>),
) -> Result<(), ActError> {
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
) -> Result<(), ActError> {
    if filled.files.is_empty() {
        return Ok(());
    }
    if report.differs {
        say_kept(filled, folder, context);
        return Ok(());
    }
    for path in &filled.files {
        held::remove_file(path).map_err(|error| ActError::io("remove", path, &error))?;
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

/// Storage of a known length. Tests implement it with faults that no available device
/// has.
pub(crate) trait BlockStore {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;
    /// Reads all of `into` from `offset` on, except bytes beyond the end.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;
    /// Writes all of `from` to `offset`.
    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()>;
    /// Flushes: on return, all written data is durable.
    fn flush(&mut self) -> io::Result<()>;

    /// Reads like [`Self::read_at`], and counts.
    fn read_counted(&mut self, meter: &mut Meter, at: u64, into: &mut [u8]) -> io::Result<()> {
        let (length, began_ns) = (into.len() as u64, meter.now_ns());
        self.read_at(at, into)
            .inspect_err(|error| meter.failed(Some(Direction::Read), at, length, error))?;
        meter.moved(Direction::Read, length, began_ns);
        Ok(())
    }

    /// Writes like [`Self::write_at`], and counts.
    fn write_counted(&mut self, meter: &mut Meter, at: u64, from: &[u8]) -> io::Result<()> {
        let (length, began_ns) = (from.len() as u64, meter.now_ns());
        self.write_at(at, from)
            .inspect_err(|error| meter.failed(Some(Direction::Write), at, length, error))?;
        meter.moved(Direction::Write, length, began_ns);
        Ok(())
    }

    /// Flushes like [`Self::flush`], and counts. `at` is the end of the data written
    /// before.
    fn flush_counted(&mut self, meter: &mut Meter, at: u64) -> io::Result<()> {
        let began_ns = meter.now_ns();
        self.flush()
            .inspect_err(|error| meter.failed(None, at, 0, error))?;
        meter.flushed(began_ns);
        Ok(())
    }
}

/// Access for which a file or device is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// For reading.
    Read,
    /// For reading and writing; a device is held exclusively.
    Write,
}

/// A file or device, accessed without the page cache if possible.
#[derive(Debug)]
pub(crate) struct DirectFile {
    file: File,
    bytes: u64,
    direct: bool,
}

impl DirectFile {
    /// Opens a path with `O_DIRECT`, or without if the file system does not support it:
    /// its pages are then dropped first.
    pub(crate) fn open(path: &Path, purpose: Use) -> Result<Self, ActError> {
        let failed = |errno| ActError::call(format!("cannot open {}", shown(path)), errno);
        let flags = match purpose {
            Use::Read => OFlags::RDONLY,
            Use::Write => OFlags::RDWR | OFlags::EXCL,
        };
        let (file, direct) = open_direct(path, flags | OFlags::NOFOLLOW).map_err(failed)?;
        // Unlike the metadata, this also returns the length of a device.
        let bytes = seek(&file, SeekFrom::End(0)).map_err(failed)?;
        if !direct {
            // Pages that stay cached appear in the evidence.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
        Ok(Self {
            file,
            bytes,
            direct,
        })
    }

    /// Returns true if it is accessed without the page cache.
    pub(crate) const fn is_direct(&self) -> bool {
        self.direct
    }
}

/// Opens with `O_DIRECT` if that is supported; returns `true` if it was.
pub(crate) fn open_direct(path: &Path, flags: OFlags) -> Result<(File, bool), Errno> {
    let open = |more| held::open(path, flags | OFlags::CLOEXEC | more, Mode::empty());
    let (opened, direct) = match open(OFlags::DIRECT) {
        Err(Errno::INVAL) => (open(OFlags::empty()), false),
        other => (other, true),
    };
    Ok((opened?.into(), direct))
}

impl BlockStore for DirectFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() && offset + (done as u64) < self.bytes {
            match self.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    fn flush(&mut self) -> io::Result<()> {
        rustix::fs::fdatasync(&self.file).map_err(Into::into)
    }
}

/// Bytes of one read.
const CHUNK: usize = 1 << 20;
/// Size in bytes of each read attempt within an unreadable chunk.
const PIECE: usize = 4096;
/// Unreadable chunks that are read again piece by piece, at most: each piece may take
/// seconds.
const PATIENCE: u32 = 64;

/// Reads storage back, one part after the other, and compares it sector by sector.
struct Checker {
    buffer: IoBuf,
    patience: u32,
    /// Bytes processed so far.
    done: u64,
}

impl Checker {
    fn new() -> Self {
        Self {
            buffer: IoBuf::zeroed(CHUNK),
            patience: PATIENCE,
            done: 0,
        }
    }

    /// Checks the whole sectors of the first `length` bytes of a store, whose first
    /// sector has the offset `base` within all written data. Returns the findings, also
    /// if the check was stopped early.
    fn check(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        length: u64,
        meter: &mut Meter,
        (progress, context): (&mut ProgressReporter, &mut Context<'_>),
    ) -> (Tally, Result<(), ActError>) {
        let mut tally = Tally::default();
        let end = length - length % SECTOR_BYTES;
        let mut at = 0;
        while at < end {
            if context.stopped() {
                return (tally, Err(ActError::Stopped));
            }
            let chunk = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let around = (&mut *meter, &*context);
            if let Err(gone) = self.check_chunk(store, base, at, chunk, around, &mut tally) {
                return (tally, Err(gone));
            }
            at += chunk as u64;
            self.done += chunk as u64;
            progress.report(context, self.done);
        }
        (tally, Ok(()))
    }

    fn check_chunk(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        at: u64,
        length: usize,
        (meter, context): (&mut Meter, &Context<'_>),
        tally: &mut Tally,
    ) -> Result<(), ActError> {
        if self.read(store, base, at, length, meter, tally) {
            return Ok(());
        }
        meter.is_there(context, self.done)?;
        if self.patience == 0 {
            tally.unreadable(base + at, length as u64 / SECTOR_BYTES);
            return Ok(());
        }
        self.patience -= 1;
        for piece in (0..length).step_by(PIECE) {
            let short = PIECE.min(length - piece);
            let at = at + piece as u64;
            if !self.read(store, base, at, short, meter, tally) {
                meter.is_there(context, self.done)?;
                tally.unreadable(base + at, short as u64 / SECTOR_BYTES);
            }
        }
        Ok(())
    }

    /// Reads and counts sectors; `false` if they cannot be read.
    fn read(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        at: u64,
        length: usize,
        meter: &mut Meter,
        tally: &mut Tally,
    ) -> bool {
        // Direct reads need whole blocks, even if a file ends within one.
        let whole = length.next_multiple_of(PIECE);
        let bytes = &mut self.buffer.block_mut()[..whole];
        let began_ns = meter.now_ns();
        if let Err(error) = store.read_at(at, bytes) {
            meter.failed(Some(Direction::Read), base + at, length as u64, &error);
            return false;
        }
        meter.moved(Direction::Read, length as u64, began_ns);
        let mut offset = base + at;
        for sector in bytes[..length].chunks_exact(SECTOR) {
            tally.count(classify(sector, offset), offset);
            offset += SECTOR_BYTES;
        }
        true
    }
}

#[cfg(test)]
mod tests;
