//! Samples over the extent of a device or file, as GNOME Disks takes them.
//!
//! The clock runs only while a sample is taken: positioning, and reading the data to write back,
//! are excluded.

use crate::capacity::open_direct;
use crate::observer::{Meter, ProgressReporter, nanos};
use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::buffer::IoBuf;
use assay_engine::held::shown;
use assay_engine::{held, layout};
use assay_model::act::{
    ActProgress, ActReport, Extent, ExtentSample, ExtentStep, ProgressUnit, SampleKind, StepDetail,
};
use assay_model::job::{Direction, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::NoteWeight;
use rustix::fs::{Advice, OFlags, SeekFrom, fadvise, seek};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes of a sample, at most: a sample is held in memory as a whole.
const LARGEST_SAMPLE: u64 = 1 << 30;

/// Takes the requested samples.
///
/// # Errors
/// If a sample is too large, or the path cannot be opened, is too small, or fails repeatedly.
pub(crate) fn run(work: &Extent, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    if work.sample_bytes > LARGEST_SAMPLE {
        return Err(ActError::Refused(format!(
            "a sample of {} is too large: the largest --sample-size is {}",
            Bytes(work.sample_bytes),
            Bytes(LARGEST_SAMPLE)
        )));
    }
    let mut place = ExtentFile::open(work, context)?;
    let length = place.bytes();
    if length < work.sample_bytes {
        return Err(ActError::Refused(format!(
            "{} has {}, which is less than one sample of {}: choose a smaller --sample-size",
            shown(&work.path),
            Bytes(length),
            Bytes(work.sample_bytes)
        )));
    }
    let offsets = offsets(length, work.samples, place.page());
    step(work, SampleKind::Read, &offsets, &mut place, context)?;
    if work.write {
        step(work, SampleKind::Write, &offsets, &mut place, context)?;
    }
    if work.access_samples > 1 {
        let offsets = random(length, work.access_samples, place.page(), context.seed);
        step(work, SampleKind::Access, &offsets, &mut place, context)?;
    }
    Ok(ActReport::Steps)
}

/// Takes all samples of one kind.
fn step(
    work: &Extent,
    of: SampleKind,
    offsets: &[u64],
    place: &mut ExtentFile,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let job = job(work, of, place);
    let path = place.path().to_owned();
    let paths = [path.as_path()];
    let step = ObservedStep {
        job: &job,
        paths: &paths,
    };
    context.observer.begins(step);
    let mut sampler = Sampler::new(place, of, work.sample_bytes);
    let offsets = match of {
        SampleKind::Access => sampler.warm_up(offsets),
        SampleKind::Read | SampleKind::Write => offsets,
    };
    context.observer.clock_starts(step);
    let mut meter = Meter::start(0);
    let done = sampler.take(offsets, &mut meter, context);
    let samples = sampler.into_samples();
    let measured = meter.stop_at(samples.iter().map(|sample| sample.elapsed_ns).sum());
    context.observer.clock_stopped();
    let outcome = ActError::outcome_of(&done);
    let detail = ExtentStep {
        of,
        extent_bytes: place.bytes(),
        samples,
    };
    let came = StepOutcome {
        measured: Some(measured),
        detail: Some(StepDetail::Extent(detail)),
    };
    context.observer.ended(outcome, came);
    context.observer.keep();
    done
}

/// Describes a step as a job.
fn job(work: &Extent, of: SampleKind, place: &ExtentFile) -> Job {
    let (name, rw, bs, number) = match of {
        SampleKind::Read => ("read", Rw::Read, work.sample_bytes, work.samples),
        SampleKind::Write => ("write", Rw::Write, work.sample_bytes, work.samples),
        SampleKind::Access => {
            let counted = work.access_samples.saturating_sub(1);
            ("access", Rw::RandRead, place.page(), counted)
        }
    };
    let description = match of {
        SampleKind::Read => "samples over the whole extent",
        SampleKind::Write => "the same samples, written back as they were read",
        SampleKind::Access => "single pages at random places, one after the other",
    };
    Job {
        io_size: Some(Bytes(bs.saturating_mul(number.into()))),
        direct: place.is_direct(),
        sync: OpenSync::Sync,
        flush: Flush {
            every: (of == SampleKind::Write).then_some((1, FlushCall::Fsync)),
            at_end: None,
        },
        interval: Nanos(0),
        description: Some(description.to_owned()),
        ..Job::new(name, rw, Bytes(bs), Bytes(place.bytes()))
    }
}

/// Returns `samples` offsets, evenly distributed over a length and aligned to pages.
fn offsets(length: u64, samples: u32, page: u64) -> Vec<u64> {
    let samples = u64::from(samples.max(1));
    let last_page = (length / page).saturating_sub(1) * page;
    (0..samples)
        .map(|number| {
            let exact = u128::from(length) * u128::from(number) / u128::from(samples);
            let exact = u64::try_from(exact).unwrap_or(u64::MAX);
            (exact - exact % page).min(last_page)
        })
        .collect()
}

/// Returns `samples` random page offsets within a length, possibly with repetitions.
fn random(length: u64, samples: u32, page: u64, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    let pages = (length / page).max(1);
    (0..samples).map(|_| rng.below(pages) * page).collect()
}

/// Name of the file that is made in a folder; the agent knows it and removes the file.
const FILE: &str = "data";

/// An opened device or file.
#[derive(Debug)]
struct ExtentFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    page: u64,
    direct: bool,
}

