//! Sizes with costs for reads across their multiples.
//!
//! A read across a multiple of U always crosses a boundary of G if U is a multiple of G, and in
//! U of G cases if U is a smaller power of two. So the cost grows as `min(1, U / G)` up to U =
//! G, and the measured cost is a sum of a few of these terms.

use super::series::Series;
use super::{TraitFinding, Why, bytes};
use assay_model::units::Bytes;

/// Minimum size of a step, in standard errors.
const SIGMAS: f64 = 6.0;
/// Minimum size of a step, as a share of a read.
const SHARE: f64 = 0.015;
/// Required distance to the next best explanation, in squared standard errors.
const CLEAR: f64 = 16.0;
/// Maximum residual of each point, in squared standard errors.
const LEFT: f64 = 9.0;

/// Maximum number of boundaries.
const MOST: usize = 3;
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

pub(super) fn find(across: &Series, beside: &Series) -> Result<TraitFinding, Why> {
    let steps = steps(across, beside);
    if steps.len() < 5 {
        return Err(Why::TooFew);
    }
    // Starts without boundaries and adds one as long as the fit improves enough.
    let mut best = vec![explain(&steps, &[])];
    for count in 1..=MOST {
        let next = all_of(count, &steps);
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
    state(&steps, &best[0])
        .filter(|_| clear)
        .ok_or(Why::Unclear)
}

fn steps(across: &Series, beside: &Series) -> Vec<BoundaryStep> {
    let of = |point: &super::series::SeriesPoint| {
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
fn all_of(count: usize, steps: &[BoundaryStep]) -> Vec<Explained> {
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
fn state(steps: &[BoundaryStep], best: &Explained) -> Option<TraitFinding> {
    let adequate = best.squares <= LEFT * steps.len() as f64;
    let large = |(at, cost): &(usize, f64)| {
        let step = steps.get(*at)?;
        let enough = *cost > SIGMAS * step.error && *cost > SHARE * step.base;
        (enough && *at + 1 < steps.len()).then(|| (bytes(step.unit), *cost))
    };
    let found: Option<Vec<(Bytes, f64)>> = best.costs.iter().map(large).collect();
    found.filter(|_| adequate).map(TraitFinding::Boundaries)
}
