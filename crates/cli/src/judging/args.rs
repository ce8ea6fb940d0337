//! Flags of verdicts on two sides.

use crate::stored::formats::OutputArgs;
use crate::stored::lookup::StoreArgs;
use crate::ui::values::parse_margin;
use clap::Args;

/// What is asked of two sides, and how the answer is shown.
#[derive(Args, Debug)]
pub struct VerdictArgs {
    #[command(flatten)]
    pub terms: Terms,
    /// End with 3 when a metric that decides is slower (with --qualify: fails).
    #[arg(long)]
    pub gate: bool,
    /// Show every metric with the reasons of its verdict.
    #[arg(long, conflicts_with_all = ["json", "output", "format"])]
    pub explain: bool,
    /// Print the comparison as JSON on standard output, as --format json does.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub json: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What is asked of two sides.
#[derive(Args, Debug, Default)]
pub struct Terms {
    /// Largest difference without a meaning, in percent [default: 5, or that of the
    /// runs].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Most trials of a side: that may be asked for to settle it [default: 100], or that
    /// --trials auto and --budget may make [default: 20 and 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub max_trials: Option<u32>,
    /// May B take the place of A? pass, fail or inconclusive for each metric.
    #[arg(long)]
    pub qualify: bool,
}
