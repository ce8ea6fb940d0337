//! Ranking of several conditions: all pairs, and a test for any difference among the conditions.

mod sentence;

pub use sentence::Standings;

use super::arm::Arm;
use super::{Note, Options, Side, Summary};
use crate::figures::may_decide;
use crate::summary::{mean, median};
use crate::unit::converted;
use crate::verdict::candidate::{Candidate, Level};
use crate::verdict::compare::{Unjudged, candidate, conclude_all};
use crate::verdict::estimate::{AmongAll, Linear, Prior};
use crate::verdict::judge::is_confounded;
use crate::verdict::shift::Tables;
use crate::verdict::{judge, was_judged};
use assay_model::figures::{Better, Change, Figure, Sample, Verdict};
use assay_model::text::meant;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use thiserror::Error;

/// Ranking of several conditions over all metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Table for each metric, in the order of the figures.
    pub metrics: Vec<MetricRanking>,
    /// Metrics on which any two conditions differ by more than a tiny difference within the margin.
    pub deciding: Vec<String>,
    /// Summary of the ranking in one sentence.
    pub sentence: Standings,
}

/// Ranking for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRanking {
    /// The metric.
    pub metric: String,
    /// Unit of the metric, from the first condition.
    pub unit: String,
    /// `true` if the metric was measured on the device, and so counts in the conclusion.
    pub of_device: bool,
    /// Direction in which the metric is better; `None` if it is not known.
    pub better: Option<Better>,
    /// Omnibus test on logarithms for any difference; informative only. `None` if it cannot be
    /// computed.
    pub omnibus: Option<Omnibus>,
    /// Omnibus test on untransformed figures.
    pub omnibus_raw: Option<Omnibus>,
    /// Conditions, the best first.
    pub conditions: Vec<Ranked>,
    /// Comparisons of all pairs, or of each condition with the baseline alone.
    pub pairs: Vec<Pair>,
    /// Reasons and warnings.
    pub notes: Vec<Note>,
}

/// Place of a condition in the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The condition.
    pub condition: String,
    /// Summary of the condition's figures.
    pub summary: Summary,
    /// Difference from the median of the conditions, in percent.
    pub delta_percent: f64,
    /// Conditions without a common letter differ, perhaps only within the margin. A common letter
    /// does not mean that they are equal. `None` if no pair with the condition could be judged.
    pub letters: Option<String>,
    /// Best possible place: 1 + number of better conditions.
    pub best_rank: usize,
    /// Worst possible place: k - number of worse conditions.
    pub worst_rank: usize,
}

/// Comparison of two conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Reference condition.
    pub a: String,
    /// Condition under judgement.
    pub b: String,
    /// Difference of B from A.
    pub change: Option<Change>,
    /// p value after correction for the other conditions and the other metrics.
    pub p_adjusted: Option<f64>,
    /// Verdict on B.
    pub verdict: Verdict,
    /// Reasons and warnings.
    pub notes: Vec<Note>,
}

/// Reasons why a ranking cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RankError {
    /// No condition has that name.
    #[error("no condition {name} for the baseline{}; there are {}", meant(name, known.iter().map(String::as_str)), known.join(", "))]
    UnknownBaseline {
        /// Requested name.
        name: String,
        /// Existing conditions.
        known: Vec<String>,
    },
    /// There are fewer than two conditions.
    #[error("a ranking needs at least two conditions, and there is {0}")]
    FewConditions(usize),
}

