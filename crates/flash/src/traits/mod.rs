//! Properties of flash that patterns of I/O reveal (after uFLIP, CIDR 2009, and flashbench).
//!
//! - [`ask`]: the jobs, each for one point of a series.
//! - [`series`]: the measured values.
//! - [`find`]: the conclusion: a finding, or that nothing is visible.
//!
//! A finding requires repeated trials, an effect of six standard errors that is large enough to
//! matter, a shape that only one explanation fits, and residuals within the noise. Otherwise
//! the trait is not visible.

pub mod ask;
pub mod series;

use crate::BLOCK_BYTES;
use crate::fit::fit;
use assay_model::units::{Bytes, Nanos, as_u32, as_u64};
use series::{Answers, Course, Series, SeriesPoint};

assay_model::named! {
    /// A measurable property of flash.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Trait {
        /// Cost of a read, and of each of its blocks.
        ReadCosts = "read-costs",
        /// Pages, erase units, allocation units: costs of reads across their boundaries.
        Boundaries = "boundaries",
        /// Mapping unit: the data to which one address refers.
        MapUnit = "map-unit",
        /// Units that can be written at the same time.
        OpenUnits = "open-units",
        /// Span of the addresses that the device keeps in memory.
        MapSpan = "map-span",
        /// Write buffer, and the cost of a flush.
        Flush = "flush",
        /// Area that is written fast.
        Slc = "slc",
        /// Cost of ending a sequence.
        Break = "break",
        /// Deferred work of a write.
        Deferred = "deferred",
        /// Speed that random writes regain after pauses.
        Recovery = "recovery",
        /// Gain from queued requests.
        Queue = "queue",
    }
}

