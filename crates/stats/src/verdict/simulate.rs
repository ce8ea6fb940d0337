//! Simulated comparisons with a known truth, to measure the error rates and the power of verdicts.

use super::arm::Arm;
use super::between::{Earlier, RunVariance};
use super::candidate::Estimate;
use super::compare::compare_figures;
use super::estimate::Difference;
use super::judge::{Rule, Word, judge};
use super::power::log_deviation;
use super::ranking::{Pair, rank_figures};
use super::shift::Tables;
use super::units::{ApartSide, Plan, compare_apart};
use super::{Margin, Options, VerdictRow, power};
use crate::summary::mean;
use assay_model::figures::{Better, Figure, LEVEL, Sample, Verdict};
use assay_model::plan::rounds;
use assay_model::rng::SplitMix64;

/// Truth and design of a simulated comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scene {
    /// Coefficient of variation of a trial, a share.
    pub cv: f64,
    /// Share by which B is better.
    pub truth: f64,
    /// Dependence of trials on earlier trials.
    pub noise: Noise,
    /// Drift over the session, a share.
    pub drift: f64,
    /// Trials per side; for a sequential design the largest number.
    pub n: u32,
    /// Design.
    pub design: Design,
    /// Method.
    pub method: Way,
    /// Margin, a share.
    pub margin: f64,
}

/// Order of the trials, and times of the looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Design {
    /// Rounds of this many conditions, as in a sweep, with one look at two of them; two conditions
    /// are run in blocks of ABBA or BAAB.
    Rounds(usize),
    /// Two conditions with looks.
    Looks(Plan),
    /// Every trial of A, then every trial of B; positions are not used.
    OneAfterAnother,
}

/// Method that estimates a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Least squares with position.
    Means,
    /// Method of comparisons: by ranks from six trials per side on.
    Verdict,
}

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Number of comparisons.
    pub replicates: u32,
    /// Verdicts that B is better.
    pub faster: u32,
    /// Verdicts that B is worse.
    pub slower: u32,
    /// Verdicts that the sides are equivalent.
    pub equivalent: u32,
    /// Verdicts without a conclusion.
    pub none: u32,
    /// Intervals of 95 % that contain the truth.
    pub covered: u32,
    /// Trials per side, summed over all comparisons.
    pub trials: u64,
}

impl Tally {
    /// Returns a count in percent of the comparisons.
    pub fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.replicates.max(1))
    }

    /// Adds two tallies.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            replicates: self.replicates + other.replicates,
            faster: self.faster + other.faster,
            slower: self.slower + other.slower,
            equivalent: self.equivalent + other.equivalent,
            none: self.none + other.none,
            covered: self.covered + other.covered,
            trials: self.trials + other.trials,
        }
    }

    fn count(&mut self, word: Word, covered: bool, n: usize) {
        self.replicates += 1;
        self.trials += n as u64;
        self.covered += u32::from(covered);
        *match word {
            Word::Faster => &mut self.faster,
            Word::Slower => &mut self.slower,
            Word::Equivalent => &mut self.equivalent,
            Word::NoConclusion => &mut self.none,
        } += 1;
    }
}

/// Simulates the comparison `replicates` times with lognormal trials.
pub fn simulate(scene: &Scene, replicates: u32, seed: u64) -> Tally {
    let mut normal = Normal::new(seed);
    let mut tables = Tables::default();
    let mut tally = Tally::default();
    for _ in 0..replicates {
        let sides = trials(scene, &mut normal);
        let (word, covered, n) = conclude(scene, &sides, &mut tables);
        tally.count(word, covered, n);
    }
    tally
}

/// Returns the figures of both sides for this many comparisons.
fn sides_of(scene: &Scene, comparisons: u32, seed: u64) -> impl Iterator<Item = [Figure; 2]> {
    let mut normal = Normal::new(seed);
    (0..comparisons).map(move |_| trials(scene, &mut normal).map(figure))
}

/// A table with trials in a given order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordered<'a> {
    /// Side of each trial, `A` or `B`.
    pub order: &'a str,
    /// Positions in the table; empty if the order is not given.
    pub positions: &'a [f64],
    /// Share by which B is better.
    pub truth: f64,
    /// Coefficients of variation of A and B, shares.
    pub cv: [f64; 2],
    /// Drift from the first trial to the last, a share.
    pub drift: f64,
}

