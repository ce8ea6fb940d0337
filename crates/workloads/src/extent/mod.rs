//! Samples over the extent of a device or file, as GNOME Disks takes them.
//!
//! The clock runs only while a sample is taken: positioning, and reading the data to write back,
//! are excluded.

mod place;
mod sampler;
#[cfg(test)]
mod tests;

use crate::meter::Meter;
use crate::{Context, ObservedStep, StepOutcome, WorkError};
use assay_engine::held::shown;
use assay_model::job::{Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, Nanos};
use assay_model::work::extent::{Extent, ExtentStep, SampleKind};
use assay_model::work::{StepDetail, WorkReport};
use place::ExtentFile;
use sampler::Sampler;

/// Bytes of a sample, at most: a sample is held in memory as a whole.
const LARGEST_SAMPLE: u64 = 1 << 30;

/// Takes the requested samples.
///
/// # Errors
/// If a sample is too large, or the path cannot be opened, is too small, or fails repeatedly.
pub(crate) fn run(work: &Extent, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    if work.sample_bytes > LARGEST_SAMPLE {
        return Err(WorkError::Refused(format!(
            "a sample of {} is too large: the largest --sample-size is {}",
            Bytes(work.sample_bytes),
            Bytes(LARGEST_SAMPLE)
        )));
    }
    let mut place = ExtentFile::open(work, context)?;
    let length = place.bytes();
    if length < work.sample_bytes {
        return Err(WorkError::Refused(format!(
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
    Ok(WorkReport::Steps)
}

/// Takes all samples of one kind.
fn step(
    work: &Extent,
    of: SampleKind,
    offsets: &[u64],
    place: &mut ExtentFile,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
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
    let outcome = WorkError::outcome_of(&done);
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
