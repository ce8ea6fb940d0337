//! The words of `assay explain`.

use crate::stored::lookup::StoreArgs;
use crate::ui::values::parse_size;
use assay_model::units::Bytes;
use clap::Args;

const AFTER_HELP: &str = "\
Examples:
  assay explain last
  assay explain 3f2a --bus hs400
  assay explain 3f2a --part mine.toml    a part that assay model fit --write-part wrote

Where a figure of the time comes from is said beside it: measured, ceiling, fit, model, rest.
What cannot be told is said with the reason (docs/explain.md).
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.";

/// `assay explain`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ExplainArgs {
    /// `last`, or the first letters of the id of a run or an import; of a sweep with one of
    /// its conditions behind an @, or all of them.
    pub run: String,
    /// Show only these jobs, separated by commas; a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The mode of the bus, as assay model limits lists them, where the run does not say it.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// The part that was measured: one that assay knows, or a file. Its costs take the place
    /// of those that are fitted to the run.
    #[arg(long, value_name = "NAME|FILE")]
    pub part: Option<String>,
    /// Size of the requests that the host makes of larger I/Os [default: as the run says,
    /// else 512k].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub request: Option<Bytes>,
    /// Print it as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}
