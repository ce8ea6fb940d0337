//! `assay pull`: copies runs from the store of a team or of another machine.

use crate::exit::Failure;
use crate::sharing;
use crate::sharing::{Connection, Direction, Outcome, Which, copy, print_transfers};
use crate::stored::lookup::StoreArgs;
use crate::ui::Destination;
use assay_store::Store;
use clap::{Args, ValueHint};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A store is a file, postgres://USER@HOST/DATABASE, or ssh://USER@HOST:PORT/PATH, where
assay store send is started. Runs that are here already are not copied again, and those
that were removed here stay away. docs/store.md describes it all.

Examples:
  assay pull --from ssh://lab last
  assay pull --from postgres://ann@db.example.org/lab --all

Exit codes: 0 done, 1 failed, also if one of the runs is a conflict, 2 wrong usage,
5 the other machine cannot be reached.";

/// `assay pull`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct PullArgs {
    /// Names, ids, beginnings of ids, or `last`, as they are known there.
    #[arg(
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub runs: Vec<String>,
    /// Pull all runs and imports that are there.
    #[arg(long)]
    pub all: bool,
    /// Pull from this store [default: the store if it is a database, else that of
    /// the setting push_to].
    #[arg(long, value_name = "STORE", value_parser = clap::value_parser!(Destination), value_hint = ValueHint::FilePath)]
    pub from: Option<Destination>,
    /// Pull also runs that were removed here.
    #[arg(long)]
    pub again: bool,
    /// Print the outcome as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay pull`.
pub fn run(args: &PullArgs) -> Result<ExitCode, Failure> {
    let from = sharing::other_store(args.from.as_ref(), &args.store)?;
    let from = from.ok_or_else(|| {
        Failure::usage("pull from which store? Name it with --from, or in the setting push_to")
    })?;
    let mut store = Store::open(&args.store.local_file()?)?;
    let mut other = Connection::open(&from, Direction::Pull)?;
    let which = match args.all {
        true => Which::All,
        false => {
            let mut ids = Vec::new();
            for word in &args.runs {
                let found = other.source().find(word);
                ids.push(found.map_err(|error| other.failure(error))?);
            }
            ids.sort();
            ids.dedup();
            Which::These(ids)
        }
    };
    let (tally, failure) = copy(Direction::Pull, &mut store, &mut other, &which, args.again);
    let outcome = Outcome {
        direction: Direction::Pull,
        store: &from.to_string(),
        tally: &tally,
    };
    if args.json {
        let error = failure.as_ref().map(ToString::to_string);
        print_transfers(Direction::Pull, &[outcome.json(error.as_deref())])?;
    }
    outcome.end(args.json, args.all, failure)
}