/// Finding on a trait.
#[derive(Clone, Debug, PartialEq)]
pub enum TraitFinding {
    /// Costs of an I/O of n blocks of 512 bytes: `command + block * n` microseconds, and `ramp`
    /// more for each of the first `ramp_blocks`; with standard errors.
    Costs {
        /// Time of an I/O in microseconds, with its standard error.
        command_us: (f64, f64),
        /// Time of each block in microseconds, with its standard error.
        block_us: (f64, f64),
        /// Extra time of each of the first blocks in microseconds, and their number.
        ramp: Option<(f64, u64)>,
        /// Largest error in percent of the prediction of a size that was not used in the fit.
        worst_pct: f64,
    },
    /// Sizes with a cost for reads across their multiples, and that cost in microseconds.
    Boundaries(Vec<(Bytes, f64)>),
    /// Extra cost of writes that are not aligned to a unit.
    MapUnit {
        /// Mapping unit.
        unit: Bytes,
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Number of units that can be written in turn, which is from `least` to `most`; one more
    /// costs `extra_us` per write.
    OpenUnits {
        /// Largest number of units that was fast.
        least: u32,
        /// One less than the smallest number of units that was slow.
        most: u32,
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Span beyond which random reads cost more.
    MapSpan {
        /// Lower bound of the span.
        least: Bytes,
        /// Upper bound of the span.
        most: Bytes,
        /// Extra time of a read whose address is not in memory, in microseconds.
        extra_us: f64,
    },
    /// Cost of a flush, fixed and for the data written before it.
    Flush {
        /// Time of a flush without data, in microseconds.
        flush_us: f64,
        /// Time for each KiB written before, in microseconds, and the burst sizes between which
        /// it ends. Without the second size, it holds up to the largest burst measured.
        buffer: Option<(f64, Bytes, Option<Bytes>)>,
    },
    /// Amount of data that is written fast.
    Slc {
        /// Size of the fast area.
        bytes: Bytes,
        /// Rate within it, in bytes per second.
        fast: f64,
        /// Rate after it, in bytes per second.
        slow: f64,
    },
    /// Extra cost of a read that does not follow the previous one.
    Break {
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Extra time of a read directly after a write.
    Deferred {
        /// Extra time in microseconds.
        extra_us: f64,
        /// Pause after which it disappears.
        gone_after: Option<Nanos>,
    },
    /// Speed-up of random writes after a pause.
    Recovery {
        /// Time of a write without a pause, in microseconds.
        busy_us: f64,
        /// Time of a write after a pause, in microseconds.
        rested_us: f64,
        /// Shortest pause with nearly the full gain.
        pause: Nanos,
    },
    /// Speed-up of several reads in flight.
    Queue {
        /// Factor of the speed-up.
        gain: f64,
        /// Smallest depth with nearly the full speed-up.
        depth: u32,
    },
    /// No finding, with the reason.
    NotVisible(Why),
}

/// Reason why there is no finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Not enough points were measured, or not often enough.
    TooFew,
    /// There is no effect above the noise.
    Flat,
    /// There is an effect, but its shape has more than one explanation.
    Unclear,
}

/// Derives the finding on a trait from the answers.
pub fn find(what: Trait, answers: &Answers) -> TraitFinding {
    // The long write has no series: one course has many intervals.
    if !answers.all_of(what).all(|(_, series)| series.is_repeated()) {
        return TraitFinding::NotVisible(Why::TooFew);
    }
    let found = match what {
        Trait::ReadCosts => find_costs(&answers.of(what, "")),
        Trait::Boundaries => {
            find_boundaries(&answers.of(what, "across"), &answers.of(what, "beside"))
        }
        Trait::MapUnit => find_map_unit(&answers.of(what, "")),
        Trait::OpenUnits => find_open_units(&answers.of(what, "write"), &answers.of(what, "read")),
        Trait::MapSpan => series::map_span(&answers.of(what, "")),
        Trait::Flush => series::flush(&answers.of(what, "")),
        Trait::Slc => find_slc(answers.courses()),
        Trait::Break => find_break(&answers.of(what, "")),
        Trait::Deferred => find_deferred(&answers.of(what, ""), &answers.of(Trait::Break, "")),
        Trait::Recovery => find_recovery(&answers.of(what, "")),
        Trait::Queue => find_queue(&answers.of(what, "")),
    };
    found.unwrap_or_else(TraitFinding::NotVisible)
}

/// Nearest whole number of bytes.
const fn bytes(x: f64) -> Bytes {
    Bytes(as_u64(x + 0.5))
}

/// Minimum size of an effect, in standard errors.
const SIGMAS: f64 = 6.0;
/// Minimum difference of two levels or times, as a share of the lower one.
const SHARE: f64 = 0.03;

/// Maximum error of the prediction of an omitted size, as a share.
const MOST_OFF: f64 = 0.10;
/// Maximum residual of the fit at any size, as a share,
const MOST_LEFT: f64 = 0.08;
/// or in standard errors, if that is larger.
const COST_SIGMAS: f64 = 2.0;
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

/// Determines the costs of an I/O and of each of its blocks.
fn find_costs(series: &Series) -> Result<TraitFinding, Why> {
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
    let line = best_line(&points, &ramps);
    let off = left_out(&points, &ramps);
    let most_left = MOST_LEFT.max(COST_SIGMAS * series.share_of_error());
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
        worst = worst.max((best_line(&others, ramps).at(blocks) / us - 1.0).abs());
    }
    worst
}

/// Returns the fit without a ramp, or with the best of these ramp lengths.
fn best_line(points: &[(f64, f64)], ramps: &[f64]) -> CostFit {
    let plain = cost_line(points, 0.0);
    let ramps = ramps.iter().map(|blocks| cost_line(points, *blocks));
    let ramped = ramps.min_by(|a, b| a.squares.total_cmp(&b.squares));
    match ramped {
        // An additional parameter must halve the residuals.
        Some(ramped) if ramped.squares < plain.squares * 0.5 => ramped,
        _ => plain,
    }
}

fn cost_line(points: &[(f64, f64)], ramp_blocks: f64) -> CostFit {
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

/// Minimum size of a step, as a share of a read.
const BOUNDARY_SHARE: f64 = 0.015;
/// Required distance to the next best explanation, in squared standard errors.
const CLEAR: f64 = 16.0;
/// Maximum residual of each point, in squared standard errors.
const LEFT: f64 = 9.0;

/// Maximum number of boundaries.
const MOST_BOUNDARIES: usize = 3;
/// Rounds of the descent; each reduces the distance to a fraction.
const ROUNDS: usize = 60;

/// Extra time across multiples of a unit over beside them, with its standard error.
struct BoundaryStep {
    unit: f64,
    extra: f64,
    error: f64,
    base: f64,
}

/// A set of boundaries that explains the steps, and the residual.
#[derive(Clone, Debug)]
struct Explained {
    /// Indices of units, and costs.
    costs: Vec<(usize, f64)>,
    squares: f64,
}

/// Determines the sizes with costs for reads across their multiples.
///
/// A read across a multiple of U always crosses a boundary of G if U is a multiple of G, and in
/// U of G cases if U is a smaller power of two. So the cost grows as `min(1, U / G)` up to U =
/// G, and the measured cost is a sum of a few of these terms.
fn find_boundaries(across: &Series, beside: &Series) -> Result<TraitFinding, Why> {
    let steps = boundary_steps(across, beside);
    if steps.len() < 5 {
        return Err(Why::TooFew);
    }
    // Starts without boundaries and adds one as long as the fit improves enough.
    let mut best = vec![explain(&steps, &[])];
    for count in 1..=MOST_BOUNDARIES {
        let next = explanations(count, &steps);
        let gain = |next: &Explained| best[0].squares - next.squares;
        if next.first().is_none_or(|next| gain(next) < SIGMAS * SIGMAS) {
            break;
        }
        best = next;
    }
    if best[0].costs.is_empty() {
        return Err(Why::Flat);
    }
    let clear = best
        .get(1)
        .is_none_or(|next| next.squares - best[0].squares > CLEAR);
    state_boundaries(&steps, &best[0])
        .filter(|_| clear)
        .ok_or(Why::Unclear)
}

fn boundary_steps(across: &Series, beside: &Series) -> Vec<BoundaryStep> {
    let of = |point: &SeriesPoint| {
        let control = beside.at(point.x)?;
        let (us, base) = (point.mean(), control.mean());
        let error = across.error(point).hypot(beside.error(control));
        Some(BoundaryStep {
            unit: point.x,
            extra: us - base,
            error,
            base,
        })
    };
    across.0.iter().filter_map(of).collect()
}

/// Returns all explanations with `count` boundaries, the best first.
fn explanations(count: usize, steps: &[BoundaryStep]) -> Vec<Explained> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|some| {
            let from = some.last().map_or(0, |last| last + 1);
            (from..steps.len()).map(move |next| [&some[..], &[next]].concat())
        });
        all = longer.collect();
    }
    let mut explained: Vec<Explained> = all.iter().map(|at| explain(steps, at)).collect();
    explained.sort_by(|a, b| a.squares.total_cmp(&b.squares));
    explained
}

