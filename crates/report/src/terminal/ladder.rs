//! The four ways of dd: rate, what had reached the device, and what that
//! means.

use super::Page;
use super::style::Tone;
use crate::describe;
use crate::format::{percent, quantity};
use crate::labels::Labels;
use crate::summary::{Group, JobSummary, Summary, Way};
use assay_model::job::Direction;
use assay_model::metric::Unit;
use std::io;

const BAR: usize = 10;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let mut jobs = summary.group(Group::Ladder).peekable();
    let Some(first) = jobs.peek() else {
        return Ok(());
    };
    let title = format!(
        "Four ways to write {}, and what each one measures",
        first.job.size
    );
    page.title(&title)?;
    let header = format!(
        "  {:<11}{:>10}  {:<19}{}",
        "", "median", "on the device", "measured"
    );
    let header = page.style.paint(Tone::Soft, &header);
    page.line(&header)?;
    for job in jobs {
        step(job, page)?;
    }
    Ok(())
}

fn step(job: &JobSummary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let way = Way::of(job.job);
    let labels = job.labels(Some(Direction::Write));
    let shares = describe::device_shares(job);
    let rate = job.figure("write_bw").map_or_else(
        || "-".to_owned(),
        |figure| quantity(Unit::BytesPerSec, figure.stats.median),
    );
    let label = label(page, &labels);
    page.line(&format!(
        "  {:<11}{rate:>10}  {:<19}{label}",
        way.name(),
        reached(shares)
    ))?;
    let sentence = describe::ladder_step(way, &labels, shares);
    page.paragraph("      ".into(), &sentence, Some(Tone::Soft))
}

/// A bar and the share, or the range of shares.
fn reached(shares: Option<(f64, f64)>) -> String {
    let Some((low, high)) = shares else {
        return "not known".to_owned();
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "0 to BAR"
    )]
    let filled = (low.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
    let bar = format!("{}{}", "█".repeat(filled), "·".repeat(BAR - filled));
    let (low, high) = (percent(low), percent(high));
    if low == high {
        format!("{bar} {low:>6}")
    } else {
        format!("{bar} {}-{high}", low.trim_end_matches(" %"))
    }
}

/// The label, or all of them, in the tone they deserve.
pub(super) fn label(page: &Page<'_>, labels: &Labels) -> String {
    let tone = Tone::of_label(labels.agreed());
    page.style.paint(tone, &labels.to_string())
}
