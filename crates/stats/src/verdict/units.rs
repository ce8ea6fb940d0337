//! Comparison of several units of each part: the findings then hold for the parts.

use super::VerdictRow;
use super::arm::Arm;
use super::between::{Earlier, RunVariance, SideRuns};
use super::candidate::Level;
use super::compare::{Comparison, Scope, compare_at};
use super::judge::Qualification;
use super::ranking::Ranking;
use super::{Mean, Options};
use crate::figures::{OR, mean_of_all};
use crate::unit::converted;
use assay_model::figures::{Better, Figure, Sample, Verdict};
use assay_model::run::Looks;
use std::collections::BTreeSet;

/// Fewest units that represent a part.
pub const MIN_UNITS: usize = 3;

/// Compares two parts by the figures of their units. From three units a part on, each unit's mean
/// is one observation (the top level of Kalibera and Jones 2013), compared by Welch's t, since
/// parts may vary differently. With fewer units, trials of all units are pooled and the finding
/// holds for these units alone.
pub fn compare_units(a: &[Vec<Figure>], b: &[Vec<Figure>], options: &Options) -> Comparison {
    if are_enough(a, b) {
        let scope = Scope::Parts(a.len(), b.len());
        return compare_means(a, b, (Mean::Unit, scope), options, &|_, _| None);
    }
    let (of_a, of_b) = (pooled(a), pooled(b));
    let compared = compare_at(&of_a, &of_b, Level::Trials, options, &|_, _| None);
    match [a.len(), b.len()] {
        [0 | 1, 0 | 1] => compared,
        units => compared.of_few_units(units),
    }
}

/// Compares one unit of each part by the figures of its runs, from three runs a side on. Runs
/// differ by more than their trials do (temperature, wear, other work of the machine), so each
/// run's mean is one observation.
pub fn compare_runs(a: &[Vec<Figure>], b: &[Vec<Figure>], options: &Options) -> Comparison {
    let scope = Scope::Runs(a.len(), b.len());
    compare_means(a, b, (Mean::Run, scope), options, &|_, _| None)
}

/// A side of separate runs.
#[derive(Clone, Copy, Debug)]
pub struct ApartSide<'a> {
    /// Figures of each run.
    pub runs: &'a [Vec<Figure>],
    /// `true` if the runs are of one unit.
    pub of_one_unit: bool,
    /// Earlier runs of the series.
    pub earlier: &'a Earlier,
}

/// Compares sides of separate runs, using the variance between these and earlier runs. From three
/// runs of one unit a side on, the means of the runs are compared; with fewer, their trials, whose
/// difference must also exceed the usual difference between runs without a change.
pub fn compare_apart(sides: [ApartSide<'_>; 2], options: &Options) -> Comparison {
    let [a, b] = sides.map(|side| side.runs);
    let variance = |of_a: &Figure, of_b: &Figure| {
        let figures = [runs_of(of_a, a), runs_of(of_b, b)];
        let side = |side: usize, figure| SideRuns {
            figures: &figures[side],
            of_one_unit: sides[side].of_one_unit,
            earlier: sides[side].earlier.runs_of(figure),
        };
        RunVariance::of([side(0, of_a), side(1, of_b)])
    };
    match are_enough(a, b) && sides.iter().all(|side| side.of_one_unit) {
        true => {
            let scope = Scope::Runs(a.len(), b.len());
            compare_means(a, b, (Mean::Run, scope), options, &variance)
        }
        false => compare_at(&pooled(a), &pooled(b), Level::Trials, options, &variance),
    }
}

/// `true` if both sides have enough units to compare their means.
pub fn are_enough(a: &[Vec<Figure>], b: &[Vec<Figure>]) -> bool {
    a.len().min(b.len()) >= MIN_UNITS
}

fn compare_means(
    a: &[Vec<Figure>],
    b: &[Vec<Figure>],
    (of, scope): (Mean, Scope),
    options: &Options,
    between: &dyn Fn(&Figure, &Figure) -> Option<RunVariance>,
) -> Comparison {
    let (of_a, of_b) = (joined(a, unit_means), joined(b, unit_means));
    let mut compared = compare_at(&of_a, &of_b, Level::Units, options, between);
    for line in compared.lines.iter_mut().chain(&mut compared.composite) {
        line.notes = line.notes.drain(..).map(|note| note.of(of)).collect();
    }
    Comparison { scope, ..compared }
}

/// Returns the figures of one unit from several runs of it, with the trials of all runs.
pub fn pooled(runs: &[Vec<Figure>]) -> Vec<Figure> {
    joined(runs, all_trials)
}

/// Returns one figure per metric of the first unit, from the figures of all units.
fn joined(units: &[Vec<Figure>], sample: fn(&[&Figure]) -> Sample) -> Vec<Figure> {
    let [only] = units else {
        let first = units.first().map(Vec::as_slice).unwrap_or_default();
        return first
            .iter()
            .map(|figure| joined_figure(figure, units, sample))
            .collect();
    };
    only.clone()
}

fn joined_figure(
    figure: &Figure,
    units: &[Vec<Figure>],
    sample: fn(&[&Figure]) -> Sample,
) -> Figure {
    let found = runs_of(figure, units);
    Figure {
        measured: measured(&found),
        sample: sample(&found.iter().collect::<Vec<_>>()),
        waited: mean_of_all(found.iter().map(|figure| figure.waited)),
        ..figure.clone()
    }
}

/// Returns the figures of this metric, one of each unit or run that has it.
fn runs_of(figure: &Figure, units: &[Vec<Figure>]) -> Vec<Figure> {
    let same =
        |other: &&Figure| other.metric == figure.metric && other.condition == figure.condition;
    let found = units.iter().filter_map(|unit| unit.iter().find(same));
    let found = found.filter_map(|other| converted(other, &figure.unit));
    found.collect()
}

/// Returns the common label of the figures, or each of their labels if they differ.
fn measured(figures: &[Figure]) -> Option<String> {
    let labels = || figures.iter().map(|figure| figure.measured.as_deref());
    if labels().all(|label| label.is_none()) {
        return None;
    }
    let labels = labels().flat_map(|label| label.unwrap_or("unknown").split(OR));
    let labels: BTreeSet<&str> = labels.collect();
    Some(labels.into_iter().collect::<Vec<_>>().join(OR))
}

/// Returns the geometric mean of each unit's figure of one metric, by which parts are compared. A
/// figure without a geometric mean gives NaN, which the comparison reports.
pub fn unit_means(figures: &[&Figure]) -> Sample {
    let mean = |figure: &&Figure| {
        Arm::of(&figure.sample, Some(Better::Higher)).map_or(f64::NAN, |arm| arm.centre)
    };
    Sample::Values {
        values: figures.iter().map(mean).collect(),
        positions: Vec::new(),
    }
}

fn all_trials(figures: &[&Figure]) -> Sample {
    let mut all = Vec::new();
    for figure in figures {
        match &figure.sample {
            Sample::Values { values, .. } => all.extend_from_slice(values),
            Sample::Moments { mean, .. } => all.push(*mean),
        }
    }
    Sample::Values {
        values: all,
        positions: Vec::new(),
    }
}

/// A group-sequential plan: looks that are fixed before the first trial, all at one level, so that
/// their total error rate is that of one look at 0.05.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Trials per side at each look.
    pub looks: &'static [u32],
    /// Level of each look, for difference and equivalence; found by simulation of this method.
    pub alpha: f64,
}

