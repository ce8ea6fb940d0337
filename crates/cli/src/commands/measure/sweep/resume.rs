//! `assay sweep --resume RUN`: runs the missing trials.

use super::args::SweepArgs;
use super::command::{ReadCommand, Swept, SweptWork};
use super::repeated::{self, Bed};
use super::{conditions, execute};
use crate::checks::estimate;
use crate::commands::Command;
use crate::commands::resume::{self, Resumed};
use crate::driver::host::Host;
use crate::exit::Failure;
use crate::output::say;
use crate::stored::owner;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::Outcome;
use assay_model::units::Nanos;
use assay_model::wire::Inspection;
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;

pub fn run(
    args: &SweepArgs,
    name: &str,
    read: ReadCommand,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let Resumed {
        mut store,
        mut host,
        run,
    } = Resumed::find(&args.shared.store, name, target)?;
    if let Some((began, tool)) = of_command(&run, read)? {
        return resume_work(args, &began, &tool, (run, store), host, target);
    }
    let done = finished(run)?;
    let plan = &done.header.plan;
    let missing = plan.order.len().saturating_sub(done.trials.len());
    if missing == 0 || done.status == RunStatus::Finished {
        return resume::nothing_missing(&done, args.shared.json);
    }
    inspect(args, &done, &mut host)?;
    let left: u64 = estimate::of_trials(plan)
        .iter()
        .skip(done.trials.len())
        .map(|t| t.0)
        .sum();
    say(&format!(
        "assay: resumes run {}: {missing} of {} trials are missing, about {}",
        done.header.id,
        plan.order.len(),
        Nanos(left)
    ));
    store.reopen_run(&done.header.id, &owner::this_process(), done.trials.len())?;
    execute(args, host, &done.header, store, done.trials, target)
}

/// Resumes the sweep of a work: runs the missing repetitions.
fn resume_work(
    args: &SweepArgs,
    began: &SweepArgs,
    tool: &SweptWork,
    (run, store): (Run, Store),
    mut host: Host,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    let inspection = inspect(args, &run, &mut host)?;
    let plan = &run.header.plan;
    let bed = Bed {
        bench: conditions::bench(plan.makes_file_systems(), &inspection)?,
        inspection,
        place: plan.place.clone(),
        conditions: plan.conditions.clone(),
    };
    repeated::go_on(began, tool, &bed, (run, store), host, target)?.present(args.shared.json)
}

/// Returns the arguments that a sweep of a work was begun with, and the work; `None` for a sweep of
/// jobs.
fn of_command(run: &Run, read: ReadCommand) -> Result<Option<(SweepArgs, SweptWork)>, Failure> {
    if !run.header.command.iter().any(|word| word == "--") {
        return Ok(None);
    }
    let Some(Command::Sweep(began)) = resume::began(run)? else {
        return Ok(None);
    };
    let path = run.header.plan.place.path();
    Ok(match read(&began.command, path)? {
        Swept::Work(tool) => Some((*began, tool)),
        Swept::Jobs(_) => None,
    })
}

/// Inspects the storage again and checks that it is the same.
fn inspect(args: &SweepArgs, done: &Run, host: &mut Host) -> Result<Inspection, Failure> {
    let id = &done.header.id;
    let inspection = resume::inspect(done, &args.rounds.destroy, None, host)?;
    if done.header.system.kernel != inspection.system.kernel {
        say(&format!(
            "assay: warning: run {id} began under Linux {}, and this is Linux {}",
            done.header.system.kernel, inspection.system.kernel
        ));
    }
    Ok(inspection)
}

/// Returns the run without the trial that was interrupted.
fn finished(mut run: Run) -> Result<Run, Failure> {
    if run.header.plan.conditions.is_empty() {
        return Err(Failure::usage(format!(
            "run {} is not a sweep: only sweeps can be resumed",
            run.header.id
        )));
    }
    run.trials
        .retain(|trial| trial.outcome != Outcome::Interrupted);
    let in_order = (0..)
        .zip(&run.trials)
        .all(|(at, trial)| trial.position == at);
    match in_order {
        true => Ok(run),
        false => Err(Failure::failed(format!(
            "run {} has gaps between its trials: it cannot be resumed",
            run.header.id
        ))),
    }
}
