//! Costs of an I/O and of each of its blocks.

use super::series::Series;
use super::{TraitFinding, Why};
use crate::BLOCK_BYTES;
use crate::fit::fit;
use assay_model::units::as_u64;

/// Maximum error of the prediction of an omitted size, as a share.
const MOST_OFF: f64 = 0.10;
/// Maximum residual of the fit at any size, as a share,
const MOST_LEFT: f64 = 0.08;
/// or in standard errors, if that is larger.
const SIGMAS: f64 = 2.0;
/// Maximum standard error of a finding, as a share of the value.
const MOST_ERROR: f64 = 0.25;

/// A line with a ramp: time in microseconds by number of blocks.
#[derive(Clone, Debug)]
struct CostFit {
    command: (f64, Option<f64>),
    block: (f64, Option<f64>),
    ramp: f64,
    ramp_blocks: f64,
    /// Largest residual, as a share.
    worst: f64,
    /// Sum of squared residuals.
    squares: f64,
}

impl CostFit {
    fn at(&self, blocks: f64) -> f64 {
        self.command.0 + self.block.0 * blocks + self.ramp * blocks.min(self.ramp_blocks)
    }
}

pub(super) fn find(series: &Series) -> Result<TraitFinding, Why> {
    let points: Vec<(f64, f64)> = (series.0.iter())
        .map(|point| (point.x / BLOCK_BYTES as f64, point.undisturbed()))
        .collect();
    if points.len() < 6 {
        return Err(Why::TooFew);
    }
    let ramps: Vec<f64> = points[1..points.len() - 2]
        .iter()
        .map(|(blocks, _)| *blocks)
        .collect();
    let line = best(&points, &ramps);
    let off = left_out(&points, &ramps);
    let most_left = MOST_LEFT.max(SIGMAS * series.share_of_error());
    let known = |(value, error): (f64, Option<f64>)| {
        let error = error.filter(|error| *error <= MOST_ERROR * value)?;
        Some((value, error))
    };
    let (command_us, block_us) = (known(line.command), known(line.block));
    match (command_us, block_us) {
        (Some(command_us), Some(block_us)) if line.worst <= most_left && off <= MOST_OFF => {
            let ramp = (line.ramp > 0.02 * block_us.0).then_some(line.ramp);
            Ok(TraitFinding::Costs {
                command_us,
                block_us,
                ramp: ramp.map(|us| (us, as_u64(line.ramp_blocks))),
                worst_pct: off * 100.0,
            })
        }
        _ => Err(Why::Unclear),
    }
}

/// Returns the largest error of predictions of an inner point that was omitted
/// from the fit.
fn left_out(points: &[(f64, f64)], ramps: &[f64]) -> f64 {
    let mut worst = 0.0_f64;
    for at in 1..points.len() - 1 {
        let mut others = points.to_vec();
        let (blocks, us) = others.remove(at);
        worst = worst.max((best(&others, ramps).at(blocks) / us - 1.0).abs());
    }
    worst
}

/// Returns the fit without a ramp, or with the best of these ramp lengths.
fn best(points: &[(f64, f64)], ramps: &[f64]) -> CostFit {
    let plain = line(points, 0.0);
    let ramps = ramps.iter().map(|blocks| line(points, *blocks));
    let ramped = ramps.min_by(|a, b| a.squares.total_cmp(&b.squares));
    match ramped {
        // An additional parameter must halve the residuals.
        Some(ramped) if ramped.squares < plain.squares * 0.5 => ramped,
        _ => plain,
    }
}

fn line(points: &[(f64, f64)], ramp_blocks: f64) -> CostFit {
    let us = |p: &[f64], blocks: f64| {
        let ramp = p.get(2).copied().unwrap_or(0.0);
        p[0] + p[1] * blocks + ramp * blocks.min(ramp_blocks)
    };
    let residuals = |p: &[f64]| -> Vec<f64> {
        points
            .iter()
            .map(|(blocks, seen)| libm::log(us(p, *blocks).max(1e-9) / seen))
            .collect()
    };
    let (first, last) = (points[0], points[points.len() - 1]);
    let slope = ((last.1 - first.1) / (last.0 - first.0)).max(1e-3);
    let command = (first.1 - slope * first.0).max(first.1 * 0.5);
    let mut start = vec![command, slope];
    if ramp_blocks > 0.0 {
        start.push(slope * 0.5);
    }
    let fitted = fit(&start, residuals);
    let left = residuals(&fitted.values);
    let ramp = fitted.values.get(2).copied().unwrap_or(0.0);
    CostFit {
        command: (fitted.values[0], fitted.errors[0]),
        block: (fitted.values[1], fitted.errors[1]),
        ramp,
        ramp_blocks,
        worst: left.iter().fold(0.0, |worst, one| worst.max(one.abs())),
        squares: left.iter().map(|one| one * one).sum(),
    }
}