/// Ranks the conditions of `figures`, all pairs or each against `baseline`.
///
/// Each pair is judged as in [`compare_figures`](super::compare::compare_figures) for these two
/// conditions, with an additional correction for the number of conditions: for two conditions the
/// verdicts are the same, for more a pair has that verdict or "no conclusion". With a baseline only
/// the comparisons with it are tested, and letters, ranks and the sentence follow from them. If
/// conditions were run one after another there are no letters and no verdicts, since a drift of 10
/// % causes differences in 70 % of such tables.
///
/// # Errors
/// With fewer than two conditions, or without the baseline.
pub fn rank_figures(
    figures: &[Figure],
    baseline: Option<&str>,
    options: &Options,
) -> Result<Ranking, RankError> {
    let known = names(figures.iter().map(|figure| &figure.condition));
    if known.len() < 2 {
        return Err(RankError::FewConditions(known.len()));
    }
    if let Some(name) = baseline.filter(|name| !known.iter().any(|k| k == name)) {
        let name = name.to_owned();
        return Err(RankError::UnknownBaseline { name, known });
    }
    let of_metrics: Vec<Vec<Figure>> = names(figures.iter().map(|figure| &figure.metric))
        .into_iter()
        .map(|metric| in_one_unit(figures.iter().filter(|figure| figure.metric == metric)))
        .collect();
    let tables = of_metrics.iter();
    let mut tables: Vec<RankingTable<'_>> =
        tables.map(|of| RankingTable::of(of, options)).collect();
    let (pairs, family) = match baseline {
        None => (all(&known), Family::EachPair),
        Some(name) => (against(&known, name), Family::AllPairs),
    };
    let found = judge(&tables, &pairs, family, options);
    for (table, pairs) in tables.iter_mut().zip(found) {
        table.take(pairs);
    }
    let of_device: Vec<&RankingTable<'_>> = tables.iter().filter(|t| t.ranking.of_device).collect();
    let sentence = match baseline {
        None => sentence::of(&of_device, &known),
        Some(name) => sentence::against(&of_device, &known, name),
    };
    let deciding = of_device.iter().filter(|table| table.decides());
    let deciding = deciding.map(|table| table.ranking.metric.clone()).collect();
    Ok(Ranking {
        metrics: tables.into_iter().map(|table| table.ranking).collect(),
        deciding,
        sentence,
    })
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Converts the figures to the unit of the first; figures of another quantity stay unchanged.
fn in_one_unit<'a>(figures: impl Iterator<Item = &'a Figure>) -> Vec<Figure> {
    let mut figures = figures.peekable();
    let unit = figures
        .peek()
        .map_or_else(String::new, |first| first.unit.clone());
    let told = |figure: &Figure| converted(figure, &unit).unwrap_or_else(|| figure.clone());
    figures.map(told).collect()
}

/// Trials of a condition.
struct ConditionTrials<'a> {
    figure: &'a Figure,
    /// Summary of the untransformed trials.
    summary: Summary,
    /// Trials on the scale of comparison, without the drift of the session after its removal.
    arm: Arm,
    /// Places of the trials in the session, before the removal of the drift.
    places: Vec<f64>,
}

/// Ranking of a metric with the results of all pairs.
struct RankingTable<'a> {
    ranking: MetricRanking,
    entries: Vec<ConditionTrials<'a>>,
    /// Results in the order of `entries`.
    found: PairResults,
}

impl<'a> RankingTable<'a> {
    /// Creates the table without pairs; `figures` are those of one metric.
    fn of(figures: &'a [Figure], options: &Options) -> Self {
        let (mut entries, mut notes) = entries(figures, options);
        let confounded = straighten(&mut entries, options);
        notes.extend(confounded.into_iter().chain(differently_measured(figures)));
        notes.extend(Note::beside(&figures.iter().collect::<Vec<_>>()));
        let (metric, unit) = match figures.first() {
            Some(figure) => (figure.metric.clone(), figure.unit.clone()),
            None => (String::new(), String::new()),
        };
        let arms: Vec<&Arm> = entries.iter().map(|entry| &entry.arm).collect();
        let ranking = MetricRanking {
            metric,
            unit,
            of_device: figures.iter().all(|f| may_decide(f.measured.as_deref())),
            better: better(figures),
            omnibus: of_arms(&arms),
            omnibus_raw: of_figures(figures),
            conditions: Vec::new(),
            pairs: Vec::new(),
            notes,
        };
        Self {
            ranking,
            found: PairResults::of(Vec::new(), &entries),
            entries,
        }
    }

    /// Adds the verdicts on all pairs, and sorts the conditions.
    fn take(&mut self, pairs: Vec<Pair>) {
        let notes = &mut self.ranking.notes;
        for note in pairs.iter().flat_map(|pair| &pair.notes) {
            if note.is_on_trials() && !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        self.found = PairResults::of(pairs, &self.entries);
        self.ranking.pairs.clone_from(&self.found.pairs);
        self.ranking.conditions = places(&self.entries, &self.found);
    }

    fn decides(&self) -> bool {
        self.found.slower.iter().flatten().any(|slower| *slower)
    }

    fn entry(&self, name: &str) -> Option<&ConditionTrials<'a>> {
        self.entries.get(self.index(name)?)
    }

