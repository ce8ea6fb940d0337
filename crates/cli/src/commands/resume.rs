//! Checks of a stored run before a command resumes it (`--resume`).

use crate::commands::{Cli, Command, usage};
use crate::driver::runs;
use crate::exit::{DONE, Failure};
use crate::output::say;
use assay_model::run::Run;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command that the run was begun with, of the words that are stored; `None` when they are
/// no command.
///
/// # Errors
/// When this version does not take those words.
pub fn began(run: &Run) -> Result<Option<Command>, Failure> {
    let words = run.header.command.iter().map(OsString::from);
    Ok(usage::parse(words)?.map(|Cli { command, .. }| command))
}

/// A run goes on where it began.
///
/// # Errors
/// On any other target.
pub fn is_on(run: &Run, target: Option<&str>) -> Result<(), Failure> {
    let began = run.header.target.as_deref();
    if began == target {
        return Ok(());
    }
    let id = &run.header.id;
    Err(Failure::usage(match began {
        Some(began) => format!("run {id} began on {began}: add --on {began}"),
        None => format!("run {id} began on this machine: leave out --on"),
    }))
}

/// Somebody else carries it out.
pub fn still_under_way(id: &str) -> Failure {
    Failure::usage(format!("run {id} is still under way"))
}

/// Shows a run of which nothing is missing.
///
/// # Errors
/// When it cannot be shown.
pub fn nothing_missing(run: &Run, json: bool) -> Result<ExitCode, Failure> {
    say(&format!(
        "assay: nothing is missing of run {}",
        run.header.id
    ));
    runs::present(run, json)?;
    Ok(DONE)
}
