//! The table of results: one line per figure.

use super::Page;
use super::table::{Column, Row, Table};
use crate::describe;
use crate::format::{self, quantity};
use crate::labels::Labels;
use crate::summary::{Figure, Group, JobSummary, Summary};
use crate::text::{clean, shorten, width};
use assay_lang::{tr, translated};
use std::io;

/// Longer names are shortened; assay's own are at most 20 with their
/// direction.
const LONGEST_NAME: usize = 24;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let is_row = |job: &&JobSummary<'_>| {
        !matches!(job.group, Group::WriteLadder | Group::ReadLadder) && !job.is_cuts()
    };
    let rows: Vec<Row> = summary.jobs.iter().filter(is_row).flat_map(rows).collect();
    if rows.is_empty() {
        return Ok(());
    }
    page.title(tr!("Results"))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column("", false),
            column(tr!("median"), true),
            column(tr!("low .. high"), true),
            column("p99", true),
        ],
        rows,
    }
    .write(page)
}

fn rows(job: &JobSummary<'_>) -> Vec<Row> {
    let figures = job.headlines();
    let name = clean(&job.job.name);
    if figures.is_empty() {
        return vec![Row {
            cells: vec![shorten(&name, LONGEST_NAME), no_figure(job)],
            labels: Labels::default(),
            sentence: None,
        }];
    }
    let several = figures.len() > 1;
    let rows = figures.into_iter().map(|figure| {
        let subject = match describe::metric(&figure.name) {
            subject if several => format!(" {subject}"),
            _ => String::new(),
        };
        let room = LONGEST_NAME.saturating_sub(width(&subject));
        row(job, figure, format!("{}{subject}", shorten(&name, room)))
    });
    rows.collect()
}

fn row(job: &JobSummary<'_>, figure: Figure, name: String) -> Row {
    let p99 = describe::p99_of(job, &figure);
    let p99 = p99.map_or_else(String::new, |p99| quantity(p99.unit, p99.stats.median));
    Row {
        cells: vec![name, median(&figure), spread(&figure), p99],
        labels: figure.labels,
        sentence: None,
    }
}

pub(super) fn median(figure: &Figure) -> String {
    quantity(figure.unit, figure.stats.median)
}

pub(super) fn spread(figure: &Figure) -> String {
    let stats = &figure.stats;
    match stats.n {
        1 => tr!("1 trial").to_owned(),
        _ => format::spread(figure.unit, stats.median, stats.min, stats.max),
    }
}

/// Why a job has no figure.
pub(crate) fn no_figure(job: &JobSummary<'_>) -> String {
    if job.trials.is_empty() {
        return tr!("not run").to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    for trial in &job.trials {
        let word = trial.record.outcome.word();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.as_slice() {
        ["completed"] => tr!("completed without moving a byte").to_owned(),
        words => {
            let words: Vec<&str> = words.iter().map(|word| translated(word)).collect();
            words.join(tr!(", "))
        }
    }
}
