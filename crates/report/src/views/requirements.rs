//! A run against requirements: a line each, then the verdict.

use crate::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::results::comparison::RequirementRow;
use crate::results::requirements::{count, verdict};
use crate::words::{Tone, clean};
use assay_lang::{tr, translated};
use assay_stats::verdict::judge::Qualification;

/// Returns the table of requirements, with the verdict as the last line.
pub fn document(name: &str, rows: &[RequirementRow]) -> Document {
    let mut document = Document::new(tr!("Requirements of {name}", name = clean(name)));
    let mut section = Section::new("requirements", "");
    section.table(table(rows));
    let fails = count(rows, Qualification::Fail) > 0;
    let tone = if fails { Tone::Bad } else { Tone::Strong };
    section.say(verdict(rows), Some(tone));
    document.push(section);
    document
}

/// Returns the table of requirements.
pub fn table(rows: &[RequirementRow]) -> Table {
    Table {
        columns: vec![
            Column::text(tr!("requirement")),
            Column::number(tr!("measured")),
            Column::number(tr!("bounds")).keep(Keep::IfRoom),
            Column::text(tr!("result")),
        ],
        rows: rows.iter().map(table_row).collect(),
    }
}

fn table_row(row: &RequirementRow) -> TableRow {
    let [measured, bounds] = row.in_words();
    let cells = [
        clean(&row.requirement),
        measured,
        bounds,
        translated(row.word()).to_owned(),
    ];
    TableRow {
        note: row.why.as_deref().map(clean),
        ..TableRow::new(cells.map(Cell::Text).into())
    }
}
