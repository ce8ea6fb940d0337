//! Measured values of each point, and their variation.

use super::ask::TraitJob;
use super::{Trait, TraitFinding, Why, bytes};
use assay_model::trial::{Measurement, Outcome, TrialRecord};
use assay_model::units::as_usize;
use assay_stats::distributions::{normal_quantile, student_quantile};
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
    student_quantile(TAIL, freedom as f64) / normal_quantile(TAIL)
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

/// Minimum size of an effect, in standard errors.
const SIGMAS: f64 = 6.0;
/// Minimum size of an effect, as a share of the time without it.
const SHARE: f64 = 0.03;
/// Largest distance of a likely explanation from the best one, in squared standard errors.
const LIKELY: f64 = 16.0;
/// Maximum residual of each point, in squared standard errors.
const LEFT: f64 = 9.0;
/// Number of tested positions of a knee per octave.
const STEPS: i32 = 4;

/// Least-squares fit of `base + slope * shape(x)`.
#[derive(Clone, Copy, Debug)]
struct Fit {
    base: f64,
    slope: f64,
    slope_error: f64,
    squares: f64,
}

fn fit(points: &[(f64, f64, f64)], shape: impl Fn(f64) -> f64) -> Fit {
    let mut sums = [0.0; 5];
    for (x, us, error) in points {
        let (weight, f) = (1.0 / error.powi(2), shape(*x));
        for (sum, term) in sums.iter_mut().zip([1.0, f, f * f, *us, f * us]) {
            *sum += weight * term;
        }
    }
    let [w, f, ff, u, fu] = sums;
    let det = w * ff - f * f;
    let (base, slope, slope_error) = if det > 1e-9 * w * ff.max(1e-300) {
        (
            (u * ff - fu * f) / det,
            (w * fu - f * u) / det,
            (w / det).sqrt(),
        )
    } else {
        (u / w, 0.0, f64::INFINITY)
    };
    let left = |(x, us, error): &(f64, f64, f64)| ((us - base - slope * shape(*x)) / error).powi(2);
    Fit {
        base,
        slope,
        slope_error,
        squares: points.iter().map(left).sum(),
    }
}

/// Returns the best fit of a knee, and the range of positions that are similarly likely.
fn knee(points: &[(f64, f64, f64)], shape: fn(f64, f64) -> f64) -> Option<(Fit, f64, f64)> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let octaves = libm::log2(last / first);
    #[expect(clippy::cast_possible_truncation, reason = "a few octaves")]
    let count = (octaves * f64::from(STEPS)) as i32;
    let places = (0..=count).map(|step| first * libm::exp2(f64::from(step) / f64::from(STEPS)));
    let tried: Vec<(f64, Fit)> = places
        .map(|at| (at, fit(points, |x| shape(x, at))))
        .collect();
    let best = tried
        .iter()
        .map(|(_, fit)| fit.squares)
        .fold(f64::INFINITY, f64::min);
    let likely = tried.iter().filter(|(_, fit)| fit.squares <= best + LIKELY);
    let ends = likely.fold(None, |ends: Option<(f64, f64)>, (at, _)| {
        Some(ends.map_or((*at, *at), |(low, _)| (low, *at)))
    });
    let chosen = tried
        .iter()
        .min_by(|a, b| a.1.squares.total_cmp(&b.1.squares))?;
    let (low, high) = ends?;
    Some((chosen.1, low, high))
}

fn is_adequate(fit: &Fit, points: &[(f64, f64, f64)]) -> bool {
    fit.squares <= LEFT * points.len() as f64
}

