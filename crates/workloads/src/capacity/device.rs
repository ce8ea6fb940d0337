//! Filling or probing of a whole device.

use super::probe::Probe;
use super::{BlockStore, CHUNK, CHUNKS_PER_FLUSH, Checker, DirectFile, Use, probe};
use crate::observer::{Meter, ProgressReporter};
use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::act::capacity::{
    ALLOCATING, CapacityPart, CapacityReport, CapacityStep, Fill, SECTOR_BYTES, Tally,
};
use assay_model::act::{StepDetail, capacity};
use assay_model::job::Job;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fstatfs, fstatvfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Blocks listed by number if they could not be restored, at most.
const NAMED: usize = 16;

/// Writes a device from its first to its last sector, and reads it back.
pub(super) fn fill(
    path: &Path,
    fill: &Fill,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
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
) -> Result<(), ActError> {
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
) -> Result<bool, ActError> {
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
) -> Result<(), ActError> {
    let mut store = open(path, Use::Write)?;
    probe_store(path, &mut store, false, report, context)
}

/// Free space that is left to others during a probe, as one part in this many, and at least this
/// much.
const LEFT_FREE: u64 = 10;
const LEAST_LEFT_FREE: u64 = 16 << 20;
/// Attempts to allocate space, each of half as much: other programs may need it meanwhile.
const ATTEMPTS: u32 = 3;

/// Probes the free space of a folder: the blocks are those of a file whose space is allocated and
/// not written. The file has no name, so the kernel frees its space however this process ends.
pub(super) fn probe_free(
    folder: &Path,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT;
    let file = held::open(folder, flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(file.map_err(|errno| {
        let call = format!("cannot make a file with direct I/O in {}", shown(folder));
        ActError::call(call, errno)
    })?);
    let bytes = allocate(&file, folder)?;
    let mut store = DirectFile {
        file,
        bytes,
        direct: true,
    };
    probe_store(folder, &mut store, true, report, context)
}

/// Allocates most of the free space to a file; returns its length.
fn allocate(file: &File, folder: &Path) -> Result<u64, ActError> {
    let look = |errno| ActError::call(format!("cannot look at {}", shown(folder)), errno);
    #[expect(clippy::cast_sign_loss, reason = "a magic number of 32 bits")]
    let magic = fstatfs(file).map_err(look)?.f_type as u64 & 0xffff_ffff;
    if !ALLOCATING.iter().any(|(_, known)| *known == magic) {
        return Err(not_allocated(folder));
    }
    let stat = fstatvfs(file).map_err(look)?;
    // Without the part reserved for root.
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let mut length = free - (free / LEFT_FREE).max(LEAST_LEFT_FREE).min(free);
    let mut attempt = 1;
    loop {
        length = (length - length % SECTOR_BYTES).max(SECTOR_BYTES);
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(length),
            Err(Errno::OPNOTSUPP) => return Err(not_allocated(folder)),
            Err(Errno::NOSPC) if attempt < ATTEMPTS => {
                attempt += 1;
                length /= 2;
            }
            Err(errno) => {
                let call = format!("cannot allocate {} in {}", Bytes(length), shown(folder));
                return Err(ActError::call(call, errno));
            }
        }
    }
}

fn not_allocated(folder: &Path) -> ActError {
    ActError::Refused(format!(
        "the file system of {} does not allocate space without writing it: fill it, or unmount its \
         device and probe that",
        shown(folder)
    ))
}

