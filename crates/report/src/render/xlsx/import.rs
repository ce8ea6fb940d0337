//! Sheets of an import.

use super::figures::{self, FigureRow};
use super::run::{by_metric, heads, said};
use super::{look, page, trials};
use crate::charts::data::Gallery;
use crate::results::comparison::{ComparedSource, Ranked};
use crate::results::sweep::Sweep;
use crate::views;
use assay_lang::tr;
use assay_model::figures::Import;
use rust_xlsxwriter::{Workbook, XlsxError};

/// Fills all sheets; `ranked` exists if there are several conditions.
///
/// # Errors
/// If they do not fit a workbook.
pub fn fill(
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
            said: ranked.map_or_else(Vec::new, |ranked| said(figure, ranked)),
        });
    figures::write(
        workbook.add_worksheet(),
        "Figures",
        tr!("Figures"),
        &heads(ranked.is_some()),
        &rows.collect::<Vec<_>>(),
    )?;
    let source = ComparedSource {
        name: &import.id,
        figures: &results.figures,
        run: None,
        circumstances: &results.circumstances,
    };
    trials::write(workbook.add_worksheet(), &[], &[source])
}