    fn index(&self, name: &str) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.figure.condition == name)
    }

    fn find(&self, table: &[Vec<bool>], a: &str, b: &str) -> bool {
        match (self.index(a), self.index(b)) {
            (Some(a), Some(b)) => table[a][b],
            _ => false,
        }
    }

    fn is_judged(&self, name: &str) -> bool {
        self.index(name).is_some_and(|i| self.found.is_judged(i))
    }

    fn is_slower(&self, a: &str, b: &str) -> bool {
        self.find(&self.found.slower, a, b)
    }

    fn is_equivalent(&self, a: &str, b: &str) -> bool {
        self.find(&self.found.equivalent, a, b)
    }
}

fn better(figures: &[Figure]) -> Option<Better> {
    figures.iter().find_map(|figure| figure.better)
}

/// Returns the conditions that can be compared, and notes on the others.
fn entries<'a>(figures: &'a [Figure], options: &Options) -> (Vec<ConditionTrials<'a>>, Vec<Note>) {
    let (mut entries, mut notes): (Vec<ConditionTrials<'_>>, Vec<Note>) = (Vec::new(), Vec::new());
    let better = better(figures);
    for figure in figures {
        let unit = &figures[0].unit;
        if figure.unit != *unit {
            notes.push(Note::Units(unit.clone(), figure.unit.clone()));
            continue;
        }
        if figure.better.is_some() && figure.better != better {
            notes.push(Note::Directions);
            continue;
        }
        if entries
            .iter()
            .any(|entry| entry.figure.condition == figure.condition)
        {
            notes.push(Note::Twice(Side::A, figure.metric.clone()));
            continue;
        }
        match Arm::of(&figure.sample, better) {
            Err(error) => notes.push(Note::Condition(figure.condition.clone(), error)),
            Ok(mut arm) => {
                if !options.same_session {
                    arm.positions.clear();
                }
                entries.push(ConditionTrials {
                    figure,
                    summary: Summary::of(&arm),
                    places: arm.positions.clone(),
                    arm,
                });
            }
        }
    }
    (entries, notes)
}

fn differently_measured(figures: &[Figure]) -> Option<Note> {
    let first = figures.first()?;
    let other = figures
        .iter()
        .find(|figure| figure.measured != first.measured)?;
    Some(Note::Measured(
        first.measured.clone(),
        other.measured.clone(),
    ))
}

fn places(entries: &[ConditionTrials<'_>], found: &PairResults) -> Vec<Ranked> {
    let below = &found.below;
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&i, &j| entries[j].arm.mean.total_cmp(&entries[i].arm.mean));
    let differ: Vec<Vec<bool>> = order
        .iter()
        .map(|&i| order.iter().map(|&j| below[i][j] || below[j][i]).collect())
        .collect();
    let letters = assign(&differ);
    let centres: Vec<f64> = entries.iter().map(|entry| entry.arm.centre).collect();
    let centre = median(&centres).unwrap_or(f64::NAN);
    let k = entries.len();
    let ranked = |(place, &i): (usize, &usize)| Ranked {
        condition: entries[i].figure.condition.clone(),
        summary: entries[i].summary,
        delta_percent: 100.0 * (centres[i] / centre - 1.0),
        letters: found.is_judged(i).then(|| letters[place].clone()),
        best_rank: 1 + (0..k).filter(|&j| below[i][j]).count(),
        worst_rank: k - (0..k).filter(|&j| below[j][i]).count(),
    };
    order.iter().enumerate().map(ranked).collect()
}

/// Test of the hypothesis that all conditions are equal. Welch's analysis of variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Omnibus {
    /// Welch's F.
    pub f: f64,
    /// Degrees of freedom of the numerator, k - 1.
    pub df1: f64,
    /// Degrees of freedom of the denominator.
    pub df2: f64,
    /// Probability that F is at least this large.
    pub p: f64,
}

/// Number, mean and variance of a condition.
type Moments = (f64, f64, f64);

/// Runs the test on logarithms.
fn of_arms(arms: &[&Arm]) -> Option<Omnibus> {
    let moments = arms
        .iter()
        .map(|arm| Some((arm.n as f64, arm.mean, arm.variance?)));
    welch(&moments.collect::<Option<Vec<_>>>()?)
}

/// Runs the test on untransformed figures.
fn of_figures(figures: &[Figure]) -> Option<Omnibus> {
    let moments = figures.iter().map(|figure| moments(&figure.sample));
    welch(&moments.collect::<Option<Vec<_>>>()?)
}

