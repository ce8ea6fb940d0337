//! A comparison of two sides: a line a metric with its word, what is behind it
//! below, and the conclusion at the end.

use super::style::Tone;
use super::table::{Column, Row, Table};
use super::{Page, Style};
use crate::results::comparison::{Compared, SharedNotes, drift, ends, percent, value};
use crate::words::format::percent_points;
use crate::words::labels::Labels;
use crate::words::text::{clean, pad, width};
use assay_lang::{tr, translated};
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::line::{Line, Summary};
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
    let head = tr!(
        "B: {b}, compared with A: {a}",
        b = compared.b,
        a = compared.a
    );
    page.paragraph("".into(), &clean(&head), Some(Tone::Strong))?;
    let terms = tr!(
        "margin {margin} %; a change is how a typical trial of B differs from one of A, without the \
         drift, not the ratio of the means; intervals are unadjusted, verdicts hold for all \
         metrics together; {scope}",
        margin = percent_points(compared.options.margin),
        scope = comparison.scope
    );
    page.paragraph("  ".into(), &terms, Some(Tone::Soft))?;
    lines(comparison, &mut page)?;
    if let Some(drift) = drift(comparison) {
        page.paragraph("  ".into(), &clean(&drift), Some(Tone::Soft))?;
    }
    warnings(compared, &mut page)?;
    dimensions(compared, &mut page)?;
    page.title(tr!("In short"))?;
    page.paragraph("  ".into(), &clean(&compared.conclusion()), None)
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
    let head = tr!(
        "May {b} take the place of {a}?",
        b = compared.b,
        a = compared.a
    );
    page.paragraph("".into(), &clean(&head), Some(Tone::Strong))?;
    let terms = tr!(
        "one-sided: pass when it is at most {margin} % slower, at {confidence} % confidence; {scope}",
        margin = percent_points(compared.options.margin),
        confidence = percent_points(1.0 - compared.options.alpha),
        scope = compared.comparison.scope
    );
    page.paragraph("  ".into(), &terms, Some(Tone::Soft))?;
    page.blank()?;
    let shared = SharedNotes::of(compared.comparison);
    for line in compared.comparison.lines.iter().filter(|line| line.primary) {
        let word = match line.qualification {
            Qualification::Fail => tr!("FAIL"),
            other => translated(other.word()),
        };
        let change = line.change.map_or_else(|| "-".to_owned(), percent);
        let text = format!("{}: {word} ({change})", clean(translated(&line.metric)));
        page.paragraph("  ".into(), &text, None)?;
        for note in shared.not_among(&line.notes) {
            page.paragraph("      ".into(), &clean(&note), Some(Tone::Soft))?;
        }
    }
    for note in shared.told() {
        page.paragraph("  ! ".into(), &clean(&note), None)?;
    }
    warnings(compared, &mut page)
}

/// What was found of each kind of work, side by side.
fn dimensions(compared: &Compared<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let dimensions = compared.dimensions();
    let Some(widest) = dimensions.iter().map(|(title, _)| width(title)).max() else {
        return Ok(());
    };
    page.title(tr!("By kind of work"))?;
    for (title, found) in dimensions {
        let title = format!("  {}  ", pad(&title, widest));
        page.paragraph(title.as_str().into(), &found, None)?;
    }
    Ok(())
}

fn warnings(compared: &Compared<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for warning in compared.all_warnings() {
        page.paragraph("  ! ".into(), &warning, None)?;
    }
    Ok(())
}

fn lines(comparison: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    let shared = SharedNotes::of(comparison);
    for (primary, title) in [
        (true, tr!("Metrics that decide")),
        (false, tr!("Exploratory")),
    ] {
        let these = comparison
            .lines
            .iter()
            .filter(|line| line.primary == primary);
        let composite = comparison.composite.iter().filter(|_| primary);
        let these: Vec<&Line> = these.chain(composite).collect();
        if !these.is_empty() {
            page.title(title)?;
            table(&these, &shared, page)?;
        }
    }
    for note in shared.told() {
        page.paragraph("  ! ".into(), &clean(&note), None)?;
    }
    Ok(())
}

/// Without a column of intervals where there are none.
fn table(lines: &[&Line], shared: &SharedNotes, page: &mut Page<'_>) -> io::Result<()> {
    let left = |head| Column { head, right: false };
    let right = |head| Column { head, right: true };
    let [metric, a, b, change] = [
        left(tr!("metric")),
        right("A"),
        right("B"),
        right(tr!("change")),
    ];
    let interval = right(tr!("95 % interval"));
    let rows = lines.iter().map(|line| row(line, shared));
    if lines
        .iter()
        .any(|line| line.change.and_then(ends).is_some())
    {
        return Table {
            columns: [metric, a, b, change, interval, left(tr!("verdict"))],
            rows: rows.collect(),
        }
        .write(page);
    }
    let short = rows.map(|mut row| {
        row.cells.remove(4);
        row
    });
    Table {
        columns: [metric, a, b, change, left(tr!("verdict"))],
        rows: short.collect(),
    }
    .write(page)
}

fn row(line: &Line, shared: &SharedNotes) -> Row {
    let figure = |side: &Option<Summary>| {
        side.as_ref()
            .filter(|_| !line.unit.is_empty())
            .map_or_else(|| "-".to_owned(), |side| value(&line.unit, side.centre))
    };
    let notes = shared.not_among(&line.notes);
    Row {
        cells: vec![
            clean(translated(&line.metric)),
            figure(&line.a),
            figure(&line.b),
            line.change.map_or_else(|| "-".to_owned(), percent),
            line.change.and_then(ends).unwrap_or_else(|| "-".to_owned()),
            translated(line.verdict.word()).to_owned(),
        ],
        labels: Labels::default(),
        sentence: (!notes.is_empty()).then(|| clean(&notes.join("; "))),
    }
}
