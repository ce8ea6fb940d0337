//! The words of `assay explain`.

use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::StoreArgs;
use crate::ui::values::parse_size;
use assay_model::units::Bytes;
use clap::Args;

const AFTER_HELP: &str = "\
Examples:
  assay explain last
  assay explain 3f2a --bus hs400
  assay explain 3f2a --part mine.toml    a part that assay model fit --write-part wrote

Each time has its source beside it: measured, ceiling, fit, model, rest.
What cannot be determined is listed with the reason (docs/explain.md).
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay explain`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ExplainArgs {
    /// `last`, or the first letters of the id of a run or an import; for a sweep optionally
    /// followed by @ and one of its conditions.
    pub run: String,
    /// Show only these jobs, separated by commas; a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Mode of the bus, as listed by assay model limits, if the run does not record it.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// The measured part: a known one, or a file. Its costs replace those fitted to the run.
    #[arg(long, value_name = "NAME|FILE")]
    pub part: Option<String>,
    /// Size of the requests into which the host splits larger I/Os [default: that of the run,
    /// else 512k].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub request: Option<Bytes>,
    /// Print it as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}
