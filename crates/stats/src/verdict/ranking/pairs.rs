//! Pairs of conditions.

use super::letters::pairs as each_two;
use super::{ConditionTrials, Pair, RankingTable};
use crate::verdict::candidate::Candidate;
use crate::verdict::combined::Level;
use crate::verdict::compare::{Unjudged, candidate, conclude_all};
use crate::verdict::estimate::{AmongAll, Linear};
use crate::verdict::line::{Options, was_judged};
use crate::verdict::moderation::Prior;
use crate::verdict::note::Note;
use crate::verdict::shift::Tables;
use assay_model::figures::Better;
use assay_model::verdict::Verdict;

/// Results for all pairs of one metric.
pub(super) struct PairResults {
    pub pairs: Vec<Pair>,
    /// `slower[i][j]`: the verdict is that condition i is slower than j.
    pub slower: Vec<Vec<bool>>,
    /// `below[i][j]`: as `slower`, including differences within the margin.
    pub below: Vec<Vec<bool>>,
    /// `equivalent[i][j]`: the conditions are equivalent.
    pub equivalent: Vec<Vec<bool>>,
    /// `judged[i][j]`: there were enough trials for a judgement.
    judged: Vec<Vec<bool>>,
}

impl PairResults {
    /// Collects the results of the pairs of `entries`; pairs of other conditions are ignored.
    pub fn of(pairs: Vec<Pair>, entries: &[ConditionTrials<'_>]) -> Self {
        let none = vec![vec![false; entries.len()]; entries.len()];
        let mut found = Self {
            pairs: Vec::new(),
            slower: none.clone(),
            below: none.clone(),
            equivalent: none.clone(),
            judged: none,
        };
        let index = |name: &str| {
            let mut entries = entries.iter();
            entries.position(|entry| entry.figure.condition == name)
        };
        for pair in &pairs {
            let (Some(i), Some(j)) = (index(&pair.a), index(&pair.b)) else {
                continue;
            };
            let (worse, better) = match pair.is_better(entries[i].arm.better) {
                true => (i, j),
                false => (j, i),
            };
            let differs = matches!(pair.verdict, Verdict::Faster(_) | Verdict::Slower(_));
            found.slower[worse][better] = differs;
            found.below[worse][better] = differs || pair.notes.contains(&Note::TinyDifference);
            for (i, j) in [(i, j), (j, i)] {
                found.equivalent[i][j] = matches!(pair.verdict, Verdict::Equivalent(_));
                found.judged[i][j] = was_judged(&pair.verdict, pair.p_adjusted);
            }
        }
        found.pairs = pairs;
        found
    }

    /// `true` if condition `i` was compared with any other.
    pub fn is_judged(&self, i: usize) -> bool {
        self.judged[i].contains(&true)
    }
}

impl Pair {
    fn is_better(&self, better: Better) -> bool {
        let change = self.change.map_or(0.0, |change| change.percent);
        better.sign() * change > 0.0
    }
}

/// Returns every pair of conditions.
pub(super) fn all(conditions: &[String]) -> Vec<(&str, &str)> {
    let names = |(i, j): (usize, usize)| (conditions[i].as_str(), conditions[j].as_str());
    each_two(conditions.len()).map(names).collect()
}

/// Returns the pairs of each condition with `baseline`.
pub(super) fn against<'a>(conditions: &'a [String], baseline: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = conditions.iter().filter(|name| *name != baseline);
    others.map(|other| (baseline, other.as_str())).collect()
}

/// Family of tests that a pair of conditions belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// The metrics of a pair. Each must also pass the test of all pairs: a ranking finds no
    /// difference that a comparison of the two leaves open.
    EachPair,
    /// The comparisons of a baseline with each other condition, in all metrics together.
    AllPairs,
}

/// Judges pairs of conditions as a comparison of the two does, and returns the pairs of each
/// metric. For equal conditions a ranking shows any difference at most as often as one comparison.
pub(super) fn judge(
    metrics: &[RankingTable<'_>],
    pairs: &[(&str, &str)],
    family: Family,
    options: &Options,
) -> Vec<Vec<Pair>> {
    let mut tables = Tables::default();
    let priors = match family {
        Family::EachPair => None,
        Family::AllPairs => Prior::of_table(&metrics.iter().map(variances).collect::<Vec<_>>()),
    };
    let mut families: Vec<Vec<(usize, usize, Judged)>> = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        if family == Family::EachPair || families.is_empty() {
            families.push(Vec::new());
        }
        for (number, metric) in metrics.iter().enumerate() {
            let prior = |name: &str| Some(priors.as_ref()?[number][metric.index(name)?]);
            let options = Options {
                priors: prior(pair.0).zip(prior(pair.1)).map(|(a, b)| [a, b]),
                ..*options
            };
            let judged = judged(metric, pair, family, &options, &mut tables);
            let place = families.last_mut().zip(judged);
            if let Some((tests, judged)) = place {
                tests.push((number, index, judged));
            }
        }
    }
    let mut found: Vec<Vec<Pair>> = metrics.iter().map(|_| Vec::new()).collect();
    for tests in families {
        let places: Vec<(usize, usize)> = tests.iter().map(|(m, pair, _)| (*m, *pair)).collect();
        let together = tests.into_iter().map(|(.., judged)| judged).collect();
        let rows = conclude_all(together, options, &mut tables);
        for ((metric, index), row) in places.into_iter().zip(rows) {
            let (a, b) = pairs[index];
            found[metric].push(Pair {
                a: a.to_owned(),
                b: b.to_owned(),
                change: row.change,
                p_adjusted: row.p_adjusted,
                verdict: row.verdict,
                notes: row.notes,
            });
        }
    }
    found
}

/// Returns the variances of the conditions of a metric, 0 if unknown.
fn variances(metric: &RankingTable<'_>) -> Vec<(f64, f64)> {
    let arms = metric.entries.iter().map(|entry| &entry.arm);
    arms.map(|arm| (arm.variance.unwrap_or(0.0), arm.n as f64 - 1.0))
        .collect()
}

type Judged = Result<Candidate, Unjudged>;

/// Judges a pair on one metric; `None` if a side has no usable trials.
fn judged(
    metric: &RankingTable<'_>,
    (a, b): &(&str, &str),
    family: Family,
    options: &Options,
    tables: &mut Tables,
) -> Option<Judged> {
    let (a, b) = (metric.entry(a)?, metric.entry(b)?);
    let mut judged = candidate(a.figure, b.figure, Level::Trials, options, tables);
    // A ranking of two conditions is a single comparison.
    let several = family == Family::EachPair && metric.entries.len() > 2;
    if let (Ok(candidate), true, Ok(linear)) = (&mut judged, several, Linear::of(&a.arm, &b.arm)) {
        candidate.hold_to(AmongAll {
            linear,
            conditions: metric.entries.len(),
        });
    }
    Some(judged)
}
