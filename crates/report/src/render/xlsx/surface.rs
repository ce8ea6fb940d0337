//! Sheets of matrices, and their charts, which draw figures over two axes as a surface in space
//! (`DrawingML` charts, ISO/IEC 29500-1, 21.2: `CT_Surface3DChart`). Elements are in the order of
//! the schema; programs refuse other orders.
//!
//! A workbook is a ZIP archive of XML parts. The charts in it are replaced here, because
//! `rust_xlsxwriter` does not support surfaces.

use super::look;
use super::look::{SHADES, Shade};
use super::page::Page;
use crate::document::{Cell, Column, Table, TableRow};
use crate::results::effects;
use crate::results::matrix::{self, Matrix};
use crate::words::labels::meaning;
use crate::words::{clean, shorten};
use assay_lang::{key, tr, translated};
use assay_model::figures::Figure;
use assay_model::run::Run;
use rust_xlsxwriter::{Chart, Worksheet, XlsxError};
use std::fmt::Write;
use std::io;
use std::io::{Cursor, Read, Seek, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Numbers that identify the axes.
const COLUMNS: u32 = 50_010;
const VALUES: u32 = 50_020;
const ROWS: u32 = 50_030;

/// Position of the matrix on its sheet, counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct MatrixPosition<'a> {
    /// Name of the sheet.
    pub sheet: &'a str,
    /// Row of the headings.
    pub head_row: u32,
    /// Column of the headings.
    pub head_column: u16,
}

/// Labels of the axes.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// Label of the axis along the columns.
    pub columns: &'a str,
    /// Label of the axis along the rows.
    pub rows: &'a str,
    /// Label of the vertical axis.
    pub values: &'a str,
}

/// Figures over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Title of the figures.
    pub title: String,
    /// Headings of the rows.
    pub rows: Vec<String>,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Values by row, then by column; `None` if not measured.
    pub values: Vec<Vec<Option<f64>>>,
}

impl From<&Matrix> for Grid {
    fn from(matrix: &Matrix) -> Self {
        let values = matrix.cells.iter().map(|row| {
            let cells = row.iter().map(|cell| Some(cell.as_ref()?.value));
            cells.collect()
        });
        Self {
            title: matrix.title.clone(),
            rows: matrix
                .rows
                .levels
                .iter()
                .map(matrix::Level::heading)
                .collect(),
            columns: matrix
                .columns
                .levels
                .iter()
                .map(matrix::Level::heading)
                .collect(),
            values: values.collect(),
        }
    }
}

/// Size of the chart in pixels.
const SIZE: (u32, u32) = (900, 520);
/// Maximum length of the alternative text of a picture, in characters.
const LONGEST_ALTERNATIVE: usize = 255;
/// Rows that the chart covers, of 20 pixels each.
pub const ROWS_COVERED: u32 = SIZE.1 / 20 + 1;

/// Places the surface of a grid on its sheet, from row `below` on, and returns the chart. `place`
/// is the position of the grid. A line chart is the placeholder until `with_charts`
/// replaces it. A grid of one row or one column has no surface.
///
/// # Errors
/// If it does not fit the sheet.
pub fn insert(
    sheet: &mut Worksheet,
    grid: &Grid,
    place: MatrixPosition<'_>,
    axes: Axes<'_>,
    below: u32,
) -> Result<Option<String>, XlsxError> {
    if grid.rows.len() < 2 || grid.columns.len() < 2 {
        return Ok(None);
    }
    let first = (place.head_row + 1, place.head_column + 1);
    let mut stand_in = Chart::new_line();
    stand_in
        .add_series()
        .set_values((place.sheet, first.0, first.1, first.0, first.1));
    let (rows, columns) = (clean(axes.rows), clean(axes.columns));
    let about = tr!(
        "{title}: the figures above as a surface; down: {rows}; across: {columns}",
        title = clean(&grid.title),
        rows,
        columns
    );
    stand_in
        .set_width(SIZE.0)
        .set_height(SIZE.1)
        .set_alt_text(shorten(&about, LONGEST_ALTERNATIVE));
    sheet.insert_chart(below, place.head_column, &stand_in)?;
    Ok(Some(chart(grid, place, axes)))
}

