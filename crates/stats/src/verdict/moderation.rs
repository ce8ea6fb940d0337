//! Variances of few trials, moderated by those of the other conditions and metrics: the empirical
//! Bayes method of limma (Smyth, "Linear models and empirical Bayes methods", 2004).
//!
//! The model of a variance is that of the metric times a factor of the condition, apart from a
//! scatter common to all metrics and conditions.

use crate::distributions::{root_from, student};
use crate::summary::mean;
use statrs::function::gamma::digamma;

/// Fewest degrees of freedom of the scatter of variances for an estimate.
const FEWEST: f64 = 6.0;

/// Confidence of the upper bound that is used for the scatter.
const CONFIDENCE: f64 = 0.8;

/// Variance of a condition's trials with its degrees of freedom.
pub(crate) type Known = (f64, f64);

/// Prior variance of a condition's trials, estimated from other conditions and metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Variance of the metric, times the factor of the condition relative to the others on all
    /// metrics.
    pub variance: f64,
    /// Degrees of freedom that it contributes in addition to the condition's own; infinite if
    /// variances differ from it only by chance.
    pub df: f64,
    /// Most degrees of freedom of a moderated variance: those of the estimate of `variance`.
    pub most_df: f64,
}

impl Prior {
    /// Returns the priors of a table of variances, a row for each metric and a column for each
    /// condition; `None` if it is too small or has gaps.
    pub(crate) fn of_table(table: &[Vec<Known>]) -> Option<Vec<Vec<Self>>> {
        let columns = table.first()?.len();
        let is_known = |(variance, df): &Known| *variance > 0.0 && *df > 0.0;
        let is_full = |row: &Vec<Known>| row.len() == columns && row.iter().all(is_known);
        let df = prior_df(table).filter(|_| table.iter().all(is_full))?;
        let sum = |cells: &mut dyn Iterator<Item = Known>| {
            cells.fold((0.0, 0.0), |(squares, free), (variance, df)| {
                (squares + variance * df, free + df)
            })
        };
        let rows: Vec<Known> = table
            .iter()
            .map(|row| sum(&mut row.iter().copied()))
            .collect();
        let column = |at: usize| {
            let cells = table.iter().zip(&rows);
            let ratio = |(row, (squares, free)): (&Vec<Known>, &Known)| {
                (row[at].0 * free / squares, row[at].1)
            };
            sum(&mut cells.map(ratio))
        };
        let factors: Vec<Known> = (0..columns).map(column).collect();
        // Satterthwaite's degrees of freedom of a metric's variance: a condition with a large
        // variance dominates it.
        let shares = |row: &[Known]| {
            let shares = row.iter().zip(&factors);
            let shares = shares.map(|((_, df), factor)| (df * factor.0 / factor.1, *df));
            let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), (share, df)| {
                (sum + share, squares + share * share / df)
            });
            sum * sum / squares
        };
        let row = |(row, of_row): (&Vec<Known>, &Known)| {
            let of_row_df = shares(row);
            let prior = |factor: &Known| Self {
                variance: of_row.0 / of_row.1 * factor.0 / factor.1,
                df,
                most_df: (of_row_df.recip() + factor.1.recip()).recip(),
            };
            factors.iter().map(prior).collect()
        };
        Some(table.iter().zip(&rows).map(row).collect())
    }

    /// Returns the variance (d0 s0^2 + d s^2) / (d0 + d) with d0 + d degrees of freedom, never less
    /// than the condition's own: one condition may vary more than all others.
    pub(crate) fn moderate(&self, (variance, df): Known) -> Known {
        let share = match self.df.is_finite() {
            true => self.df / (self.df + df),
            false => 1.0,
        };
        let moderated = share * self.variance + (1.0 - share) * variance;
        (
            moderated.max(variance),
            (self.df + df).min(self.most_df.max(df)),
        )
    }
}

