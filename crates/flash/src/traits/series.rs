//! Measured values of each point, and their variation.

use super::Trait;
use super::ask::TraitJob;
use assay_model::number::as_usize;
use assay_model::trial::{Measurement, Outcome, TrialRecord};
use assay_stats::distributions::{normal_quantile, student};
use std::collections::BTreeMap;

/// Lower limit of the relative deviation; trials agree better only by chance.
const LEAST_NOISE: f64 = 0.003;
/// Minimum degrees of freedom for an estimate of the noise.
const LEAST_FREEDOM: usize = 3;
/// Tail probability of the quantiles that widen an error.
const TAIL: f64 = 0.001;

/// A point of a series: its position, and the time of each trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Position: a size, a count or a pause.
    pub x: f64,
    /// Time of an I/O in each trial, in microseconds.
    pub us: Vec<f64>,
}

impl SeriesPoint {
    /// Returns the mean over the trials.
    pub fn mean(&self) -> f64 {
        self.us.iter().sum::<f64>() / self.us.len().max(1) as f64
    }

    /// Returns the lower quartile of the trials. Other activity only adds to a time, and it
    /// affects some trials more than others.
    pub fn undisturbed(&self) -> f64 {
        let mut us = self.us.clone();
        us.sort_by(f64::total_cmp);
        let place = us.len().saturating_sub(1) as f64 / 4.0;
        let at = |place: usize| us.get(place).or(us.last()).copied().unwrap_or_default();
        let (low, high) = (at(as_usize(place)), at(as_usize(place) + 1));
        low + (high - low) * place.fract()
    }
}

/// Points of one series, ordered by `x`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series(pub Vec<SeriesPoint>);

impl Series {
    /// Returns the degrees of freedom of the noise: the number of trials beyond the first of each
    /// point.
    pub fn freedom(&self) -> usize {
        let points = self.0.iter();
        points.map(|point| point.us.len().saturating_sub(1)).sum()
    }

    /// Returns `true` if the points were measured often enough to estimate their noise: twice on
    /// average, and three times if there are only two points.
    pub fn is_repeated(&self) -> bool {
        self.freedom() >= self.0.len().max(LEAST_FREEDOM)
    }

    /// Returns the standard deviation of a trial, as a share of its point's mean.
    fn deviation(&self) -> f64 {
        let squares = |point: &SeriesPoint| -> f64 {
            let mean = point.mean();
            let shares = point.us.iter().map(|us| us / mean - 1.0);
            shares.map(|share| share.powi(2)).sum()
        };
        let all: f64 = self.0.iter().map(squares).sum();
        (all / self.freedom().max(1) as f64).sqrt()
    }

    /// Returns the standard error of a point's mean, in microseconds. With few trials the
    /// deviation may be too small by chance. The error is therefore widened, so that thresholds
    /// in standard errors are exceeded by chance as rarely as with many trials.
    pub fn error(&self, point: &SeriesPoint) -> f64 {
        let share = (self.deviation() * widened(self.freedom())).max(LEAST_NOISE);
        point.mean() * share / (point.us.len().max(1) as f64).sqrt()
    }

    /// Returns the standard error of the mean for the average number of trials per point, as a
    /// share of the mean.
    pub fn share_of_error(&self) -> f64 {
        let trials: usize = self.0.iter().map(|point| point.us.len()).sum();
        self.deviation().max(LEAST_NOISE)
            / (trials.max(1) as f64 / self.0.len().max(1) as f64).sqrt()
    }

    /// Returns the point at `x`.
    pub fn at(&self, x: f64) -> Option<&SeriesPoint> {
        self.0.iter().find(|point| (point.x - x).abs() < 1e-9)
    }

    /// Returns the position, mean and standard error of each point.
    pub fn means(&self) -> Vec<(f64, f64, f64)> {
        let points = self.0.iter();
        points
            .map(|point| (point.x, point.mean(), self.error(point)))
            .collect()
    }
}

/// Returns the ratio of the quantiles of Student's t and the normal distribution.
fn widened(freedom: usize) -> f64 {
    student::quantile(TAIL, freedom as f64) / normal_quantile(TAIL)
}

/// The rate of a long write over time: bytes of each interval, and the interval's length in
/// seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Bytes of each interval.
    pub bytes: Vec<f64>,
    /// Length of an interval, in seconds.
    pub seconds: f64,
}

/// Measured answers: series and courses.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    series: BTreeMap<(&'static str, &'static str), Series>,
    courses: Vec<Course>,
}

impl Answers {
    /// Collects the answers from the trials of the given jobs. Trials that did not complete are
    /// ignored.
    pub fn of_trials(asked: &[TraitJob], trials: &[TrialRecord]) -> Self {
        let mut answers = Self::default();
        for one in asked {
            let trials = trials.iter();
            let of_job = trials.filter(|trial| trial.job.name == one.job.name && trial.counts());
            let completed = of_job.filter(|trial| trial.outcome == Outcome::Completed);
            let measured: Vec<&Measurement> = completed
                .filter_map(|trial| trial.measured.as_ref())
                .collect();
            if one.what == Trait::Slc {
                answers.courses.extend(measured.iter().map(|m| course(m)));
                continue;
            }
            let us: Vec<f64> = measured.iter().filter_map(|m| one.figure.of(m)).collect();
            if !us.is_empty() {
                let series = answers
                    .series
                    .entry((one.what.name(), one.part))
                    .or_default();
                series.0.push(SeriesPoint { x: one.x, us });
            }
        }
        for series in answers.series.values_mut() {
            series.0.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        answers
    }

    /// Builds answers from given series.
    #[cfg(test)]
    pub(super) fn of_series(all: impl IntoIterator<Item = (Trait, &'static str, Series)>) -> Self {
        let all = all.into_iter();
        Self {
            series: all
                .map(|(what, part, series)| ((what.name(), part), series))
                .collect(),
            courses: Vec::new(),
        }
    }

    /// Returns the series of a trait, by its part.
    pub fn of(&self, what: Trait, part: &'static str) -> Series {
        let found = self.series.get(&(what.name(), part));
        found.cloned().unwrap_or_default()
    }

    /// Returns all series of a trait with their parts.
    pub fn all_of(&self, what: Trait) -> impl Iterator<Item = (&'static str, &Series)> {
        let series = self.series.iter();
        series
            .filter(move |((name, _), _)| *name == what.name())
            .map(|((_, part), series)| (*part, series))
    }

    /// Returns the courses of the long writes.
    pub fn courses(&self) -> &[Course] {
        &self.courses
    }
}

fn course(measured: &Measurement) -> Course {
    // The last interval may be shorter.
    let whole = measured.series.points.len().saturating_sub(1);
    let points = measured.series.points.iter().take(whole);
    Course {
        bytes: points.map(|point| point.write_bytes as f64).collect(),
        seconds: measured.series.interval_ns as f64 / 1e9,
    }
}