/// Fits the costs of these boundaries, none below 0. Each cost in turn is set to its optimum
/// until none changes any more (coordinate descent, which converges to the least squares).
fn explain(steps: &[BoundaryStep], at: &[usize]) -> Explained {
    let share = |of: usize, step: &BoundaryStep| (step.unit / steps[of].unit).min(1.0);
    let told = |costs: &[f64], step: &BoundaryStep| -> f64 {
        at.iter()
            .zip(costs)
            .map(|(of, cost)| cost * share(*of, step))
            .sum()
    };
    let mut costs = vec![0.0; at.len()];
    for _ in 0..ROUNDS {
        for (which, of) in at.iter().enumerate() {
            let (mut up, mut down) = (0.0, 0.0);
            for step in steps {
                let (f, weight) = (share(*of, step), step.error.powi(-2));
                let others = told(&costs, step) - costs[which] * f;
                up += weight * f * (step.extra - others);
                down += weight * f * f;
            }
            costs[which] = (up / down).max(0.0);
        }
    }
    let left = |step: &BoundaryStep| ((step.extra - told(&costs, step)) / step.error).powi(2);
    Explained {
        squares: steps.iter().map(left).sum(),
        costs: at.iter().copied().zip(costs.iter().copied()).collect(),
    }
}

/// Returns the finding, unless a cost is too small, or the residual exceeds the noise, or the
/// largest unit is among the boundaries: the true one may then be larger.
fn state_boundaries(steps: &[BoundaryStep], best: &Explained) -> Option<TraitFinding> {
    let adequate = best.squares <= LEFT * steps.len() as f64;
    let large = |(at, cost): &(usize, f64)| {
        let step = steps.get(*at)?;
        let enough = *cost > SIGMAS * step.error && *cost > BOUNDARY_SHARE * step.base;
        (enough && *at + 1 < steps.len()).then(|| (bytes(step.unit), *cost))
    };
    let found: Option<Vec<(Bytes, f64)>> = best.costs.iter().map(large).collect();
    found.filter(|_| adequate).map(TraitFinding::Boundaries)
}

