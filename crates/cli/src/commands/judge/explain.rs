//! `assay model explain`: breakdown of the time of an I/O, and possible improvements.

use crate::checks::input::{bus_mode, device_model};
use crate::config;
use crate::exit::{DONE, Failure};
use crate::stored::formats::DocumentArgs;
use crate::stored::lookup::{StoreArgs, Stored, load_with_condition};
use assay_explain::{DeviceFacts, Explained, ExplainedImport};
use assay_lang::in_english;
use assay_model::units::Bytes;
use assay_report::summary::Summary;
use clap::Args;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  assay model explain last
  assay model explain 3f2a --bus hs400
  assay model explain 3f2a --part mine.toml    written by assay model fit

Each time names its source: measured, ceiling, fit, part, model, or rest (the remainder).
What cannot be determined is listed with the reason (docs/explain.md).

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay model explain`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ExplainArgs {
    /// `last`, or the first letters of the id of a run or an import; for a sweep optionally
    /// followed by @ and a condition, or a setting that only one condition has.
    pub run: String,
    /// Show only these jobs, separated by commas; a name may end in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Mode of the bus, as listed by assay model limits, if the run does not record it.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// The measured part: a known one, or a file. Its times replace those fitted to the run.
    #[arg(long, value_name = "PART|FILE")]
    pub part: Option<String>,
    /// Size of the requests into which the host splits larger I/Os [default: that of the run,
    /// else 512k].
    #[arg(long, value_name = "SIZE")]
    pub request: Option<Bytes>,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay model explain`.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let facts = facts(args)?;
    let (stored, condition) = load_with_condition(&args.store, &args.run)?;
    let condition = condition.as_deref();
    let explain = || match &stored {
        Stored::Run(run) => {
            let summary = Summary::of(run);
            let explained = Explained::of(&summary, condition, &facts);
            let explained = explained.map_err(Failure::usage)?;
            args.output
                .present(|| explained.value(), || explained.document())
        }
        Stored::Import(import) => {
            let explained = ExplainedImport::of(import, condition, &facts);
            let explained = explained.map_err(Failure::usage)?;
            args.output
                .present(|| explained.value(), || explained.document())
        }
    };
    match args.output.json {
        true => in_english(explain),
        false => explain(),
    }?;
    Ok(DONE)
}

fn facts(args: &ExplainArgs) -> Result<DeviceFacts, Failure> {
    if args.request == Some(Bytes(0)) {
        return Err(Failure::usage("--request must not be 0"));
    }
    let part = args.part.as_ref().or(config::values().part.as_ref());
    Ok(DeviceFacts {
        only: args.only.clone(),
        ceiling: args.bus.as_deref().map(bus_mode).transpose()?,
        part: part.map(String::as_str).map(device_model).transpose()?,
        request: args.request,
    })
}
