//! Costs that grow beyond a point, or up to one.

use super::boundary::bytes;
use super::series::Series;
use super::{TraitFinding, Why};

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