fn moments(sample: &Sample) -> Option<Moments> {
    match sample {
        Sample::Moments { n, mean, stdev } => Some((f64::from(*n), *mean, stdev.as_ref()?.powi(2))),
        Sample::Values { values, .. } => {
            let arm = Arm::of_logs(values.clone(), Vec::new(), Better::Higher).ok()?;
            Some((arm.n as f64, arm.mean, arm.variance?))
        }
    }
}

/// Computes Welch's test (1951): w = n/s^2, W their sum, m' the weighted mean, A = sum w (m - m')^2
/// / (k - 1), L = sum (1 - w/W)^2 / (n - 1), F = A / (1 + 2 (k - 2) L / (k^2 - 1)), df2 = (k^2 - 1)
/// / (3 L). `None` if a condition does not vary.
fn welch(conditions: &[Moments]) -> Option<Omnibus> {
    let k = conditions.len() as f64;
    if k < 2.0
        || conditions
            .iter()
            .any(|(n, _, variance)| *n < 2.0 || *variance <= 0.0)
    {
        return None;
    }
    let weights: Vec<f64> = conditions
        .iter()
        .map(|(n, _, variance)| n / variance)
        .collect();
    let total: f64 = weights.iter().sum();
    let weighted = || conditions.iter().zip(&weights);
    let centre = weighted().map(|((_, mean, _), w)| w * mean).sum::<f64>() / total;
    let spread = weighted()
        .map(|((_, mean, _), w)| w * (mean - centre).powi(2))
        .sum::<f64>();
    let lack: f64 = weighted()
        .map(|((n, _, _), w)| (1.0 - w / total).powi(2) / (n - 1.0))
        .sum();
    let f = spread / (k - 1.0) / (1.0 + 2.0 * (k - 2.0) * lack / (k * k - 1.0));
    let (df1, df2) = (k - 1.0, (k * k - 1.0) / (3.0 * lack));
    if !f.is_finite() || !df2.is_finite() {
        return None;
    }
    let p = FisherSnedecor::new(df1, df2).ok()?.sf(f);
    Some(Omnibus { f, df1, df2, p })
}

/// Assigns letters such that two items share one exactly if they do not differ (insert and absorb,
/// Piepho 2004). `differ` is symmetric; items are in the order of the table, so that the first has
/// an `a`.
///
/// ```
/// use assay_stats::verdict::ranking::assign;
/// // The first and the last differ, the middle one from neither.
/// let differ = [
///     vec![false, false, true],
///     vec![false, false, false],
///     vec![true, false, false],
/// ];
/// assert_eq!(assign(&differ), ["a", "ab", "b"]);
/// ```
pub fn assign(differ: &[Vec<bool>]) -> Vec<String> {
    let k = differ.len();
    let mut columns: Vec<Vec<bool>> = vec![vec![true; k]];
    for (i, j) in pairs(k) {
        if differ[i][j] {
            columns = absorb(split(columns, i, j));
        }
    }
    // Columns are compared item by item, so the column with the first item comes first.
    columns.sort_by(|one, other| other.cmp(one));
    let letters = |item: usize| {
        let of_item = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column[item]);
        of_item.map(|(number, _)| letter(number)).collect()
    };
    (0..k).map(letters).collect()
}

/// Returns each pair of `k` items once.
fn pairs(k: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..k).flat_map(move |i| (i + 1..k).map(move |j| (i, j)))
}

/// Splits a column with both items into two with one each.
fn split(columns: Vec<Vec<bool>>, i: usize, j: usize) -> Vec<Vec<bool>> {
    let mut split = Vec::new();
    for column in columns {
        if column[i] && column[j] {
            for item in [i, j] {
                let mut without = column.clone();
                without[item] = false;
                split.push(without);
            }
        } else {
            split.push(column);
        }
    }
    split
}

/// Drops columns that are subsets of another.
fn absorb(columns: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let mut kept: Vec<Vec<bool>> = Vec::new();
    for column in columns {
        let within = |outer: &Vec<bool>| column.iter().zip(outer).all(|(a, b)| !a || *b);
        if kept.iter().any(within) {
            continue;
        }
        kept.retain(|old| !old.iter().zip(&column).all(|(a, b)| !a || *b));
        kept.push(column);
    }
    kept
}

