//! A comparison with its names, as every output shows it.

use crate::format::{percent_points, quantity};
use crate::jobs::Jobs;
use crate::text::{clean, count, enumerate};
use assay_model::figures::Figure;
use assay_model::metric::Unit;
use assay_model::run::Run;
use assay_model::units::three_digits;
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::{Line, Options};
use assay_stats::verdict::note::Note;
use assay_stats::verdict::power;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranking};
use std::collections::BTreeMap;

/// A comparison and what it is of.
#[derive(Debug)]
pub struct Compared<'a> {
    /// What is compared with, in the user's words.
    pub a: &'a str,
    /// What is judged.
    pub b: &'a str,
    /// What it was held to.
    pub options: &'a Options,
    /// What came of it.
    pub comparison: &'a Comparison,
    /// What else differs between the sides, a sentence each.
    pub warnings: Vec<String>,
    /// Whether it was asked if B may take the place of A.
    pub qualify: bool,
    /// Where the figures of A come from: one for each unit.
    pub a_sources: Vec<Source<'a>>,
    /// The same of B.
    pub b_sources: Vec<Source<'a>>,
}

/// Where figures come from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// In the user's words.
    pub name: &'a str,
    /// Its figures, of one condition.
    pub figures: &'a [Figure],
    /// The run they are of; `None` for results that were made elsewhere.
    pub run: Option<&'a Run>,
    /// What others' results tell of tool, kernel, command line: a line each.
    pub circumstances: &'a [String],
}

impl Source<'_> {
    /// A run by its id, with the condition where one was named; others by their name.
    /// Safe to show.
    #[must_use]
    pub fn known_by(&self) -> String {
        clean(&match (self.run, self.name.rsplit_once('@')) {
            (Some(run), Some((_, condition))) => format!("{}@{condition}", run.header.id),
            (Some(run), None) => run.header.id.clone(),
            (None, _) => self.name.to_owned(),
        })
    }
}

impl<'a> Compared<'a> {
    /// The jobs of both sides.
    #[must_use]
    pub fn jobs(&self) -> Jobs<'a> {
        let sources = self.a_sources.iter().chain(&self.b_sources);
        Jobs::of(sources.filter_map(|source| source.run))
    }

    /// What was asked, and what the answer is held to.
    #[must_use]
    pub fn question(&self) -> String {
        let margin = percent_points(self.options.margin);
        match self.qualify {
            true => format!("may B take the place of A, at most {margin} % slower?"),
            false => format!("is B faster, slower or equivalent, within {margin} %?"),
        }
    }

    /// Everything that concerns all of it, a sentence each, safe to show.
    #[must_use]
    pub fn all_warnings(&self) -> Vec<String> {
        let notes = self.comparison.notes.iter().map(ToString::to_string);
        let warnings = notes.chain(self.warnings.iter().cloned());
        warnings.map(|warning| clean(&warning)).collect()
    }

    /// The word for a line: its verdict, or its qualification where that was asked.
    #[must_use]
    pub const fn word(&self, line: &Line) -> &'static str {
        match self.qualify {
            true => line.qualification.word(),
            false => line.verdict.word(),
        }
    }

    /// The word for a line with what it rests on, safe to show.
    #[must_use]
    pub fn reason(&self, line: &Line) -> String {
        let mut reason = self.word(line).to_owned();
        if let Some(change) = line.change {
            reason.push_str(&format!(", {}", percent(change)));
            if let Some(ends) = ends(change) {
                reason.push_str(&format!(" (95 % interval {ends})"));
            }
        }
        for note in &line.notes {
            reason.push_str(&format!("; {note}"));
        }
        clean(&reason)
    }

    /// What a metric measured on both sides, safe to show; `None` where nobody
    /// recorded it.
    #[must_use]
    pub fn measured(&self, metric: &str) -> Option<String> {
        let of = |sources: &[Source<'_>]| {
            let mut figures = sources.iter().flat_map(|source| source.figures);
            let figure = figures.find(|figure| figure.metric == metric)?;
            figure.measured.as_deref().map(clean)
        };
        match (of(&self.a_sources), of(&self.b_sources)) {
            (Some(a), Some(b)) if a != b => Some(format!("A {a}, B {b}")),
            (a, b) => b.or(a),
        }
    }
}

/// A change as `-3.9 %`.
#[must_use]
pub fn percent(change: Change) -> String {
    format!("{:+.1} %", change.percent)
}