/// Determines the span of the address map: of random reads in a span S, a share of C / S finds its
/// address in memory.
pub(super) fn map_span(series: &Series) -> Result<TraitFinding, Why> {
    let points = series.means();
    if points.len() < 6 {
        return Err(Why::TooFew);
    }
    let misses = |span: f64, covered: f64| (1.0 - covered / span).max(0.0);
    let (best, low, high) = knee(&points, misses).ok_or(Why::TooFew)?;
    let enough = best.slope > SIGMAS * best.slope_error && best.slope > SHARE * best.base;
    if !enough {
        return Err(Why::Flat);
    }
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let seen = low > first && high < last && high <= 4.0 * low;
    if !seen || !is_adequate(&best, &points) {
        return Err(Why::Unclear);
    }
    let step = libm::exp2(1.0 / f64::from(STEPS));
    Ok(TraitFinding::MapSpan {
        least: bytes(low / step),
        most: bytes(high * step),
        extra_us: best.slope,
    })
}

/// Largest difference of flush times that counts as none, as a share, where noise could be all of
/// it.
const ALIKE: f64 = 0.15;

/// Determines the costs of a flush: a fixed time, and a time for the buffered data until the
/// buffer is full.
pub(super) fn flush(series: &Series) -> Result<TraitFinding, Why> {
    let points = series.means();
    if points.len() < 5 {
        return Err(Why::TooFew);
    }
    if points.iter().any(|(_, us, _)| *us <= 0.0) {
        return Err(Why::Flat);
    }
    if let Some((line, at)) = filled(&points) {
        let end = points.get(at).map(|(burst, ..)| bytes(*burst));
        return Ok(TraitFinding::Flush {
            flush_us: line.base,
            buffer: Some((line.slope * 1024.0, bytes(points[at - 1].0), end)),
        });
    }
    // Other changes with the burst size are unclear.
    are_alike(&points).then_some(()).ok_or(Why::Unclear)?;
    Ok(TraitFinding::Flush {
        flush_us: fit(&points, |_| 0.0).base,
        buffer: None,
    })
}

/// Returns `true` if all differences are too small to matter, or are small, within the noise and
/// without a trend.
fn are_alike(points: &[(f64, f64, f64)]) -> bool {
    let by_time = |a: &&(f64, f64, f64), b: &&(f64, f64, f64)| a.1.total_cmp(&b.1);
    let (Some(low), Some(high)) = (points.iter().min_by(by_time), points.iter().max_by(by_time))
    else {
        return false;
    };
    let gap = high.1 - low.1;
    let noise = SIGMAS * low.2.hypot(high.2);
    let has_trend = knee(points, f64::min)
        .is_some_and(|(line, ..)| line.slope.abs() > SIGMAS * line.slope_error);
    gap <= SHARE * low.1 || (gap <= noise && gap <= ALIKE * low.1 && !has_trend)
}

/// Fits a line up to some point and a constant level from there on, which meet between the two
/// points; or only the line.
fn filled(points: &[(f64, f64, f64)]) -> Option<(Fit, usize)> {
    let rises = |line: &Fit, until: f64| {
        line.slope > SIGMAS * line.slope_error
            && line.base > 0.0
            && line.slope * until > SHARE * line.base
    };
    let split = |at: usize| {
        let (rising, level) = points.split_at(at);
        let (line, last) = (fit(rising, |x| x), rising[at - 1].0);
        let Some((next, ..)) = level.first() else {
            return rises(&line, last).then_some((line.squares, line, at));
        };
        let level = fit(level, |_| 0.0);
        let meet = (level.base - line.base) / line.slope;
        let between = meet >= last * 0.98 && meet <= next * 1.02;
        let squares = line.squares + level.squares;
        (between && rises(&line, meet)).then_some((squares, line, at))
    };
    let tried = (2..points.len() - 1)
        .chain([points.len()])
        .filter_map(split);
    let (squares, line, at) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let adequate = squares <= LEFT * points.len() as f64;
    (adequate && is_end_known(points, at)).then_some((line, at))
}

/// Returns `true` if the points distinguish a line that continues from one that ends within their
/// range.
fn is_end_known(points: &[(f64, f64, f64)], at: usize) -> bool {
    let (Some((last, ..)), Some((low, high))) = (
        points.last(),
        knee(points, f64::min).map(|(_, low, high)| (low, high)),
    ) else {
        return false;
    };
    match at == points.len() {
        true => low >= 0.98 * points[at - 2].0,
        false => high < 0.98 * last,
    }
}
