//! Power of a number of trials, computed before a run.

use super::arm::Arm;
use super::between::RunVariance;
use super::compare::compare_figures;
use super::judge::Rule;
use super::simulate::{Apart, Design, Noise, Scene, Way, log_deviation, sides_of};
use super::trials::{Outlook, POWER, Test, called_effect};
use super::{Margin, Options};
use crate::distributions::root_from;
use crate::summary::mean;
use assay_model::figures::{Better, Figure, LEVEL, Verdict};

/// Differences that `n` trials per side detect in four of five comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerRow {
    /// Trials per side.
    pub n: u32,
    /// Smallest difference that is called faster or slower, in percent; smaller ones may be called
    /// equivalent. `None` if `n` trials detect none at that level.
    pub difference_percent: Option<f64>,
    /// Smallest margin within which sides without a difference are found equivalent, in percent;
    /// `None` if no margin suffices.
    pub equivalence_percent: Option<f64>,
}

/// Returns the table for trials that vary by `cv` (a share), tests at `alpha` and a `margin` (a
/// share). Numbers below 2 are left out, since one trial shows nothing.
pub fn table(cv: f64, alpha: f64, margin: f64, numbers: &[u32]) -> Vec<PowerRow> {
    let s = log_deviation(cv);
    let rule = Rule {
        alpha_difference: alpha,
        alpha_equivalence: alpha,
        margin: Margin::of(margin, Better::Higher),
    };
    let percent = |share: f64| Some(100.0 * share).filter(|percent| percent.is_finite());
    let row = |&n: &u32| PowerRow {
        n,
        difference_percent: percent((called_effect(&rule, s, n) * s).exp_m1()),
        equivalence_percent: percent(provable_margin(&Test::new(alpha, n), s)),
    };
    numbers.iter().filter(|n| **n >= 2).map(row).collect()
}

/// Returns the differences that numbers of runs per side detect, if the sides are measured in
/// separate runs with the variance `between`; for tests at `alpha` and a `margin` (a share). `n` of
/// a row is the number of runs per side.
pub fn table_of_runs(
    between: &RunVariance,
    alpha: f64,
    margin: f64,
    numbers: &[u32],
) -> Vec<PowerRow> {
    let s = between.deviation();
    let percent = |share: f64| Some(100.0 * share).filter(|percent| percent.is_finite());
    let row = |&n: &u32| {
        let df = between.df_with(n);
        let difference = Test::of_runs(alpha / 2.0, df, n).detectable_effect();
        let difference = (difference * s).exp_m1();
        let equivalence = provable_margin(&Test::of_runs(alpha, df, n), s);
        // A difference that is found equivalent is not called faster.
        let called = match equivalence < margin {
            true => difference.max(margin),
            false => difference,
        };
        PowerRow {
            n,
            difference_percent: percent(called),
            equivalence_percent: percent(equivalence),
        }
    };
    numbers.iter().map(row).collect()
}

/// Variation of a metric's trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The metric.
    pub metric: String,
    /// Coefficient of variation, a share.
    pub cv: f64,
    /// Degrees of freedom of the estimate.
    pub df: f64,
}

impl Spread {
    /// Returns an upper bound of the coefficient for planning ([`Outlook::careful`]).
    pub fn careful_cv(&self) -> f64 {
        let s = Outlook::careful(0.0, log_deviation(self.cv), self.df).s;
        s.powi(2).exp_m1().sqrt()
    }
}

/// Returns the spread of each deciding metric: variances of logarithms pooled over its conditions
/// or sides, s^2 = sum (n_i - 1) s_i^2 / sum (n_i - 1). Metrics without variance are left out.
pub fn spreads(figures: &[Figure]) -> Vec<Spread> {
    let mut pooled: Vec<(&str, f64, f64)> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.primary) {
        let arm = Arm::of(&figure.sample, figure.better).ok();
        let Some((n, variance)) = arm.and_then(|arm| Some((arm.n, arm.variance?))) else {
            continue;
        };
        let df = (n - 1) as f64;
        match pooled.iter_mut().find(|(name, ..)| *name == figure.metric) {
            Some((_, all_df, squares)) => {
                *all_df += df;
                *squares += df * variance;
            }
            None => pooled.push((&figure.metric, df, df * variance)),
        }
    }
    let spread = |(metric, df, squares): (&str, f64, f64)| Spread {
        metric: metric.to_owned(),
        cv: (squares / df).exp_m1().sqrt(),
        df,
    };
    let known = pooled.into_iter().map(spread);
    known.filter(|spread| spread.cv > 0.0).collect()
}

/// Returns the share in percent of `comparisons` simulated comparisons that call B faster if it is
/// faster by `truth`. Trials are interleaved, `n` per side, vary by `cv`, and drift by 10 %; the
/// judge is that of all comparisons.
pub fn promise_kept(cv: f64, n: u32, truth: f64, comparisons: u32, seed: u64) -> f64 {
    let scene = Scene {
        cv,
        truth,
        noise: Noise::Independent,
        drift: 0.1,
        n,
        design: Design::Rounds(2),
        method: Way::Verdict,
        margin: 0.05,
    };
    let options = Options {
        min_trials: 3,
        ..Options::default()
    };
    let figures = sides_of(&scene, comparisons, seed);
    let words = figures.map(|[a, b]| {
        let compared = compare_figures(&[a], &[b], &options);
        matches!(compared.lines[0].verdict, Verdict::Faster(_))
    });
    let found = words.filter(|found| *found).count();
    100.0 * found as f64 / f64::from(comparisons.max(1))
}

