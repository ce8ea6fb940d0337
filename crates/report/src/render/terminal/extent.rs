//! Samples over an extent: lowest, average and highest, and a curve.

use super::Page;
use super::table::{Column, Row, Table};
use crate::results::extent::{curve, jobs, metric, name, of};
use crate::results::summary::{JobSummary, Summary};
use crate::words::format::quantity;
use assay_lang::tr;
use assay_model::units::Bytes;
use assay_model::work::extent::{ExtentStep, SampleKind};
use std::io;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['.', ':', '-', '=', '+', '*', '%', '#'];
/// Columns before the curve.
const MARGIN: usize = 10;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let jobs = jobs(summary);
    let Some(step) = jobs
        .iter()
        .find_map(|(_, job)| job.trials.iter().find_map(of))
    else {
        return Ok(());
    };
    page.title(&tr!(
        "Samples over {extent}",
        extent = Bytes(step.extent_bytes)
    ))?;
    let column = |head, right| Column { head, right };
    Table {
        columns: [
            column("", false),
            column(tr!("lowest"), true),
            column(tr!("mean of samples"), true),
            column(tr!("highest"), true),
        ],
        rows: jobs
            .iter()
            .filter_map(|(kind, job)| row(*kind, job))
            .collect(),
    }
    .write(page)?;
    let rates = jobs.iter().filter(|(kind, _)| *kind != SampleKind::Access);
    for (kind, job) in rates {
        for trial in &job.trials {
            if let Some(step) = of(trial) {
                let name = format!("{} #{}", name(*kind), trial.record.trial);
                draw(&name, step, page)?;
            }
        }
    }
    Ok(())
}

/// The medians of the trials.
fn row(kind: SampleKind, job: &JobSummary<'_>) -> Option<Row> {
    let figure = |statistic| job.figure(&format!("{}_{statistic}", metric(kind)));
    let [least, mean, most] = [figure("min")?, figure("mean")?, figure("max")?];
    let shown = [&least, &mean, &most].map(|f| quantity(f.unit, f.stats.median));
    Some(Row {
        cells: [name(kind).to_owned()].into_iter().chain(shown).collect(),
        labels: mean.labels,
        sentence: None,
    })
}

fn draw(name: &str, step: &ExtentStep, page: &mut Page<'_>) -> io::Result<()> {
    let width = page.style.columns() - MARGIN - 1;
    let curve = line(&curve(step, width), page.style.ascii);
    let name = format!("  {name}");
    page.line(&format!("{name:<MARGIN$}{curve}"))
}

/// A character a column, from zero to the highest.
fn line(curve: &[Option<f64>], ascii: bool) -> String {
    let steps = if ascii { ASCII } else { BLOCKS };
    let peak = curve.iter().flatten().copied().fold(0.0, f64::max);
    let mark = |rate: &Option<f64>| match rate {
        Some(rate) if peak > 0.0 => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 8"
            )]
            let index = (rate / peak * 8.0) as usize;
            steps[index.min(steps.len() - 1)]
        }
        _ => ' ',
    };
    curve.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_drawn_from_zero_and_gaps_stay_empty() {
        let curve = [Some(80.0), None, Some(40.0), Some(1.0)];
        assert_eq!(line(&curve, false), "█ ▅▁");
        assert_eq!(line(&curve, true), "# +.");
        assert_eq!(line(&[None], true), " ");
    }
}
