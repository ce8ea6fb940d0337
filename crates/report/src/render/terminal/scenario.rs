//! The acts of a scenario.

use super::Page;
use super::results::{median, spread};
use super::table::{Column, Row, Table};
use crate::results::findings::scenario::{ActLine, lines, totals};
use crate::results::summary::Summary;
use crate::words::text::shorten;
use assay_lang::tr;
use std::io;

/// Longer names are shortened.
const LONGEST_NAME: usize = 24;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let lines = lines(summary);
    if lines.is_empty() {
        return Ok(());
    }
    page.title(tr!("What was done, step by step"))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column("", false),
            column(tr!("time"), true),
            column(tr!("rate"), true),
            column(tr!("slowest"), true),
            column(tr!("gap"), true),
            column(tr!("late"), true),
        ],
        rows: lines.into_iter().map(row).collect(),
    }
    .write(page)?;
    for (scenario, total) in totals(summary) {
        page.line(&tr!(
            "  all of {scenario}: {median} ({spread})",
            scenario,
            median = median(&total),
            spread = spread(&total)
        ))?;
    }
    Ok(())
}

fn row(line: ActLine) -> Row {
    Row {
        cells: vec![
            shorten(&line.name, LONGEST_NAME),
            line.time,
            line.rate,
            line.slowest,
            line.gap,
            line.missed,
        ],
        labels: line.labels,
        sentence: line.found,
    }
}