fn chart(grid: &Grid, place: MatrixPosition<'_>, axes: Axes<'_>) -> String {
    let series: String = (0..grid.rows.len())
        .map(|row| one_series(grid, place, row))
        .collect();
    let axis_ids: String = [COLUMNS, VALUES, ROWS]
        .iter()
        .map(|id| format!(r#"<c:axId val="{id}"/>"#))
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><c:roundedCorners val="0"/><c:chart>{title}<c:autoTitleDeleted val="0"/><c:view3D><c:rotX val="20"/><c:rotY val="30"/><c:rAngAx val="0"/><c:perspective val="30"/></c:view3D><c:plotArea><c:layout/><c:surface3DChart><c:wireframe val="0"/>{series}{axis_ids}</c:surface3DChart>{column_axis}{value_axis}{row_axis}</c:plotArea><c:legend><c:legendPos val="r"/><c:overlay val="0"/></c:legend><c:plotVisOnly val="1"/><c:dispBlanksAs val="zero"/></c:chart></c:chartSpace>
"#,
        title = words(&grid.title, 1400),
        column_axis = axis("catAx", COLUMNS, "b", axes.columns, VALUES),
        value_axis = axis("valAx", VALUES, "l", axes.values, COLUMNS),
        row_axis = axis("serAx", ROWS, "b", axes.rows, COLUMNS),
    )
}

/// Returns one row of the grid: its name, the names of the columns, the values.
fn one_series(grid: &Grid, place: MatrixPosition<'_>, index: usize) -> String {
    let row = place.head_row + 1 + u32::try_from(index).unwrap_or(u32::MAX - place.head_row - 1);
    let first = place.head_column + 1;
    let last = place.head_column + u16::try_from(grid.columns.len()).unwrap_or(u16::MAX);
    let sheet = format!("'{}'", place.sheet.replace('\'', "''"));
    let range = |row: u32| {
        let (first, last) = (column_name(first), column_name(last));
        let row = row + 1;
        escaped(&format!("{sheet}!${first}${row}:${last}${row}"))
    };
    let name = format!("{sheet}!${}${}", column_name(place.head_column), row + 1);
    let head = grid.rows.get(index).map_or("", String::as_str);
    let cells = grid.values.get(index).map_or(&[][..], Vec::as_slice);
    let values = cells
        .iter()
        .map(|value| value.map(|value| value.to_string()));
    format!(
        r#"<c:ser><c:idx val="{index}"/><c:order val="{index}"/><c:tx><c:strRef><c:f>{name}</c:f><c:strCache><c:ptCount val="1"/><c:pt idx="0"><c:v>{head}</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat>{columns}</c:cat><c:val><c:numRef><c:f>{range}</c:f>{values}</c:numRef></c:val></c:ser>"#,
        name = escaped(&name),
        head = escaped(head),
        columns = heads(&grid.columns, &range(place.head_row)),
        range = range(row),
        values = cache(values),
    )
}

/// Returns the headings of columns: as numbers if all are numeric, else as texts.
fn heads(columns: &[String], range: &str) -> String {
    if columns
        .iter()
        .all(|head| look::numeric_heading(head).is_some())
    {
        let numbers = columns.iter().map(|head| Some(head.clone()));
        return format!("<c:numRef><c:f>{range}</c:f>{}</c:numRef>", cache(numbers));
    }
    let texts = columns.iter().enumerate().map(|(index, head)| {
        let head = escaped(head);
        format!(r#"<c:pt idx="{index}"><c:v>{head}</c:v></c:pt>"#)
    });
    format!(
        r#"<c:strRef><c:f>{range}</c:f><c:strCache><c:ptCount val="{}"/>{}</c:strCache></c:strRef>"#,
        columns.len(),
        texts.collect::<String>()
    )
}

/// Returns the cached numbers, for programs that draw a chart without evaluating the cells.
fn cache(numbers: impl ExactSizeIterator<Item = Option<String>>) -> String {
    let mut xml = format!(
        r#"<c:numCache><c:formatCode>General</c:formatCode><c:ptCount val="{}"/>"#,
        numbers.len()
    );
    for (index, number) in numbers.enumerate() {
        if let Some(number) = number {
            // Writing to a string cannot fail.
            let _ = write!(xml, r#"<c:pt idx="{index}"><c:v>{number}</c:v></c:pt>"#);
        }
    }
    xml.push_str("</c:numCache>");
    xml
}

fn axis(kind: &str, id: u32, side: &str, title: &str, crosses: u32) -> String {
    let (lines, number, rest) = match kind {
        "valAx" => (
            "<c:majorGridlines/>",
            r##"<c:numFmt formatCode="#,##0" sourceLinked="0"/>"##,
            r#"<c:crossBetween val="midCat"/>"#,
        ),
        "catAx" => (
            "",
            r#"<c:numFmt formatCode="General" sourceLinked="0"/>"#,
            r#"<c:auto val="0"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/><c:noMultiLvlLbl val="1"/>"#,
        ),
        _ => ("", "", ""),
    };
    format!(
        r#"<c:{kind}><c:axId val="{id}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="{side}"/>{lines}{title}{number}<c:majorTickMark val="out"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/><c:crossAx val="{crosses}"/><c:crosses val="autoZero"/>{rest}</c:{kind}>"#,
        title = words(title, 900),
    )
}

/// Returns the XML of a title; `size` is in hundredths of a point.
fn words(text: &str, size: u32) -> String {
    format!(
        r#"<c:title><c:tx><c:rich><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="{size}" b="1"/></a:pPr><a:r><a:rPr lang="en-US" sz="{size}" b="1"/><a:t>{}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>"#,
        escaped(text)
    )
}

/// Returns the name of a column: `A` for 0, `Z` for 25, `AA` for 26.
fn column_name(column: u16) -> String {
    rust_xlsxwriter::utility::column_number_to_name(column)
}

fn escaped(text: &str) -> String {
    let text = clean(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns the workbook with its n-th chart replaced by the n-th of `charts`, if there is one; all
/// other parts are copied unchanged.
///
/// # Errors
/// If the workbook has another number of charts.
pub fn with_charts(workbook: Vec<u8>, charts: &[Option<String>]) -> io::Result<Vec<u8>> {
    let count = charts.iter().flatten().count();
    if count == 0 {
        return Ok(workbook);
    }
    let mut archive = ZipArchive::new(Cursor::new(workbook))?;
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default());
    let mut replaced = 0;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index)?;
        let name = part.name()?.into_owned();
        match chart_number(&name).and_then(|number| charts.get(number.checked_sub(1)?)?.as_ref()) {
            None => writer.raw_copy_file(part)?,
            Some(chart) => {
                writer.start_file(name, options)?;
                writer.write_all(chart.as_bytes())?;
                replaced += 1;
            }
        }
    }
    if replaced != count {
        return Err(io::Error::other(format!(
            "the workbook has {replaced} of {} charts",
            count
        )));
    }
    Ok(writer.finish()?.into_inner())
}

/// Returns the text of one part of a workbook.
///
/// # Errors
/// If the file is not a workbook, has no such part, or the part is not text.
pub fn part(workbook: impl Read + Seek, name: &str) -> io::Result<String> {
    /// Maximum length; far above that of any requested part.
    const LONGEST: u64 = 1 << 20;
    let mut archive = ZipArchive::new(workbook)?;
    let mut text = String::new();
    let part = archive.by_name(name)?;
    part.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the number of a chart's part: `1` for `xl/charts/chart1.xml`.
fn chart_number(part: &str) -> Option<usize> {
    let number = part.strip_prefix("xl/charts/chart")?.strip_suffix(".xml")?;
    number.parse().ok()
}

const FILE_SIZE: &str = key!("File size, KiB");
const RECORD_SIZE: &str = key!("Record size, KiB");
const SIZES: &str = "file \\ record, KiB";

/// Writes the sheet of a matrix of iozone and returns its chart, if it has one.
///
/// # Errors
/// If the matrix does not fit a sheet.
pub fn write_matrix(
    sheet: &mut Worksheet,
    matrix: &Matrix,
    name: &str,
) -> Result<Option<String>, XlsxError> {
    // Print on one page, because a surface cannot be divided.
    let mut page = Page::new(sheet, name)?;
    page.sheet.set_print_fit_to_pages(1, 1);
    page.title(&clean(&matrix.title))?;
    page.text(&tr!(
        "In {unit}. Down: size of the file. Across: size of a record. An empty cell was not measured.",
        unit = matrix.unit
    ))?;
    page.heading(&matrix.sentence())?;
    for shade in SHADES.iter().filter(|shade| occurs(matrix, shade)) {
        let meaning = meaning(shade.label).unwrap_or_default();
        let words = format!("{}: {meaning}", translated(shade.words));
        page.shaded(shade, &words)?;
    }
    page.row += 1;
    let head_row = page.row;
    page.table(&table_of(matrix, SIZES, |cell| Cell::Measured {
        value: cell.value,
        digits: matrix.digits,
        label: label(cell).to_owned(),
    }))?;
    page.row += 1;
    page.heading(tr!("What each figure measured"))?;
    page.table(&table_of(matrix, SIZES, |cell| {
        clean(translated(label(cell))).into()
    }))?;
    let below = page.row + 1;
    page.set_widths()?;
    let place = MatrixPosition {
        sheet: name,
        head_row,
        head_column: 0,
    };
    let axes = Axes {
        columns: translated(RECORD_SIZE),
        rows: translated(FILE_SIZE),
        values: &matrix.unit,
    };
    let chart = insert(sheet, &Grid::from(matrix), place, axes, below)?;
    if chart.is_none() {
        let why = tr!("No surface: it needs two file sizes and two record sizes, or more.");
        sheet.write_string(below, 0, why)?;
    }
    Ok(chart)
}

fn label(cell: &matrix::Cell) -> &str {
    cell.label.as_deref().unwrap_or("unknown")
}

fn occurs(matrix: &Matrix, shade: &Shade) -> bool {
    let mut cells = matrix.cells.iter().flatten().flatten();
    cells.any(|cell| Shade::of(cell.label.as_deref()) == shade)
}

/// Returns a table of a matrix. A numeric heading makes the axis numeric, too.
fn table_of(matrix: &Matrix, corner: &str, shown: impl Fn(&matrix::Cell) -> Cell) -> Table {
    let rows = matrix.rows.levels.iter().zip(&matrix.cells);
    let rows = rows.map(|(level, cells)| {
        let head = match level.heading().parse::<usize>() {
            Ok(number) => Cell::Count(number),
            Err(_) => level.heading().into(),
        };
        let cells = cells
            .iter()
            .map(|cell| cell.as_ref().map_or(Cell::Empty, &shown));
        TableRow::new(std::iter::once(head).chain(cells).collect())
    });
    let levels = matrix.columns.levels.iter();
    let levels = levels.map(|level| Column::number(level.heading()));
    let corner = Column::text(clean(corner));
    Table {
        columns: std::iter::once(corner).chain(levels).collect(),
        rows: rows.collect(),
    }
}

/// Writes the sheet of a sweep over two settings, each metric as a matrix, and returns its charts.
///
/// # Errors
/// If it does not fit a sheet.
pub fn write_sweep_matrices(
    sheet: &mut Worksheet,
    run: &Run,
    figures: &[Figure],
) -> Result<Vec<String>, XlsxError> {
    let mut page = Page::new(sheet, look::SURFACES)?;
    let maps = effects::maps(&run.header.plan.conditions, figures, None);
    if maps.is_empty() {
        page.text(tr!("No matrices: they take a sweep of two settings."))?;
    }
    let mut charts = Vec::new();
    for matrix in &maps {
        let (down, across) = (&matrix.rows.name, &matrix.columns.name);
        page.title(&clean(&matrix.title))?;
        page.text(&tr!(
            "Geometric means in {unit}.",
            unit = clean(&matrix.unit)
        ))?;
        let place = MatrixPosition {
            sheet: look::SURFACES,
            head_row: page.row,
            head_column: 0,
        };
        page.table(&table_of(matrix, &format!("{down} \\ {across}"), |cell| {
            Cell::quantity(cell.value, &*matrix.unit)
        }))?;
        page.row += 1;
        let axes = Axes {
            columns: across,
            rows: down,
            values: &matrix.unit,
        };
        let chart = insert(page.sheet, &Grid::from(matrix), place, axes, page.row)?;
        page.row += match chart {
            Some(_) => 1 + ROWS_COVERED,
            None => 1,
        };
        charts.extend(chart);
    }
    page.set_widths()?;
    Ok(charts)
}
