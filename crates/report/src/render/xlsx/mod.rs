//! A run, a sweep or a comparison as a workbook: a sheet of findings, a sheet for each group of
//! metrics, a sheet with a surface for each matrix, conditions, the evidence of every trial, and
//! every metric.
//!
//! `page` writes documents and tables of figures with formulas, `surface` matrices with their
//! surfaces; the sheets of a run, of a sweep, of a comparison and of raw figures are put together
//! here. Figures are numbers and text is text: only `page` writes formulas, and no foreign text,
//! such as the name of a device, can become one.

mod charts;
mod look;
mod page;
mod surface;

pub(crate) use surface::part;

use crate::charts::{Gallery, comparison};
use crate::document::{Cell, Column};
use crate::machine::{COLUMNS, csv_rows};
use crate::results::comparison::{Compared, Ranked, Side, places};
use crate::results::describe::{self, Jobs};
use crate::results::matrix::{Matrix, matrices};
use crate::results::names::ComparedSource;
use crate::results::summary::Summary;
use crate::results::sweep::{Sweep, by_condition};
use crate::views;
use crate::words::clean;
use assay_lang::tr;
use assay_model::figures::{Figure, Import, Sample};
use assay_model::run::Run;
use assay_stats::figures::of_trials;
use assay_stats::verdict::VerdictRow;
use page::{FigureRow, Heads};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, Worksheet, XlsxError};
use std::ffi::OsStr;
use std::io;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Author in the properties of a workbook.
const AUTHOR: &str = "assay";

/// Writes the workbook of a run.
///
/// # Errors
/// If the run does not fit a workbook, or `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_matrices(run, &matrices(run), out)
}

/// Writes the workbook of a run with the matrices in another unit
/// ([`crate::results::matrix::matrices_in`]).
///
/// # Errors
/// As [`write()`].
pub fn write_matrices(run: &Run, matrices: &[Matrix], out: &mut dyn Write) -> io::Result<()> {
    save(properties(run), out, |workbook| {
        fill_run(workbook, run, matrices)
    })
}

/// Writes the workbook of a run under several conditions with their ranking.
///
/// # Errors
/// As [`write()`].
pub fn write_sweep(run: &Run, ranked: &Ranked<'_>, out: &mut dyn Write) -> io::Result<()> {
    save(properties(run), out, |workbook| {
        fill_swept(workbook, run, ranked)
    })
}

/// Writes the workbook of an import; `ranked` exists if it has several conditions.
///
/// # Errors
/// If the results do not fit a workbook, or `out` cannot be written.
pub fn write_import(
    import: &Import,
    ranked: Option<&Ranked<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let properties = titled(clean(&import.results.tool), import.imported_unix_ms);
    save(properties, out, |workbook| {
        fill_import(workbook, import, ranked)?;
        Ok(Vec::new())
    })
}

/// Writes the workbook of a comparison.
///
/// # Errors
/// If it does not fit a workbook, or `out` cannot be written.
pub fn write_comparison(compared: &Compared<'_>, out: &mut dyn Write) -> io::Result<()> {
    let newest = compared.b_sources.iter().find_map(|source| source.run);
    let title = views::comparison::title(compared);
    let properties = newest.map_or_else(|| Ok(DocProperties::new().set_author(AUTHOR)), properties);
    let properties = properties.map(|properties| properties.set_title(title));
    save(properties, out, |workbook| {
        fill_comparison(workbook, compared)
    })
}

/// Returns the name of the workbook for a requested name, and a message if the two differ: `a.xls`
/// becomes `a.xlsx`.
pub fn file_name(asked: &Path) -> (PathBuf, Option<String>) {
    let ending = asked.extension().and_then(OsStr::to_str);
    let name = match ending {
        Some(ending) if ending.eq_ignore_ascii_case("xlsx") => return (asked.to_owned(), None),
        Some(ending) if ending.eq_ignore_ascii_case("xls") => asked.with_extension("xlsx"),
        _ => {
            let mut name = asked.as_os_str().to_owned();
            name.push(".xlsx");
            PathBuf::from(name)
        }
    };
    let note = format!(
        "the workbook is {}: it has the format of .xlsx, not the one that {} stood for",
        name.display(),
        asked.display()
    );
    (name, Some(note))
}