/// Returns the name of a letter: a to z, then a1, b1, ...
fn letter(number: usize) -> String {
    let name = (b'a'..=b'z').nth(number % 26).map_or('?', char::from);
    match number / 26 {
        0 => name.to_string(),
        round => format!("{name}{round}"),
    }
}

/// Removes the common drift of all conditions from the trials; does nothing if the order is not
/// known. Returns a note on pairs that were run one after the other, if there are any.
fn straighten(entries: &mut [ConditionTrials<'_>], options: &Options) -> Option<Note> {
    let mut arms: Vec<&mut Arm> = entries.iter_mut().map(|entry| &mut entry.arm).collect();
    judge::rank(&mut arms);
    let mut places: Vec<f64> = Vec::new();
    for ConditionTrials { arm, .. } in entries.iter() {
        places.extend(&arm.positions);
    }
    places.sort_by(f64::total_cmp);
    let (first, last) = (*places.first()?, *places.last()?);
    let middle = mean(&places);
    let (mut within, mut product) = (0.0, 0.0);
    for ConditionTrials { arm, .. } in entries.iter() {
        let centre = mean(&arm.positions);
        for (t, y) in arm.positions.iter().zip(&arm.y) {
            within += (t - centre).powi(2);
            product += (t - centre) * (y - arm.mean);
        }
    }
    let slope = product / within;
    let total = slope * (last - first);
    let mut pairs = pairs(entries.len());
    let confounded = pairs.any(|(i, j)| is_confounded(&entries[i].places, &entries[j].places));
    // Drift within such short parts is no bound for the whole session, and may not even be
    // detectable.
    let note =
        confounded.then(|| Note::OneAfterAnother(100.0 * total.exp_m1(), 100.0 * options.margin));
    let known = entries.iter().all(|entry| !entry.arm.positions.is_empty());
    if !known || !total.is_finite() || places.windows(2).any(|pair| pair[0] >= pair[1]) {
        for entry in entries.iter_mut() {
            entry.arm.positions.clear();
        }
        return note;
    }
    for ConditionTrials { arm, .. } in entries.iter_mut() {
        let y: Vec<f64> = arm
            .y
            .iter()
            .zip(&arm.positions)
            .map(|(y, t)| y - slope * (t - middle))
            .collect();
        if let Ok(straight) = Arm::of_logs(y, Vec::new(), arm.better) {
            *arm = Arm {
                centre: arm.centre,
                ..straight
            };
        }
    }
    note
}

/// Results for all pairs of one metric.
struct PairResults {
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
fn all(conditions: &[String]) -> Vec<(&str, &str)> {
    let names = |(i, j): (usize, usize)| (conditions[i].as_str(), conditions[j].as_str());
    pairs(conditions.len()).map(names).collect()
}

/// Returns the pairs of each condition with `baseline`.
fn against<'a>(conditions: &'a [String], baseline: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = conditions.iter().filter(|name| *name != baseline);
    others.map(|other| (baseline, other.as_str())).collect()
}

/// Family of tests that a pair of conditions belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// The metrics of a pair. Each must also pass the test of all pairs: a ranking finds no
    /// difference that a comparison of the two leaves open.
    EachPair,
    /// The comparisons of a baseline with each other condition, in all metrics together.
    AllPairs,
}

/// Judges pairs of conditions as a comparison of the two does, and returns the pairs of each
/// metric. For equal conditions a ranking shows any difference at most as often as one comparison.
fn judge(
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_differs_or_everything_does() {
        assert_eq!(assign(&vec![vec![false; 3]; 3]), ["a", "a", "a"]);
        let all: Vec<Vec<bool>> = (0..3).map(|i| (0..3).map(|j| i != j).collect()).collect();
        assert_eq!(assign(&all), ["a", "b", "c"]);
        assert!(assign(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn a_common_letter_means_no_difference(bits in prop::collection::vec(any::<bool>(), 28)) {
            let mut differ = vec![vec![false; 8]; 8];
            for ((i, j), bit) in pairs(8).zip(bits) {
                differ[i][j] = bit;
                differ[j][i] = bit;
            }
            let letters = assign(&differ);
            for (i, j) in pairs(8) {
                let common = letters[i].chars().any(|c| letters[j].contains(c));
                prop_assert_eq!(common, !differ[i][j]);
            }
        }
    }
}