impl Ordered<'_> {
    /// Simulates `tables` tables, and counts those with the verdict faster or slower.
    pub fn found(&self, tables: u32, seed: u64) -> usize {
        let mut normal = Normal::new(seed);
        let span = self.order.len().saturating_sub(1).max(1) as f64;
        let options = Options {
            min_trials: 3,
            ..Options::default()
        };
        let words = (0..tables).map(|_| {
            let mut sides = [Side::new(), Side::new()];
            for (place, side) in self.order.chars().enumerate() {
                let is_b = side == 'B';
                let shift = if is_b { self.truth.ln_1p() } else { 0.0 };
                let drift = self.drift.ln_1p() * place as f64 / span;
                let s = log_deviation(self.cv[usize::from(is_b)]);
                let position = self.positions.get(place).copied().unwrap_or(f64::NAN);
                sides[usize::from(is_b)].push((shift + drift + s * normal.next(), position));
            }
            let [a, b] = sides.map(figure);
            compare_figures(&[a], &[b], &options)
        });
        let differ = |verdict: &Verdict| matches!(verdict, Verdict::Faster(_) | Verdict::Slower(_));
        words
            .filter(|found| differ(&found.lines[0].verdict))
            .count()
    }
}

/// Separate runs of one device, and earlier runs of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Numbers of runs of A and of B.
    pub runs: [usize; 2],
    /// Trials per run.
    pub trials: usize,
    /// Coefficient of variation of a trial within its run, a share.
    pub within: f64,
    /// Coefficient of variation between runs, a share.
    pub between: f64,
    /// Number of earlier runs.
    pub earlier: usize,
    /// Number of metrics.
    pub metrics: usize,
    /// Share by which B is better on the first metric.
    pub truth: f64,
}

impl Apart {
    /// Returns the share in percent of `comparisons` comparisons that call the first metric
    /// different, and of those that call any metric different.
    pub fn found(&self, comparisons: u32, seed: u64) -> [f64; 2] {
        let mut normal = Normal::new(seed);
        let differs =
            |row: &VerdictRow| matches!(row.verdict, Verdict::Faster(_) | Verdict::Slower(_));
        let mut found = [0_u32; 2];
        for _ in 0..comparisons {
            let earlier = self.history(&mut normal);
            let a = self.side(self.runs[0], 0.0, &mut normal);
            let b = self.side(self.runs[1], self.truth.ln_1p(), &mut normal);
            let side = |runs| ApartSide {
                runs,
                of_one_unit: true,
                earlier: &earlier,
            };
            let compared = compare_apart([side(&a), side(&b)], &Options::default());
            found[0] += u32::from(compared.lines.first().is_some_and(differs));
            found[1] += u32::from(compared.lines.iter().any(differs));
        }
        found.map(|found| 100.0 * f64::from(found) / f64::from(comparisons.max(1)))
    }

    /// Returns `number` simulated estimates of the variance between runs, as known before a
    /// comparison of this scene.
    fn variances(&self, number: usize) -> Vec<RunVariance> {
        let mut normal = Normal::new(1);
        let mut of_one = || {
            let run = self.side(1, 0.0, &mut normal);
            RunVariance::of_one(&run[0][0], &self.history(&mut normal))
        };
        (0..number).filter_map(|_| of_one()).collect()
    }

    fn history(&self, normal: &mut Normal) -> Earlier {
        let runs = self.side(self.earlier, 0.0, normal);
        let mut earlier = Earlier::default();
        for metric in 0..self.metrics {
            let values = runs.iter().map(|run| match &run[metric].sample {
                Sample::Values { values, .. } => values.as_slice(),
                Sample::Moments { .. } => &[],
            });
            earlier.add("", &metric.to_string(), values);
        }
        earlier
    }

    /// Returns the figures of `runs` runs; the first metric is better by `shift`.
    fn side(&self, runs: usize, shift: f64, normal: &mut Normal) -> Vec<Vec<Figure>> {
        let [within, between] = [self.within, self.between].map(log_deviation);
        let mut of_metric = |metric: usize| {
            let shift = if metric == 0 { shift } else { 0.0 };
            let level = shift + between * normal.next();
            let trials = (0..self.trials).map(|_| (level + within * normal.next(), f64::NAN));
            Figure {
                metric: metric.to_string(),
                ..figure(trials.collect())
            }
        };
        let mut run = || (0..self.metrics).map(&mut of_metric).collect();
        (0..runs).map(|_| run()).collect()
    }
}