fn probe_store(
    path: &Path,
    store: &mut DirectFile,
    of_free_space: bool,
    report: &mut CapacityReport,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let announced = store.bytes();
    let job = job::of_probing(announced, store.is_direct());
    let mut progress = ProgressReporter::new("probe", 0, None);
    let mut not_restored = Vec::new();
    let done = measured(&job, path, context, |meter, context| {
        let probed = probe::probe(&mut Probe {
            store,
            meter,
            progress: &mut progress,
            context,
            done: 0,
            of_free_space,
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

/// Lists blocks that could not be restored.
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

fn open(path: &Path, purpose: Use) -> Result<DirectFile, ActError> {
    let is_device = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    if !is_device {
        return Err(ActError::Refused(format!(
            "{} is neither a folder nor a block device",
            shown(path)
        )));
    }
    DirectFile::open(path, purpose)
}

/// Size in bytes of each write attempt within an unwritable chunk.
const PIECE: usize = 4096;
/// Unwritable chunks that are written again piece by piece, at most: each piece may take
/// seconds.
const PATIENCE: u32 = 64;
/// Consecutive chunks without any written byte, after which the rest of the device counts
/// as unwritable.
const HOPELESS: u32 = 64;

/// Writes the first `length` bytes of a store. Blocks that cannot be written are counted
/// and skipped. Returns the offset that was reached.
pub(super) fn write_all(
    store: &mut dyn BlockStore,
    length: u64,
    meter: &mut Meter,
    progress: &mut ProgressReporter,
    context: &mut Context<'_>,
) -> Result<u64, (u64, ActError)> {
    let mut buffer = IoBuf::zeroed(CHUNK);
    let mut writer = SegmentWriter {
        store,
        meter,
        patience: PATIENCE,
    };
    let (mut at, mut unflushed, mut in_vain) = (0, 0, 0);
    while at < length && in_vain < HOPELESS {
        if context.stopped() {
            writer.flush(at);
            return Err((at, ActError::Stopped));
        }
        let chunk = usize::try_from(length - at).map_or(CHUNK, |left| left.min(CHUNK));
        let bytes = &mut buffer.block_mut()[..chunk];
        capacity::fill(bytes, at);
        in_vain = if writer.write(at, bytes) {
            0
        } else {
            in_vain + 1
        };
        let there = writer.meter.is_there(context, at);
        there.map_err(|gone| (at, gone))?;
        at += chunk as u64;
        unflushed += 1;
        if unflushed == CHUNKS_PER_FLUSH {
            writer.flush(at);
            unflushed = 0;
        }
        progress.report(context, at);
    }
    if unflushed > 0 {
        writer.flush(at);
    }
    let there = meter.is_there(context, at);
    there.map_err(|gone| (at, gone))?;
    Ok(at)
}

struct SegmentWriter<'a> {
    store: &'a mut dyn BlockStore,
    meter: &'a mut Meter,
    patience: u32,
}

impl SegmentWriter<'_> {
    /// Writes a chunk, or the writable pieces of it; `false` if nothing was written.
    fn write(&mut self, at: u64, bytes: &[u8]) -> bool {
        if self.try_write(at, bytes).is_ok() {
            return true;
        }
        if self.patience == 0 {
            return false;
        }
        self.patience -= 1;
        let mut any = false;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let at = at + (number * PIECE) as u64;
            any |= self.try_write(at, piece).is_ok();
        }
        any
    }

    fn try_write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.store.write_counted(self.meter, at, bytes)
    }

    /// Flushes. A failure is counted; lost data is found when it is read back.
    fn flush(&mut self, at: u64) {
        let _ = self.store.flush_counted(self.meter, at);
    }
}

/// Jobs that describe the steps.
pub(super) mod job {
    use super::super::CHUNKS_PER_FLUSH;
    use crate::capacity::CHUNK;
    use assay_model::job::{CacheState, FileState, Flush, FlushCall, Job, Rw};
    use assay_model::units::{Bytes, Nanos};

    /// Interval of the series. It is long because filling takes hours.
    const INTERVAL: Nanos = Nanos::secs(1);

    /// Writes `bytes`, with a flush after every few chunks.
    pub(in crate::capacity) fn of_writing(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            flush: Flush {
                every: Some((CHUNKS_PER_FLUSH, FlushCall::Fdatasync)),
                at_end: Some(FlushCall::Fdatasync),
            },
            file_state: FileState::Fresh,
            cache_state: CacheState::AsIs,
            interval: INTERVAL,
            description: Some("fills it with sectors that say where they belong".to_owned()),
            ..Job::new("write", Rw::Write, Bytes(CHUNK as u64), Bytes(bytes))
        }
    }

    /// Reads `bytes` back.
    pub(in crate::capacity) fn of_checking(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            interval: INTERVAL,
            description: Some("reads back what was written and compares it".to_owned()),
            ..Job::new("verify", Rw::Read, Bytes(CHUNK as u64), Bytes(bytes))
        }
    }

    /// Marks scattered blocks and reads them back.
    pub(in crate::capacity) fn of_probing(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            cache_state: CacheState::AsIs,
            interval: INTERVAL,
            description: Some(
                "marks blocks, looks where the marks are, and puts back what was there".to_owned(),
            ),
            ..Job::new("probe", Rw::RandRw, Bytes::kib(4), Bytes(bytes))
        }
    }
}

/// Result of a step.
pub(super) struct Measured {
    pub(super) found: CapacityStep,
    pub(super) done: Result<(), ActError>,
}

/// Runs a step between clock start and clock stop, and reports its outcome.
///
/// # Errors
/// The error that ended the step early.
pub(super) fn measured(
    job: &Job,
    path: &Path,
    context: &mut Context<'_>,
    work: impl FnOnce(&mut Meter, &mut Context<'_>) -> Measured,
) -> Result<(), ActError> {
    let paths = [path];
    let step = ObservedStep { job, paths: &paths };
    context.observer.begins(step);
    context.observer.clock_starts(step);
    let mut meter = Meter::start(job.interval.0);
    let Measured { found, done } = work(&mut meter, context);
    let measurement = meter.stop();
    context.observer.clock_stopped();
    let outcome = ActError::outcome_of(&done);
    let came = StepOutcome {
        measured: Some(measurement),
        detail: Some(StepDetail::Capacity(found)),
    };
    context.observer.ended(outcome, came);
    context.observer.keep();
    done
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
