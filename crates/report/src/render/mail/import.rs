//! Results that were made elsewhere.

use super::Sheet;
use super::sweep::{self, write_ranking};
use crate::machine::import::cells;
use crate::render::terminal::table::{Column, Row, Table};
use crate::results::comparison::Ranked;
use crate::results::sweep::Sweep;
use crate::words::format::utc;
use crate::words::labels::Labels;
use crate::words::text::clean;
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{Figure, Import};
use std::io;

/// Lines that are shown of what the results tell of themselves.
const CIRCUMSTANCES: usize = 12;

const METHOD: &str = key!(
    "Made elsewhere and taken in as it was: assay has no evidence of what \
     reached the device. What a figure measured is said where the results tell it."
);
const MEANS: &str = key!("Means of results are arithmetic.");

pub(super) fn write(
    import: &Import,
    ranked: Option<&Ranked<'_>>,
    sheet: &mut impl Sheet,
) -> io::Result<()> {
    let results = &import.results;
    let figures = counted!(results.figures.len(), "{n} figure", "{n} figures");
    sheet.title(&format!("{}: {figures}", clean(&results.tool)))?;
    if let Some(ranked) = ranked {
        write_ranking(ranked, &Sweep::default(), sheet)?;
    }
    let is_ranked = |figure: &&Figure| {
        let mut metrics = ranked
            .into_iter()
            .flat_map(|ranked| &ranked.ranking.metrics);
        metrics.any(|metric| metric.metric == figure.metric)
    };
    let others = results.figures.iter().filter(|figure| !is_ranked(figure));
    let others: Vec<&Figure> = others.collect();
    if !others.is_empty() {
        sheet.heading(if ranked.is_some() {
            tr!("Other results")
        } else {
            tr!("Results")
        })?;
        sheet.table(table(&others))?;
    }
    if !results.notes.is_empty() {
        sheet.heading(tr!("Not known, or left out"))?;
        sheet.list(&cleaned(&results.notes))?;
    }
    source(import, sheet)?;
    sheet.heading(tr!("Method"))?;
    sheet.paragraph(translated(METHOD))?;
    if !others.is_empty() {
        sheet.paragraph(translated(MEANS))?;
    }
    ranked.map_or(Ok(()), |_| sheet.paragraph(translated(sweep::METHOD)))
}

/// Where it comes from, and what it tells of itself.
fn source(import: &Import, sheet: &mut impl Sheet) -> io::Result<()> {
    sheet.heading(tr!("Where"))?;
    let taken_in = tr!(
        "{id}, {when}, by assay {version}",
        id = clean(&import.id),
        when = utc(import.imported_unix_ms),
        version = clean(&import.assay_version)
    );
    let facts = [
        (tr!("files"), clean(&import.files.join(", "))),
        (tr!("import"), taken_in),
    ];
    sheet.facts(&facts.map(|(name, value)| (name.to_owned(), value)))?;
    let mut told = cleaned(&import.results.circumstances);
    let more = told.len().saturating_sub(CIRCUMSTANCES);
    told.truncate(CIRCUMSTANCES);
    if more > 0 {
        told.push(counted!(more, "and {n} more line", "and {n} more lines"));
    }
    if told.is_empty() {
        told.push(tr!("kernel and device are not told").to_owned());
    }
    sheet.list(&told)
}

fn table(figures: &[&Figure]) -> Table<5> {
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column(tr!("metric"), false),
            column(tr!("mean"), true),
            column(tr!("stdev"), true),
            column(tr!("unit"), false),
            column("n", true),
        ],
        rows: figures.iter().map(|figure| row(figure)).collect(),
    }
}

fn row(figure: &Figure) -> Row {
    let [condition, metric, n, mean, stdev, unit, measured] = cells(figure);
    let under = (!condition.is_empty()).then(|| tr!("under {condition}", condition));
    let measured = (!measured.is_empty()).then(|| tr!("measured {measured}", measured));
    let words: Vec<String> = under.into_iter().chain(measured).collect();
    let stdev = if stdev.is_empty() {
        "-".to_owned()
    } else {
        stdev
    };
    Row {
        cells: vec![metric, mean, stdev, unit, n],
        labels: Labels::default(),
        sentence: (!words.is_empty()).then(|| words.join("; ")),
    }
}

fn cleaned(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| clean(line)).collect()
}