/// Conditions in rounds, ranked against the first one under a drift of 10 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// Number of conditions.
    pub conditions: usize,
    /// Number of metrics.
    pub metrics: usize,
    /// Trials of each condition.
    pub n: u32,
    /// Coefficient of variation, a share.
    pub cv: f64,
    /// Share by which the last condition is better.
    pub truth: f64,
    /// Condition with five times the variation of the others.
    pub noisy: Option<usize>,
}

impl Baseline {
    /// Returns the share in percent of `tables` tables that call equal conditions different, and of
    /// the comparisons of the last condition that call it better.
    pub fn found(&self, tables: u32, seed: u64) -> [f64; 2] {
        let mut normal = Normal::new(seed);
        let options = Options {
            min_trials: 3,
            ..Options::default()
        };
        let last = (self.conditions - 1).to_string();
        let (mut wrong, mut right) = (0, 0);
        for _ in 0..tables {
            let figures = self.figures(&mut normal);
            let Ok(ranking) = rank_figures(&figures, Some("0"), &options) else {
                continue;
            };
            let pairs = ranking.metrics.iter().flat_map(|metric| &metric.pairs);
            let differ =
                |pair: &&Pair| !matches!(pair.verdict.word(), "equivalent" | "no conclusion");
            let (of_last, others): (Vec<&Pair>, Vec<&Pair>) = pairs
                .filter(differ)
                .partition(|pair| pair.b == last && self.truth > 0.0);
            wrong += usize::from(!others.is_empty());
            right += of_last.len();
        }
        let tables = f64::from(tables);
        let comparisons = tables * self.metrics as f64;
        [wrong as f64 / tables, right as f64 / comparisons].map(|share| 100.0 * share)
    }

    fn figures(&self, normal: &mut Normal) -> Vec<Figure> {
        let order = rounds(1, self.conditions, self.n, normal.rng.next_u64());
        let order: Vec<usize> = order
            .into_iter()
            .filter_map(|slot| slot.condition.filter(|_| slot.trial > 0))
            .collect();
        let mut figures = Vec::new();
        for metric in 0..self.metrics {
            let mut sides = vec![Side::new(); self.conditions];
            for (place, &condition) in order.iter().enumerate() {
                let factor = if self.noisy == Some(condition) {
                    5.0
                } else {
                    1.0
                };
                let is_last = condition + 1 == self.conditions;
                let shift = if is_last { self.truth.ln_1p() } else { 0.0 };
                let t = place as f64;
                let drift = 0.1_f64.ln_1p() * t / order.len() as f64;
                let noise = log_deviation(factor * self.cv) * normal.next();
                sides[condition].push((shift + drift + noise, t));
            }
            figures.extend(sides.into_iter().enumerate().map(|(number, side)| Figure {
                condition: number.to_string(),
                metric: metric.to_string(),
                ..figure(side)
            }));
        }
        figures
    }
}

/// Converts a side to the input of comparisons.
fn figure(side: Side) -> Figure {
    let (values, positions) = side.into_iter().map(|(y, t)| (y.exp(), t)).unzip();
    Figure {
        condition: String::new(),
        metric: "simulated".to_owned(),
        unit: String::new(),
        better: Some(Better::Higher),
        primary: true,
        sample: Sample::Values { values, positions },
        measured: None,
        waited: None,
    }
}

/// y and position of each trial of a side, in order.
type Side = Vec<(f64, f64)>;

fn trials(scene: &Scene, normal: &mut Normal) -> [Side; 2] {
    let s = log_deviation(scene.cv);
    let shift = [0.0, scene.truth.ln_1p()];
    let order = order(scene, normal);
    let noise = scene.noise.of_session(order.len(), normal);
    let span = order.len().saturating_sub(1).max(1) as f64;
    let slope = scene.drift.ln_1p() / span;
    let mut sides = [Side::new(), Side::new()];
    for (place, (side, noise)) in order.into_iter().zip(noise).enumerate() {
        let t = place as f64;
        // A third condition occupies its place, but is not evaluated.
        if let Some(trials) = sides.get_mut(side) {
            trials.push((shift[side] + slope * t + s * noise, t));
        }
    }
    sides
}

