//! `assay push`: copies runs to the store of a team or of another machine.

use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::sharing;
use crate::sharing::{Direction, Outcome, Which, print_transfers, push};
use crate::stored::lookup::StoreArgs;
use crate::ui::Destination;
use assay_lang::tr;
use assay_model::text::clean;
use assay_store::Store;
use assay_store::exchange::TransferTally;
use clap::{Args, ValueHint};
use serde_json::Value;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A store is a file, postgres://USER@HOST/DATABASE, or ssh://USER@HOST:PORT/PATH, where
assay store receive is started. Runs that are there already are not sent again, so a push
that was cut is simply begun again. Nothing is overwritten: other contents under the same
id are a conflict, which is named. docs/store.md describes it all.

Examples:
  assay push --to postgres://ann@db.example.org/lab --all
  assay push last --to ssh://lab
  assay push                   what could not be pushed when it was measured

Exit codes: 0 done, 1 failed, also if one of the runs is a conflict, 2 wrong usage,
5 the other machine cannot be reached.";

/// `assay push`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct PushArgs {
    /// Names, ids, beginnings of ids, or `last`; without any, the runs that wait to be pushed.
    #[arg(value_name = "RUN", conflicts_with = "all")]
    pub runs: Vec<String>,
    /// Push all runs and imports that have ended, also interrupted runs.
    #[arg(long)]
    pub all: bool,
    /// Push to this store [default: the store if it is a database, else that of
    /// the setting push_to].
    #[arg(long, value_name = "STORE", value_parser = clap::value_parser!(Destination), value_hint = ValueHint::FilePath)]
    pub to: Option<Destination>,
    /// Push also runs that were removed there.
    #[arg(long)]
    pub again: bool,
    /// Print the outcome as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay push`.
pub fn run(args: &PushArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_local_to_change()?;
    let to = sharing::other_store(args.to.as_ref(), &args.store)?;
    if !args.all && args.runs.is_empty() {
        return push_waiting(args, &mut store, to.as_ref());
    }
    let to = to.ok_or_else(|| {
        Failure::usage("push to which store? Name it with --to, or in the setting push_to")
    })?;
    let which = which(&store, args)?;
    let pushed = push(&mut store, &to, &which, args.again)?;
    let mut transfers = Vec::new();
    let ended = end(args, &to, pushed, &mut transfers);
    if args.json {
        print_transfers(Direction::Push, &transfers)?;
    }
    ended
}

fn which(store: &Store, args: &PushArgs) -> Result<Which, Failure> {
    if args.all {
        return Ok(Which::All);
    }
    let mut ids = Vec::new();
    for word in &args.runs {
        let id = store.find(word)?.id().to_owned();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(Which::These(ids))
}

/// Pushes the runs that wait for the given store, or for every store if none is given.
fn push_waiting(
    args: &PushArgs,
    store: &mut Store,
    to: Option<&Destination>,
) -> Result<ExitCode, Failure> {
    let waiting = store.queued()?;
    let mut names: Vec<&str> = waiting.iter().map(|one| one.destination.as_str()).collect();
    names.dedup();
    if let Some(to) = &args.to {
        names.retain(|name| *name == to.to_string());
    }
    if names.is_empty() && !args.json {
        say(tr!(
            "nothing waits to be pushed: assay push RUN pushes a run, --all pushes all"
        ));
    }
    let mut code = Ok(DONE);
    let mut transfers = Vec::new();
    for name in names {
        let destination = match to {
            // The argument may contain a password, which the queue does not store.
            Some(to) if to.to_string() == name => to.clone(),
            _ => name.parse().map_err(Failure::failed)?,
        };
        let pushed = sharing::push_waiting(store, &destination)?;
        let ended = end(args, &destination, pushed, &mut transfers);
        if let Err(failure) = &ended
            && code.is_err()
        {
            say(&clean(&format!("assay: {failure}")));
        }
        if code.is_ok() && !matches!(ended, Ok(done) if done == DONE) {
            code = ended;
        }
    }
    if args.json {
        print_transfers(Direction::Push, &transfers)?;
    }
    code
}

/// Shows the outcome, or adds it to the JSON output; returns the exit code.
fn end(
    args: &PushArgs,
    to: &Destination,
    (tally, failure): (TransferTally, Option<Failure>),
    transfers: &mut Vec<Value>,
) -> Result<ExitCode, Failure> {
    let outcome = Outcome {
        direction: Direction::Push,
        store: &to.to_string(),
        tally: &tally,
    };
    let error = failure.as_ref().map(ToString::to_string);
    transfers.push(outcome.json(error.as_deref()));
    outcome.end(args.json, args.all, failure)
}