/// Returns the difference, a share, that the table promises for the number of runs of the scene,
/// averaged over the possible estimates of the variance.
pub fn promised_of_runs(scene: &Apart) -> f64 {
    let runs = u32::try_from(scene.runs[0]).unwrap_or(u32::MAX);
    let variances = scene.variances(400);
    let promised = variances.iter().filter_map(|between| {
        let rows = table_of_runs(between, LEVEL, 0.0, &[runs]);
        Some(rows.first()?.difference_percent? / 100.0)
    });
    mean(&promised.collect::<Vec<_>>())
}

/// Returns the margin as a share, for trials or runs with the standard deviation `s`.
fn provable_margin(test: &Test, s: f64) -> f64 {
    let likely = (test.likely_effect() * s).exp_m1();
    if !likely.is_finite() {
        return f64::INFINITY;
    }
    // Both ends of the margin must be excluded; a rate does not fall by more than 100 %.
    root_from(likely, |share| {
        let fall = -(-share.min(0.999)).ln_1p();
        test.tail(share.ln_1p() / s) + test.tail(fall / s) - 1.0 - POWER
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Sample;

    /// Checks that the planned numbers of trials show the promised differences.
    #[test]
    fn the_table_brackets_the_numbers_of_trials() {
        let shown = |row: &PowerRow| row.difference_percent.unwrap();
        let proved = |row: &PowerRow| row.equivalence_percent.unwrap();
        for (cv, percent) in [(0.02, 6.0), (0.05, 8.0), (0.10, 10.0)] {
            let outlook = Outlook {
                d: f64::ln_1p(percent / 100.0),
                s: log_deviation(cv),
            };
            let n = outlook.for_difference(0.05, 100).unwrap();
            let rows = table(cv, 0.05, 0.001, &[n - 1, n]);
            assert!(shown(&rows[0]) > percent, "{rows:?}");
            assert!(shown(&rows[1]) <= percent + 0.01, "{rows:?}");
        }
        for (cv, margin) in [(0.03, 5.0), (0.05, 5.0), (0.10, 10.0)] {
            let rule = Rule {
                alpha_difference: 0.05,
                alpha_equivalence: 0.05,
                margin: Margin::of(margin / 100.0, Better::Higher),
            };
            let outlook = Outlook {
                d: 0.0,
                s: log_deviation(cv),
            };
            let n = outlook.for_equivalence(&rule, 100).unwrap();
            let rows = table(cv, 0.05, 0.05, &[n - 1, n]);
            assert!(proved(&rows[0]) > margin, "{rows:?}");
            assert!(proved(&rows[1]) <= margin + 0.01, "{rows:?}");
        }
    }

    #[test]
    fn spreads_are_pooled_over_conditions() {
        let figure = |condition: &str, logs: &[f64]| Figure {
            condition: condition.to_owned(),
            metric: "bw".to_owned(),
            unit: "MB/s".to_owned(),
            better: Some(Better::Higher),
            primary: true,
            sample: Sample::Values {
                values: logs.iter().map(|y| y.exp()).collect(),
                positions: Vec::new(),
            },
            measured: None,
        };
        // Around two means: (2 * 0.01^2 + 2 * 0.03^2) / (1 + 1) = 0.001.
        let found = spreads(&[
            figure("a", &[1.01, 0.99]),
            figure("b", &[5.03, 4.97]),
            figure("c", &[7.0]),
        ]);
        assert_eq!(found.len(), 1);
        assert!((found[0].cv - 0.001_f64.exp_m1().sqrt()).abs() < 1e-9);
        // sqrt(2 / chi2_{.20, 2}) = sqrt(2 / 0.4463), of the deviation.
        let careful = found[0].careful_cv() / found[0].cv;
        assert!((careful - 2.117).abs() < 1e-2, "{careful}");
        assert!(spreads(&[figure("a", &[1.0, 1.0])]).is_empty());
    }

    /// But the step from means to ranks.
    #[test]
    fn more_trials_show_less() {
        let rows = table(
            0.1,
            0.05,
            0.001,
            &[2, 3, 4, 5, 8, 10, 15, 20, 50, 100, 1000],
        );
        for pair in rows.windows(2) {
            assert!(
                pair[0].difference_percent > pair[1].difference_percent,
                "{pair:?}"
            );
            assert!(
                pair[0].equivalence_percent > pair[1].equivalence_percent,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn one_trial_shows_nothing_and_few_none_at_a_small_level() {
        assert!(table(0.05, 0.05, 0.05, &[0, 1]).is_empty());
        assert_eq!(table(0.05, 0.05, 0.05, &[2])[0].n, 2);
        assert_eq!(table(0.05, 1e-4, 0.05, &[6])[0].difference_percent, None);
    }

    /// Checks the promises against the judge that compares: a small part of `cargo xtask
    /// calibrate`, with wider limits.
    #[test]
    fn what_is_promised_is_kept() {
        for (cv, n) in [(0.05, 4), (0.02, 6), (0.10, 10)] {
            let row = table(cv, 0.05, 0.05, &[n])[0];
            let truth = row.difference_percent.unwrap() / 100.0;
            let kept = promise_kept(cv, n, truth, 600, 5);
            assert!((74.0..=86.0).contains(&kept), "CV {cv}, n={n}: {kept} %");
        }
    }
}