/// Returns the side of each trial of the session.
fn order(scene: &Scene, normal: &mut Normal) -> Vec<usize> {
    let n = scene.n as usize;
    let conditions = match scene.design {
        Design::OneAfterAnother => return (0..2 * n).map(|place| place / n).collect(),
        Design::Looks(_) => 2,
        Design::Rounds(conditions) => conditions,
    };
    let slots = rounds(1, conditions, scene.n, normal.rng.next_u64()).into_iter();
    slots
        .filter(|slot| slot.trial > 0)
        .filter_map(|slot| slot.condition)
        .collect()
}

fn conclude(scene: &Scene, sides: &[Side; 2], tables: &mut Tables) -> (Word, bool, usize) {
    let all = sides[0].len();
    let Design::Looks(plan) = scene.design else {
        let (word, covered) = look(scene, sides, all, 0.05, tables);
        return (word, covered, all);
    };
    let mut last = (Word::NoConclusion, false, all);
    for n in plan.looks.iter().map(|n| *n as usize) {
        let (word, covered) = look(scene, sides, n, plan.alpha, tables);
        last = (word, covered, n);
        if word != Word::NoConclusion {
            break;
        }
    }
    last
}

fn look(
    scene: &Scene,
    sides: &[Side; 2],
    n: usize,
    alpha: f64,
    tables: &mut Tables,
) -> (Word, bool) {
    let known = scene.design != Design::OneAfterAnother;
    let arm = |side: &Side| {
        let (y, t): (Vec<f64>, Vec<f64>) = side.iter().take(n).copied().unzip();
        Arm::of_logs(y, if known { t } else { Vec::new() }, Better::Higher)
    };
    let (Ok(a), Ok(b)) = (arm(&sides[0]), arm(&sides[1])) else {
        return (Word::NoConclusion, false);
    };
    let Ok(estimate) = Estimate::of(&a, &b, None, tables) else {
        return (Word::NoConclusion, false);
    };
    let difference: &dyn Difference = match scene.method {
        Way::Means => &estimate.linear,
        Way::Verdict => &estimate,
    };
    let rule = Rule {
        alpha_difference: alpha,
        alpha_equivalence: alpha,
        margin: Margin::of(scene.margin, Better::Higher),
    };
    let truth = scene.truth.ln_1p();
    let interval = difference.interval(0.05);
    let covered = interval.is_some_and(|(low, high)| low <= truth && truth <= high);
    (judge(difference, &rule).word, covered)
}

/// Deviation of a trial, in standard deviations of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Each trial is independent.
    Independent,
    /// Each trial is correlated with the one before it (AR(1)), for example by heat or other work
    /// of the machine.
    Neighbours(f64),
    /// The level wanders by up to one standard deviation within the session.
    Walk,
    /// The level falls by three standard deviations at some point of the session, as with a full
    /// cache.
    Step,
    /// The first of every two trials is better by this much, as after a pause.
    FirstOfTwo(f64),
    /// Each trial takes this share of its deviation from the next one (a moving average), as with
    /// pending writes.
    Owed(f64),
}

impl Noise {
    /// Returns the deviations of `n` consecutive trials.
    fn of_session(self, n: usize, normal: &mut Normal) -> Vec<f64> {
        let mut own: Vec<f64> = (0..n).map(|_| normal.next()).collect();
        let places = 0..n;
        match self {
            Self::Independent => {}
            Self::Neighbours(share) => {
                let rest = (1.0 - share * share).sqrt();
                let kept = |before: &mut f64, new: &f64| {
                    *before = share * *before + rest * new;
                    Some(*before)
                };
                own = own.iter().scan(normal.next(), kept).collect();
            }
            Self::Walk => {
                let step = (6.0 / n as f64).sqrt();
                let walked = |at: &mut f64, new: &f64| {
                    *at += step * new;
                    Some(*at)
                };
                own = own.iter().scan(0.0, walked).collect();
            }
            Self::Step => {
                let at = normal.rng.fraction() * n as f64;
                let after = places.filter(|place| *place as f64 >= at);
                after.for_each(|place| own[place] -= 3.0);
            }
            Self::FirstOfTwo(gain) => places.step_by(2).for_each(|place| own[place] += gain),
            Self::Owed(share) => {
                let owed = |before: &mut f64, new: &f64| {
                    let left = new - share * *before;
                    *before = *new;
                    Some(left)
                };
                own = own.iter().scan(normal.next(), owed).collect();
            }
        }
        own
    }
}

