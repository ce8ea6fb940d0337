//! Differences between two variants of an I/O, and the rate of a long write over time.

use super::series::{Course, Series, SeriesPoint};
use super::{TraitFinding, Why, bytes};
use assay_model::units::{Nanos, as_u32, as_u64};

/// Minimum size of a difference, in standard errors.
const SIGMAS: f64 = 6.0;
/// Minimum size of a difference, as a share of the smaller time.
const SHARE: f64 = 0.03;
/// Permitted error of a reported difference, as a share of it; [`SLIGHT`] where that is more.
const OFF: f64 = 0.15;
/// Permitted error of a reported difference, as a share of an I/O: half of the minimum
/// difference.
const SLIGHT: f64 = SHARE / 2.0;
/// Factor from the standard error to the error that is exceeded by chance in 1 of 100 cases.
const SURE: f64 = 2.6;
/// Remaining share of an effect below which it counts as over.
const REST: f64 = 0.1;

/// Returns the extra time of the second point over the first, when that is more than noise.
fn more(series: &Series, first: &SeriesPoint, second: &SeriesPoint) -> Result<f64, Why> {
    let extra = second.mean() - first.mean();
    let error = series.error(first).hypot(series.error(second));
    let enough = extra > SIGMAS * error && extra > SHARE * first.mean();
    if enough { Ok(extra) } else { Err(Why::Flat) }
}

/// Returns the extra time, if it is more than noise and its error is small enough to report it.
fn told(series: &Series, first: &SeriesPoint, second: &SeriesPoint) -> Result<f64, Why> {
    let extra = more(series, first, second)?;
    let error = series.error(first).hypot(series.error(second));
    let most_off = (OFF * extra).max(SLIGHT * first.mean());
    let is_known = SURE * error <= most_off;
    if is_known {
        Ok(extra)
    } else {
        Err(Why::Unclear)
    }
}

/// Compares sequential reads (0) with reads at random offsets nearby (1).
pub(super) fn jump(series: &Series) -> Result<TraitFinding, Why> {
    let (Some(order), Some(random)) = (series.at(0.0), series.at(1.0)) else {
        return Err(Why::TooFew);
    };
    let extra_us = told(series, order, random)?;
    Ok(TraitFinding::Break { extra_us })
}

/// Compares reads after a write and a pause (in milliseconds) with reads alone.
pub(super) fn deferred(series: &Series, alone: &Series) -> Result<TraitFinding, Why> {
    let (Some(at_once), Some(alone)) = (series.at(0.0), alone.at(1.0)) else {
        return Err(Why::TooFew);
    };
    if series.0.len() < 3 {
        return Err(Why::TooFew);
    }
    let extra_us = told(series, alone, at_once)?;
    let gone = |point: &&SeriesPoint| point.mean() - alone.mean() < REST * extra_us;
    let paused = series.0.iter().filter(|point| point.x > 0.0);
    let gone_after = paused.clone().find(gone).map(|point| millis(point.x));
    // The effect must not return after longer pauses.
    let later = paused
        .skip_while(|point| !gone(point))
        .all(|point| gone(&point));
    match later {
        true => Ok(TraitFinding::Deferred {
            extra_us,
            gone_after,
        }),
        false => Err(Why::Unclear),
    }
}

/// Evaluates bursts of random writes with pauses, in milliseconds.
pub(super) fn recovery(series: &Series) -> Result<TraitFinding, Why> {
    let (Some(first), Some(last)) = (series.0.first(), series.0.last()) else {
        return Err(Why::TooFew);
    };
    if series.0.len() < 3 {
        return Err(Why::TooFew);
    }
    let gained = more(series, last, first)?;
    let (busy_us, rested_us) = (first.mean(), last.mean());
    if gained < 0.1 * rested_us {
        return Err(Why::Flat);
    }
    let enough = |point: &&SeriesPoint| point.mean() - rested_us < REST * gained;
    let pause = series.0.iter().find(enough).map_or(last.x, |point| point.x);
    Ok(TraitFinding::Recovery {
        busy_us,
        rested_us,
        pause: millis(pause),
    })
}

/// Evaluates the time of a read at each depth.
pub(super) fn queue(series: &Series) -> Result<TraitFinding, Why> {
    let Some(alone) = series.at(1.0) else {
        return Err(Why::TooFew);
    };
    let best = series.0.iter().min_by(|a, b| a.mean().total_cmp(&b.mean()));
    let best = best.filter(|_| series.0.len() >= 3).ok_or(Why::TooFew)?;
    more(series, best, alone)?;
    let gain = alone.mean() / best.mean();
    if gain < 1.1 {
        return Err(Why::Flat);
    }
    let near = |point: &&SeriesPoint| point.mean() <= best.mean() * 1.05;
    let depth = series.0.iter().find(near).map_or(best.x, |point| point.x);
    Ok(TraitFinding::Queue {
        gain,
        depth: as_u32(depth),
    })
}

/// Minimum number of intervals of a level.
const LEAST_INTERVALS: usize = 4;
/// Minimum ratio of the fast to the slow level.
const CLIFF: f64 = 1.2;
/// Maximum distance from the median, as a share, of nine tenths of a level's intervals.
const TIGHT: f64 = 0.15;
/// Permitted difference between trials.
const AGREE: f64 = 0.2;

/// Evaluates the long writes, each of which must have one cliff, at the same position.
pub(super) fn slc(courses: &[Course]) -> Result<TraitFinding, Why> {
    if courses.is_empty() {
        return Err(Why::TooFew);
    }
    let cliffs: Result<Vec<(f64, f64, f64)>, Why> = courses.iter().map(cliff).collect();
    let cliffs = cliffs?;
    let of = |which: fn(&(f64, f64, f64)) -> f64| median(cliffs.iter().map(which).collect());
    let (bytes_fast, fast, slow) = (of(|c| c.0), of(|c| c.1), of(|c| c.2));
    let agree = |c: &(f64, f64, f64)| (c.0 / bytes_fast - 1.0).abs() <= AGREE;
    match cliffs.iter().all(agree) {
        true => Ok(TraitFinding::Slc {
            bytes: bytes(bytes_fast),
            fast,
            slow,
        }),
        false => Err(Why::Unclear),
    }
}

/// Returns the bytes until the cliff, and the rates before and after it.
fn cliff(course: &Course) -> Result<(f64, f64, f64), Why> {
    let all = &course.bytes;
    if all.len() < 3 * LEAST_INTERVALS {
        return Err(Why::TooFew);
    }
    let spread = |part: &[f64]| {
        let level = median(part.to_vec());
        part.iter().map(|one| (one - level).abs()).sum::<f64>()
    };
    let splits = LEAST_INTERVALS..=all.len() - LEAST_INTERVALS;
    let cost = |at: usize| spread(&all[..at]) + spread(&all[at..]);
    let at = splits
        .min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
        .ok_or(Why::TooFew)?;
    let (before, after) = all.split_at(at);
    let (fast, slow) = (median(before.to_vec()), median(after.to_vec()));
    if fast < CLIFF * slow {
        return Err(Why::Flat);
    }
    match is_tight(before, fast) && is_tight(after, slow) {
        true => Ok((
            before.iter().sum(),
            fast / course.seconds,
            slow / course.seconds,
        )),
        false => Err(Why::Unclear),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn is_tight(part: &[f64], level: f64) -> bool {
    let near = part
        .iter()
        .filter(|one| (*one / level - 1.0).abs() <= TIGHT);
    near.count() * 10 >= part.len() * 9
}

const fn millis(ms: f64) -> Nanos {
    Nanos::millis(as_u64(ms))
}
