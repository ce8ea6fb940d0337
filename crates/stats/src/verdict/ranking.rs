//! Ranking of several conditions.

pub mod anova;
pub mod letters;
mod order;
mod pairs;
mod sentence;

pub use sentence::Standings;

use super::arm::Arm;
use super::line::{Options, Summary};
use super::note::{Note, Side};
use crate::figures::may_decide;
use crate::summary::median;
use crate::unit::converted;
use anova::Omnibus;
use assay_model::figures::{Better, Figure};
use assay_model::verdict::{Change, Verdict};
use pairs::{Family, PairResults};
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
    #[error("no condition {name} for the baseline; there are {}", known.join(", "))]
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
        None => (pairs::all(&known), Family::EachPair),
        Some(name) => (pairs::against(&known, name), Family::AllPairs),
    };
    let found = pairs::judge(&tables, &pairs, family, options);
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
        let confounded = order::straighten(&mut entries, options);
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
            omnibus: anova::of_arms(&arms),
            omnibus_raw: anova::of_figures(figures),
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
    let letters = letters::assign(&differ);
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