/// Returns true if a file is a workbook written by assay and not saved since: its core properties
/// (ECMA-376 part 2, 11) name only assay, and only one time. False for all other files.
pub fn is_untouched(workbook: impl Read + Seek) -> bool {
    let Ok(properties) = part(workbook, "docProps/core.xml") else {
        return false;
    };
    let value = |name: &str| -> Option<&str> {
        let (_, rest) = properties.split_once(&format!("<{name}"))?;
        let (_, rest) = rest.split_once('>')?;
        rest.split('<').next()
    };
    let author = Some(AUTHOR);
    value("dc:creator") == author
        && value("cp:lastModifiedBy") == author
        && value("dcterms:created").is_some()
        && value("dcterms:created") == value("dcterms:modified")
}

/// Fills a workbook and writes it with its charts; `fill` returns each chart in their order, `None`
/// for one that needs no replacement.
fn save(
    properties: Result<DocProperties, XlsxError>,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Workbook) -> Result<Vec<Option<String>>, XlsxError>,
) -> io::Result<()> {
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties.map_err(io::Error::other)?);
    let charts = fill(&mut workbook).map_err(io::Error::other)?;
    let bytes = workbook.save_to_buffer().map_err(io::Error::other)?;
    out.write_all(&surface::with_charts(bytes, &charts)?)
}

/// Returns the properties. The time is that of the run, so that writing the workbook again gives
/// the same bytes.
fn properties(run: &Run) -> Result<DocProperties, XlsxError> {
    let header = &run.header;
    titled(
        crate::words::labels::name(&header.storage),
        header.started_unix_ms,
    )
}

fn titled(title: String, unix_ms: u64) -> Result<DocProperties, XlsxError> {
    let seconds = i64::try_from(unix_ms / 1000).unwrap_or(i64::MAX);
    Ok(DocProperties::new()
        .set_title(title)
        .set_author(AUTHOR)
        .set_creation_datetime(&ExcelDateTime::from_timestamp(seconds)?))
}

/// Fills all sheets; `ranked` exists if there are several conditions.
///
/// # Errors
/// If they do not fit a workbook.
fn fill_import(
    workbook: &mut Workbook,
    import: &Import,
    ranked: Option<&Ranked<'_>>,
) -> Result<(), XlsxError> {
    let verdict = ranked.map_or_else(Vec::new, |ranked| {
        views::ranking::sections(ranked, &Sweep::default())
    });
    let document = views::import::page(import, &Gallery::default(), verdict);
    page::write(
        workbook.add_worksheet(),
        look::SUMMARY,
        &document,
        &["results"],
    )?;
    let results = &import.results;
    let rows = by_metric(&results.figures)
        .into_iter()
        .map(|figure| FigureRow {
            series: figure.condition.clone(),
            figure,
            said: ranked.map_or_else(Vec::new, |ranked| ranking_cells(figure, ranked)),
        });
    page::write_figure_sheets(
        workbook.add_worksheet(),
        "Figures",
        tr!("Figures"),
        &figure_heads(ranked.is_some()),
        &rows.collect::<Vec<_>>(),
    )?;
    let source = ComparedSource {
        name: &import.id,
        lasting_name: "",
        figures: &results.figures,
        run: None,
        circumstances: &results.circumstances,
    };
    write_trials(workbook.add_worksheet(), &[], &[source])
}

/// Sections with separate sheets.
const ELSEWHERE: [&str; 2] = ["evidence", "matrices"];

