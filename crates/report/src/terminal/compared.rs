//! A comparison of two sides: a line a metric with its word, what is behind it
//! below, and the conclusion at the end.

use super::style::Tone;
use super::{Page, Style};
use crate::comparison::{Compared, value};
use crate::text::{clean, count, enumerate};
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::{Line, Summary};
use std::io::{self, Write};

/// Heads of the columns.
const HEADS: [&str; 6] = ["metric", "A", "B", "change", "95 % interval", "verdict"];
/// Blanks between columns.
const GAP: usize = 2;

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
        "one-sided: pass when it is at most {} % slower, at 95 % confidence; {}",
        percent_points(compared.options.margin),
        compared.comparison.scope,
    );
    page.paragraph("  ".into(), &terms, Some(Tone::Soft))?;
    page.blank()?;
    for line in compared.comparison.lines.iter().filter(|line| line.primary) {
        let word = match line.qualification {
            Qualification::Pass => "pass",
            Qualification::Fail => "FAIL",
            Qualification::Inconclusive => "inconclusive",
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
    for (primary, title) in [(true, "Metrics that decide"), (false, "Exploratory")] {
        let these = || {
            comparison
                .lines
                .iter()
                .filter(|line| line.primary == primary)
        };
        if these().next().is_none() {
            continue;
        }
        page.title(title)?;
        let composite = comparison.composite.iter().filter(|_| primary);
        let all: Vec<&Line> = these().chain(composite).collect();
        table(&all, page)?;
    }
    Ok(())
}

fn table(lines: &[&Line], page: &mut Page<'_>) -> io::Result<()> {
    let rows: Vec<[String; 6]> = lines.iter().map(|line| cells(line)).collect();
    let heads = HEADS.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]);
        cells
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let all = 2 + widths.iter().sum::<usize>() + GAP * 5;
    let fits = all <= page.style.columns();
    if fits {
        page.line(&in_columns(&heads, &widths))?;
    }
    for (line, row) in lines.iter().zip(&rows) {
        match fits {
            true => page.line(&in_columns(row, &widths))?,
            false => stacked(row, page)?,
        }
        for note in &line.notes {
            page.paragraph("      ".into(), &clean(&note.to_string()), Some(Tone::Soft))?;
        }
    }
    Ok(())
}

fn in_columns(row: &[String; 6], widths: &[usize; 6]) -> String {
    let cell = |column: usize| {
        let (text, width) = (&row[column], widths[column]);
        match column {
            1..=4 => format!("{text:>width$}"),
            _ => format!("{text:<width$}"),
        }
    };
    let cells: Vec<String> = (0..row.len()).map(cell).collect();
    format!("  {}", cells.join(&" ".repeat(GAP)))
}

/// For narrow terminals: the metric with its word, and its figures below.
fn stacked(row: &[String; 6], page: &mut Page<'_>) -> io::Result<()> {
    let [metric, a, b, change, interval, verdict] = row;
    page.paragraph("  ".into(), &format!("{metric}: {verdict}"), None)?;
    let figures = format!("{a} -> {b}, {change} ({interval})");
    page.paragraph("    ".into(), &figures, None)
}

fn cells(line: &Line) -> [String; 6] {
    let figure = |side: &Option<Summary>| {
        side.as_ref()
            .filter(|_| !line.unit.is_empty())
            .map_or_else(|| "-".to_owned(), |side| value(&line.unit, side.centre))
    };
    [
        clean(&line.metric),
        figure(&line.a),
        figure(&line.b),
        line.change.map_or_else(|| "-".to_owned(), percent),
        line.change
            .and_then(interval)
            .unwrap_or_else(|| "-".to_owned()),
        line.verdict.word().to_owned(),
    ]
}

fn percent(change: Change) -> String {
    format!("{:+.1} %", change.percent)
}

fn interval(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

/// A share as percent without needless digits.
fn percent_points(share: f64) -> String {
    format!("{:.1}", share * 100.0)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
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
    format!("{}.", said.join("; "))
}
