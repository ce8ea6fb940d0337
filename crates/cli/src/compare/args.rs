//! Flags of `assay compare`.

use crate::args::StoreArgs;
use crate::formats::OutputArgs;
use crate::rounds::args::RoundArgs;
use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
A source is `last`, the first letters of a stored run's or import's id, or a file
that assay import understands. Behind an @ it may name one of its conditions:
  assay compare 3f2a 9b1c
  assay compare before.json after.json --margin 3
  assay compare governors.csv@interactive governors.csv@ondemand
  assay compare before-after.csv          its two conditions
  assay compare 3f2a 9b1c -o patch.txt    72 columns for a mail (docs/mail.md)
  assay compare 3f2a 9b1c --gate --format junit > assay.xml    (docs/gates.md)
  assay compare --a b1 --a b2 --a b3 --b c1 --b c2 --b c3
  assay compare --paired-on /mnt/old /mnt/new --trials auto --budget 30m
  assay compare --paired-on /dev/sdb /dev/sdc --destroy-data --only 'rand-*'
With three or more sources a side each is taken for a unit of the part, and the
verdict holds for the part; otherwise for these alone.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
3 with --gate: something is slower.";

/// `assay compare`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CompareArgs {
    /// What is compared with (A), and what is judged (B).
    #[arg(value_name = "SOURCE", num_args = 1..=2, conflicts_with_all = ["a", "b", "jobs", "destroy_data"], conflicts_with_all = RoundArgs::NAMES, required_unless_present_any = ["a", "b", "paired_on"])]
    pub sources: Vec<String>,
    /// A unit of side A; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "b", conflicts_with_all = RoundArgs::NAMES, conflicts_with_all = ["jobs", "destroy_data"])]
    pub a: Vec<String>,
    /// A unit of side B; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "a")]
    pub b: Vec<String>,
    /// Measures two directories, files or block devices in turn and compares them:
    /// blocks of ABBA or BAAB by a coin, so that a drift falls on both alike. Both are
    /// stored as runs.
    #[arg(long, num_args = 2, value_names = ["TARGET_A", "TARGET_B"], conflicts_with_all = ["sources", "a", "b"])]
    pub paired_on: Vec<PathBuf>,
    /// With --paired-on: jobs from a job file of fio instead of those of assay qualify.
    #[arg(long, value_name = "JOB-FILE", requires = "paired_on", conflicts_with_all = ["quick", "thorough", "only"])]
    pub jobs: Option<PathBuf>,
    #[command(flatten)]
    pub shown: VerdictArgs,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub rounds: RoundArgs,
}

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

/// Reads a margin such as `5`, `3%` or `2.5`; as a share.
pub fn parse_margin(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("give a number of percent between 0 and 100, such as 5 or 2.5".to_owned()),
    }
}
