//! `assay rank`: compares the conditions of a sweep, or of a table, with each other.

use crate::exit::{DONE, Failure};
use crate::judging::RankedConditions;
use crate::output::say;
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::{FigureSource, StoreArgs};
use crate::ui::parse_margin;
use assay_report::{json, views};
use clap::Args;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Conditions without a common letter differ; a common letter does not say that they
are equal (equivalent does). Without --baseline all pairs are judged.

Examples:
  assay rank last
  assay rank governors.csv --baseline performance

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay rank`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct RankArgs {
    /// `last`, the first letters of a sweep's or import's id, or a file that
    /// assay import understands.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Judge each condition against this one.
    #[arg(long, value_name = "CONDITION")]
    pub baseline: Option<String>,
    /// Largest difference that counts as equivalent, in percent [default: 5, or that of the
    /// run].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Also rank by exploratory metrics.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Ranks the conditions of a source.
pub fn run(args: &RankArgs) -> Result<ExitCode, Failure> {
    let mut source = FigureSource::find(&args.source, &args.store)?;
    source.figures.retain(|figure| figure.primary || args.all);
    let judged = RankedConditions::of(&source, args.baseline.clone(), args.margin)
        .map_err(|error| Failure::usage(format!("{}: {error}", source.name)))?;
    let ranked = judged.ranked();
    args.output.present(
        || json::ranking(&ranked),
        || views::ranking::document(&ranked),
    )?;
    for note in &source.notes {
        say(&format!("assay: {}: {note}", source.name));
    }
    Ok(DONE)
}
