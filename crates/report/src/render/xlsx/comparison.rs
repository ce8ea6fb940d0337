//! The sheets of a comparison: verdicts first, then the trials that they rest on.

use super::figures::{self, FigureRow, Heads, Said};
use super::{look, page, trials};
use crate::results::comparison::{Compared, ComparedSource};
use crate::results::jobs;
use crate::results::summary::Summary;
use crate::views;
use assay_lang::{key, translated};
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::verdict::Change;
use assay_stats::verdict::line::VerdictRow;
use rust_xlsxwriter::{Workbook, XlsxError};

/// Headings of a metric's results on the sheet of its group, after the figures of B.
const HEADS: Heads = Heads {
    series: key!("Side"),
    said: &[
        (key!("Change"), 10),
        (key!("95 % low"), 10),
        (key!("95 % high"), 10),
        (key!("Verdict"), 14),
        (key!("Because"), 40),
    ],
};

/// Makes all sheets.
///
/// # Errors
/// When they do not fit a workbook.
pub fn fill(workbook: &mut Workbook, compared: &Compared<'_>) -> Result<(), XlsxError> {
    let document = views::comparison::workbook(compared);
    page::write(workbook.add_worksheet(), look::SUMMARY, &document, &[])?;
    let groups = compared
        .jobs()
        .grouped(rows(compared).into_iter(), |row| &row.figure.metric);
    let names = look::sheet_names(groups.iter().map(|(title, _)| title.as_str()));
    for ((title, rows), name) in groups.iter().zip(&names) {
        let sheet = workbook.add_worksheet();
        sheet.set_name(name)?;
        figures::write(sheet, title, HEADS, rows)?;
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
        let evidence = views::run::evidence::of_all(&Summary::of(run));
        page::write_table(workbook.add_worksheet(), name, &evidence)?;
    }
    let others = sources.into_iter().filter(|source| source.run.is_none());
    let others: Vec<ComparedSource<'_>> = others.copied().collect();
    trials::write(workbook.add_worksheet(), &runs, &others)
}

/// Each run once, also where both sides are of it.
fn runs<'a>(sources: &[&ComparedSource<'a>]) -> Vec<&'a Run> {
    let mut runs: Vec<&Run> = Vec::new();
    for run in sources.iter().filter_map(|source| source.run) {
        if !runs.iter().any(|known| known.header.id == run.header.id) {
            runs.push(run);
        }
    }
    runs
}

/// The change and the ends of its interval.
fn percents(change: Option<Change>) -> [Option<f64>; 3] {
    let interval = change.and_then(|change| change.interval);
    [
        change.map(|change| change.percent),
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
    ]
}

fn because(line: &VerdictRow) -> String {
    let notes = line.notes.iter().map(ToString::to_string);
    notes.collect::<Vec<_>>().join("; ")
}

/// Returns all figures, metric by metric, A before B; the results stand beside the first of B.
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
        let mut said = line.map(said);
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

fn said(line: &VerdictRow) -> Vec<Said> {
    let mut said: Vec<Said> = percents(line.change).map(Said::percent).into();
    said.push(Said::Text(translated(line.verdict.word()).to_owned()));
    said.push(Said::Text(because(line)));
    said
}
