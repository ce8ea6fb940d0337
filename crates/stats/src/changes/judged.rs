//! Judgement of one candidate between its neighbours.

use super::Rules;
use crate::verdict::compare::Comparison;
use crate::verdict::line::{Options, VerdictRow};
use crate::verdict::units::compare_runs;
use assay_model::figures::{Better, Figure, Sample};
use assay_model::verdict::Verdict;
use std::ops::Range;

/// Runs of a series as input of the judgement.
pub(super) struct JudgedRuns<'a> {
    /// Logarithm of each run's centre, without single outliers.
    pub logs: &'a [f64],
    /// Figure of each run.
    pub runs: &'a [Vec<Figure>],
    /// Standard deviation of a run, from the differences of neighbours.
    pub noise: f64,
    /// Margin, as a share.
    pub margin: f64,
    /// The rules.
    pub rules: &'a Rules,
}

/// Result of a comparison of both sides.
pub(super) struct Finding {
    /// Runs before the change that were compared.
    pub before: Range<usize>,
    /// Runs after the change that were compared.
    pub after: Range<usize>,
    /// The verdict.
    pub row: VerdictRow,
    /// p value of the difference.
    pub p: f64,
}

impl JudgedRuns<'_> {
    /// Compares the runs on both sides of `at` within a part of the series, those nearest to `at`.
    pub fn compare(&self, part: &Range<usize>, at: usize) -> Option<Finding> {
        let most = self.rules.max_runs;
        let before = part.start.max(at.saturating_sub(most))..at;
        let after = at..part.end.min(at + most);
        let options = Options {
            margin: self.margin,
            ..Options::default()
        };
        let side = |range: &Range<usize>| self.runs.get(range.clone());
        let Comparison { lines, .. } = compare_runs(side(&before)?, side(&after)?, &options);
        let row = lines.into_iter().next()?;
        let p = row.p_adjusted.unwrap_or(1.0);
        Some(Finding {
            before,
            after,
            row,
            p,
        })
    }

    /// `true` if a difference is a change of the series.
    pub fn counts(&self, finding: &Finding) -> bool {
        let (Verdict::Faster(change) | Verdict::Slower(change)) = finding.row.verdict else {
            return false;
        };
        let Rules {
            min_runs,
            min_runs_together,
            settled_runs,
            ..
        } = *self.rules;
        let (before, after) = (finding.before.len(), finding.after.len());
        let runs = before.min(after);
        let settled = runs >= settled_runs;
        let level = match settled {
            true => self.rules.level,
            false => self.rules.level_of_few,
        };
        let size = change.log().abs();
        runs >= min_runs
            && before + after >= min_runs_together
            && finding.p <= level
            && change.percent.abs() > 100.0 * self.margin
            && size > self.rules.standard_errors * self.standard_error(finding)
            && (settled || self.is_apart(finding))
            && !self.is_drift(finding)
    }

    /// Returns the standard error of the difference. Uses the spread of the compared runs if it is
    /// larger than the noise of the whole series: noise may have grown. A smaller spread is
    /// ignored, since few runs may lie close together by chance.
    fn standard_error(&self, finding: &Finding) -> f64 {
        let (before, after) = self.sides(finding);
        let (n, m) = (before.len() as f64, after.len() as f64);
        let pooled = (squares(before) + squares(after)) / (n + m - 2.0).max(1.0);
        self.noise.max(pooled.sqrt()) * (n.recip() + m.recip()).sqrt()
    }

    /// `true` if the values of both sides do not overlap.
    fn is_apart(&self, finding: &Finding) -> bool {
        let ends = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high)
        };
        let (before, after) = self.sides(finding);
        let (before, after) = (ends(before), ends(after));
        before.1 < after.0 || after.1 < before.0
    }

    /// `true` if a straight line fits the runs nearly as well as a step.
    fn is_drift(&self, finding: &Finding) -> bool {
        let (before, after) = self.sides(finding);
        let step = squares(before) + squares(after);
        squares_of_line(&[before, after].concat()) <= (1.0 + self.rules.worse_line) * step
    }

    fn sides(&self, finding: &Finding) -> (&[f64], &[f64]) {
        let side = |range: &Range<usize>| self.logs.get(range.clone()).unwrap_or_default();
        (side(&finding.before), side(&finding.after))
    }
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = crate::summary::mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Sum of squared deviations from the line of least squares through values at equal distances.
fn squares_of_line(values: &[f64]) -> f64 {
    let mean = crate::summary::mean(values);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    yy - xy * xy / xx
}

/// Returns the figure of one run; the name of its metric is not used.
pub(super) fn figure(trials: &[f64], better: Better) -> Figure {
    Figure {
        condition: String::new(),
        metric: String::new(),
        unit: String::new(),
        better: Some(better),
        primary: true,
        sample: Sample::Values {
            values: trials.to_vec(),
            positions: Vec::new(),
        },
        measured: None,
    }
}
