//! PELT: the best cut of a series into segments of constant mean (Killick, Fearnhead, Eckley 2012),
//! exact, with pruning.

use super::MIN_SEGMENT;
use super::noise::median;

/// Smallest gain that justifies one more segment, in units of ln N times the variance of the noise.
/// It is fifteen instead of the two or three of independent samples, because throughput is
/// autocorrelated: it stays high or low for a while by chance, without a change of level.
const PENALTY: f64 = 15.0;

/// Squared deviations from the mean of any part of a series, in units of the noise's variance,
/// computed in constant time from cumulative sums.
struct Cost {
    /// (sum, sum of squares) of the first i scaled samples.
    sums: Vec<(f64, f64)>,
}

impl Cost {
    fn new(values: &[f64], noise: f64) -> Self {
        // Deviations from a typical value avoid cancellation, which squares of raw byte counts
        // would suffer.
        let centre = median(values.to_vec());
        let mut sums = vec![(0.0, 0.0)];
        sums.extend(values.iter().scan((0.0, 0.0), |total, value| {
            let scaled = (value - centre) / noise;
            *total = (total.0 + scaled, total.1 + scaled * scaled);
            Some(*total)
        }));
        Self { sums }
    }

    #[cfg(test)]
    fn of(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end].0 - self.sums[start].0;
        let squares = self.sums[end].1 - self.sums[start].1;
        squares - sum * sum / (end - start) as f64
    }
}

/// Possible starts of the last segment, one vector per field: a compiler vectorizes [`Self::least`]
/// only in this layout, and it takes most of the time of a long series.
#[derive(Default)]
struct Candidates {
    start: Vec<usize>,
    /// Start as a floating-point number.
    index: Vec<f64>,
    /// Sum of the samples before the start.
    sum: Vec<f64>,
    /// Least cost of all samples before the start with the penalty of one more segment, minus the
    /// sum of their squares.
    before: Vec<f64>,
    /// Buffer for the costs.
    costs: Vec<f64>,
}

impl Candidates {
    fn push(&mut self, start: usize, before: f64, cost: &Cost) {
        let (sum, squares) = cost.sums[start];
        self.start.push(start);
        self.index.push(start as f64);
        self.sum.push(sum);
        self.before.push(before - squares);
    }

    /// Returns the cost of all samples before `end`, for each start.
    fn costs(&mut self, end: usize, cost: &Cost) -> &[f64] {
        let (sum, squares) = cost.sums[end];
        let end = end as f64;
        let places = self.index.iter().zip(&self.sum).zip(&self.before);
        self.costs.clear();
        self.costs
            .extend(places.map(|((index, before_sum), before)| {
                let own = sum - before_sum;
                squares + before - own * own / (end - index)
            }));
        &self.costs
    }

    /// Returns the cost of all samples before `end`, and the best start of the segment that ends
    /// there.
    fn least(&mut self, end: usize, cost: &Cost) -> (f64, usize) {
        let costs = self.costs(end, cost);
        let least = smallest(costs);
        let place = costs.iter().position(|cost| *cost <= least);
        (least, place.map_or(0, |place| self.start[place]))
    }

    /// Drops the starts that cost more than `ceiling` at `end`.
    fn prune(&mut self, end: usize, ceiling: f64, cost: &Cost) {
        self.costs(end, cost);
        let costs = std::mem::take(&mut self.costs);
        let mut kept = 0;
        for place in (0..costs.len()).filter(|place| costs[*place] <= ceiling) {
            self.start[kept] = self.start[place];
            self.index[kept] = self.index[place];
            self.sum[kept] = self.sum[place];
            self.before[kept] = self.before[place];
            kept += 1;
        }
        self.start.truncate(kept);
        self.index.truncate(kept);
        self.sum.truncate(kept);
        self.before.truncate(kept);
        self.costs = costs;
    }
}

/// Returns the smallest value. Compares several values at a time, since a chain of comparisons is
/// slow.
fn smallest(values: &[f64]) -> f64 {
    const LANES: usize = 8;
    let less = |a: f64, b: f64| if b < a { b } else { a };
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f64::INFINITY; LANES];
    for chunk in whole {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = less(*lane, *value);
        }
    }
    let all = lanes.iter().chain(rest).copied();
    all.fold(f64::INFINITY, less)
}

/// Interval of ends at which pruning pays for its time.
const PRUNED: usize = 16;

/// Returns the best change points in ascending order: for every end the best start of the last
/// segment, from the best solutions of all shorter series.
pub fn change_points(values: &[f64], noise: f64) -> Vec<usize> {
    let n = values.len();
    let cost = Cost::new(values, noise);
    let penalty = PENALTY * (n as f64).ln();
    // least[end] and last[end] are the cost, and the start of the last segment, of the best
    // solution for the samples before `end`.
    let mut least = vec![f64::INFINITY; n + 1];
    let mut last = vec![0; n + 1];
    let mut candidates = Candidates::default();
    candidates.push(0, 0.0, &cost);
    for end in MIN_SEGMENT..=n {
        // A segment that begins at `fresh` is now long enough. A start that was worse there by more
        // than a penalty can never be the best again: a new segment at `fresh` is cheaper for every
        // later end.
        let fresh = end - MIN_SEGMENT;
        if fresh >= MIN_SEGMENT {
            let ceiling = least[fresh] + penalty;
            if end % PRUNED == 0 {
                candidates.prune(fresh, ceiling, &cost);
            }
            candidates.push(fresh, ceiling, &cost);
        }
        (least[end], last[end]) = candidates.least(end, &cost);
    }
    let starts = std::iter::successors(Some(last[n]), |&start| Some(last[start]));
    let mut points: Vec<usize> = starts.take_while(|&start| start > 0).collect();
    points.reverse();
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the same minimum without pruning, as reference.
    fn least_cost(values: &[f64], noise: f64) -> f64 {
        let cost = Cost::new(values, noise);
        let penalty = PENALTY * (values.len() as f64).ln();
        let mut least = vec![f64::INFINITY; values.len() + 1];
        for end in MIN_SEGMENT..=values.len() {
            least[end] = (MIN_SEGMENT..=end - MIN_SEGMENT)
                .map(|start| least[start] + penalty + cost.of(start, end))
                .fold(cost.of(0, end), f64::min);
        }
        least[values.len()]
    }

    proptest! {
        #[test]
        fn pruning_loses_nothing(
            levels in prop::collection::vec((0.0..100.0, 1usize..40), 1..6),
            scatter in prop::collection::vec(-4.0..4.0, 200),
        ) {
            let levels = levels.iter().flat_map(|&(level, n): &(f64, usize)| vec![level; n]);
            let values: Vec<f64> = levels.zip(&scatter).map(|(level, s)| level + s).collect();
            prop_assume!(values.len() >= MIN_SEGMENT);
            let mut bounds = change_points(&values, 2.0);
            let cost = Cost::new(&values, 2.0);
            let penalty = PENALTY * (values.len() as f64).ln() * bounds.len() as f64;
            bounds.push(values.len());
            let mut start = 0;
            let mut total = penalty;
            for end in bounds {
                prop_assert!(end - start >= MIN_SEGMENT);
                total += cost.of(start, end);
                start = end;
            }
            let least = least_cost(&values, 2.0);
            prop_assert!((total - least).abs() <= 1e-6 * (1.0 + least), "{total} {least}");
        }
    }
}
