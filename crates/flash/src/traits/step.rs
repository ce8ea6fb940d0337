//! Costs that apply up to a point, or from a point on.

use super::series::Series;
use super::{TraitFinding, Why, bytes};
use assay_model::units::as_u32;

/// Minimum difference of two levels, in standard errors.
const SIGMAS: f64 = 6.0;
/// Minimum difference, as a share of the lower level.
const SHARE: f64 = 0.03;
/// Maximum distance of a point from the mean of its level, as a share of the difference.
const TIGHT: f64 = 0.25;

/// Two levels, and the position of the step.
struct Levels {
    /// Index of the first point of the second level.
    at: usize,
    before: f64,
    after: f64,
}

/// Finds the two levels of values with standard errors. The difference is compared with
/// `base`.
fn levels(points: &[(f64, f64, f64)], base: f64) -> Result<Levels, Why> {
    if points.len() < 4 {
        return Err(Why::TooFew);
    }
    let values: Vec<f64> = points.iter().map(|(_, value, _)| *value).collect();
    let splits = (1..values.len()).map(|at| {
        let (left, right) = values.split_at(at);
        let spread = |part: &[f64]| {
            part.iter()
                .map(|one| (one - mean(part)).powi(2))
                .sum::<f64>()
        };
        (at, spread(left) + spread(right))
    });
    let (at, _) = splits
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .ok_or(Why::TooFew)?;
    let (left, right) = values.split_at(at);
    let (before, after) = (mean(left), mean(right));
    let gap = (after - before).abs();
    let error = points
        .iter()
        .map(|(_, _, error)| *error)
        .fold(0.0, f64::max);
    if gap < SIGMAS * error || gap < SHARE * base {
        return Err(Why::Flat);
    }
    let tight =
        |part: &[f64], level: f64| part.iter().all(|one| (one - level).abs() <= TIGHT * gap);
    match tight(left, before) && tight(right, after) {
        true => Ok(Levels { at, before, after }),
        false => Err(Why::Unclear),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Determines the mapping unit: shifts below it have a cost, a shift of 0 has none.
pub(super) fn map_unit(series: &Series) -> Result<TraitFinding, Why> {
    let all = series.means();
    let (Some(&(zero, aligned, error)), true) = (all.first(), all.len() >= 4) else {
        return Err(Why::TooFew);
    };
    if zero != 0.0 {
        return Err(Why::TooFew);
    }
    // Ordered from large to small shifts, with the unshifted point first.
    let mut points: Vec<(f64, f64, f64)> = all.into_iter().skip(1).collect();
    points.reverse();
    points.insert(0, (f64::INFINITY, aligned, error));
    let found = levels(&points, aligned)?;
    if found.after < found.before {
        return Err(Why::Unclear);
    }
    // If the largest shift has a cost, the unit is larger than all shifts.
    if found.at < 2 {
        return Err(Why::Unclear);
    }
    let unit = points.get(found.at - 1).map(|(shift, _, _)| *shift);
    Ok(TraitFinding::MapUnit {
        unit: bytes(unit.unwrap_or_default()),
        extra_us: found.after - found.before,
    })
}

/// Determines the number of open units from writes in turn to several units, minus the time
/// of reads at the same offsets, which has other causes.
pub(super) fn open_units(writes: &Series, reads: &Series) -> Result<TraitFinding, Why> {
    let of = |point: &super::series::SeriesPoint| {
        let control = reads.at(point.x)?;
        let error = writes.error(point).hypot(reads.error(control));
        Some((point.x, point.mean() - control.mean(), error))
    };
    let points: Vec<(f64, f64, f64)> = writes.0.iter().filter_map(of).collect();
    let base = writes
        .0
        .first()
        .map_or(0.0, super::series::SeriesPoint::mean);
    let found = levels(&points, base)?;
    let (Some(last), Some(first)) = (points.get(found.at - 1), points.get(found.at)) else {
        return Err(Why::TooFew);
    };
    if found.after < found.before {
        return Err(Why::Unclear);
    }
    Ok(TraitFinding::OpenUnits {
        least: as_u32(last.0),
        most: as_u32(first.0) - 1,
        extra_us: found.after - found.before,
    })
}
