//! iozone's text: the table of single and automatic mode, the blocks of `-R`,
//! throughput mode; and the marks that assay's own iozone adds.

mod blocks;
mod heading;
mod marks;
mod rows;
mod throughput;

use super::collect::{Collector, Key};
use super::error::ImportError;
use super::lines;
use assay_model::figures::Results;
use heading::Heading;
use marks::Marks;

/// As many metrics may decide; more are a survey.
const DECIDING: usize = 7;

/// A figure of a text.
#[derive(Clone, Debug, PartialEq)]
struct IozoneFigure {
    /// Sizes, and in throughput mode who.
    of: String,
    /// iozone's word for the test.
    test: String,
    value: f64,
    unit: &'static str,
    line: usize,
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("iozone");
    let mut heading = Heading::default();
    let mut marks = Marks::default();
    let mut table = rows::IozoneTable::default();
    let mut blocks = blocks::Blocks::default();
    let mut throughput = throughput::Throughput::default();
    for line in lines::unquoted(text) {
        heading.line(line.text, &mut all);
        marks.line(line.text);
        table.line(&line, &heading)?;
        blocks.line(&line, heading.unit())?;
        throughput.line(&line, heading.unit())?;
    }
    // The blocks and the report repeat what stands above them.
    let cells = [table.cells, throughput.cells, blocks.cells];
    let cells = cells.into_iter().find(|cells| !cells.is_empty());
    let cells = cells.unwrap_or_default();
    let mut names: Vec<(&str, &str)> = cells.iter().map(|cell| (&*cell.of, &*cell.test)).collect();
    names.sort_unstable();
    names.dedup();
    let primary = names.len() <= DECIDING;
    if !primary {
        all.note(format!(
            "These are {} metrics, a survey: none of them is primary.",
            names.len()
        ));
    }
    if marks.is_empty() {
        all.note(
            "What was measured, device or page cache, is not recorded: files that fit into the \
             memory are mostly in the page cache.",
        );
    }
    for cell in &cells {
        let key = Key {
            condition: String::new(),
            metric: format!("{}: {}", cell.of, cell.test),
            unit: cell.unit.to_owned(),
            // Those of single processes only explain their sum.
            primary: primary && !cell.test.contains("per "),
            measured: marks.of(&cell.of, &cell.test),
        };
        all.value(key, cell.value, None, Some(cell.line))?;
    }
    Ok(all.finish())
}

/// Returns the prefix of figures for a file size and record size.
fn sizes(file_kib: &str, record_kib: &str) -> String {
    format!("{file_kib} kB file, {record_kib} kB records")
}
