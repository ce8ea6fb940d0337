//! The exact distribution of Mann and Whitney's U.

/// Largest number of pairs of trials with the exact distribution. Beyond it the normal
/// approximation is used: P is off by less than .001 there, and small p values are too large (.0001
/// by a third).
const MAX_EXACT_PAIRS: usize = 2_500;

/// Distribution of U, the number of pairs in which B is above A, if both come from the same
/// population (Mann and Whitney 1947, their recurrence).
#[derive(Clone, Debug)]
pub struct MannWhitney {
    /// P(U <= u) for u = 0, 1, ...
    cdf: Vec<f64>,
}

impl MannWhitney {
    /// Computes the distribution for `n` trials against `m`.
    pub fn new(n: usize, m: usize) -> Self {
        let mut cdf = if n * m <= MAX_EXACT_PAIRS {
            exact(n, m)
        } else {
            normal(n, m)
        };
        let mut sum = 0.0;
        for p in &mut cdf {
            sum += *p;
            *p = sum;
        }
        cdf.iter_mut().for_each(|p| *p = (*p / sum).min(1.0));
        Self { cdf }
    }

    /// Returns P(U <= u).
    pub fn at_most(&self, u: usize) -> f64 {
        self.cdf.get(u).copied().unwrap_or(1.0)
    }

    /// Returns the smallest possible two-sided p value.
    pub fn smallest_p(&self) -> f64 {
        (2.0 * self.at_most(0)).min(1.0)
    }

    /// Returns the largest u with 2 P(U <= u) <= `alpha`; `None` if no u has it.
    pub fn critical(&self, alpha: f64) -> Option<usize> {
        // Values that differ only by rounding count as equal.
        let limit = alpha * (1.0 + 1e-12);
        self.cdf
            .partition_point(|p| 2.0 * p <= limit)
            .checked_sub(1)
    }
}

/// Counts the orders of n + m trials that give each U: f(n, m, u) = f(n - 1, m, u - m) + f(n, m -
/// 1, u).
fn exact(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    // One row per number of A's; each step adds one B.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for b in 1..=m {
        for a in 1..=n {
            let mut row = vec![0.0; a * b + 1];
            for (u, count) in rows[a].iter().enumerate() {
                row[u] += count;
            }
            for (u, count) in rows[a - 1].iter().enumerate() {
                row[u + b] += count;
            }
            rows[a] = row;
        }
    }
    rows.pop().unwrap_or_default()
}

fn normal(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n as f64, m as f64);
    let (mean, variance) = (n * m / 2.0, n * m * (n + m + 1.0) / 12.0);
    let mut densities = Vec::new();
    let mut u = 0.0;
    while u <= n * m {
        densities.push((-0.5 * (u - mean).powi(2) / variance).exp());
        u += 1.0;
    }
    densities
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, truth: f64) {
        assert!((found / truth - 1.0).abs() < 6e-3, "{found} is not {truth}");
    }

    #[test]
    fn the_smallest_p_values_are_those_of_the_reference() {
        for (n, m, p) in [
            (3, 3, 0.100),
            (3, 4, 0.0571),
            (3, 5, 0.0357),
            (4, 4, 0.0286),
            (5, 5, 0.007_94),
            (6, 6, 0.002_16),
            (7, 7, 0.000_583),
            (8, 8, 0.000_155),
            (10, 10, 1.08e-5),
        ] {
            near(MannWhitney::new(n, m).smallest_p(), p);
        }
    }

    /// Sizes of the test at 5 %, of the reference, in percent.
    #[test]
    fn the_size_of_the_test_is_that_of_the_reference() {
        for (n, percent) in [
            (4, 2.86),
            (5, 3.17),
            (6, 4.11),
            (7, 3.79),
            (8, 4.99),
            (10, 4.33),
            (20, 4.91),
        ] {
            let table = MannWhitney::new(n, n);
            let k = table.critical(0.05).unwrap();
            near(200.0 * table.at_most(k), percent);
        }
        assert_eq!(MannWhitney::new(3, 3).critical(0.05), None);
    }

    #[test]
    fn the_approximation_meets_the_exact_one() {
        let (n, m) = (50, 50);
        let exact = MannWhitney::new(n, m);
        let mut sum = 0.0;
        let densities = normal(n, m);
        let total: f64 = densities.iter().sum();
        for (u, density) in densities.iter().enumerate() {
            sum += density / total;
            let off = (sum - exact.at_most(u)).abs();
            assert!(off < 2e-3, "{u}: {off}");
        }
        assert!(MannWhitney::new(60, 60).critical(0.05).is_some());
    }

    #[test]
    fn nobody_against_somebody_is_no_test() {
        assert_eq!(MannWhitney::new(0, 5).critical(0.05), None);
        assert!((MannWhitney::new(0, 5).at_most(3) - 1.0).abs() < 1e-12);
    }
}
