//! Comparison of two sides in all their metrics.

use super::arm::Arm;
use super::between::RunVariance;
use super::candidate::{Candidate, Level, Load};
use super::shift::Tables;
use super::{Adjusted, Note, Options, Side, VerdictRow, benjamini_hochberg, holm};
use crate::derive::decides_between;
use crate::figures::may_decide;
use crate::summary::median;
use crate::unit::converted;
use assay_judge::Measured;
use assay_lang::tr;
use assay_model::figures::Figure;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fmt::{Display, Formatter};

/// Scope of the findings of a comparison, described by its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One unit of each part.
    TwoUnits,
    /// One unit, the same on both sides.
    OneDevice,
    /// This number of units, too few of each part to represent it.
    Units(usize),
    /// One unit of each part, with these numbers of runs.
    Runs(usize, usize),
    /// One unit, the same on both sides, with these numbers of runs.
    RunsOfOne(usize, usize),
    /// The parts, with these numbers of units.
    Parts(usize, usize),
}

impl Scope {
    /// Returns the scope for the case that both sides are one device.
    #[must_use]
    pub const fn of_one_device(self) -> Self {
        match self {
            Self::TwoUnits => Self::OneDevice,
            Self::Runs(a, b) => Self::RunsOfOne(a, b),
            other => other,
        }
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TwoUnits => f.write_str(tr!("these two units")),
            Self::OneDevice => f.write_str(tr!("this one device")),
            Self::RunsOfOne(a, b) => {
                f.write_str(&tr!("this one device, by {a} and {b} runs", a, b))
            }
            Self::Units(n) => f.write_str(&tr!("these {n} units", n)),
            Self::Runs(a, b) => f.write_str(&tr!("these two units, by {a} and {b} runs", a, b)),
            Self::Parts(a, b) => f.write_str(&tr!("the parts, by {a} and {b} units", a, b)),
        }
    }
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Scope of the findings.
    pub scope: Scope,
    /// Row for each metric of A that B also has, in A's order.
    pub lines: Vec<VerdictRow>,
    /// Composite of all primary metrics, if there are two or more and it can be computed.
    pub composite: Option<VerdictRow>,
    /// Notes on the whole comparison.
    pub notes: Vec<Note>,
}

impl Comparison {
    /// Marks the comparison of `a` and `b` units as one of too few units to represent their parts:
    /// the scope and a note report it.
    #[must_use]
    pub fn of_few_units(mut self, [a, b]: [usize; 2]) -> Self {
        self.notes.push(Note::FewUnits(a, b));
        self.scope = Scope::Units(a + b);
        self
    }
}

/// Compares the figures of B with those of A, metric by metric. Verdicts of primary metrics use
/// Holm's level, those of exploratory ones Benjamini and Hochberg's.
pub fn compare_figures(a: &[Figure], b: &[Figure], options: &Options) -> Comparison {
    let compared = compare_at(a, b, Level::Trials, options, &|_, _| None);
    Comparison {
        scope: Scope::TwoUnits,
        ..compared
    }
}

pub(crate) fn compare_at(
    a: &[Figure],
    b: &[Figure],
    level: Level,
    options: &Options,
    between: &dyn Fn(&Figure, &Figure) -> Option<RunVariance>,
) -> Comparison {
    let mut tables = Tables::default();
    let (pairs, mut notes) = pairs(a, b);
    notes.extend(measured_unknown(&pairs));
    notes.extend(not_recorded(&pairs));
    // Conditions that took turns had the same load: what differs is their own.
    let busy = match options.same_session {
        true => None,
        false => busy_side(&pairs),
    };
    let mut candidates = Vec::new();
    for (a, b) in pairs {
        let options = Options {
            between: between(a, b),
            ..*options
        };
        let load = busy.and_then(|side| load(side, a, b));
        let candidate = candidate(a, b, level, &options, &mut tables);
        candidates.push(candidate.map(|candidate| candidate.under(load)));
    }
    let ready = || candidates.iter().filter_map(|c| c.as_ref().ok());
    notes.extend(Note::between_runs(
        ready()
            .filter(|c| c.line().primary && c.p().is_some())
            .filter_map(Candidate::between),
    ));
    let unordered = |c: &&Candidate| !c.is_ordered() && c.p().is_some() && c.between().is_none();
    if level == Level::Trials && ready().any(|c| unordered(&c)) {
        let apart = ready().filter(unordered).all(Candidate::has_places);
        notes.push(match apart {
            true => Note::OwnSessions,
            false => Note::OrderUnknown,
        });
    }
    let joined = super::candidate(&ready().collect::<Vec<_>>(), level, options, &mut tables);
    let lines = conclude_all(candidates, options, &mut tables);
    let composite = super::conclude(joined, &lines, options, &mut tables, &mut notes);
    Comparison {
        scope: Scope::TwoUnits,
        lines,
        composite,
        notes,
    }
}