/// Its interval as `-11.7 .. +4.6 %`.
#[must_use]
pub fn ends(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

/// A value in a unit as a source writes it; assay's own units in words that
/// people read.
#[must_use]
pub fn value(unit: &str, value: f64) -> String {
    let own = [
        Unit::BytesPerSec,
        Unit::Iops,
        Unit::Tps,
        Unit::Bytes,
        Unit::Nanos,
    ];
    match own.into_iter().find(|own| own.symbol() == unit) {
        Some(own) => quantity(own, value),
        None => format!("{} {unit}", three_digits(value))
            .trim_end()
            .to_owned(),
    }
}

/// The conclusion in a sentence or two.
#[must_use]
pub fn in_short(comparison: &Comparison) -> String {
    let primary: Vec<&Line> = comparison
        .lines
        .iter()
        .filter(|line| line.primary)
        .collect();
    if primary.is_empty() {
        return "No metric that decides is there on both sides.".to_owned();
    }
    let with = |wanted: fn(&Verdict) -> bool| {
        let found = primary.iter().filter(|line| wanted(&line.verdict));
        found.map(|line| line.metric.as_str()).collect::<Vec<_>>()
    };
    let words = [
        ("faster", with(|v| matches!(v, Verdict::Faster(_)))),
        ("slower", with(|v| matches!(v, Verdict::Slower(_)))),
        ("equivalent", with(|v| matches!(v, Verdict::Equivalent(_)))),
    ];
    let mut said: Vec<String> = words
        .iter()
        .filter(|(_, metrics)| !metrics.is_empty())
        .map(|(word, metrics)| format!("B is {word} in {}", enumerate(metrics)))
        .collect();
    let open = with(|v| matches!(v, Verdict::NoConclusion { .. })).len();
    if open > 0 {
        let of = count(primary.len() as u64, "metric");
        said.push(match said.is_empty() {
            true => format!("No conclusion on {} of {of} that decide", open),
            false => format!("no conclusion on {open} of {of}"),
        });
    }
    if open > 0 && primary.iter().any(|line| is_single(line)) {
        said.push(
            "single trials: measure each side at least 4 times, better 6, in turn (assay sweep, or runs with --trials)"
                .to_owned(),
        );
    }
    format!("{}.", said.join("; "))
}

/// Whether a side has one trial only.
fn is_single(line: &Line) -> bool {
    let sides = [&line.a, &line.b].into_iter().flatten();
    let mut sides = sides.map(|side| side.n);
    sides.any(|n| n == 1)
}

/// What would be said of every metric, to be said once.
#[must_use]
pub fn common_notes(comparison: &Comparison) -> Vec<String> {
    let mut lines = comparison.lines.iter();
    let Some(first) = lines.next().filter(|_| comparison.lines.len() > 1) else {
        return Vec::new();
    };
    let others: Vec<&Line> = lines.collect();
    let shared = |note: &&Note| others.iter().all(|line| line.notes.contains(note));
    let shared = first.notes.iter().filter(shared);
    shared.map(ToString::to_string).collect()
}

/// A ranking and what it is of.
#[derive(Debug)]
pub struct Ranked<'a> {
    /// In the user's words.
    pub source: &'a str,
    /// The condition that the others are judged against; `None`: all pairs.
    pub baseline: Option<&'a str>,
    /// What it was held to.
    pub options: &'a Options,
    /// What came of it.
    pub ranking: &'a Ranking,
}

/// Each word with the pairs that it was said of, safe to show; against a `baseline` the
/// others are named alone.
#[must_use]
pub fn pairs(metric: &MetricRanking, baseline: bool) -> Vec<String> {
    let mut words: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in &metric.pairs {
        // Of all pairs most say nothing.
        if baseline || !matches!(pair.verdict, Verdict::NoConclusion { .. }) {
            let said = words.entry(pair.verdict.word()).or_default();
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
        Verdict::Equivalent(_) => format!("{} and {}", pair.b, pair.a),
        _ => format!("{} than {}", pair.b, pair.a),
    };
    let Some(Change { percent, interval }) = pair.change else {
        return name;
    };
    match interval {
        Some((low, high)) => format!("{name} ({percent:+.1} %, {low:+.1} .. {high:+.1})"),
        None => format!("{name} ({percent:+.1} %)"),
    }
}

/// What so many trials of that spread show.
#[derive(Debug)]
pub struct Power {
    /// What varies so much.
    pub name: String,
    /// Its coefficient of variation, as a share.
    pub cv: f64,
    /// A row for each number of trials.
    pub rows: Vec<power::Row>,
}

impl Power {
    /// Numbers of trials that people choose.
    const TRIALS: [u32; 10] = [3, 4, 5, 6, 8, 10, 15, 20, 50, 100];

    /// For trials that vary by `cv` (a share).
    #[must_use]
    pub fn of(name: String, cv: f64) -> Self {
        Self {
            name,
            cv,
            rows: power::table(cv, 0.05, &Self::TRIALS),
        }
    }
}