/// Returns d0 from the scatter of e = ln s^2 - digamma(d/2) + ln(d/2) around the means of its row
/// and its column, whose variance is trigamma(d/2) + trigamma(d0/2).
fn prior_df(table: &[Vec<Known>]) -> Option<f64> {
    let columns = table.first()?.len();
    let free = ((table.len() - 1) * columns.saturating_sub(1)) as f64;
    let chi = student::chi_squared_quantile(1.0 - CONFIDENCE, free).filter(|_| free >= FEWEST)?;
    let log = |&(variance, df): &Known| variance.ln() - digamma(0.5 * df) + (0.5 * df).ln();
    let logs: Vec<Vec<f64>> = table
        .iter()
        .map(|row| row.iter().map(log).collect())
        .collect();
    let of_rows: Vec<f64> = logs.iter().map(|row| mean(row)).collect();
    let of_column = |at: usize| {
        mean(
            &logs
                .iter()
                .filter_map(|row| row.get(at).copied())
                .collect::<Vec<_>>(),
        )
    };
    let of_columns: Vec<f64> = (0..columns).map(of_column).collect();
    let centre = mean(&of_rows);
    let mut squares = 0.0;
    for (row, of_row) in logs.iter().zip(&of_rows) {
        let off = row
            .iter()
            .zip(&of_columns)
            .map(|(e, of_column)| e - of_row - of_column + centre);
        squares += off.map(|off| off * off).sum::<f64>();
    }
    let sampling: Vec<f64> = table
        .iter()
        .flatten()
        .map(|(_, df)| trigamma(0.5 * df))
        .collect();
    let scatter = squares / chi - mean(&sampling);
    Some(match scatter > 0.0 {
        // Smyth's start value.
        true => 2.0 * root_from(0.5 + scatter.recip(), |x| scatter - trigamma(x)),
        false => f64::INFINITY,
    })
}

/// Second derivative of ln gamma, by recurrence and its asymptotic series (Abramowitz and Stegun
/// 6.4.6 and 6.4.12).
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut sum, mut x) = (0.0, x);
    while x < 8.0 {
        sum += x.powi(-2);
        x += 1.0;
    }
    let square = x.powi(-2);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0);
    sum + x.recip() + square * (0.5 + series / x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_is_that_of_the_tables() {
        let pi = std::f64::consts::PI;
        for (x, expected) in [
            (0.5, pi * pi / 2.0),
            (1.0, pi * pi / 6.0),
            (2.0, pi * pi / 6.0 - 1.0),
        ] {
            assert!(
                (trigamma(x) - expected).abs() < 1e-8,
                "{x}: {}",
                trigamma(x)
            );
        }
    }

    #[test]
    fn a_variance_moves_up_towards_those_of_the_others() {
        let prior = Prior {
            variance: 4.0,
            df: 6.0,
            most_df: 7.0,
        };
        assert_eq!(prior.moderate((1.0, 2.0)), (3.25, 7.0));
        assert_eq!(prior.moderate((9.0, 2.0)), (9.0, 7.0));
        let alike = Prior {
            df: f64::INFINITY,
            ..prior
        };
        assert_eq!(alike.moderate((1.0, 2.0)), (4.0, 7.0));
    }

    /// Three metrics under four conditions, of which one varies a hundred times as much.
    #[test]
    fn a_prior_is_that_of_the_metric_and_of_the_condition() {
        let row = |of_metric: f64| -> Vec<Known> {
            let factors = [1.0, 1.0, 1.0, 100.0].into_iter();
            factors.map(|factor| (of_metric * factor, 2.0)).collect()
        };
        let table = [row(1.0), row(10.0), row(0.1)];
        let priors = Prior::of_table(&table).unwrap();
        for (row, known) in priors.iter().zip(&table) {
            for (prior, (variance, _)) in row.iter().zip(known) {
                assert!((prior.variance / variance - 1.0).abs() < 1e-9, "{prior:?}");
                assert!(prior.df.is_infinite());
                // 2 (1 + 1 + 1 + 100)^2 / (1 + 1 + 1 + 100^2), and six of the condition.
                assert!((prior.most_df - 1.5671).abs() < 1e-3, "{prior:?}");
            }
        }
        assert_eq!(Prior::of_table(&table[..2]), None, "too few");
        let mut gap = table;
        gap[1].pop();
        assert_eq!(Prior::of_table(&gap), None);
    }
}
