//! The table of results: one line per figure.

use super::Page;
use super::table::{Column, Row, Table};
use crate::results::describe;
use crate::results::extent;
use crate::results::summary::{Figure, Group, JobSummary, Summary};
use crate::words::format::{self, quantity};
use crate::words::labels::Labels;
use crate::words::text::{clean, shorten, width};
use assay_lang::{tr, translated};
use assay_model::units::Bytes;
use assay_model::work::memory::Found;
use std::io;

/// Longer names are shortened; assay's own are at most 20 with their
/// direction.
const LONGEST_NAME: usize = 24;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    // Samples have a table of their own, with another mean.
    let sampled: Vec<&str> = extent::jobs(summary)
        .iter()
        .map(|(_, job)| job.job.name.as_str())
        .collect();
    let is_row = |job: &&JobSummary<'_>| {
        !matches!(job.group, Group::WriteLadder | Group::ReadLadder)
            && !job.is_cuts()
            && !sampled.contains(&job.job.name.as_str())
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
            column(tr!("median p99"), true),
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
    let p99 = describe::p99_of(job, &figure).unwrap_or_default();
    Row {
        cells: vec![name, median(&figure), spread(&figure), p99],
        sentence: describe::durable(job, &figure),
        labels: figure.labels,
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
    let details = job
        .trials
        .iter()
        .filter_map(|trial| trial.record.detail.as_deref());
    // A stress of memory has no rate to be judged by.
    let stressed = details.filter_map(|detail| match &detail.memory()?.found {
        Found::Stress(found) => Some(found.moved_bytes),
        _ => None,
    });
    let moved: u64 = stressed.sum();
    match words.as_slice() {
        ["completed"] if moved > 0 => tr!("{bytes} written and read", bytes = Bytes(moved)),
        ["completed"] => tr!("completed without moving a byte").to_owned(),
        words => {
            let words: Vec<&str> = words.iter().map(|word| translated(word)).collect();
            words.join(tr!(", "))
        }
    }
}
