//! Flags of `assay compare`.

use crate::args::StoreArgs;
use crate::formats::OutputArgs;
use clap::Args;

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
With three or more sources a side each is taken for a unit of the part, and the
verdict holds for the part; otherwise for these alone.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
3 with --gate: something is slower.";

/// `assay compare`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CompareArgs {
    /// What is compared with (A), and what is judged (B).
    #[arg(value_name = "SOURCE", num_args = 1..=2, conflicts_with_all = ["a", "b"], required_unless_present_all = ["a", "b"])]
    pub sources: Vec<String>,
    /// A unit of side A; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "b")]
    pub a: Vec<String>,
    /// A unit of side B; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "a")]
    pub b: Vec<String>,
    #[command(flatten)]
    pub terms: Terms,
    /// End with 3 when a metric that decides is slower (with --qualify: fails).
    #[arg(long)]
    pub gate: bool,
    /// Print the comparison as JSON on standard output, as --format json does.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub json: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What is asked of two sides.
#[derive(Args, Debug)]
pub struct Terms {
    /// Largest difference without a meaning, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = parse_margin)]
    pub margin: f64,
    /// Most trials of a side that may be asked for.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub budget: u32,
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
