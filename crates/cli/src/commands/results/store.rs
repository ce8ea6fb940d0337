//! `assay store`: serves copies to other machines, and rebuilds series.

use crate::exit::{DONE, Failure};
use crate::output::print;
use crate::stored::lookup::StoreArgs;
use crate::stored::series;
use assay_store::exchange::{AnsweringRole, ExchangeError, answer};
use assay_store::{Location, Store, StoreError};
use clap::{Args, Subcommand};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// `assay store`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct StoreCommandArgs {
    /// Command to run.
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// Available commands.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Take runs from assay push of another machine, which starts this over ssh.
    #[command(after_help = help_of_other_side("receive"))]
    Receive(StoreArgs),
    /// Give runs to assay pull of another machine, which starts this over ssh.
    #[command(after_help = help_of_other_side("send"))]
    Send(StoreArgs),
    /// Derive facts of runs, series and changes again, from the runs.
    #[command(after_help = format!("\
Runs stay as they are, and so does what was said of changes.

Examples:
  assay store rebuild

{EXIT_CODES}"))]
    Rebuild(StoreArgs),
}

fn help_of_other_side(command: &str) -> String {
    format!(
        "\
Talks over standard input and output. With --store only that store can be asked for, as in
a command= of authorized_keys.

Examples:
  assay store {command} --store /srv/assay/runs.sqlite

{EXIT_CODES}"
    )
}

/// `assay store`.
pub fn run(args: &StoreCommandArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        StoreCommand::Receive(store) => talk(store, |location| {
            Store::open(location).map(AnsweringRole::Receive)
        }),
        StoreCommand::Send(store) => talk(store, |location| {
            Store::open_existing(location).map(AnsweringRole::Send)
        }),
        StoreCommand::Rebuild(store) => series::rebuild(store).map(|()| DONE),
    }
}

fn talk(
    args: &StoreArgs,
    open: impl FnOnce(Location) -> Result<AnsweringRole<Store>, StoreError>,
) -> Result<ExitCode, Failure> {
    let mut end = Ok(());
    print(|out| {
        end = answer(io::stdin().lock(), out, |wanted| {
            let location = location(args, wanted)?;
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
fn location(args: &StoreArgs, wanted: Option<PathBuf>) -> Result<Location, String> {
    match (wanted, args.store.is_some()) {
        (None, _) => args.location().map_err(|failure| failure.to_string()),
        (Some(path), false) => in_home(&path),
        (Some(path), true) => Err(format!(
            "{} cannot be asked for: this machine offers one store only, so name none",
            path.display()
        )),
    }
}

fn in_home(path: &Path) -> Result<Location, String> {
    let path = match path.strip_prefix("~") {
        Err(_) => path.to_owned(),
        Ok(rest) => {
            let home = std::env::var_os("HOME").ok_or("HOME is not set there")?;
            Path::new(&home).join(rest)
        }
    };
    Ok(Location::from(&path))
}
