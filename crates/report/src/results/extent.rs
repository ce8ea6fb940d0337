//! Samples over an extent: their figures, and the curve of their rates.

use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use assay_lang::tr;
use assay_model::act::{ExtentSample, ExtentStep, SampleKind, StepDetail};

/// Returns the samples of a trial; `None` if it took none.
pub fn of<'a>(trial: &JudgedTrial<'a>) -> Option<&'a ExtentStep> {
    match trial.record.detail.as_deref() {
        Some(StepDetail::Extent(step)) if !step.samples.is_empty() => Some(step),
        _ => None,
    }
}

/// Returns the jobs that took samples, in the order of sampling.
pub fn jobs<'s, 'a>(summary: &'s Summary<'a>) -> Vec<(SampleKind, &'s JobSummary<'a>)> {
    let kind = |job: &JobSummary<'_>| job.trials.iter().find_map(of).map(|step| step.of);
    let jobs = summary.jobs.iter();
    let mut jobs: Vec<_> = jobs.filter_map(|job| Some((kind(job)?, job))).collect();
    jobs.sort_by_key(|(kind, _)| match kind {
        SampleKind::Read => 0,
        SampleKind::Write => 1,
        SampleKind::Access => 2,
    });
    jobs
}

/// Returns the name of a kind of sample.
pub fn name(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Read => tr!("read"),
        SampleKind::Write => tr!("write"),
        SampleKind::Access => tr!("access time"),
    }
}

/// Returns the metric of samples, without `_mean`, `_min` or `_max`.
pub const fn metric(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Read => "read_sample_bw",
        SampleKind::Write => "write_sample_bw",
        SampleKind::Access => "access_time",
    }
}

/// Returns the mean rate in each of `columns` equal stretches of the extent; `None` for a stretch
/// without samples.
pub fn curve(step: &ExtentStep, columns: usize) -> Vec<Option<f64>> {
    let columns = columns.clamp(1, step.samples.len().max(1));
    let mut sums = vec![(0.0, 0_u32); columns];
    for (sample, rate) in step.samples.iter().filter_map(|s| Some((s, s.rate()?))) {
        let (sum, count) = &mut sums[column_of(sample, step, columns)];
        *sum += rate;
        *count += 1;
    }
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    sums.into_iter().map(mean).collect()
}

/// Returns the stretch of a sample. Samples start at a page boundary, slightly before their even
/// position: the stretch is that of the middle between two samples.
fn column_of(sample: &ExtentSample, step: &ExtentStep, columns: usize) -> usize {
    let extent = u128::from(step.extent_bytes.max(1));
    let half_way = extent / (2 * step.samples.len() as u128).max(1);
    let share = (u128::from(sample.offset) + half_way) * columns as u128 / extent;
    usize::try_from(share).map_or(columns - 1, |column| column.min(columns - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(rates: &[u64]) -> ExtentStep {
        let sample = |(number, rate): (u64, &u64)| ExtentSample {
            offset: number * 100,
            bytes: *rate,
            elapsed_ns: 1_000_000_000,
        };
        ExtentStep {
            of: SampleKind::Read,
            extent_bytes: rates.len() as u64 * 100,
            samples: (0..).zip(rates).map(sample).collect(),
        }
    }

    #[test]
    fn a_curve_has_a_column_a_sample_or_their_mean() {
        let step = step(&[10, 20, 30, 50]);
        assert_eq!(curve(&step, 80), [10.0, 20.0, 30.0, 50.0].map(Some));
        assert_eq!(curve(&step, 2), [15.0, 40.0].map(Some));
    }

    #[test]
    fn a_sample_that_begins_a_little_early_is_not_in_the_stretch_before() {
        let mut step = step(&[10, 20, 30, 50]);
        step.samples[2].offset -= 9;
        assert_eq!(curve(&step, 4)[2], Some(30.0));
    }

    #[test]
    fn where_samples_failed_there_is_a_gap() {
        let mut step = step(&[10, 20, 30, 50]);
        step.samples.remove(1);
        step.samples.push(ExtentSample::default());
        assert_eq!(curve(&step, 4), [Some(10.0), None, Some(30.0), Some(50.0)]);
        step.samples.clear();
        assert_eq!(curve(&step, 4), [None]);
    }
}
