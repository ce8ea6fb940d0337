//! `assay show`: shows a stored run or import.

use crate::exit::{DONE, Failure};
use crate::output::{print, style};
use crate::stored::PopulationArgs;
use crate::stored::lookup::{StoreArgs, Stored, load};
use assay_report::import::write_json;
use assay_report::{json, terminal, views};
use clap::Args;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  assay show last
  assay show baseline --json

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay show`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ShowArgs {
    /// Name or id of a run or an import, the beginning of its id, or `last`.
    pub run: String,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub population: PopulationArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay show`.
pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let stored = load(&args.store, &args.run)?;
    let standings = args.population.standings(&stored, &args.store)?;
    let standings = standings.as_ref();
    print(|out| match (&stored, args.json) {
        (Stored::Run(run), true) => json::write_among(run, standings, out),
        (Stored::Run(run), false) => {
            let mut document = views::run::document(run);
            if let Some(standings) = standings {
                document.push_after("results", views::run::population(standings));
            }
            terminal::write(&document, style(), &[], out)
        }
        (Stored::Import(import), true) => write_json(import, out),
        (Stored::Import(import), false) => {
            terminal::write(&views::import::document(import), style(), &[], out)
        }
    })?;
    Ok(DONE)
}