impl ExtentFile {
    /// Opens a path; for a folder, creates a file first.
    fn open(work: &Extent, context: &mut Context<'_>) -> Result<Self, ActError> {
        let path = match context.folder {
            Some(folder) => {
                let path = folder.join(FILE);
                make(&path, work, context)?;
                path
            }
            None => work.path.clone(),
        };
        let found =
            std::fs::metadata(&path).map_err(|error| ActError::io("look at", &path, &error))?;
        let device = found.file_type().is_block_device();
        if !device && !found.is_file() {
            return Err(ActError::Refused(format!(
                "{} is neither a block device nor a file",
                shown(&path)
            )));
        }
        if work.write && !device && context.folder.is_none() {
            return Err(ActError::Refused(format!(
                "{} is an existing file, which is only read: to write, name a folder or an unused block device",
                shown(&path)
            )));
        }
        let flags = match (work.write, device) {
            (false, _) => OFlags::RDONLY,
            (true, false) => OFlags::RDWR,
            (true, true) => OFlags::RDWR | OFlags::EXCL,
        };
        let (file, direct) = open_direct(&path, flags | OFlags::SYNC)
            .map_err(|errno| ActError::io("open", &path, &errno.into()))?;
        if !direct {
            let text =
                "the file system refuses direct I/O: cached pages are dropped before each sample";
            context.observer.note(NoteWeight::Warning, text.to_owned());
        }
        // Unlike the metadata, this also returns the length of a device.
        let bytes = seek(&file, SeekFrom::End(0))
            .map_err(|errno| ActError::io("find the length of", &path, &errno.into()))?;
        Ok(Self {
            path,
            file,
            bytes,
            page: rustix::param::page_size() as u64,
            direct,
        })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the size of a memory page, to which samples are aligned.
    const fn page(&self) -> u64 {
        self.page
    }

    const fn is_direct(&self) -> bool {
        self.direct
    }

    /// Reads all of `into`.
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    /// Writes all of `from`.
    fn write(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    fn flush(&self) -> io::Result<()> {
        rustix::fs::fsync(&self.file).map_err(Into::into)
    }

    /// Without direct I/O, drops pages so that the device is accessed.
    fn forget(&self, offset: u64, length: u64) {
        if !self.direct {
            // Pages that stay cached appear in the evidence.
            let _ = fadvise(
                &self.file,
                offset,
                NonZeroU64::new(length),
                Advice::DontNeed,
            );
        }
    }
}

/// Creates a file and writes all of its blocks.
fn make(path: &Path, work: &Extent, context: &mut Context<'_>) -> Result<(), ActError> {
    let file =
        held::create_new(path).map_err(|errno| ActError::io("create", path, &errno.into()))?;
    let began = Instant::now();
    let (seed, stop) = (context.seed, context.stop);
    let observer = &mut context.observer;
    layout::write(
        &file,
        path,
        Bytes(work.file_bytes),
        seed,
        stop,
        &mut |done| {
            observer.progress(&ActProgress {
                step: "writing the test file".to_owned(),
                steps_done: 0,
                unit: ProgressUnit::Bytes,
                done: done.0,
                total: Some(work.file_bytes),
                elapsed_ns: nanos(began.elapsed()),
            });
        },
    )?;
    Ok(())
}

/// Number of consecutive failures at which sampling is given up.
const MOST_FAILURES: u32 = 16;

/// Takes samples of one kind.
struct Sampler<'a> {
    place: &'a ExtentFile,
    of: SampleKind,
    length: u64,
    buffer: IoBuf,
    samples: Vec<ExtentSample>,
}

impl<'a> Sampler<'a> {
    fn new(place: &'a ExtentFile, of: SampleKind, sample_bytes: u64) -> Self {
        let length = match of {
            SampleKind::Read | SampleKind::Write => sample_bytes,
            SampleKind::Access => place.page(),
        };
        Self {
            place,
            of,
            length,
            buffer: IoBuf::zeroed(usize::try_from(length).unwrap_or(usize::MAX)),
            samples: Vec::new(),
        }
    }

