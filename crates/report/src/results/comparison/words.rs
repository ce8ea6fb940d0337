//! Wording of a comparison, shared by all outputs.

use crate::results::jobs::{is_alone, spoken};
use crate::words::format;
use crate::words::text::{clean, enumerate, sentence};
use assay_lang::{counted, tr, translated};
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::VerdictRow;
use assay_stats::verdict::note::Note;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranked};
use std::collections::BTreeMap;

/// Formats a change: `-3.9 %`.
pub fn percent(change: Change) -> String {
    format::change(change.percent)
}

/// Returns the interval as `-11.7 .. +4.6 %`.
pub fn ends(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

/// Counts each word: `2 faster, 5 equivalent`.
pub fn tallied<'a>(words: impl Iterator<Item = &'a str>, kinds: &[&str]) -> String {
    let words: Vec<&str> = words.collect();
    let counts = kinds.iter().filter_map(|kind| {
        let count = words.iter().filter(|word| *word == kind).count();
        (count > 0).then(|| tr!("{n} {outcome}", n = count, outcome = translated(kind)))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Describes the drift of the deciding metrics during the session; `None` if the order is unknown.
pub fn drift(comparison: &Comparison) -> Option<String> {
    let primary = comparison.lines.iter().filter(|line| line.primary);
    // A drift that cannot be separated from the difference is not removed.
    let primary = primary.filter(|line| !line.notes.contains(&Note::OrderConfounded));
    let known: Vec<(&str, Change)> = primary
        .filter_map(|line| Some((line.metric.as_str(), line.drift?)))
        .collect();
    let shows = |change: &Change| change.interval.is_some_and(|(low, high)| low * high > 0.0);
    let told = known.iter().filter(|(_, change)| shows(change));
    let told: Vec<String> = told
        .map(|(metric, change)| {
            let (name, ends) = (percent(*change), ends(*change).unwrap_or_default());
            format!("{metric} {name} ({ends})")
        })
        .collect();
    match (known.is_empty(), told.as_slice()) {
        (true, _) => None,
        (false, []) => Some(tr!("no drift over the session shows").to_owned()),
        (false, told) => Some(tr!(
            "drift over the session, taken out: {metrics}",
            metrics = told.join("; ")
        )),
    }
}

/// Number of metrics above which they are counted instead of named.
const NAMED: usize = 3;

/// Returns the conclusion in a sentence or two.
pub(super) fn in_short(comparison: &Comparison) -> String {
    let primary: Vec<&VerdictRow> = comparison
        .lines
        .iter()
        .filter(|line| line.primary)
        .collect();
    if primary.is_empty() {
        let notes = || comparison.lines.iter().flat_map(|line| &line.notes);
        let unlabelled = notes().find_map(|note| match note {
            Note::LabelNotRecorded(side, false) => Some(side),
            _ => None,
        });
        return match (unlabelled, notes().any(Note::is_on_label)) {
            (Some(side), _) => tr!(
                "Nothing decides: what side {side} measured is not recorded. If its jobs are the same, and bypassed the page cache, --trust {side} lets it decide.",
                side
            ),
            (None, true) => {
                tr!("Not compared: no job has the same device label on both sides.").to_owned()
            }
            (None, false) => tr!("No metric that decides is there on both sides.").to_owned(),
        };
    }
    let all = || primary.iter().map(|line| line.metric.as_str());
    let with = |wanted: fn(&Verdict) -> bool| {
        let found = primary.iter().filter(|line| wanted(&line.verdict));
        let names = found.map(|line| spoken(&line.metric, is_alone(&line.metric, all())));
        names.collect::<Vec<_>>()
    };
    let words = [
        ("faster", with(|v| matches!(v, Verdict::Faster(_)))),
        ("slower", with(|v| matches!(v, Verdict::Slower(_)))),
        ("equivalent", with(|v| matches!(v, Verdict::Equivalent(_)))),
    ];
    let found = words.iter().filter(|(_, metrics)| !metrics.is_empty());
    let found = found.map(|(word, metrics)| {
        let metrics = match metrics.len() {
            few if few <= NAMED => enumerate(metrics),
            many => tr!("{n} of {all} metrics", n = many, all = primary.len()),
        };
        tr!("{word} in {metrics}", word = translated(word), metrics)
    });
    let found: Vec<String> = found.collect();
    let mut said = Vec::new();
    if !found.is_empty() {
        said.push(tr!("B is {found}", found = found.join("; ")));
    }
    let open = with(|v| matches!(v, Verdict::NoConclusion { .. })).len();
    if open > 0 {
        let of = counted!(primary.len(), "{n} metric", "{n} metrics");
        said.push(match (said.is_empty(), open) {
            (true, 1) => tr!("No conclusion on the metric that decides").to_owned(),
            (true, _) => tr!("No conclusion on any of the {of} that decide", of),
            (false, _) => tr!("no conclusion on {open} of {of}", open, of),
        });
    }
    if open > 0 && primary.iter().any(|line| is_single(line)) {
        said.push(
            tr!("single trials: measure each side at least 4 times, better 6, in turn (assay sweep, or runs with --trials)")
                .to_owned(),
        );
    }
    sentence(&said.join("; "))
}

/// Returns true if a side has only one trial.
fn is_single(line: &VerdictRow) -> bool {
    let sides = [&line.a, &line.b].into_iter().flatten();
    let mut sides = sides.map(|side| side.n);
    sides.any(|n| n == 1)
}

/// Notes that apply to several metrics, reported once.
#[derive(Debug)]
pub struct SharedNotes {
    /// Notes with the number of metrics that they apply to.
    notes: Vec<(String, usize)>,
    metrics: usize,
}

impl SharedNotes {
    /// Collects the notes that apply to every metric. A note about too few trials is shared as soon
    /// as it applies to two metrics.
    pub fn of(comparison: &Comparison) -> Self {
        let metrics = comparison.lines.len();
        let mut notes: Vec<(String, usize)> = Vec::new();
        for note in comparison.lines.iter().flat_map(|line| &line.notes) {
            let with = comparison.lines.iter();
            let with = with.filter(|line| line.notes.contains(note)).count();
            let text = note.to_string();
            let enough = with > 1 && (with == metrics || note.is_on_trials());
            if enough && !notes.iter().any(|(known, _)| *known == text) {
                notes.push((text, with));
            }
        }
        Self { notes, metrics }
    }

    /// Returns the notes, each with the metrics that it applies to.
    pub fn told(&self) -> impl Iterator<Item = String> + '_ {
        self.notes.iter().map(|(note, with)| match *with {
            all if all == self.metrics => tr!("all metrics: {note}", note),
            some => tr!(
                "{metrics}: {note}",
                metrics = counted!(some, "{n} metric", "{n} metrics"),
                note
            ),
        })
    }

    /// Returns true if a note is shared.
    pub fn has(&self, note: &Note) -> bool {
        let note = note.to_string();
        self.notes.iter().any(|(known, _)| *known == note)
    }

    /// Returns the notes of a metric that are not shared.
    pub fn not_among(&self, notes: &[Note]) -> Vec<String> {
        let notes = notes.iter().map(ToString::to_string);
        let shared = |note: &String| self.notes.iter().any(|(known, _)| known == note);
        notes.filter(|note| !shared(note)).collect()
    }
}

/// Formats the possible ranks of a condition: `2`, `1-3`.
pub fn places(ranked: &Ranked) -> String {
    match (ranked.best_rank, ranked.worst_rank) {
        (best, worst) if best == worst => best.to_string(),
        (best, worst) => format!("{best}-{worst}"),
    }
}

/// Returns each verdict with its pairs, safe to display; against a `baseline` only the other
/// condition of a pair is named.
pub fn pairs(metric: &MetricRanking, baseline: bool) -> Vec<String> {
    let mut words: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in &metric.pairs {
        // Most of all pairs have no conclusion.
        if baseline || !matches!(pair.verdict, Verdict::NoConclusion { .. }) {
            let said = words.entry(translated(pair.verdict.word())).or_default();
            said.push(clean(&pair_words(pair, baseline)));
        }
    }
    let words = words.into_iter();
    words
        .map(|(word, pairs)| format!("{word}: {}", pairs.join("; ")))
        .collect()
}

fn pair_words(pair: &Pair, baseline: bool) -> String {
    let name = match &pair.verdict {
        _ if baseline => pair.b.clone(),
        Verdict::Equivalent(_) => enumerate(&[&pair.b, &pair.a]),
        _ => tr!("{b} than {a}", b = pair.b, a = pair.a),
    };
    let Some(Change {
        percent, interval, ..
    }) = pair.change
    else {
        return name;
    };
    match interval {
        Some((low, high)) => format!("{name} ({percent:+.1} %, {low:+.1} .. {high:+.1})"),
        None => format!("{name} ({percent:+.1} %)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;

    /// Beside metrics that cannot be judged for another reason.
    #[test]
    fn too_few_trials_are_told_once() {
        let mut comparison = Sides::new().comparison;
        let few = Note::TooFew(3, 4);
        for line in &mut comparison.lines {
            line.notes = vec![few.clone()];
        }
        let (first, last) = (comparison.lines.len() - 1, &mut comparison.lines[0]);
        last.notes = vec![Note::Directions];
        let shared = SharedNotes::of(&comparison);
        let told: Vec<String> = shared.told().collect();
        assert_eq!(told, [format!("{first} metrics: {few}")]);
        let lines = comparison.lines.iter();
        let beside: Vec<String> = lines.flat_map(|l| shared.not_among(&l.notes)).collect();
        assert_eq!(beside, [Note::Directions.to_string()]);
    }
}
