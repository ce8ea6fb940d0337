//! The ladders: one transfer in several ways, with what had reached the
//! device and what that means.

use super::Page;
use super::results::{median, no_figure, spread};
use super::table::{Column, Row, Table};
use crate::results::ladder::Ladder;
use crate::results::summary::{JobSummary, Summary};
use crate::results::write_mode::Way;
use crate::words::format::percent;
use assay_lang::tr;
use std::io;

const BAR: usize = 10;

pub(super) fn write(ladder: Ladder, summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let Some(title) = ladder.title(summary) else {
        return Ok(());
    };
    page.title(&tr!("{title}, and what each one measures", title))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column("", false),
            column(tr!("median"), true),
            column(tr!("low .. high"), true),
            column(ladder.share_header(), false),
        ],
        rows: summary
            .group(ladder.group())
            .map(|job| step(ladder, job))
            .collect(),
    }
    .write(page)
}

fn step(ladder: Ladder, job: &JobSummary<'_>) -> Row {
    let way = Way::of(job.job);
    let labels = job.labels(Some(ladder.direction()));
    let shares = ladder.device_shares(job);
    let name = way.name().to_owned();
    let Some(figure) = job.figure(ladder.metric()) else {
        return Row {
            cells: vec![name, no_figure(job)],
            labels,
            sentence: None,
        };
    };
    Row {
        cells: vec![name, median(&figure), spread(&figure), reached(shares)],
        sentence: Some(ladder.meaning(way, &labels, shares)),
        labels,
    }
}

/// A bar and the share, or the range of shares.
fn reached(shares: Option<(f64, f64)>) -> String {
    let Some((low, high)) = shares else {
        return tr!("not known").to_owned();
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
