//! Sheets of a comparison: verdicts first, then the trials from which they follow.

use super::page::{FigureRow, Heads};
use super::{look, page, trials};
use crate::document::{Cell, Column};
use crate::results::comparison::{Compared, ComparedSource};
use crate::results::jobs;
use crate::results::summary::Summary;
use crate::views;
use crate::words::clean;
use assay_lang::tr;
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_stats::verdict::VerdictRow;
use rust_xlsxwriter::{Workbook, XlsxError};

/// Fills all sheets.
///
/// # Errors
/// If they do not fit a workbook.
pub fn fill(workbook: &mut Workbook, compared: &Compared<'_>) -> Result<(), XlsxError> {
    let document = views::comparison::workbook(compared);
    page::write(workbook.add_worksheet(), look::SUMMARY, &document, &[])?;
    let groups = compared
        .jobs()
        .grouped(rows(compared).into_iter(), |row| &row.figure.metric);
    let names = look::sheet_names(groups.iter().map(|(title, _)| title.as_str()));
    // The verdicts on a metric follow the figures of B.
    let heads = Heads {
        series: tr!("Side"),
        said: vec![
            Column::number(tr!("Change")),
            Column::number(tr!("interval")),
            Column::text(tr!("Verdict")),
            Column::text(tr!("Because")),
        ],
    };
    for ((title, rows), name) in groups.iter().zip(&names) {
        page::write_figure_sheets(workbook.add_worksheet(), name, title, &heads, rows)?;
    }
    let sides = views::comparison::sources(compared);
    page::write_table(workbook.add_worksheet(), look::CONDITIONS, &sides)?;
    let sources: Vec<&ComparedSource<'_>> = compared
        .a_sources
        .iter()
        .chain(&compared.b_sources)
        .collect();
    let runs = runs(&sources);
    let titles: Vec<String> = runs
        .iter()
        .map(|run| format!("{} {}", look::EVIDENCE, run.header.id))
        .collect();
    let names = look::sheet_names(titles.iter().map(String::as_str));
    for (run, name) in runs.iter().zip(&names) {
        let evidence = views::run::page::of_all(&Summary::of(run));
        page::write_table(workbook.add_worksheet(), name, &evidence)?;
    }
    let others = sources.into_iter().filter(|source| source.run.is_none());
    let others: Vec<ComparedSource<'_>> = others.copied().collect();
    trials::write(workbook.add_worksheet(), &runs, &others)
}

/// Returns each run once, even if both sides contain it.
fn runs<'a>(sources: &[&ComparedSource<'a>]) -> Vec<&'a Run> {
    let mut runs: Vec<&Run> = Vec::new();
    for run in sources.iter().filter_map(|source| source.run) {
        if !runs.iter().any(|known| known.header.id == run.header.id) {
            runs.push(run);
        }
    }
    runs
}

/// Returns all figures by metric, A before B; the results are beside the first figure of B.
fn rows<'a>(compared: &'a Compared<'a>) -> Vec<FigureRow<'a>> {
    let a = compared.a_sources.iter().map(|source| ("A", source));
    let b = compared.b_sources.iter().map(|source| ("B", source));
    let sources: Vec<(&str, &ComparedSource<'_>)> = a.chain(b).collect();
    let all = sources.iter().flat_map(|(_, source)| source.figures);
    let mut rows = Vec::new();
    for metric in jobs::metrics(all) {
        let line = compared
            .comparison
            .lines
            .iter()
            .find(|line| line.metric == metric);
        let mut said = line.map(|line| said(compared, line));
        for (side, source) in &sources {
            let its = source
                .figures
                .iter()
                .filter(|figure| figure.metric == metric);
            rows.extend(its.map(|figure: &Figure| FigureRow {
                series: format!("{side}: {}", source.known_by()),
                figure,
                said: if *side == "B" {
                    said.take().unwrap_or_default()
                } else {
                    Vec::new()
                },
            }));
        }
    }
    rows
}

fn said(compared: &Compared<'_>, line: &VerdictRow) -> Vec<Cell> {
    let because: Vec<String> = line.notes.iter().map(ToString::to_string).collect();
    vec![
        Cell::change(line.change),
        Cell::interval(line.change),
        Cell::Verdict(compared.word_in_english(line)),
        clean(&because.join("; ")).into(),
    ]
}
