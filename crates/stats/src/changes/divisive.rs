//! Most likely change point of an interval: E-divisive means of Matteson and James (2014, arXiv
//! 1306.4933), equations 5 and 7, with exponent 1.

/// Best place to cut an interval in two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// Index of the first value after the cut.
    pub at: usize,
    /// Divergence of the two parts.
    pub divergence: f64,
}

/// Finds the cut `at` and the end `until` that maximize the divergence of `values[..at]` and
/// `values[at..until]`; `None` below two values. The first of several equal cuts is returned.
///
/// The divergence is nm/(n + m) times the energy distance of both parts, with unbiased means
/// within them. Sums over pairs grow by one value at a time: O(n^2) in all.
pub(super) fn best_cut(values: &[f64]) -> Option<Cut> {
    if values.len() < 2 {
        return None;
    }
    let distances = Distances::of(values);
    let mut best = Cut {
        at: 1,
        divergence: f64::NEG_INFINITY,
    };
    // Distances of each value to all values before the cut.
    let mut to_left = vec![0.0; values.len()];
    let mut within_left = 0.0;
    for (newest, value) in values.iter().enumerate().take(values.len() - 1) {
        within_left += to_left.get(newest).copied().unwrap_or_default();
        for (sum, other) in to_left.iter_mut().zip(values) {
            *sum += (value - other).abs();
        }
        let at = newest + 1;
        let divergence = distances.best_end(at, &to_left, within_left);
        if divergence > best.divergence {
            best = Cut { at, divergence };
        }
    }
    Some(best)
}

/// Sums of distances of an interval.
struct Distances {
    /// Distances of each value to all values before it.
    to_earlier: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let of_one = |(end, value): (usize, &f64)| {
            let earlier = values.iter().take(end);
            earlier.map(|other| (value - other).abs()).sum()
        };
        let to_earlier = values.iter().enumerate().map(of_one).collect();
        Self { to_earlier }
    }

    /// Largest divergence of a cut over all ends of its right part.
    fn best_end(&self, at: usize, to_left: &[f64], within_left: f64) -> f64 {
        let n = at as f64;
        let (mut cross, mut within_right) = (0.0, 0.0);
        let mut best = f64::NEG_INFINITY;
        let right = self.to_earlier.iter().zip(to_left).skip(at);
        for (index, (to_earlier, to_left)) in right.enumerate() {
            cross += to_left;
            within_right += to_earlier - to_left;
            let m = (index + 1) as f64;
            // Each product is rounded as in Otava, so that the same one of several equal
            // divergences is chosen.
            let left = weight(m, n, n + m) * within_left;
            let right = weight(n, m, n + m) * within_right;
            best = best.max(2.0 / (n + m) * cross - left - right);
        }
        best
    }
}

/// Weight of the pairs within a part of `n` values if the other part has `m`.
fn weight(m: f64, n: f64, all: f64) -> f64 {
    if n < 2.0 {
        return 0.0;
    }
    2.0 * m / (all * (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;

    /// The definition: means over all pairs, for each cut and each end.
    fn by_definition(values: &[f64]) -> Cut {
        let pairs = |part: &[f64]| {
            let mut sum = 0.0;
            for (i, a) in part.iter().enumerate() {
                sum += part[..i].iter().map(|b| (a - b).abs()).sum::<f64>();
            }
            sum * weight(1.0, part.len() as f64, part.len() as f64)
        };
        let mut best = Cut {
            at: 0,
            divergence: f64::NEG_INFINITY,
        };
        for at in 1..values.len() {
            for until in at + 1..=values.len() {
                let (left, right) = (&values[..at], &values[at..until]);
                let (n, m) = (left.len() as f64, right.len() as f64);
                let cross = left
                    .iter()
                    .flat_map(|a| right.iter().map(move |b| (a - b).abs()));
                let energy = 2.0 * cross.sum::<f64>() / (n * m) - pairs(left) - pairs(right);
                let divergence = n * m / (n + m) * energy;
                if divergence > best.divergence {
                    best = Cut { at, divergence };
                }
            }
        }
        best
    }

    #[test]
    fn sums_that_grow_give_what_the_definition_gives() {
        let mut random = SplitMix64::new(7);
        for length in 2..40 {
            let values: Vec<f64> = (0..length)
                .map(|i| random.fraction() + if i > 9 { 0.2 } else { 0.0 })
                .collect();
            let (found, expected) = (best_cut(&values).unwrap(), by_definition(&values));
            assert_eq!(found.at, expected.at, "{values:?}");
            assert!((found.divergence / expected.divergence - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_step_is_cut_where_it_is() {
        let values = [1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9];
        assert_eq!(best_cut(&values).unwrap().at, 4);
        assert_eq!(best_cut(&[1.0]), None);
        assert_eq!(best_cut(&[]), None);
    }
}
