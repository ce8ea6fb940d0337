//! Sheets of a run and of a sweep.

use super::page::{FigureRow, Heads};
use super::{crossing, look, matrix, page, trials};
use crate::charts::Gallery;
use crate::document::{Cell, Column};
use crate::results::comparison::{Ranked, places};
use crate::results::jobs::{self, Jobs};
use crate::results::matrix::Matrix;
use crate::results::summary::Summary;
use crate::results::sweep::{Sweep, by_condition};
use crate::views;
use assay_lang::tr;
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_stats::figures::of_trials;
use rust_xlsxwriter::{Workbook, XlsxError};

/// Sections with separate sheets.
const ELSEWHERE: [&str; 2] = ["evidence", "matrices"];

/// Returns the headings of figures, with those of their ranking if there is one.
pub(super) fn heads(ranked: bool) -> Heads {
    let said = match ranked {
        true => vec![
            Column::number(tr!("Delta")),
            Column::text(tr!("Letters")),
            Column::text(tr!("Rank")),
        ],
        false => Vec::new(),
    };
    Heads {
        series: tr!("Condition"),
        said,
    }
}

/// Fills all sheets of a run and returns the charts in their order.
///
/// # Errors
/// If they do not fit a workbook.
pub fn fill(
    workbook: &mut Workbook,
    run: &Run,
    matrices: &[Matrix],
) -> Result<Vec<String>, XlsxError> {
    let all = Summary::of(run);
    let document = views::run::full(&all, &Gallery::default(), Vec::new());
    page::write(
        workbook.add_worksheet(),
        look::SUMMARY,
        &document,
        &ELSEWHERE,
    )?;
    let figures = of_jobs(&all);
    let rows = figures.iter().map(|figure| row(figure, Vec::new()));
    let titles = matrices.iter().map(|matrix| matrix.title.as_str());
    let names = write_groups(workbook, run, (heads(false), rows.collect()), titles)?;
    let mut charts = Vec::new();
    for (matrix, name) in matrices.iter().zip(&names) {
        charts.extend(matrix::write(workbook.add_worksheet(), matrix, name)?);
    }
    let evidence = views::run::page::of_all(&all);
    page::write_table(workbook.add_worksheet(), look::EVIDENCE, &evidence)?;
    trials::write(workbook.add_worksheet(), &[run], &[])?;
    Ok(charts)
}

/// Fills all sheets of a sweep and returns the charts in their order.
///
/// # Errors
/// If they do not fit a workbook.
pub fn fill_swept(
    workbook: &mut Workbook,
    run: &Run,
    ranked: &Ranked<'_>,
) -> Result<Vec<String>, XlsxError> {
    let each = by_condition(run.clone());
    let verdict = views::ranking::sections(ranked, &Sweep::of(run));
    let document = views::run::full(&Summary::of(&each), &Gallery::default(), verdict);
    page::write(
        workbook.add_worksheet(),
        look::SUMMARY,
        &document,
        &ELSEWHERE,
    )?;
    let all = Summary::of(run);
    let figures = of_jobs(&all);
    let rows = by_metric(&figures)
        .into_iter()
        .map(|figure| row(figure, said(figure, ranked)));
    write_groups(workbook, run, (heads(true), rows.collect()), [].into_iter())?;
    let charts = crossing::write(workbook.add_worksheet(), run, &figures)?;
    let varied = views::run::varied(run);
    page::write_table(workbook.add_worksheet(), look::CONDITIONS, &varied)?;
    let evidence = views::run::page::of_all(&all);
    page::write_table(workbook.add_worksheet(), look::EVIDENCE, &evidence)?;
    trials::write(workbook.add_worksheet(), &[run], &[])?;
    Ok(charts)
}

/// Returns the figures of jobs that are not cells of a matrix.
fn of_jobs(summary: &Summary<'_>) -> Vec<Figure> {
    let cells = summary.jobs.iter().filter(|job| job.is_cell());
    let cells: Vec<String> = cells.map(|job| format!("{}: ", job.job.name)).collect();
    let mut figures = of_trials(&summary.run.header, &summary.run.trials);
    figures.retain(|figure| !cells.iter().any(|cell| figure.metric.starts_with(cell)));
    figures
}

/// Sorts figures by metric, so that the conditions of a metric are adjacent.
pub(super) fn by_metric(figures: &[Figure]) -> Vec<&Figure> {
    let metrics = jobs::metrics(figures.iter()).into_iter();
    let conditions = |metric| figures.iter().filter(move |figure| figure.metric == metric);
    metrics.flat_map(conditions).collect()
}

fn row(figure: &Figure, said: Vec<Cell>) -> FigureRow<'_> {
    FigureRow {
        series: figure.condition.clone(),
        figure,
        said,
    }
}

/// Returns the results of one condition; empty for metrics that do not decide.
pub(super) fn said(figure: &Figure, ranked: &Ranked<'_>) -> Vec<Cell> {
    let metric = ranked
        .ranking
        .metrics
        .iter()
        .find(|metric| metric.metric == figure.metric);
    let conditions = metric.into_iter().flat_map(|metric| &metric.conditions);
    let mut conditions = conditions.filter(|ranked| ranked.condition == figure.condition);
    conditions.next().map_or_else(Vec::new, |ranked| {
        vec![
            Cell::Change(ranked.delta_percent),
            ranked.letters.clone().map_or(Cell::Empty, Cell::Text),
            places(ranked).into(),
        ]
    })
}

/// Writes a sheet for each group of metrics. Returns names for the sheets of `others` that differ
/// from those of the groups.
fn write_groups<'a>(
    workbook: &mut Workbook,
    run: &Run,
    (heads, rows): (Heads, Vec<FigureRow<'_>>),
    others: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, XlsxError> {
    let jobs = Jobs::of([run].into_iter());
    let groups = jobs.grouped(rows.into_iter(), |row| &row.figure.metric);
    let titles = groups.iter().map(|(title, _)| title.clone());
    let all: Vec<String> = titles.chain(others.map(str::to_owned)).collect();
    let mut names = look::sheet_names(all.iter().map(String::as_str));
    let rest = names.split_off(groups.len());
    for ((title, rows), name) in groups.iter().zip(&names) {
        page::write_figure_sheets(workbook.add_worksheet(), name, title, &heads, rows)?;
    }
    Ok(rest)
}
