//! `assay rank`: compares the conditions of a sweep, or of a table, with each other. `assay model power`:
//! differences that a number of trials can detect.

use crate::config;
use crate::exit::{DONE, Failure};
use crate::judging::{RankedConditions, earlier_runs};
use crate::output::say;
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::{FigureSource, StoreArgs};
use crate::stored::series;
use crate::ui::parse_margin;
use assay_report::comparison::Power;
use assay_report::{json, views};
use assay_stats::verdict::arm::Arm;
use assay_stats::verdict::between::{Earlier, RunVariance};
use clap::Args;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::slice::from_ref;

const RANK_HELP: &str = "\
Conditions without a common letter differ; a common letter does not say that they
are equal; only the verdict \"equivalent\" says so. Without --baseline all pairs are judged.

Examples:
  assay rank last
  assay rank governors.csv --baseline performance

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay rank`.
#[derive(Args, Debug)]
#[command(after_help = RANK_HELP)]
pub struct RankArgs {
    /// `last`, the first letters of a sweep's or import's id, or a file that
    /// assay store import understands.
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
pub fn rank_conditions(args: &RankArgs) -> Result<ExitCode, Failure> {
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

const POWER_HELP: &str = "\
Examples:
  assay model power --cv 2          trials that vary by 2 %
  assay model power last            as much as the metrics of that run vary

A difference of this size is found in 80 % of comparisons. The error level of 5 % is
divided among the deciding metrics. A smaller difference is usually judged equivalent
if it is below the margin.

Exit codes: 0 done, 2 wrong usage.";

/// `assay model power`.
#[derive(Args, Debug)]
#[command(after_help = POWER_HELP)]
pub struct PowerArgs {
    /// Run, import or file whose spread is used.
    #[arg(
        value_name = "SOURCE",
        required_unless_present = "cv",
        conflicts_with = "cv"
    )]
    pub source: Option<String>,
    /// Coefficient of variation of the trials, in percent.
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub cv: Option<f64>,
    /// Largest difference that counts as equivalent, in percent [default: 5].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Shows the differences that can be detected.
pub fn show_power(args: &PowerArgs) -> Result<ExitCode, Failure> {
    let margin = args.margin.unwrap_or_else(config::margin);
    let tables = match (&args.source, args.cv) {
        (Some(word), _) => {
            let source = FigureSource::find(word, &args.store)?;
            let [earlier, _] = match source.run {
                Some(_) => earlier_runs(&series::open(&args.store)?, [from_ref(&source), &[]])?,
                None => Default::default(),
            };
            power_of_source(&source, &earlier, margin)?
        }
        (None, Some(cv)) => vec![Power::of("CV".to_owned(), cv, 1, margin)],
        (None, None) => return Err(Failure::usage("name a run, or a spread with --cv")),
    };
    args.output
        .present(|| json::power(&tables), || views::ranking::power(&tables))?;
    Ok(DONE)
}

/// Makes a table for each deciding metric whose spread is known.
fn power_of_source(
    source: &FigureSource,
    earlier: &Earlier,
    margin: f64,
) -> Result<Vec<Power>, Failure> {
    let primary = source.figures.iter().filter(|figure| figure.primary);
    let metrics: BTreeSet<&String> = primary.clone().map(|figure| &figure.metric).collect();
    let tables: Vec<Power> = primary
        .filter_map(|figure| {
            let arm = Arm::of(&figure.sample, figure.better).ok()?;
            let name = match figure.condition.as_str() {
                "" => figure.metric.clone(),
                condition => format!("{} under {condition}", figure.metric),
            };
            let cv = arm.cv().filter(|cv| *cv > 0.0)?;
            let is_run = source.run.is_some();
            let between = is_run
                .then(|| RunVariance::of_one(figure, earlier))
                .flatten();
            Some(Power::of(name, cv, metrics.len(), margin).of_runs(between))
        })
        .collect();
    if tables.is_empty() {
        return Err(Failure::usage(format!(
            "{}: no metric varies between trials: at least two different values are needed",
            source.name
        )));
    }
    Ok(tables)
}