/// Returns the headings of figures, with those of their ranking if there is one.
fn figure_heads(ranked: bool) -> Heads {
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
fn fill_run(
    workbook: &mut Workbook,
    run: &Run,
    matrices: &[Matrix],
) -> Result<Vec<Option<String>>, XlsxError> {
    let all = Summary::of(run);
    let document = views::run::full(&all, &Gallery::default(), Vec::new());
    page::write(
        workbook.add_worksheet(),
        look::SUMMARY,
        &document,
        &ELSEWHERE,
    )?;
    let gallery = Gallery::of_parts(&all, None);
    let drawn = gallery.trials.iter().chain(&gallery.courses);
    let mut charts = charts::add(workbook, drawn)?;
    let figures = of_jobs(&all);
    let rows = figures.iter().map(|figure| figure_row(figure, Vec::new()));
    let titles = matrices.iter().map(|matrix| matrix.title.as_str());
    let names = write_groups(workbook, run, (figure_heads(false), rows.collect()), titles)?;
    for (matrix, name) in matrices.iter().zip(&names) {
        let chart = surface::write_matrix(workbook.add_worksheet(), matrix, name)?;
        charts.extend(chart.map(Some));
    }
    let evidence = views::run::page::of_all(&all);
    page::write_table(workbook.add_worksheet(), look::EVIDENCE, &evidence)?;
    write_trials(workbook.add_worksheet(), &[run], &[])?;
    Ok(charts)
}

/// Fills all sheets of a sweep and returns the charts in their order.
///
/// # Errors
/// If they do not fit a workbook.
fn fill_swept(
    workbook: &mut Workbook,
    run: &Run,
    ranked: &Ranked<'_>,
) -> Result<Vec<Option<String>>, XlsxError> {
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
        .map(|figure| figure_row(figure, ranking_cells(figure, ranked)));
    write_groups(
        workbook,
        run,
        (figure_heads(true), rows.collect()),
        [].into_iter(),
    )?;
    let surfaces = surface::write_sweep_matrices(workbook.add_worksheet(), run, &figures)?;
    let charts = surfaces.into_iter().map(Some).collect();
    let varied = views::run::varied(run);
    page::write_table(workbook.add_worksheet(), look::CONDITIONS, &varied)?;
    let evidence = views::run::page::of_all(&all);
    page::write_table(workbook.add_worksheet(), look::EVIDENCE, &evidence)?;
    write_trials(workbook.add_worksheet(), &[run], &[])?;
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
fn by_metric(figures: &[Figure]) -> Vec<&Figure> {
    let metrics = describe::distinct_metrics(figures.iter()).into_iter();
    let conditions = |metric| figures.iter().filter(move |figure| figure.metric == metric);
    metrics.flat_map(conditions).collect()
}

fn figure_row(figure: &Figure, said: Vec<Cell>) -> FigureRow<'_> {
    FigureRow {
        series: figure.condition.clone(),
        figure,
        said,
    }
}

/// Returns the results of one condition; empty for metrics that do not decide.
fn ranking_cells(figure: &Figure, ranked: &Ranked<'_>) -> Vec<Cell> {
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

/// Fills all sheets of a comparison: verdicts first, then the trials from which they follow.
///
/// # Errors
/// If they do not fit a workbook.
fn fill_comparison(
    workbook: &mut Workbook,
    compared: &Compared<'_>,
) -> Result<Vec<Option<String>>, XlsxError> {
    let document = views::comparison::workbook(compared);
    page::write(workbook.add_worksheet(), look::SUMMARY, &document, &[])?;
    let [a, b] = compared.known_by();
    let [a, b] =
        [(&a, &compared.a_sources), (&b, &compared.b_sources)].map(|(name, sources)| Side {
            name,
            figures: sources.iter().flat_map(|source| source.figures).collect(),
            runs: Vec::new(),
        });
    let gallery = comparison::Gallery::of(compared, &a, &b);
    let charts = charts::add(workbook, gallery.iter())?;
    let groups = compared
        .jobs()
        .grouped(compared_rows(compared).into_iter(), |row| {
            &row.figure.metric
        });
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
    let runs = distinct_runs(&sources);
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
    write_trials(workbook.add_worksheet(), &runs, &others)?;
    Ok(charts)
}

/// Returns each run once, even if both sides contain it.
fn distinct_runs<'a>(sources: &[&ComparedSource<'a>]) -> Vec<&'a Run> {
    let mut runs: Vec<&Run> = Vec::new();
    for run in sources.iter().filter_map(|source| source.run) {
        if !runs.iter().any(|known| known.header.id == run.header.id) {
            runs.push(run);
        }
    }
    runs
}

