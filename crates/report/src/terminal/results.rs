//! The table of results: one line per figure.

use super::style::Tone;
use super::{Page, ladder};
use crate::describe;
use crate::format::{quantity, range};
use crate::summary::{Figure, Group, JobSummary, Summary};
use crate::text::{clean, shorten};
use std::io;

/// Widths of the columns before the label, which has at least 19 left of 80.
const NAME: usize = 18;
const MEDIAN: usize = 11;
const SPREAD: usize = 21;
const P99: usize = 8;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    if summary.jobs.iter().all(|job| job.group == Group::Ladder) {
        return Ok(());
    }
    page.title("Results")?;
    let header = format!(
        "  {:<NAME$}{:>MEDIAN$}{:>SPREAD$}{:>P99$} {}",
        "", "median", "lowest .. highest", "p99", "measured"
    );
    let header = page.style.paint(Tone::Soft, &header);
    page.line(&header)?;
    for group in Group::ALL {
        let jobs = summary.group(group).filter(|_| group != Group::Ladder);
        for job in jobs {
            rows(job, page)?;
        }
    }
    Ok(())
}

fn rows(job: &JobSummary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let figures = job.headlines();
    let name = clean(&job.job.name);
    if figures.is_empty() {
        let outcome = no_figure(job);
        let line = format!("  {:<NAME$}  {outcome}", shorten(&name, NAME));
        return page.line(&line);
    }
    let several = figures.len() > 1;
    for (index, figure) in figures.iter().enumerate() {
        let subject = describe::metric(&figure.name);
        let first = match (index, several) {
            (0, false) => shorten(&name, NAME),
            (0, true) => format!("{} {subject}", shorten(&name, NAME - 1 - subject.len())),
            _ => format!("{subject:>NAME$}"),
        };
        row(job, figure, &first, page)?;
    }
    Ok(())
}

fn row(job: &JobSummary<'_>, figure: &Figure, name: &str, page: &mut Page<'_>) -> io::Result<()> {
    let stats = &figure.stats;
    let spread = match stats.n {
        1 => "1 trial".to_owned(),
        _ => range(figure.unit, stats.min, stats.max),
    };
    let p99 = describe::p99_of(job, figure)
        .map_or_else(String::new, |p99| quantity(p99.unit, p99.stats.median));
    let line = format!(
        "  {name:<NAME$}{:>MEDIAN$}{spread:>SPREAD$}{p99:>P99$} ",
        quantity(figure.unit, stats.median)
    );
    let label = ladder::label(page, &figure.labels);
    let label_width = figure.labels.to_string().chars().count();
    if line.chars().count() + label_width <= page.style.columns() {
        return page.line(&format!("{line}{label}"));
    }
    page.line(&line)?;
    let tone = Tone::of_label(figure.labels.agreed());
    page.paragraph(
        "      measured: ".into(),
        &figure.labels.to_string(),
        Some(tone),
    )
}

/// Why a job has no figure.
fn no_figure(job: &JobSummary<'_>) -> String {
    if job.trials.is_empty() {
        return "not run".to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    for trial in &job.trials {
        let word = trial.record.outcome.word();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.as_slice() {
        ["completed"] => "completed without moving a byte".to_owned(),
        words => words.join(", "),
    }
}
