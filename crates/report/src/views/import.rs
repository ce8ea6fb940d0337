//! Imported results.

use super::run::page::drawn;
use super::run::{annotated, header};
use super::{provenance, ranking};
use crate::charts::Gallery;
use crate::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::machine::import::{HEADER, cells};
use crate::results::comparison::Ranked;
use crate::results::sweep::Sweep;
use crate::words::{Tone, clean, utc};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{Figure, Import};

/// Maximum number of a mail's lines on the circumstances stated in the results.
const BRIEF: usize = 12;
/// Maximum number of such lines on a terminal.
const LONG: usize = 24;
/// Columns of numbers, which are aligned to the right.
const NUMBERS: std::ops::RangeInclusive<usize> = 2..=4;

const METHOD: &str = key!(
    "Made elsewhere and taken in as it was: assay has no evidence of what \
     reached the device. What a figure measured is said where the results tell it."
);
const MEANS: &str = key!("Means of results are arithmetic.");

/// Returns an import for a terminal.
pub fn document(import: &Import) -> Document {
    let mut document = Document::new(title(import));
    document.header = annotated(&import.annotation);
    let mut origin = Section::new("origin", "");
    let files = clean(&import.files.join(", "));
    let when = utc(import.imported_unix_ms);
    let id = clean(&import.id);
    origin.say(
        tr!("import {id}, {when}, of {files}", id, when, files),
        None,
    );
    for line in circumstances(import, LONG) {
        origin.say(line, None);
    }
    document.push(origin);
    let figures: Vec<&Figure> = import.results.figures.iter().collect();
    document.push(results(&figures, tr!("Results")));
    document.push(unknown(import));
    document
}

/// Returns an import for a mail; `ranked` exists if it has several conditions.
pub fn mail(import: &Import, ranked: Option<&Ranked<'_>>) -> Document {
    let mut document = Document::new(title(import));
    document.header = annotated(&import.annotation);
    if let Some(ranked) = ranked {
        for section in ranking::sections(ranked, &Sweep::default()) {
            document.push(section);
        }
    }
    let is_ranked = |figure: &&Figure| {
        let ranked = ranked.into_iter();
        let mut metrics = ranked.flat_map(|ranked| &ranked.ranking.metrics);
        metrics.any(|metric| metric.metric == figure.metric)
    };
    let figures = import.results.figures.iter();
    let others: Vec<&Figure> = figures.filter(|figure| !is_ranked(figure)).collect();
    let heading = match ranked {
        Some(_) => tr!("Other results"),
        None => tr!("Results"),
    };
    document.push(results(&others, heading));
    document.push(unknown(import));
    document.push(origin(import));
    let mut method = Section::new("method", tr!("Method"));
    method.say(translated(METHOD), None);
    if !others.is_empty() {
        method.say(translated(MEANS), None);
    }
    if ranked.is_some() {
        method.say(translated(ranking::METHOD), None);
    }
    document.push(method);
    document
}

/// Returns an import with its charts for a page; sections on its conditions come `first`.
pub(crate) fn page(import: &Import, gallery: &Gallery, first: Vec<Section>) -> Document {
    let results = &import.results;
    let title = format!("{}: {}", results.tool, import.files.join(", "));
    let mut document = Document::new(clean(&title));
    let origin = format!("{} {}", tr!("import"), taken_in(import));
    document.header = header(origin, &import.annotation);
    document.sections = first;
    let figures: Vec<&Figure> = results.figures.iter().collect();
    let mut table = self::results(&figures, tr!("Results"));
    table.say(translated(METHOD), Some(Tone::Soft));
    document.push(table);
    document.push(drawn(
        "trials",
        tr!("Trials and intervals"),
        tr!("Every trial that was handed down is a mark; the bar is the 95 % interval of the geometric mean, its long \
             tick the median."),
        &gallery.trials,
    ));
    let mut told = Section::new("circumstances", tr!("What the results tell"));
    told.list(
        results
            .circumstances
            .iter()
            .map(|line| clean(line))
            .collect(),
    );
    document.push(told);
    document.push(unknown(import));
    let mut limits = Section::new("method", tr!("Method and limits"));
    let points = [
        tr!(
            "In the results a mean is arithmetic, and a standard deviation that of the trials (n - 1), as they were handed down or follow from the trials. Conditions are judged by geometric means."
        ),
        tr!(
            "Whether a figure is the device's or the page cache's is only known where the results say so."
        ),
        tr!(
            "Conditions that others varied may differ in more than their names tell: heat, wear, fill and order are not known."
        ),
    ];
    limits.list(points.map(str::to_owned).into());
    limits.blocks.extend(provenance::label_meanings());
    document.push(limits);
    document
}

fn title(import: &Import) -> String {
    let results = &import.results;
    let figures = counted!(results.figures.len(), "{n} figure", "{n} figures");
    format!("{}: {figures}", clean(&results.tool))
}

/// Returns a row for each figure. Every format omits columns without any text.
pub(crate) fn results(figures: &[&Figure], title: &str) -> Section {
    let columns = HEADER.iter().enumerate().map(|(at, name)| {
        let name = translated(name);
        match NUMBERS.contains(&at) {
            true => Column::number(name),
            // In a table that is too wide, condition and label are moved below their rows.
            false if at == 0 || at + 1 == HEADER.len() => Column::text(name).keep(Keep::IfRoom),
            false => Column::text(name),
        }
    });
    let rows = figures.iter().map(|figure| {
        let cells = cells(figure).map(Cell::Text);
        TableRow::new(cells.into())
    });
    let mut section = Section::new("results", title);
    section.table(Table {
        columns: columns.collect(),
        rows: rows.collect(),
    });
    section
}

fn unknown(import: &Import) -> Section {
    let mut section = Section::new("notes", tr!("Not known, or left out"));
    section.list(
        import
            .results
            .notes
            .iter()
            .map(|note| clean(note))
            .collect(),
    );
    section
}

/// Describes the origin of the results, with the circumstances that they state.
fn origin(import: &Import) -> Section {
    let mut section = Section::new("where", tr!("Where"));
    let facts = [
        (tr!("files"), clean(&import.files.join(", "))),
        (tr!("import"), taken_in(import)),
    ];
    section.facts(facts);
    let mut told = circumstances(import, BRIEF);
    if told.is_empty() {
        told.push(tr!("kernel and device are not told").to_owned());
    }
    section.list(told);
    section
}

fn taken_in(import: &Import) -> String {
    tr!(
        "{id}, {when}, by assay {version}",
        id = clean(&import.id),
        when = utc(import.imported_unix_ms),
        version = clean(&import.assay_version)
    )
}

fn circumstances(import: &Import, most: usize) -> Vec<String> {
    let all = &import.results.circumstances;
    let mut told: Vec<String> = all.iter().take(most).map(|line| clean(line)).collect();
    let more = all.len().saturating_sub(most);
    if more > 0 {
        told.push(counted!(more, "and {n} more line", "and {n} more lines"));
    }
    told
}
