//! `assay store push` and `assay store pull`: copy runs to and from the store of a team or of another machine.
//! `assay store` answers them on the other machine, and rebuilds series.

use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::sharing;
use crate::sharing::{Connection, Direction, Outcome, Which, copy, print_transfers, push};
use crate::stored::lookup::StoreArgs;
use crate::stored::series;
use crate::ui::Destination;
use assay_lang::tr;
use assay_model::text::clean;
use assay_store::exchange::{AnsweringRole, ExchangeError, TransferTally, answer};
use assay_store::{Location, Store, StoreError};
use clap::{Args, Subcommand, ValueHint};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const PUSH_HELP: &str = "\
A store is a file, postgres://USER@HOST/DATABASE, or ssh://USER@HOST:PORT/PATH, where
assay store receive is started. Runs that are there already are not sent again, so a push
that was cut is simply begun again. Nothing is overwritten: other contents under the same
id are a conflict, which is named. docs/store.md describes it all.

Examples:
  assay store push --to postgres://ann@db.example.org/lab --all
  assay store push last --to ssh://lab
  assay store push      what could not be pushed when it was measured

Exit codes: 0 done, 1 failed, also if one of the runs is a conflict, 2 wrong usage,
5 the other machine cannot be reached.";

/// `assay store push`.
#[derive(Args, Debug)]
#[command(after_help = PUSH_HELP)]
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

/// `assay store push`.
pub fn push_runs(args: &PushArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_local_to_change()?;
    let to = sharing::other_store(args.to.as_ref(), &args.store)?;
    if !args.all && args.runs.is_empty() {
        return push_waiting(args, &mut store, to.as_ref());
    }
    let to = to.ok_or_else(|| {
        Failure::usage("push to which store? Name it with --to, or in the setting push_to")
    })?;
    let which = runs_to_push(&store, args)?;
    let pushed = push(&mut store, &to, &which, args.again)?;
    let mut transfers = Vec::new();
    let ended = end_push(args, &to, pushed, &mut transfers);
    if args.json {
        print_transfers(Direction::Push, &transfers)?;
    }
    ended
}

fn runs_to_push(store: &Store, args: &PushArgs) -> Result<Which, Failure> {
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
            "nothing waits to be pushed: assay store push RUN pushes a run, --all pushes all"
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
        let ended = end_push(args, &destination, pushed, &mut transfers);
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
fn end_push(
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

const PULL_HELP: &str = "\
A store is a file, postgres://USER@HOST/DATABASE, or ssh://USER@HOST:PORT/PATH, where
assay store send is started. Runs that are here already are not copied again, and those
that were removed here stay away. docs/store.md describes it all.

Examples:
  assay store pull --from ssh://lab last
  assay store pull --from postgres://ann@db.example.org/lab --all

Exit codes: 0 done, 1 failed, also if one of the runs is a conflict, 2 wrong usage,
5 the other machine cannot be reached.";

/// `assay store pull`.
#[derive(Args, Debug)]
#[command(after_help = PULL_HELP)]
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

/// `assay store pull`.
pub fn pull_runs(args: &PullArgs) -> Result<ExitCode, Failure> {
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

const STORE_EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Commands that answer other machines or rebuild what is derived.
#[derive(Debug, Subcommand)]
pub enum UpkeepCommand {
    /// Take runs from assay store push of another machine, which starts this over ssh.
    #[command(after_help = help_of_other_side("receive"))]
    Receive(StoreArgs),
    /// Give runs to assay store pull of another machine, which starts this over ssh.
    #[command(after_help = help_of_other_side("send"))]
    Send(StoreArgs),
    /// Derive facts of runs, series and changes again, from the runs.
    #[command(after_help = format!("\
Runs stay as they are, and so does what was said of changes.

Examples:
  assay store rebuild

{STORE_EXIT_CODES}"))]
    Rebuild(StoreArgs),
}

fn help_of_other_side(command: &str) -> String {
    format!(
        "\
Talks over standard input and output. With --store only that store can be asked for, as in
a command= of authorized_keys.

Examples:
  assay store {command} --store /srv/assay/runs.sqlite

{STORE_EXIT_CODES}"
    )
}

/// Answers another machine, or rebuilds what is derived.
pub fn keep_up(command: &UpkeepCommand) -> Result<ExitCode, Failure> {
    match command {
        UpkeepCommand::Receive(store) => answer_other_side(store, |location| {
            Store::open(location).map(AnsweringRole::Receive)
        }),
        UpkeepCommand::Send(store) => answer_other_side(store, |location| {
            Store::open_existing(location).map(AnsweringRole::Send)
        }),
        UpkeepCommand::Rebuild(store) => series::rebuild(store).map(|()| DONE),
    }
}

fn answer_other_side(
    args: &StoreArgs,
    open: impl FnOnce(Location) -> Result<AnsweringRole<Store>, StoreError>,
) -> Result<ExitCode, Failure> {
    let mut end = Ok(());
    print(|out| {
        end = answer(io::stdin().lock(), out, |wanted| {
            let location = wanted_store(args, wanted)?;
            open(location).map_err(|error| error.to_string())
        });
        Ok(())
    })?;
    match end {
        Ok(()) => Ok(DONE),
        Err(ExchangeError::Store(error)) => Err(error.into()),
        Err(error) => Err(Failure::failed(error)),
    }
}

/// Returns the requested store. A `--store` of this command excludes a request for another one.
fn wanted_store(args: &StoreArgs, wanted: Option<PathBuf>) -> Result<Location, String> {
    match (wanted, args.store.is_some()) {
        (None, _) => args.location().map_err(|failure| failure.to_string()),
        (Some(path), false) => store_in_home(&path),
        (Some(path), true) => Err(format!(
            "{} cannot be asked for: this machine offers one store only, so name none",
            path.display()
        )),
    }
}

fn store_in_home(path: &Path) -> Result<Location, String> {
    let path = match path.strip_prefix("~") {
        Err(_) => path.to_owned(),
        Ok(rest) => {
            let home = std::env::var_os("HOME").ok_or("HOME is not set there")?;
            Path::new(&home).join(rest)
        }
    };
    Ok(Location::from(&path))
}
