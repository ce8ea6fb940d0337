//! `assay soak --resume`: from the last checkpoint on.

use super::{Args, command, data_of, planned};
use crate::checks::admission;
use crate::checks::admission::Need;
use crate::commands;
use crate::commands::resume;
use crate::driver::host::Host;
use crate::driver::step_progress::{Counted, StepTalk};
use crate::driver::{leftovers, works};
use crate::exit::Failure;
use crate::output::say;
use crate::stored::lookup::{run_id, whole_run};
use assay_model::plan::Place;
use assay_model::run::{Run, RunStatus};
use assay_model::units::Bytes;
use assay_model::work::StepDetail;
use assay_model::work::soak::{Checkpoint, Soak};
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;

/// Goes on with a run.
pub fn run(args: &Args, name: &str, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut store = Store::open_existing(&args.shared.store.path()?)?;
    let id = run_id(&store, name)?;
    let mut host = Host::start(target)?;
    let run = whole_run(&store, &id)?;
    let began = began(&run)?;
    resume::is_on(&run, host.target())?;
    // One whose owner is gone is marked as interrupted by this.
    leftovers::clear(&mut host, &mut store, &run.header.plan.place)?;
    let run = whole_run(&store, &id)?;
    if run.status == RunStatus::Running {
        return Err(resume::still_under_way(&id));
    }
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    look_again(&run, args.destroy_data || began.destroy_data, &mut host)?;
    let work = work(&began, &run);
    tell(&id, &work);
    let place = run.header.plan.place.clone();
    let seed = work.seed;
    let request = command(&began, place.path()).request(planned(place.clone(), work), seed);
    let mut talk = StepTalk::new(Counted::Bytes, request.steps.len());
    let done = works::go_on(target, &mut host, (run, 0), &request, store, &mut talk);
    talk.close();
    done?.present(args.shared.json)
}

/// The words that it was begun with.
fn began(run: &Run) -> Result<Args, Failure> {
    match resume::began(run)? {
        Some(commands::Command::Soak(began)) => Ok(*began),
        _ => Err(Failure::usage(format!(
            "run {} is not a soak: assay list shows the runs",
            run.header.id
        ))),
    }
}

/// The storage must be the same.
fn look_again(run: &Run, destroy_data: bool, host: &mut Host) -> Result<(), Failure> {
    let path = run.header.plan.place.path();
    let inspection = host.inspect(path)?;
    admission::admit(&inspection, Need::anything(destroy_data))?;
    admission::is_that_of(run, &inspection)
}

/// Returns the remaining work, from the last stored checkpoint.
fn work(began: &Args, run: &Run) -> Soak {
    let plan = &run.header.plan;
    let details = run
        .trials
        .iter()
        .filter_map(|trial| trial.detail.as_deref());
    let last = details.filter_map(StepDetail::soak).next_back();
    let block_bytes = began.block.0.max(1);
    let blocks = plan.file_size.0 / block_bytes;
    let endless = began.passes.is_none() && began.duration.is_none();
    Soak {
        path: data_of(&plan.place, plan.seed),
        own_file: matches!(plan.place, Place::Directory { .. }),
        block_bytes,
        blocks,
        seed: plan.seed,
        last: began.passes.map(|passes| passes.saturating_mul(blocks)),
        limit_ns: (began.duration)
            .or(endless.then_some(super::DURATION))
            .map(|duration| duration.0),
        checkpoint_ns: began.checkpoint.0,
        memory_bytes: began.memory.map(|bytes| bytes.0),
        keep: began.keep,
        from: Some(last.map_or_else(Checkpoint::default, |step| step.checkpoint.clone())),
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
