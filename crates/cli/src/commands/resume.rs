//! Checks of a stored run before a command resumes it (`--resume`).

use crate::checks::admission::{self, DestroyArgs, Need};
use crate::commands::{Command, usage};
use crate::driver::host::Host;
use crate::driver::{leftovers, runs};
use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored::keep::KeepArgs;
use crate::stored::lookup::{run_id, whole_run};
use assay_model::run::{Run, RunStatus};
use assay_model::text::clean;
use assay_model::wire::Inspection;
use assay_store::Store;
use assay_target::Target;
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the command that began the run from its stored arguments; `None` if they are no command.
///
/// # Errors
/// If this version does not accept the arguments.
pub fn began(run: &Run) -> Result<Option<Command>, Failure> {
    let words = run.header.command.iter().map(OsString::from);
    Ok(usage::parse(words)?.and_then(|cli| cli.command))
}

/// Run that is to be resumed, and a connection to its target.
pub struct Resumed {
    /// Store that has the run.
    pub store: Store,
    /// Connection to the agent.
    pub host: Host,
    /// Run, which no process carries out.
    pub run: Run,
}

impl Resumed {
    /// Finds a run, and cleans up after its process if that was killed.
    ///
    /// # Errors
    /// If the run began on another target, or is still under way.
    pub fn find(keep: &KeepArgs, name: &str, target: &mut dyn Target) -> Result<Self, Failure> {
        let mut store = keep.store.open_local()?;
        let id = run_id(&store, name)?;
        let mut host = Host::start(target)?;
        let run = whole_run(&store, &id)?;
        is_on(&run, host.target())?;
        tell_of_builds(&run, &host);
        leftovers::clear(&mut host, &mut store, &run.header.plan.place)?;
        // Clearing leftovers marked a run whose owner is gone as interrupted.
        let run = whole_run(&store, &id)?;
        match run.status {
            RunStatus::Running => Err(still_under_way(&id)),
            _ => Ok(Self { store, host, run }),
        }
    }
}

/// Warns if other programs measure the rest of a run: its header names those that began it.
fn tell_of_builds(run: &Run, host: &Host) {
    if let (Some(began), Some(now)) = (&run.header.builds, &host.origin().builds)
        && began != now
    {
        say(&clean(&format!(
            "assay: run {} was begun by assay {} with agent {}, and goes on with assay {} and agent {}",
            run.header.id, began.host, began.agent, now.host, now.agent
        )));
    }
}

/// Inspects the storage of a run again and checks that it is the same. `began`: the flags that the
/// run was begun with, if they apply to the rest of it.
pub fn inspect(
    run: &Run,
    destroy: &DestroyArgs,
    began: Option<&DestroyArgs>,
    host: &mut Host,
) -> Result<Inspection, Failure> {
    let inspection = host.inspect(run.header.plan.place.path())?;
    let path = &inspection.path;
    let agreed = began.map_or(Ok(false), |began| {
        began.allow(path, |name| host.inspect(name))
    })?;
    let agreed = destroy.allow(path, |name| host.inspect(name))? || agreed;
    admission::admit(&inspection, Need::anything(agreed))?;
    admission::is_that_of(&run.header, &inspection, destroy)?;
    Ok(inspection)
}

/// Checks that a run is resumed on the target where it began.
///
/// # Errors
/// If it is another target.
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

/// Failure for a run that another process carries out.
pub fn still_under_way(id: &str) -> Failure {
    Failure::usage(format!("run {id} is still under way"))
}

/// Shows a run that has nothing left to do.
pub fn nothing_missing(run: &Run, json: bool) -> Result<ExitCode, Failure> {
    say(&format!(
        "assay: nothing is missing of run {}",
        run.header.id
    ));
    runs::present(run, json)?;
    Ok(DONE)
}