/// Returns all figures by metric, A before B; the results are beside the first figure of B.
fn compared_rows<'a>(compared: &'a Compared<'a>) -> Vec<FigureRow<'a>> {
    let sources: Vec<(&str, &ComparedSource<'_>)> = compared.named_sources().collect();
    let all = sources.iter().flat_map(|(_, source)| source.figures);
    let mut rows = Vec::new();
    for metric in describe::distinct_metrics(all) {
        let line = compared
            .comparison
            .lines
            .iter()
            .find(|line| line.metric == metric);
        let mut said = line.map(|line| verdict_cells(compared, line));
        for (side, source) in &sources {
            let its = source
                .figures
                .iter()
                .filter(|figure| figure.metric == metric);
            rows.extend(its.map(|figure: &Figure| FigureRow {
                series: format!("{side}: {}", source.known_by()),
                figure,
                said: if *side == compared.names[1] {
                    said.take().unwrap_or_default()
                } else {
                    Vec::new()
                },
            }));
        }
    }
    rows
}

fn verdict_cells(compared: &Compared<'_>, line: &VerdictRow) -> Vec<Cell> {
    let because: Vec<String> = line.notes.iter().map(|note| compared.told(note)).collect();
    vec![
        Cell::change(line.change),
        Cell::interval(line.change),
        Cell::Verdict(compared.word_in_english(line)),
        because.join("; ").into(),
    ]
}

/// Numeric columns: sizes and counts, the value, the share of the device.
const NUMERIC_COLUMNS: [&str; 7] = [
    "bs",
    "iodepth",
    "numjobs",
    "trial",
    "position",
    "value",
    "device_share",
];

/// Writes the sheet of raw figures, with the columns of the CSV output: runs, then imports.
///
/// # Errors
/// If the rows do not fit a sheet.
fn write_trials(
    sheet: &mut Worksheet,
    runs: &[&Run],
    others: &[ComparedSource<'_>],
) -> Result<(), XlsxError> {
    sheet.set_name(look::TRIALS)?;
    look::on_paper(sheet);
    for (column, title) in (0..).zip(COLUMNS) {
        sheet.write_string_with_format(0, column, title, &look::head())?;
        sheet.set_column_width(column, if column == 1 { 24 } else { 12 })?;
    }
    sheet.set_freeze_panes(1, 2)?;
    sheet.set_repeat_rows(0, 0)?;
    let measured = runs.iter().flat_map(|run| csv_rows(run));
    let imported = others.iter().flat_map(imported_rows);
    let mut last = 0;
    for (row, cells) in (1..).zip(measured.chain(imported)) {
        for ((column, title), cell) in (0..).zip(COLUMNS).zip(cells) {
            match cell.parse::<f64>() {
                _ if cell.is_empty() => {}
                Ok(number) if NUMERIC_COLUMNS.contains(&title) => {
                    sheet.write_number(row, column, number)?;
                }
                _ if title == "direct" => {
                    sheet.write_boolean(row, column, cell == "true")?;
                }
                _ => {
                    sheet.write_string(row, column, clean(&cell))?;
                }
            }
        }
        last = row;
    }
    let columns = u16::try_from(COLUMNS.len()).unwrap_or(u16::MAX);
    sheet.autofilter(0, 0, last, columns - 1)?;
    Ok(())
}

/// Rows of imported results. Unknown values are left empty; a summary is skipped, because it is
/// not a trial.
fn imported_rows(source: &ComparedSource<'_>) -> Vec<[String; COLUMNS.len()]> {
    let figures = source
        .figures
        .iter()
        .filter_map(|figure| match &figure.sample {
            Sample::Values { values, .. } => Some((figure, values)),
            Sample::Moments { .. } => None,
        });
    let rows = figures.flat_map(|(figure, values)| {
        values.iter().enumerate().map(|(index, value)| {
            let cell = |title: &str| match title {
                "run" => source.name.to_owned(),
                "trial" => (index + 1).to_string(),
                "metric" => figure.metric.clone(),
                "unit" => figure.unit.clone(),
                "value" => value.to_string(),
                "label" => figure.measured.clone().unwrap_or_default(),
                "condition" => figure.condition.clone(),
                _ => String::new(),
            };
            COLUMNS.map(cell)
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