/// Excess of the share of the time in which a task waited for a processor, from which a machine
/// counts as busy while a side was measured. Ten runs of an idle machine differ by at most 0.025 in
/// the median of their jobs; a compiler beside a run adds 0.2.
const BUSY: f64 = 0.10;

/// Returns the side that was measured while other programs used the processors. Most of the
/// metrics have to show it, because a change of the storage's own costs affects some jobs more
/// than others.
fn busy_side(pairs: &[(&Figure, &Figure)]) -> Option<Side> {
    let excess = |(a, b): &(&Figure, &Figure)| Some(b.waited? - a.waited?);
    let excess: Vec<f64> = pairs.iter().filter_map(excess).collect();
    match median(&excess)? {
        usual if usual >= BUSY => Some(Side::B),
        usual if usual <= -BUSY => Some(Side::A),
        _ => None,
    }
}

fn load(side: Side, a: &Figure, b: &Figure) -> Option<Load> {
    let (a, b) = (a.waited?, b.waited?);
    let (waited, other) = match side {
        Side::A => (a, b),
        Side::B => (b, a),
    };
    (waited > other).then_some(Load {
        side,
        waited,
        other,
    })
}

/// Warns if both labels are unknown, since the sides may have measured different layers.
fn measured_unknown(pairs: &[(&Figure, &Figure)]) -> Option<Note> {
    let is_unknown = |figure: &Figure| {
        let label = figure.measured.as_deref().unwrap_or_default();
        label.split([' ', '+']).any(|word| word == "unknown")
    };
    let unknown = pairs.iter().filter(|(a, b)| is_unknown(a) && is_unknown(b));
    let metrics: Vec<String> = unknown.map(|(a, _)| a.metric.clone()).collect();
    (!metrics.is_empty()).then_some(Note::MeasuredUnknown(metrics))
}

/// Warns if imported results have no label.
fn not_recorded(pairs: &[(&Figure, &Figure)]) -> Option<Note> {
    let mut pairs = pairs.iter();
    let any = pairs.any(|(a, b)| a.measured.is_none() && b.measured.is_none());
    any.then_some(Note::MeasuredNotRecorded)
}

/// Pairs the figures of both sides: by metric, or by condition and metric if a metric exists under
/// several conditions on both sides.
fn pairs<'a>(a: &'a [Figure], b: &'a [Figure]) -> (Vec<(&'a Figure, &'a Figure)>, Vec<Note>) {
    let by_condition = has_twice(a) && has_twice(b);
    let name = |figure: &'a Figure| {
        let condition = if by_condition {
            figure.condition.as_str()
        } else {
            ""
        };
        (condition, figure.metric.as_str())
    };
    let mut notes = Vec::new();
    let mut index = HashMap::new();
    for figure in b {
        if let std::collections::hash_map::Entry::Vacant(e) = index.entry(name(figure)) {
            e.insert(figure);
        } else {
            notes.push(Note::Twice(Side::B, figure.metric.clone()));
        }
    }
    let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
    for figure in a {
        if !seen.insert(name(figure)) {
            notes.push(Note::Twice(Side::A, figure.metric.clone()));
        } else if let Some(other) = index.get(&name(figure)) {
            pairs.push((figure, *other));
        } else {
            notes.push(Note::Missing(Side::B, figure.metric.clone()));
        }
    }
    let lone = b.iter().filter(|figure| !seen.contains(&name(figure)));
    notes.extend(lone.map(|figure| Note::Missing(Side::A, figure.metric.clone())));
    (pairs, notes)
}

