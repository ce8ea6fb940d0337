//! One run: what it found, whether to believe it, and how to get it again.

use super::comparison::heading;
use super::{Sheet, place};
use crate::render::terminal::results::no_figure;
use crate::render::terminal::table::{Column, Row, Table};
use crate::results::describe;
use crate::results::key_figures::Digest;
use crate::results::summary::{Figure, Group, JobSummary, Summary};
use crate::results::warnings::{self, NAMES, Warning};
use crate::words::format::{quantity, spread};
use crate::words::identity;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::run::Run;
use std::io;

pub(super) fn write(run: &Run, sheet: &mut impl Sheet) -> io::Result<()> {
    let summary = Summary::of(run);
    sheet.title(&identity::name(&run.header.storage))?;
    let warnings = warnings::collect(&summary);
    let digest = Digest::of(&summary, &warnings);
    sheet.heading(tr!("In short"))?;
    let lines = digest
        .lines
        .into_iter()
        .map(|line| (line.subject, line.text));
    let belief = (tr!("Believe it?").to_owned(), digest.because);
    sheet.facts(&lines.chain([belief]).collect::<Vec<_>>())?;
    sheet.heading(tr!("Results"))?;
    sheet.table(results(&summary))?;
    write_warnings(&warnings, sheet)?;
    place::write(run, sheet)
}

fn results(summary: &Summary<'_>) -> Table<4> {
    let column = |head, right| Column { head, right };
    let groups = Group::ALL.into_iter().flat_map(|group| {
        let jobs: Vec<Row> = summary.group(group).flat_map(rows).collect();
        let heading = (!jobs.is_empty()).then(|| heading(group.title()));
        heading.into_iter().chain(jobs)
    });
    Table {
        columns: [
            column(tr!("job"), false),
            column(tr!("median"), true),
            column(tr!("low .. high"), true),
            column("n", true),
        ],
        rows: groups.collect(),
    }
}

fn rows(job: &JobSummary<'_>) -> Vec<Row> {
    let name = clean(&job.job.name);
    let figures = job.headlines();
    if figures.is_empty() {
        return vec![Row {
            cells: vec![name, no_figure(job)],
            ..heading("")
        }];
    }
    let several = figures.len() > 1;
    let rows = figures.into_iter().map(|figure| {
        let name = match several {
            true => format!("{name}: {}", describe::metric(&figure.name)),
            false => name.clone(),
        };
        row(job, figure, name)
    });
    rows.collect()
}

fn row(job: &JobSummary<'_>, figure: Figure, name: String) -> Row {
    let p99 = describe::p99_of(job, &figure);
    let stats = &figure.stats;
    Row {
        cells: vec![
            name,
            quantity(figure.unit, stats.median),
            spread(figure.unit, stats.median, stats.min, stats.max),
            stats.n.to_string(),
        ],
        sentence: describe::durable(job, &figure)
            .or_else(|| p99.map(|p99| tr!("median p99 {p99}", p99))),
        labels: figure.labels,
    }
}

pub(super) fn write_warnings(warnings: &[Warning], sheet: &mut impl Sheet) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    sheet.heading(tr!("Warnings"))?;
    let points = warnings.iter().map(|warning| {
        let (message, remedy) = (warning.message(NAMES), warning.remedy());
        format!("{message} -> {remedy}")
    });
    sheet.list(&points.collect::<Vec<_>>())
}
