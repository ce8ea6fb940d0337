//! `assay trend SERIES`: one series over its runs, with its changes.

use crate::exit::{DONE, Failure};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::stored::series;
use crate::stored::series::OpinionArgs;
use assay_report::{json, views};
use assay_store::SeriesFilter;
use clap::Args;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  assay trend 3fa9
  assay trend 'board-7 rand-read-4k'
  assay trend 3fa9 -o trend.html
  assay trend 3fa9 --accept nightly-12 --note 'firmware 3.2'

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay trend`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct TrendArgs {
    /// Key of the series, as assay series lists it, at least its first four digits; or words that
    /// occur in its device, machine, job, condition and metric.
    pub series: String,
    #[command(flatten)]
    pub opinion: OpinionArgs,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Draws a series, or stores an opinion on one of its changes.
pub fn run(args: &TrendArgs) -> Result<ExitCode, Failure> {
    let mut store = series::open(&args.store)?;
    let series = series::find(&store, &args.series)?;
    let only = SeriesFilter {
        key: Some(series.key.clone()),
        ..SeriesFilter::default()
    };
    if args.opinion.apply(&mut store, &only)? {
        return Ok(DONE);
    }
    let points = store.points(&series.key)?;
    let changes = store.changes_of(&series.key)?;
    let opinions = store.opinions(Some(&series.key))?;
    args.output.present(
        || json::trend(&series, &points, &changes, &opinions),
        || views::series::trend(&series, &points, &changes, &opinions),
    )?;
    Ok(DONE)
}
