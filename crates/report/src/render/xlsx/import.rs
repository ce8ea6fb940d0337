//! The sheets of results that were made elsewhere.

use super::figures::{self, FigureRow};
use super::run::{PLAIN, RANKED, by_metric, said};
use super::{look, trials};
use crate::results::comparison::{ComparedSource, Ranked};
use crate::words::format::utc;
use crate::words::text::{clean, enumerate};
use assay_lang::tr;
use assay_model::figures::Import;
use rust_xlsxwriter::{Workbook, Worksheet, XlsxError};

/// Makes all sheets; `ranked` where there are several conditions.
///
/// # Errors
/// When they do not fit a workbook.
pub fn fill(
    workbook: &mut Workbook,
    import: &Import,
    ranked: Option<&Ranked<'_>>,
) -> Result<(), XlsxError> {
    write_summary(workbook.add_worksheet(), import, ranked)?;
    let results = &import.results;
    let rows = by_metric(&results.figures)
        .into_iter()
        .map(|figure| FigureRow {
            series: figure.condition.clone(),
            figure,
            said: ranked.map_or_else(Vec::new, |ranked| said(figure, ranked)),
        });
    let heads = if ranked.is_some() { RANKED } else { PLAIN };
    let sheet = workbook.add_worksheet();
    sheet.set_name("Figures")?;
    figures::write(sheet, tr!("Figures"), heads, &rows.collect::<Vec<_>>())?;
    let source = ComparedSource {
        name: &import.id,
        figures: &results.figures,
        run: None,
        circumstances: &results.circumstances,
    };
    trials::write(workbook.add_worksheet(), &[], &[source])
}

fn write_summary(
    sheet: &mut Worksheet,
    import: &Import,
    ranked: Option<&Ranked<'_>>,
) -> Result<(), XlsxError> {
    sheet.set_name(look::SUMMARY)?;
    look::on_paper(sheet);
    sheet.set_column_width(0, 26)?;
    let results = &import.results;
    sheet.write_string_with_format(0, 0, clean(&results.tool), &look::title())?;
    let mut row = 2;
    if let Some(ranked) = ranked {
        let sentence = clean(&ranked.ranking.sentence.to_string());
        sheet.write_string_with_format(row, 0, sentence, &look::name())?;
        row += 2;
    }
    let facts = [
        (tr!("import"), clean(&import.id)),
        (tr!("taken in"), utc(import.imported_unix_ms)),
        (tr!("by assay"), clean(&import.assay_version)),
        (tr!("files"), clean(&enumerate(&import.files))),
    ];
    for (name, value) in &facts {
        sheet.write_string(row, 0, *name)?;
        sheet.write_string(row, 1, value)?;
        row += 1;
    }
    for (title, lines) in [
        (tr!("What the results tell"), &results.circumstances),
        (tr!("Not known, or left out"), &results.notes),
    ] {
        row = write_lines(sheet, row, title, lines)?;
    }
    Ok(())
}

/// The row after them comes back.
fn write_lines(
    sheet: &mut Worksheet,
    mut row: u32,
    title: &str,
    lines: &[String],
) -> Result<u32, XlsxError> {
    if lines.is_empty() {
        return Ok(row);
    }
    row += 1;
    sheet.write_string_with_format(row, 0, title, &look::name())?;
    for line in lines {
        row += 1;
        sheet.write_string(row, 0, clean(line))?;
    }
    Ok(row + 1)
}