fn has_twice(figures: &[Figure]) -> bool {
    let mut seen = HashSet::new();
    figures.iter().any(|figure| !seen.insert(&figure.metric))
}

/// Row of a metric that cannot be tested; boxed to keep the `Err` variant small.
pub(crate) type Unjudged = Box<VerdictRow>;

pub(crate) fn candidate(
    a: &Figure,
    b: &Figure,
    level: Level,
    options: &Options,
    tables: &mut Tables,
) -> Result<Candidate, Unjudged> {
    // Figures that measured different layers get no verdict. A figure without a label gets one,
    // which does not decide unless the user trusts it.
    let unlabelled = match (&a.measured, &b.measured) {
        (None, Some(what)) if may_decide(Some(what)) => Some(Side::A),
        (Some(what), None) if may_decide(Some(what)) => Some(Side::B),
        _ => None,
    };
    let barred = a.measured != b.measured && unlabelled.is_none();
    let of_device = may_decide(a.measured.as_deref()) && may_decide(b.measured.as_deref());
    let decides = decides_between(&a.metric, a.primary, b.primary);
    let trusted = unlabelled.is_none_or(|side| options.trusts(side));
    let primary = decides && of_device && trusted && !barred;
    let unjudged = |why| VerdictRow {
        better: a.better.or(b.better),
        ..VerdictRow::unjudged(a.metric.clone(), a.unit.clone(), primary, why)
    };
    let Some(b) = &converted(b, &a.unit) else {
        return Err(Box::new(unjudged(Note::Units(
            a.unit.clone(),
            b.unit.clone(),
        ))));
    };
    if a.better.is_some() && b.better.is_some() && a.better != b.better {
        return Err(Box::new(unjudged(Note::Directions)));
    }
    let better = a.better.or(b.better);
    let arm = |figure: &Figure, side| {
        let arm = Arm::of(&figure.sample, better);
        arm.map_err(|error| Box::new(unjudged(Note::Unusable(side, error))))
    };
    let arms = (arm(a, Side::A)?, arm(b, Side::B)?);
    let mut line = match barred {
        true => unjudged(Note::Measured(a.measured.clone(), b.measured.clone())),
        false => VerdictRow::new(a.metric.clone(), a.unit.clone(), primary),
    };
    line.notes.extend(Note::beside(&[a, b]));
    line.notes
        .extend(unlabelled.map(|side| Note::LabelNotRecorded(side, trusted)));
    let simulated = a.measured.as_deref() == Some(Measured::Simulated.label());
    let candidate = Candidate::new(line, arms, level, simulated, options, tables);
    Ok(match barred {
        true => candidate.barred(),
        false => candidate,
    })
}

/// Judges tests of one family together: those of deciding metrics by Holm, those of exploratory
/// ones by Benjamini and Hochberg. A quantity in two units is tested once, and both rows get its
/// verdict.
pub(crate) fn conclude_all(
    candidates: Vec<Result<Candidate, Unjudged>>,
    options: &Options,
    tables: &mut Tables,
) -> Vec<VerdictRow> {
    let originals = originals(&candidates);
    let adjusted = adjust(&candidates, &originals, options);
    let candidates = candidates.into_iter().zip(adjusted);
    let rows = candidates.map(|(candidate, adjusted)| match candidate {
        Ok(candidate) => candidate.conclude(adjusted, options, tables),
        Err(line) => *line,
    });
    let rows: Vec<VerdictRow> = rows.collect();
    let judged = rows.iter().zip(originals);
    let judged = judged.map(|(row, original)| row.judged_as(&rows[original]));
    judged.collect()
}