    /// Takes the first sample, which does not count; returns the others.
    fn warm_up<'b>(&mut self, offsets: &'b [u64]) -> &'b [u64] {
        let Some((&first, rest)) = offsets.split_first() else {
            return offsets;
        };
        // An error will occur again when the sample is taken.
        let _ = self.place.read(self.buffer.block_mut(), first);
        rest
    }

    /// Takes a sample at each of these offsets. Failed samples are counted and left out.
    fn take(
        &mut self,
        offsets: &[u64],
        meter: &mut Meter,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let (name, done) = match self.of {
            SampleKind::Read => ("read", 0),
            SampleKind::Write => ("write", 1),
            SampleKind::Access => ("access", 2),
        };
        let total = offsets.len() as u64;
        let mut progress = ProgressReporter::new(name, done, Some(total)).of_items();
        let mut in_vain = 0;
        for (number, &offset) in offsets.iter().enumerate() {
            if context.stopped() {
                return Err(ActError::Stopped);
            }
            match self.sample(offset, meter) {
                Ok(sample) => {
                    self.samples.push(sample);
                    in_vain = 0;
                }
                Err(error) => {
                    let taken = self.samples.iter().map(|sample| sample.bytes).sum();
                    meter.is_there(context, taken)?;
                    in_vain += 1;
                    if in_vain == MOST_FAILURES {
                        return Err(self.too_many_failures(offset, &error));
                    }
                }
            }
            progress.report(context, number as u64 + 1);
        }
        match (self.samples.is_empty(), offsets.first()) {
            (true, Some(&offset)) => {
                Err(self.too_many_failures(offset, &io::ErrorKind::Other.into()))
            }
            _ => Ok(()),
        }
    }

    fn too_many_failures(&self, offset: u64, error: &io::Error) -> ActError {
        ActError::Failed {
            message: format!(
                "cannot sample {}: too many samples failed, the last at offset {offset}: {error}",
                shown(self.place.path())
            ),
            errno: error.raw_os_error(),
        }
    }

    fn sample(&mut self, offset: u64, meter: &mut Meter) -> io::Result<ExtentSample> {
        let place = self.place;
        // There may be less space than a whole sample after the last offsets.
        let left = place.bytes() - offset;
        let bytes = self.length.min(left - left % place.page());
        let usable = usize::try_from(bytes).unwrap_or(usize::MAX);
        let buffer = &mut self.buffer.block_mut()[..usable];
        place.forget(offset, bytes);
        let elapsed_ns = match self.of {
            SampleKind::Read => {
                find(place, buffer, offset, meter)?;
                place.forget(offset, bytes);
                timed_read(place, buffer, offset, meter)?
            }
            SampleKind::Write => {
                read(place, buffer, offset, meter)?;
                timed_write(place, buffer, offset, meter)?
            }
            SampleKind::Access => timed_read(place, buffer, offset, meter)?,
        };
        Ok(ExtentSample {
            offset,
            bytes,
            elapsed_ns,
        })
    }

    fn into_samples(self) -> Vec<ExtentSample> {
        self.samples
    }
}

/// Moves to an offset by reading its first page.
fn find(place: &ExtentFile, buffer: &mut [u8], offset: u64, meter: &mut Meter) -> io::Result<()> {
    let page = usize::try_from(place.page()).unwrap_or(usize::MAX);
    let page = page.min(buffer.len());
    read(place, &mut buffer[..page], offset, meter)
}

/// Reads; counts a failure.
fn read(place: &ExtentFile, buffer: &mut [u8], offset: u64, meter: &mut Meter) -> io::Result<()> {
    let length = buffer.len() as u64;
    place
        .read(buffer, offset)
        .inspect_err(|error| meter.failed(Some(Direction::Read), offset, length, error))
}

fn timed_read(
    place: &ExtentFile,
    buffer: &mut [u8],
    offset: u64,
    meter: &mut Meter,
) -> io::Result<u64> {
    let (length, began_ns) = (buffer.len() as u64, meter.now_ns());
    read(place, buffer, offset, meter)?;
    Ok(meter.moved(Direction::Read, length, began_ns))
}

/// Writes and flushes; the time of both counts.
fn timed_write(
    place: &ExtentFile,
    buffer: &[u8],
    offset: u64,
    meter: &mut Meter,
) -> io::Result<u64> {
    let (length, began_ns) = (buffer.len() as u64, meter.now_ns());
    place
        .write(buffer, offset)
        .inspect_err(|error| meter.failed(Some(Direction::Write), offset, length, error))?;
    let write_ns = meter.moved(Direction::Write, length, began_ns);
    let began_ns = meter.now_ns();
    place
        .flush()
        .inspect_err(|error| meter.failed(None, offset, length, error))?;
    Ok(write_ns + meter.flushed(began_ns))
}

#[cfg(test)]
mod tests;
