//! `assay powercut --resume`: continues with the cycle that was under way.

use super::cut::Switch;
use super::journal::{Journal, Left, Planned};
use super::{PowercutArgs, Session, planned};
use crate::checks::admission::{self, Need};
use crate::commands::{Command, resume};
use crate::driver::{Host, clear_leftovers};
use crate::exit::Failure;
use crate::output::say;
use crate::stored;
use crate::stored::lookup::{run_id, whole_run};
use assay_model::run::{Run, RunStatus};
use assay_model::wire::Feature;
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;

/// Resumes a run.
pub fn run(args: &PowercutArgs, name: &str, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut store = args.shared.store.store.open_local()?;
    let id = run_id(&store, name)?;
    let run = whole_run(&store, &id)?;
    let began = began(&run)?;
    let there = super::named(target)?;
    resume::is_on(&run, Some(&there))?;
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    if !is_free(&store, &run)? {
        return Err(resume::still_under_way(&id));
    }
    target.needs(Feature::Sqlite);
    let switch = Switch::new(began.cut()?, began.restore.as_ref(), &there)?;
    let written_to = run.header.plan.place.clone();
    let work = super::work(&began, &written_to)?;
    let (journal, left) = Journal::reopen(store.path(), &id, work.kinds.len())?;
    let mut cycles = super::cycles(&began, target, work, switch, &id);
    tell(&run, began.cycles);
    // The killed process may have left the power off.
    if left.as_ref().is_some_and(|left| left.cut.is_some()) {
        cycles.switch.on()?;
    }
    let mut host = cycles.reach()?;
    clear_leftovers(&mut host, &mut store, &written_to)?;
    let inspection = host.inspect(written_to.path())?;
    let path = &inspection.path;
    let agreed = began.destroy.allow(path, |name| host.inspect(name))?
        | args.destroy.allow(path, |name| host.inspect(name))?;
    admission::admit(&inspection, Need::anything(agreed))?;
    let inspection = match &began.mount {
        Some(mount) => host.inspect(&mount.device)?,
        None => inspection,
    };
    admission::is_that_of(&run.header, &inspection, &args.destroy)?;
    store.reopen_run(&id, &stored::this_process(), run.trials.len())?;
    let mut session = Session {
        cycles,
        // The value of this command, not of the one that began the run: the check above used it.
        destroy: args.destroy.clone(),
        journal,
        store,
        header: run.header,
        trials: run.trials,
    };
    if let Some(left) = left {
        session.finish(&began, &left, &mut host)?;
    }
    session.run(&began, args.shared.json, host)
}

impl Session<'_> {
    /// Completes the unfinished cycle if its power was cut and its data was not checked yet, because
    /// the check removes the data. Otherwise the cycle is repeated.
    fn finish(&mut self, args: &PowercutArgs, left: &Left, host: &mut Host) -> Result<(), Failure> {
        let next = self.trials.len();
        let next: Option<Planned> = planned(args, self.header.plan.seed).nth(next);
        let (Some(planned), Some(moment)) = (next, left.cut) else {
            return Ok(());
        };
        // The unfinished cycle is stored already.
        if planned.number != left.number || left.looked {
            return Ok(());
        }
        let boot_id = left.boot_id.as_deref();
        let judged = self
            .cycles
            .judge(host, &planned, &mut self.journal, (boot_id, moment))?;
        match judged {
            Some(step) => {
                let started = moment.unix_ms.saturating_sub(moment.after_ns / 1_000_000);
                self.keep(args, &planned, started, step)
            }
            None => Ok(()),
        }
    }
}

/// Returns the arguments that the run was begun with.
fn began(run: &Run) -> Result<PowercutArgs, Failure> {
    match resume::began(run)? {
        Some(Command::Powercut(began)) => Ok(*began),
        _ => Err(Failure::usage(format!(
            "run {} cut no power: assay list shows the runs",
            run.header.id
        ))),
    }
}

/// `true` if no process carries out the run.
fn is_free(store: &Store, run: &Run) -> Result<bool, Failure> {
    if run.status != RunStatus::Running {
        return Ok(true);
    }
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    Ok(abandoned.iter().any(|gone| gone.id == run.header.id))
}

fn tell(run: &Run, cycles: u32) {
    say(&format!(
        "assay: resumes run {} after {} of {cycles} cycles",
        run.header.id,
        run.trials.len()
    ));
}