/// Normal random values from a seed, by Box and Muller (1958).
pub(crate) struct Normal {
    pub(crate) rng: SplitMix64,
    spare: Option<f64>,
}

impl Normal {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: SplitMix64::new(seed),
            spare: None,
        }
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.rng.fraction()).ln()).sqrt();
        let (sin, cos) = (2.0 * std::f64::consts::PI * self.rng.fraction()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
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
        let rows = power::table_of_runs(between, LEVEL, 0.0, &[runs]);
        Some(rows.first()?.difference_percent? / 100.0)
    });
    mean(&promised.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small part of what `cargo xtask calibrate` checks; its limits are
    /// wider by three standard errors of so few comparisons.
    #[test]
    fn verdicts_keep_their_promises() {
        for (n, method) in [(4, Way::Verdict), (6, Way::Verdict), (10, Way::Means)] {
            let scene = |truth| Scene {
                cv: 0.03,
                truth,
                noise: Noise::Independent,
                drift: 0.1,
                n,
                design: Design::Rounds(2),
                method,
                margin: 0.05,
            };
            let same = simulate(&scene(0.0), 1_000, 7);
            assert_eq!(same.replicates, 1_000);
            assert!(same.percent(same.faster + same.slower) <= 8.2, "{same:?}");
            assert!(same.percent(same.covered) >= 92.0, "{same:?}");
            let apart = simulate(&scene(0.05), 1_000, 8);
            assert!(apart.percent(apart.equivalent) <= 8.2, "{apart:?}");
            assert!(apart.percent(apart.slower) <= 1.0, "{apart:?}");
            assert!(apart.faster > same.faster, "{apart:?}");
        }
    }

    /// Noise as storage has it: what a trial leaves to the next one, steps, heat.
    #[test]
    fn dependent_trials_are_not_called_different() {
        for noise in [
            Noise::Neighbours(0.6),
            Noise::Walk,
            Noise::FirstOfTwo(4.0),
            Noise::Owed(1.0),
        ] {
            for design in [Design::Rounds(2), Design::Rounds(4)] {
                let scene = Scene {
                    cv: 0.05,
                    truth: 0.0,
                    noise,
                    drift: 0.1,
                    n: 4,
                    design,
                    method: Way::Verdict,
                    margin: 0.05,
                };
                let same = simulate(&scene, 400, 9);
                let called = same.percent(same.faster + same.slower);
                assert!(called <= 9.3, "{noise:?} {design:?}: {same:?}");
            }
        }
    }

    #[test]
    fn looks_end_when_there_is_a_verdict() {
        let plan = Plan::within(20).unwrap();
        let scene = Scene {
            cv: 0.01,
            truth: 0.10,
            noise: Noise::Independent,
            drift: 0.0,
            n: plan.last(),
            design: Design::Looks(plan),
            method: Way::Verdict,
            margin: 0.05,
        };
        let tally = simulate(&scene, 50, 3);
        assert_eq!((tally.faster, tally.trials), (50, 300));
    }

    #[test]
    fn a_seed_names_the_comparisons() {
        let scene = Scene {
            cv: 0.05,
            truth: 0.0,
            noise: Noise::Independent,
            drift: 0.1,
            n: 3,
            design: Design::OneAfterAnother,
            method: Way::Means,
            margin: 0.05,
        };
        assert_eq!(simulate(&scene, 100, 1), simulate(&scene, 100, 1));
        assert_ne!(simulate(&scene, 100, 1), simulate(&scene, 100, 2));
    }

    /// Checks the promises against the judge that compares: a small part of `cargo xtask
    /// calibrate`, with wider limits.
    #[test]
    fn what_is_promised_is_kept() {
        for (cv, n) in [(0.05, 4), (0.02, 6), (0.10, 10)] {
            let row = power::table(cv, 0.05, 0.05, &[n])[0];
            let truth = row.difference_percent.unwrap() / 100.0;
            let kept = promise_kept(cv, n, truth, 600, 5);
            assert!((74.0..=86.0).contains(&kept), "CV {cv}, n={n}: {kept} %");
        }
    }
}
