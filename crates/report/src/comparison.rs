//! A comparison with its names, as every output shows it.

use crate::format::quantity;
use crate::text::{count, enumerate};
use assay_model::figures::Figure;
use assay_model::metric::Unit;
use assay_model::run::Run;
use assay_model::units::three_digits;
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::{Line, Options};
use assay_stats::verdict::note::Note;
use assay_stats::verdict::power;
use assay_stats::verdict::ranking::Ranking;

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
}

/// What one side of a comparison is made of.
#[derive(Debug)]
pub struct Side<'a> {
    /// In the user's words.
    pub name: &'a str,
    /// The figures of all its units.
    pub figures: Vec<&'a Figure>,
    /// The runs they are of, where they are of runs: only the trials that count.
    pub runs: Vec<&'a Run>,
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

/// `+4.2 %`.
#[must_use]
pub fn change_percent(change: Change) -> String {
    format!("{:+.1} %", change.percent)
}

/// `+1.0 .. +7.5 %`; `None` without an interval.
#[must_use]
pub fn change_interval(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
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