/// Returns the index of the candidate that each one restates in another unit, of a deciding metric
/// if there is one; its own index if it restates none.
fn originals(candidates: &[Result<Candidate, Unjudged>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&i| candidates[i].as_ref().is_ok_and(|c| !c.line().primary));
    let mut originals: Vec<usize> = (0..candidates.len()).collect();
    for (place, &i) in order.iter().enumerate() {
        let restates = |&j: &usize| match (&candidates[i], &candidates[j]) {
            (Ok(own), Ok(other)) => originals[j] == j && own.restates(other),
            _ => false,
        };
        if let Some(&original) = order[..place].iter().find(|j| restates(j)) {
            originals[i] = original;
        }
    }
    originals
}

/// Adjusts the p values of each family of tests.
fn adjust(
    candidates: &[Result<Candidate, Unjudged>],
    originals: &[usize],
    options: &Options,
) -> Vec<Option<Adjusted>> {
    let mut all = vec![None; candidates.len()];
    for primary in [true, false] {
        let family = candidates.iter().zip(originals).enumerate();
        let family = family.filter_map(|(i, (candidate, original))| {
            let candidate = candidate.as_ref().ok()?;
            let is_tested = candidate.line().primary == primary && *original == i;
            Some((i, candidate.p().filter(|_| is_tested)?))
        });
        let (places, p): (Vec<usize>, Vec<f64>) = family.unzip();
        let adjusted = if primary {
            holm(&p, options.alpha)
        } else {
            benjamini_hochberg(&p, options.false_discovery)
        };
        for (i, mut adjusted) in places.into_iter().zip(adjusted) {
            // No level is weaker than that of a single test, regardless of the number of
            // discoveries.
            adjusted.level = adjusted.level.min(options.alpha);
            all[i] = Some(adjusted);
        }
    }
    all
}

/// Judges the metrics that have a margin of their own by it. `given` has names of metrics or jobs with
/// margins as shares, see [`fits`]; the last one that fits a metric applies. Returns the margins by
/// metric.
pub fn judge_by_own_margins(
    comparison: &mut Comparison,
    given: &[(String, f64)],
    options: &Options,
    compare: impl Fn(&Options) -> Comparison,
) -> BTreeMap<String, f64> {
    let mut margins = BTreeMap::new();
    let mut compared: Vec<(f64, Comparison)> = Vec::new();
    for line in &mut comparison.lines {
        let mut given = given.iter().rev();
        let Some(&(_, margin)) = given.find(|(name, _)| fits(&line.metric, name)) else {
            continue;
        };
        margins.insert(line.metric.clone(), margin);
        let known = compared.iter().position(|(known, _)| *known == margin);
        let known = known.unwrap_or_else(|| {
            compared.push((margin, compare(&Options { margin, ..*options })));
            compared.len() - 1
        });
        let mut judged = compared[known].1.lines.iter();
        if let Some(judged) = judged.find(|judged| judged.metric == line.metric) {
            *line = judged.clone();
        }
    }
    margins
}

/// `true` if a name is that of a metric, or of its job: `rand-read-4k: read_iops`, `rand-read-4k`. Each
/// part may end in `*`: `rand-*`, `rand-*: read_iops`.
pub fn fits(metric: &str, name: &str) -> bool {
    let is = |text: &str, name: &str| match name.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == name,
    };
    let (job, quantity) = metric.split_once(": ").unwrap_or((metric, ""));
    match name.split_once(": ") {
        Some((of, which)) => is(job, of) && is(quantity, which),
        None => is(job, name) || is(metric, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_and_jobs_fit() {
        let metric = "rand-read-4k: read_iops";
        for name in [
            metric,
            "rand-read-4k",
            "rand-*",
            "rand-*: read_iops",
            "rand-read-4k: read_*",
            "*",
        ] {
            assert!(fits(metric, name), "{name}");
        }
        for name in ["rand-read", "rand-*: write_iops", "read_iops", "seq-*", ""] {
            assert!(!fits(metric, name), "{name}");
        }
        assert!(fits("latency", "latency"));
    }
}
