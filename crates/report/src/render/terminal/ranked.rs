//! Conditions against each other, and what so many trials show.

use super::style::Tone;
use super::table::{Column, Row, Table};
use super::{Page, Style};
use crate::results::comparison::{Power, Ranked, pairs, places, value};
use crate::words::format::{percent, percent_points};
use crate::words::labels::Labels;
use crate::words::text::{clean, enumerate};
use assay_lang::tr;
use assay_stats::verdict::ranking::{self, MetricRanking};
use std::io::{self, Write};

/// Writes a ranking for a person: the conclusion first, then a table a metric.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_ranking(ranked: &Ranked<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { style, out };
    let ranking = ranked.ranking;
    let head = match ranked.baseline {
        Some(baseline) => tr!(
            "Conditions of {source} against {baseline}",
            source = ranked.source,
            baseline
        ),
        None => tr!(
            "Conditions of {source} against each other",
            source = ranked.source
        ),
    };
    page.paragraph("".into(), &clean(&head), Some(Tone::Strong))?;
    page.paragraph("  ".into(), &clean(&ranking.sentence.to_string()), None)?;
    let deciding = match ranking.deciding.as_slice() {
        [] => tr!("No metric tells any two of them apart.").to_owned(),
        metrics => tr!("They differ on {metrics}.", metrics = enumerate(metrics)),
    };
    page.paragraph("  ".into(), &clean(&deciding), None)?;
    if ranking.metrics.len() > 1 {
        let alone = tr!(
            "Each metric is judged by itself: the more there are, the more often conditions that are alike differ on one of them."
        );
        page.paragraph("  ".into(), alone, Some(Tone::Soft))?;
    }
    for warning in &ranked.warnings {
        page.paragraph("  ! ".into(), &clean(&warning.to_string()), None)?;
    }
    for metric in &ranking.metrics {
        table(metric, &mut page)?;
        for pairs in pairs(metric, ranked.baseline.is_some()) {
            page.paragraph("  ".into(), &pairs, None)?;
        }
    }
    page.blank()?;
    let note = tr!(
        "Conditions without a common letter differ; a common letter does not say that they are equal. Delta is against the median of the conditions: of a rate more is better, of a time less. CV is that of trials without the drift that all conditions share."
    );
    page.paragraph("".into(), note, Some(Tone::Soft))
}

fn table(metric: &MetricRanking, page: &mut Page<'_>) -> io::Result<()> {
    let omnibus = metric.omnibus.as_ref();
    let any = omnibus.map_or_else(String::new, |found| {
        format!(" (Welch F {}, p {})", short(found.f), short(found.p))
    });
    page.title(&clean(&format!("{}{any}", metric.metric)))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column(tr!("condition"), false),
            column(tr!("mean"), true),
            column("n", true),
            column("CV", true),
            column(tr!("delta"), true),
            column(tr!("letters"), false),
            column(tr!("rank"), true),
        ],
        rows: metric
            .conditions
            .iter()
            .map(|ranked| condition(ranked, &metric.unit))
            .collect(),
    }
    .write(page)?;
    for note in &metric.notes {
        page.paragraph("  ! ".into(), &clean(&note.to_string()), None)?;
    }
    Ok(())
}

fn condition(ranked: &ranking::Ranked, unit: &str) -> Row {
    Row {
        cells: vec![
            clean(&ranked.condition),
            value(unit, ranked.summary.centre),
            ranked.summary.n.to_string(),
            ranked.summary.cv.map_or_else(|| "-".to_owned(), percent),
            format!("{:+.1} %", ranked.delta_percent),
            ranked.letters.clone().unwrap_or_else(|| "-".to_owned()),
            places(ranked),
        ],
        labels: Labels::default(),
        sentence: None,
    }
}

/// A figure of a test with as many digits as one reads.
fn short(figure: f64) -> String {
    match figure {
        figure if figure != 0.0 && figure.abs() < 0.001 => format!("{figure:.0e}"),
        figure if figure.abs() < 1.0 => format!("{figure:.4}"),
        figure => format!("{figure:.1}"),
    }
}

/// Writes what numbers of trials show.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_power(tables: &[Power], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { style, out };
    for table in tables {
        page.title(&clean(&tr!(
            "{name}: trials vary by {cv} %",
            name = table.name,
            cv = percent_points(table.cv)
        )))?;
        let column = |head| Column { head, right: true };
        let shown = |percent: Option<f64>| {
            percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"))
        };
        let rows = table.rows.iter().map(|row| Row {
            cells: vec![
                row.n.to_string(),
                shown(row.difference_percent),
                shown(row.equivalence_percent),
            ],
            labels: Labels::default(),
            sentence: None,
        });
        Table {
            columns: [
                column(tr!("trials a side")),
                column(tr!("difference found")),
                column(tr!("equivalent within")),
            ],
            rows: rows.collect(),
        }
        .write(&mut page)?;
    }
    page.blank()?;
    let Some(table) = tables.first() else {
        return Ok(());
    };
    let note = tr!(
        "The smallest difference that four of five comparisons call faster or slower at a level of \
         {level} %, and the smallest margin within which four of five of like sides are equivalent. \
         A smaller difference usually ends in *equivalent* where it is below the margin \
         ({margin} %) and so many trials can show it, in *no conclusion* elsewhere. Three trials a side \
         count for results made elsewhere only. The numbers hold for trials in turn and without \
         stragglers; --trials auto of compare --paired-on and of sweep goes on until there is a verdict.",
        level = format_args!("{:.2}", 100.0 * table.alpha),
        margin = percent_points(table.margin)
    );
    page.paragraph("".into(), &note, Some(Tone::Soft))
}
