//! Flags of verdicts on two sides.

use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::StoreArgs;
use crate::ui::values::parse_margin;
use clap::Args;

/// Formats that a comparison can be written in.
pub const FORMATS: [Format; 9] = [
    Format::Html,
    Format::Json,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
    Format::Junit,
    Format::Tap,
    Format::Lava,
    Format::Kcidb,
];

const OUTPUT_HELP: &str = "\
Output file; its ending decides the format: .html, .json, .xlsx, .txt, .md, .xml (JUnit), .tap, \
.lava or .kcidb.json";

/// Question about two sides, and how the answer is shown.
#[derive(Args, Debug)]
#[command(
    mut_arg("format", |arg| Format::only(arg, &FORMATS)),
    mut_arg("output", |arg| arg.help(OUTPUT_HELP)),
)]
pub struct VerdictArgs {
    #[command(flatten)]
    pub terms: Terms,
    /// Exit with 3 if a deciding metric is slower (with --qualify: fails).
    #[arg(long)]
    pub gate: bool,
    /// Let --gate, JUnit, TAP, LAVA and KCIDB pass where no deciding metric could be judged
    /// (without it: exit code 2).
    #[arg(long)]
    pub allow_unjudged: bool,
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

/// Terms of a comparison of two sides.
#[derive(Args, Debug, Default)]
pub struct Terms {
    /// Largest difference that counts as equivalent, in percent [default: 5, or that of the
    /// runs].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Largest number of trials per side: suggested for a verdict [default: 100], or made by
    /// --trials auto and --budget [default: 20 and 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub max_trials: Option<u32>,
    /// Let a side decide whose results do not say what they measured, such as those of fio: it is
    /// taken to have measured what the other side did.
    #[arg(long, value_name = "SIDE", value_parser = ["A", "B"])]
    pub trust: Vec<String>,
    /// Judge whether B can replace A: pass, fail or inconclusive for each metric.
    #[arg(long)]
    pub qualify: bool,
}
