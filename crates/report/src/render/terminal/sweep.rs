//! A sweep: for each metric a table of conditions.

use super::Page;
use super::table::{Column, Row, Table};
use crate::results::summary::Figure;
use crate::results::sweep::{Arm, Sweep, SweptMetric};
use crate::words::format::{percent, quantity};
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::metric::Unit;
use std::io;

pub(super) fn write(sweep: &Sweep<'_>, page: &mut Page<'_>) -> io::Result<()> {
    if sweep.metrics.is_empty() {
        page.title(tr!("No trial under a condition was completed"))?;
    }
    for metric in &sweep.metrics {
        table(metric, page)?;
    }
    Ok(())
}

fn table(metric: &SweptMetric<'_>, page: &mut Page<'_>) -> io::Result<()> {
    page.title(&clean(&format!("{} {}", metric.job.name, metric.name)))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column(tr!("condition"), false),
            column(tr!("geometric mean"), true),
            column("n", true),
            column("CV", true),
        ],
        rows: metric
            .arms
            .iter()
            .map(|arm| row(arm, metric.unit))
            .collect(),
    }
    .write(page)
}

fn row(arm: &Arm<'_>, unit: Unit) -> Row {
    let name = clean(arm.condition);
    let cells = match &arm.figure {
        Some(figure) => vec![
            name,
            centre(figure, unit),
            figure.stats.n.to_string(),
            figure.stats.cv.map_or("-".to_owned(), percent),
        ],
        None => {
            let why = arm.missing.clone().unwrap_or(tr!("not run").to_owned());
            vec![name, why]
        }
    };
    Row {
        cells,
        labels: arm.labels(),
        sentence: match (&arm.figure, &arm.missing) {
            (Some(_), Some(missing)) => Some(tr!("besides {missing}", missing)),
            _ => None,
        },
    }
}

/// Where a value is 0 there is no geometric mean.
fn centre(figure: &Figure, unit: Unit) -> String {
    match figure.stats.geometric_mean {
        Some(mean) => quantity(unit, mean),
        None => tr!("mean {mean}", mean = quantity(unit, figure.stats.mean)),
    }
}