/// Available plans, ordered by their last look; for the same last look, the highest level first.
pub const PLANS: [Plan; 5] = [
    Plan {
        looks: &[6, 12],
        alpha: 0.0294,
    },
    Plan {
        looks: &[6, 10, 20],
        alpha: 0.0204,
    },
    Plan {
        looks: &[4, 8, 12, 20],
        alpha: 0.0173,
    },
    Plan {
        looks: &[5, 10, 15, 20],
        alpha: 0.0170,
    },
    Plan {
        looks: &[6, 9, 12, 16, 20],
        alpha: 0.0158,
    },
];

/// Plan for interleaved runs.
pub const RUNS: Plan = Plan {
    looks: &[3, 6],
    alpha: 0.0294,
};

impl Plan {
    /// Returns the plan with the latest last look at no more than `budget` trials per side; `None`
    /// if none fits, so that there is a single look at the end.
    pub fn within(budget: u32) -> Option<Self> {
        let fitting = PLANS.into_iter().rev().filter(|plan| plan.last() <= budget);
        fitting.max_by_key(Plan::last)
    }

    /// Returns the looks of a run that is judged with this margin (a share).
    pub fn looks(&self, margin: f64) -> Looks {
        Looks {
            at: self.looks.to_vec(),
            alpha: self.alpha,
            margin,
            runs_all: false,
        }
    }

    /// Returns the trials per side at the last look.
    pub fn last(&self) -> u32 {
        self.looks.last().copied().unwrap_or(0)
    }
}

/// Progress of a look, counted in questions: each deciding metric of a comparison, or each pair of
/// conditions on each metric of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Questions with a verdict other than "no conclusion".
    pub settled: usize,
    /// Total number of questions.
    pub of: usize,
}

impl Standing {
    /// Standing if nothing can be compared.
    pub const NOTHING: Self = Self { settled: 0, of: 0 };

    /// Counts the deciding metrics of a comparison.
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let primary = comparison.lines.iter().filter(|line| line.primary);
        Self::of(primary.map(|line| &line.verdict))
    }

    /// Counts the deciding metrics of a comparison, if the question is whether B may replace A.
    pub fn of_replacement(comparison: &Comparison) -> Self {
        let primary = comparison.lines.iter().filter(|line| line.primary);
        let open = |line: &&VerdictRow| line.qualification == Qualification::Inconclusive;
        let of = primary.clone().count();
        Self {
            settled: of - primary.filter(open).count(),
            of,
        }
    }

    /// Counts the pairs of a ranking of deciding figures, on the metrics measured on the device.
    pub fn of_ranking(ranking: &Ranking) -> Self {
        let metrics = ranking.metrics.iter().filter(|metric| metric.of_device);
        let pairs = metrics.flat_map(|metric| &metric.pairs);
        Self::of(pairs.map(|pair| &pair.verdict))
    }

    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut standing = Self::NOTHING;
        for verdict in verdicts {
            standing.of += 1;
            standing.settled += usize::from(!matches!(verdict, Verdict::NoConclusion { .. }));
        }
        standing
    }

    /// `true` if no question is open; `false` if there is no question.
    pub const fn is_settled(self) -> bool {
        self.of > 0 && self.settled == self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_that_goes_furthest_is_taken() {
        assert_eq!(Plan::within(5), None);
        assert_eq!(Plan::within(12).unwrap().looks, [6, 12]);
        assert_eq!(Plan::within(19).unwrap().looks, [6, 12]);
        assert_eq!(Plan::within(100).unwrap().looks, [6, 10, 20]);
    }
}
