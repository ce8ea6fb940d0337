//! Pairs of conditions.

use super::letters::pairs as each_two;
use super::{ConditionTrials, Pair, RankingTable};
use crate::distributions::range;
use crate::verdict::adjust::holm;
use crate::verdict::candidate::Candidate;
use crate::verdict::combined::Level;
use crate::verdict::compare::{Unjudged, candidate, conclude_all};
use crate::verdict::estimate::Linear;
use crate::verdict::line::Options;
use crate::verdict::note::Note;
use crate::verdict::shift::Tables;
use assay_model::figures::Better;
use assay_model::verdict::Verdict;

/// Results for all pairs of one metric.
pub(super) struct PairResults {
    pub pairs: Vec<Pair>,
    /// `slower[i][j]`: condition i is called slower than j.
    pub slower: Vec<Vec<bool>>,
    /// `below[i][j]`: the same, and also where the difference is within the margin.
    pub below: Vec<Vec<bool>>,
    /// `equivalent[i][j]`: they are equivalent.
    pub equivalent: Vec<Vec<bool>>,
    /// `judged[i][j]`: there were trials enough to tell.
    judged: Vec<Vec<bool>>,
}

impl PairResults {
    /// Results of the pairs of `entries`; a pair of others is ignored.
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
                let has_word = !matches!(pair.verdict, Verdict::NoConclusion { .. });
                found.judged[i][j] = has_word || pair.p_adjusted.is_some();
            }
        }
        found.pairs = pairs;
        found
    }

    /// Returns true if condition `i` was compared with any other.
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

/// Every two conditions.
pub(super) fn all(conditions: &[String]) -> Vec<(&str, &str)> {
    let names = |(i, j): (usize, usize)| (conditions[i].as_str(), conditions[j].as_str());
    each_two(conditions.len()).map(names).collect()
}

/// Each condition against `baseline`.
pub(super) fn against<'a>(conditions: &'a [String], baseline: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = conditions.iter().filter(|name| *name != baseline);
    others.map(|other| (baseline, other.as_str())).collect()
}

/// Judges pairs of conditions on all metrics together, as a comparison of these two does, and
/// returns the pairs of each metric. `correct` gives the p values that the number of conditions
/// leaves of those of one metric: none is taken for smaller than the comparison finds it, so
/// that a ranking calls nothing different that a comparison leaves open. With Holm's correction
/// over the metrics on top, a ranking of conditions that are alike shows any difference at most
/// as often as one comparison.
pub(super) fn judge(
    metrics: &[RankingTable<'_>],
    pairs: &[(&str, &str)],
    correct: Correction,
    options: &Options,
) -> Vec<Vec<Pair>> {
    let mut tables = Tables::default();
    let mut columns: Vec<Vec<Option<Judged>>> = metrics
        .iter()
        .map(|metric| column(metric, pairs, correct, options, &mut tables))
        .collect();
    let mut found: Vec<Vec<Pair>> = metrics.iter().map(|_| Vec::new()).collect();
    for (index, (a, b)) in pairs.iter().enumerate() {
        let of_pair = columns.iter_mut().enumerate();
        let of_pair = of_pair.filter_map(|(metric, column)| Some((metric, column[index].take()?)));
        let (places, together): (Vec<usize>, Vec<Judged>) = of_pair.unzip();
        let rows = conclude_all(together, options, &mut tables);
        for (metric, row) in places.into_iter().zip(rows) {
            found[metric].push(Pair {
                a: (*a).to_owned(),
                b: (*b).to_owned(),
                change: row.change,
                p_adjusted: row.p_adjusted,
                verdict: row.verdict,
                notes: row.notes,
            });
        }
    }
    found
}

type Judged = Result<Candidate, Unjudged>;

/// From the pairs of one metric to the least p value that each may have.
pub(super) type Correction = fn(&RankingTable<'_>, &[(&str, &str)], &[Option<f64>]) -> Vec<f64>;

/// A metric's candidates, `None` for pairs of which a side has no usable trials.
fn column(
    metric: &RankingTable<'_>,
    pairs: &[(&str, &str)],
    correct: Correction,
    options: &Options,
    tables: &mut Tables,
) -> Vec<Option<Judged>> {
    let mut column: Vec<Option<Judged>> = pairs
        .iter()
        .map(|(a, b)| {
            let (a, b) = (metric.entry(a)?.figure, metric.entry(b)?.figure);
            Some(candidate(a, b, Level::Trials, options, tables))
        })
        .collect();
    let p: Vec<Option<f64>> = column
        .iter()
        .map(|judged| judged.as_ref()?.as_ref().ok()?.p())
        .collect();
    for (judged, least) in column.iter_mut().zip(correct(metric, pairs, &p)) {
        if let Some(Ok(candidate)) = judged {
            candidate.hold_to(least);
        }
    }
    column
}

/// Games and Howell (1976) for all pairs: q = sqrt(2) |t| of Welch, tested against the
/// studentized range of k means. Two conditions are one comparison, which needs no correction.
pub(super) fn games_howell(
    metric: &RankingTable<'_>,
    pairs: &[(&str, &str)],
    _p: &[Option<f64>],
) -> Vec<f64> {
    let k = metric.entries.len();
    let least = |(a, b): &(&str, &str)| {
        let (a, b) = (metric.entry(a)?, metric.entry(b)?);
        let linear = Linear::of(&a.arm, &b.arm).ok()?;
        let q = std::f64::consts::SQRT_2 * linear.d.abs() / linear.se;
        Some(range::upper_tail(q, k, linear.df))
    };
    let of_pair = |pair| match k {
        0..=2 => 0.0,
        _ => least(pair).unwrap_or(1.0),
    };
    pairs.iter().map(of_pair).collect()
}

/// Holm's correction for the conditions that are held to a baseline.
pub(super) fn holm_of_conditions(
    _metric: &RankingTable<'_>,
    _pairs: &[(&str, &str)],
    p: &[Option<f64>],
) -> Vec<f64> {
    let tested: Vec<f64> = p.iter().flatten().copied().collect();
    let mut adjusted = holm(&tested, 1.0).into_iter();
    let of_pair = |p: &Option<f64>| p.and_then(|_| adjusted.next());
    let adjusted = p.iter().map(of_pair);
    adjusted
        .map(|found| found.map_or(1.0, |found| found.p))
        .collect()
}