/// Maximum distance of a point from the mean of its level, as a share of the difference.
const LEVEL_TIGHT: f64 = 0.25;

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
    let tight = |part: &[f64], level: f64| {
        part.iter()
            .all(|one| (one - level).abs() <= LEVEL_TIGHT * gap)
    };
    match tight(left, before) && tight(right, after) {
        true => Ok(Levels { at, before, after }),
        false => Err(Why::Unclear),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Determines the mapping unit: shifts below it have a cost, a shift of 0 has none.
fn find_map_unit(series: &Series) -> Result<TraitFinding, Why> {
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
fn find_open_units(writes: &Series, reads: &Series) -> Result<TraitFinding, Why> {
    let of = |point: &SeriesPoint| {
        let control = reads.at(point.x)?;
        let error = writes.error(point).hypot(reads.error(control));
        Some((point.x, point.mean() - control.mean(), error))
    };
    let points: Vec<(f64, f64, f64)> = writes.0.iter().filter_map(of).collect();
    let base = writes.0.first().map_or(0.0, SeriesPoint::mean);
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
fn extra_time(series: &Series, first: &SeriesPoint, second: &SeriesPoint) -> Result<f64, Why> {
    let extra = second.mean() - first.mean();
    let error = series.error(first).hypot(series.error(second));
    let enough = extra > SIGMAS * error && extra > SHARE * first.mean();
    if enough { Ok(extra) } else { Err(Why::Flat) }
}

/// Returns the extra time, if it is more than noise and its error is small enough to report it.
fn known_extra_time(
    series: &Series,
    first: &SeriesPoint,
    second: &SeriesPoint,
) -> Result<f64, Why> {
    let extra = extra_time(series, first, second)?;
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
fn find_break(series: &Series) -> Result<TraitFinding, Why> {
    let (Some(order), Some(random)) = (series.at(0.0), series.at(1.0)) else {
        return Err(Why::TooFew);
    };
    let extra_us = known_extra_time(series, order, random)?;
    Ok(TraitFinding::Break { extra_us })
}

/// Compares reads after a write and a pause (in milliseconds) with reads alone.
fn find_deferred(series: &Series, alone: &Series) -> Result<TraitFinding, Why> {
    let (Some(at_once), Some(alone)) = (series.at(0.0), alone.at(1.0)) else {
        return Err(Why::TooFew);
    };
    if series.0.len() < 3 {
        return Err(Why::TooFew);
    }
    let extra_us = known_extra_time(series, alone, at_once)?;
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
fn find_recovery(series: &Series) -> Result<TraitFinding, Why> {
    let (Some(first), Some(last)) = (series.0.first(), series.0.last()) else {
        return Err(Why::TooFew);
    };
    if series.0.len() < 3 {
        return Err(Why::TooFew);
    }
    let gained = extra_time(series, last, first)?;
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
fn find_queue(series: &Series) -> Result<TraitFinding, Why> {
    let Some(alone) = series.at(1.0) else {
        return Err(Why::TooFew);
    };
    let best = series.0.iter().min_by(|a, b| a.mean().total_cmp(&b.mean()));
    let best = best.filter(|_| series.0.len() >= 3).ok_or(Why::TooFew)?;
    extra_time(series, best, alone)?;
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
const CLIFF_TIGHT: f64 = 0.15;
/// Permitted difference between trials.
const AGREE: f64 = 0.2;

/// Evaluates the long writes, each of which must have one cliff, at the same position.
fn find_slc(courses: &[Course]) -> Result<TraitFinding, Why> {
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
        .filter(|one| (*one / level - 1.0).abs() <= CLIFF_TIGHT);
    near.count() * 10 >= part.len() * 9
}

const fn millis(ms: f64) -> Nanos {
    Nanos::millis(as_u64(ms))
}

#[cfg(test)]
mod tests;
