//! A sustained write over time: a line of blocks, a line of stalls under it,
//! and both in words.

use super::Page;
use super::style::Tone;
use crate::results::describe;
use crate::results::summary::{JobSummary, JudgedTrial};
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::units::Nanos;
use assay_stats::course::Course;
use std::io;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns that the line of blocks leaves free: number before, time after.
const MARGIN: usize = 5 + 2 + "59 min 59 s".len();

pub(super) fn write(job: &JobSummary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let courses: Vec<(&JudgedTrial<'_>, &Course)> = job
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.course()?)))
        .collect();
    if courses.is_empty() {
        return Ok(());
    }
    page.title(&tr!("{job} over time", job = clean(&job.job.name)))?;
    for (trial, course) in &courses {
        draw(trial, course, page)?;
    }
    Ok(())
}

fn draw(trial: &JudgedTrial<'_>, course: &Course, page: &mut Page<'_>) -> io::Result<()> {
    let width = page.style.columns() - MARGIN;
    let (blocks, marks) = spark(&course.rates.values, width);
    let number = format!("#{}", trial.record.trial);
    let elapsed = trial.measured().map_or(Nanos(0), |m| Nanos(m.elapsed_ns));
    page.line(&format!("  {number:<3}{blocks}  {elapsed}"))?;
    if marks.contains('x') {
        let marks = page.style.paint(Tone::Bad, &marks);
        page.line(&format!("     {marks}"))?;
    }
    page.paragraph("     ".into(), &describe::course(trial, course), None)
}

/// One block per stretch of intervals, for its mean rate, and `x` under each
/// stretch that holds an interval without a completion.
fn spark(rates: &[f64], width: usize) -> (String, String) {
    let peak = rates.iter().copied().fold(0.0, f64::max);
    let per_block = rates.len().div_ceil(width.max(1)).max(1);
    let (mut blocks, mut marks) = (String::new(), String::new());
    for stretch in rates.chunks(per_block) {
        #[expect(clippy::cast_precision_loss, reason = "the mean of a few values")]
        let mean = stretch.iter().sum::<f64>() / stretch.len() as f64;
        blocks.push(block(mean, peak));
        let stalled = stretch.iter().any(|rate| *rate <= 0.0);
        marks.push(if stalled { 'x' } else { ' ' });
    }
    (blocks, marks.trim_end().to_owned())
}

fn block(rate: f64, peak: f64) -> char {
    if rate <= 0.0 || peak <= 0.0 {
        return ' ';
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 8"
    )]
    let index = (rate / peak * 8.0) as usize;
    BLOCKS[index.min(BLOCKS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_between_fast_intervals_is_marked() {
        let mut rates = vec![80e6; 200];
        rates[100] = 0.0;
        let (blocks, marks) = spark(&rates, 50);
        assert_eq!(blocks.chars().count(), 50);
        assert_eq!(marks.matches('x').count(), 1);
        assert_eq!(marks.find('x'), Some(25));
    }

    #[test]
    fn a_cliff_is_seen() {
        let (blocks, _) = spark(&[80e6, 80e6, 20e6, 20e6], 10);
        assert_eq!(blocks, "██▃▃");
    }
}
