//! A comparison of two sides: a line a metric with its word, what is behind it
//! below, and the conclusion at the end.

use super::style::Tone;
use super::table::{Column, Row, Table};
use super::{Page, Style};
use crate::comparison::{Compared, value};
use crate::format::percent_points;
use crate::labels::Labels;
use crate::text::{clean, count, enumerate};
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::{Line, Summary};
use assay_stats::verdict::note::Note;
use std::io::{self, Write};

/// Writes a comparison for a person.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison(
    compared: &Compared<'_>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { style, out };
    let comparison = compared.comparison;
    let head = format!("B: {}, compared with A: {}", compared.b, compared.a);
    page.paragraph("".into(), &clean(&head), Some(Tone::Strong))?;
    let terms = format!(
        "margin {} %; intervals are unadjusted, verdicts hold for all metrics together; {}",
        percent_points(compared.options.margin),
        comparison.scope,
    );
    page.paragraph("  ".into(), &terms, Some(Tone::Soft))?;
    lines(comparison, &mut page)?;
    if let Some(drift) = drift(comparison) {
        page.paragraph("  ".into(), &clean(&drift), Some(Tone::Soft))?;
    }
    for note in &comparison.notes {
        page.paragraph("  ! ".into(), &clean(&note.to_string()), None)?;
    }
    for warning in &compared.warnings {
        page.paragraph("  ! ".into(), &clean(warning), None)?;
    }
    page.title("In short")?;
    page.paragraph("  ".into(), &clean(&in_short(comparison)), None)
}

/// Writes whether B may take the place of A, metric by metric (one-sided).
///
/// # Errors
/// When `out` cannot be written.
pub fn write_qualification(
    compared: &Compared<'_>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { style, out };
    let head = format!("May {} take the place of {}?", compared.b, compared.a);
    page.paragraph("".into(), &clean(&head), Some(Tone::Strong))?;
    let terms = format!(
        "one-sided: pass when it is at most {} % slower, at {} % confidence; {}",
        percent_points(compared.options.margin),
        percent_points(1.0 - compared.options.alpha),
        compared.comparison.scope,
    );
    page.paragraph("  ".into(), &terms, Some(Tone::Soft))?;
    page.blank()?;
    for line in compared.comparison.lines.iter().filter(|line| line.primary) {
        let word = match line.qualification {
            Qualification::Fail => "FAIL",
            other => other.word(),
        };
        let change = line.change.map_or_else(|| "-".to_owned(), percent);
        let text = format!("{}: {word} ({change})", clean(&line.metric));
        page.paragraph("  ".into(), &text, None)?;
        for note in &line.notes {
            page.paragraph("      ".into(), &clean(&note.to_string()), Some(Tone::Soft))?;
        }
    }
    for warning in &compared.warnings {
        page.paragraph("  ! ".into(), &clean(warning), None)?;
    }
    Ok(())
}

fn lines(comparison: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    let common = common_notes(comparison);
    for (primary, title) in [(true, "Metrics that decide"), (false, "Exploratory")] {
        let these = comparison
            .lines
            .iter()
            .filter(|line| line.primary == primary);
        let composite = comparison.composite.iter().filter(|_| primary);
        let these: Vec<&Line> = these.chain(composite).collect();
        if !these.is_empty() {
            page.title(title)?;
            table(&these, &common, page)?;
        }
    }
    for note in common {
        page.paragraph("  ! ".into(), &clean(&format!("all metrics: {note}")), None)?;
    }
    Ok(())
}

/// Without a column of intervals where there are none.
fn table(lines: &[&Line], common: &[String], page: &mut Page<'_>) -> io::Result<()> {
    let left = |head| Column { head, right: false };
    let right = |head| Column { head, right: true };
    let [metric, a, b, change] = [left("metric"), right("A"), right("B"), right("change")];
    let interval = right("95 % interval");
    let rows = lines.iter().map(|line| row(line, common));
    if lines
        .iter()
        .any(|line| line.change.and_then(ends).is_some())
    {
        return Table {
            columns: [metric, a, b, change, interval, left("verdict")],
            rows: rows.collect(),
        }
        .write(page);
    }
    let short = rows.map(|mut row| {
        row.cells.remove(4);
        row
    });
    Table {
        columns: [metric, a, b, change, left("verdict")],
        rows: short.collect(),
    }
    .write(page)
}

/// What would be said of every metric, to be said once.
fn common_notes(comparison: &Comparison) -> Vec<String> {
    let mut lines = comparison.lines.iter();
    let Some(first) = lines.next().filter(|_| comparison.lines.len() > 1) else {
        return Vec::new();
    };
    let others: Vec<&Line> = lines.collect();
    let shared = |note: &&Note| others.iter().all(|line| line.notes.contains(note));
    let shared = first.notes.iter().filter(shared);
    shared.map(ToString::to_string).collect()
}

fn row(line: &Line, common: &[String]) -> Row {
    let figure = |side: &Option<Summary>| {
        side.as_ref()
            .filter(|_| !line.unit.is_empty())
            .map_or_else(|| "-".to_owned(), |side| value(&line.unit, side.centre))
    };
    let notes = line.notes.iter().map(ToString::to_string);
    let notes: Vec<String> = notes.filter(|note| !common.contains(note)).collect();
    Row {
        cells: vec![
            clean(&line.metric),
            figure(&line.a),
            figure(&line.b),
            line.change.map_or_else(|| "-".to_owned(), percent),
            line.change.and_then(ends).unwrap_or_else(|| "-".to_owned()),
            line.verdict.word().to_owned(),
        ],
        labels: Labels::default(),
        sentence: (!notes.is_empty()).then(|| clean(&notes.join("; "))),
    }
}

fn percent(change: Change) -> String {
    format!("{:+.1} %", change.percent)
}

fn ends(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

/// How metrics that decide moved during the session; `None` where the order is not
/// known.
fn drift(comparison: &Comparison) -> Option<String> {
    let primary = comparison.lines.iter().filter(|line| line.primary);
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
        (false, []) => Some("no drift over the session shows".to_owned()),
        (false, told) => Some(format!(
            "drift over the session, taken out: {}",
            told.join("; ")
        )),
    }
}

/// The conclusion in a sentence or two.
fn in_short(comparison: &Comparison) -> String {
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
