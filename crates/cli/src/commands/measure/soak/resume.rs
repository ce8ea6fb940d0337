//! `assay soak --resume`: continues from the last checkpoint.

use super::{SoakArgs, command, planned, soak};
use crate::commands::Command;
use crate::commands::resume::{self, Resumed};
use crate::driver::acts;
use crate::driver::trials::StepTalk;
use crate::exit::Failure;
use crate::output::say;
use assay_model::act::StepDetail;
use assay_model::act::soak::{Checkpoint, Soak};
use assay_model::run::{Run, RunStatus};
use assay_model::units::Bytes;
use assay_target::Target;
use std::process::ExitCode;

/// Resumes a run.
pub fn run(args: &SoakArgs, name: &str, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let Resumed {
        store,
        mut host,
        run,
    } = Resumed::find(&args.shared.store, name, target)?;
    let began = began(&run)?;
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    resume::inspect(&run, &args.destroy, Some(&began.destroy), &mut host)?;
    let work = work(&began, &run);
    tell(&run.header.id, &work);
    let place = run.header.plan.place.clone();
    let seed = work.seed;
    let request = command(&began, place.path()).request(planned(place.clone(), work), seed);
    let mut talk = StepTalk::new(request.steps.len());
    let done = acts::resume(
        target,
        &mut host,
        (run, 0),
        &request,
        store,
        &mut talk,
        &mut acts::all_slots,
    );
    talk.close();
    done?.present(args.shared.json)
}

/// Returns the arguments that the run was begun with.
fn began(run: &Run) -> Result<SoakArgs, Failure> {
    match resume::began(run)? {
        Some(Command::Soak(began)) => Ok(*began),
        _ => Err(Failure::usage(format!(
            "run {} is not a soak: assay list shows the runs",
            run.header.id
        ))),
    }
}

/// Returns the remaining work, from the last stored checkpoint.
fn work(began: &SoakArgs, run: &Run) -> Soak {
    let plan = &run.header.plan;
    let details = run
        .trials
        .iter()
        .filter_map(|trial| trial.detail.as_deref());
    let last = details.filter_map(StepDetail::soak).next_back();
    Soak {
        from: Some(last.map_or_else(Checkpoint::default, |step| step.checkpoint.clone())),
        ..soak(began, &plan.place, plan.file_size.0, plan.seed)
    }
}

fn tell(id: &str, work: &Soak) {
    let from = work.from.clone().unwrap_or_default();
    say(&format!(
        "assay: resumes run {id} after {} written and {} checked; first the whole area of \
         {} is read",
        Bytes(from.written_bytes),
        Bytes(from.verified_bytes),
        Bytes(work.blocks.saturating_mul(work.block_bytes))
    ));
}
