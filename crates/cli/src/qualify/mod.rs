//! `assay qualify PATH`: what is this storage, how fast is it really, and can
//! I believe it?

mod announce;
mod leftovers;
pub mod place;
mod suite;

use crate::args::QualifyArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::owner;
use crate::progress::{Progress, SoFar};
use crate::runs::{self, Ending, header, of_store, random, run_id, unix_ms};
use crate::stored::store_path;
use announce::announce;
use assay_model::plan::{Place, Plan, interleave};
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::{FromAgent, Inspection, RunEnd, ToAgent};
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;
use suite::Scale;

/// Qualifies a path on a target.
pub fn run(args: &QualifyArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    place::can_be_stored(&args.path)?;
    let store_path = store_path(&args.store)?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(&args.path)?;
    let place = place::admit(&inspection, args.destroy_data)?;
    // Only now: a path that is refused leaves no store behind.
    let mut store = Store::open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    // Leftovers took room that is free now.
    let inspection = host.inspect(&args.path)?;

    let scale = Scale::new(args, &inspection)?;
    let plan = plan(args, &inspection, place, &scale)?;
    announce(&plan, &inspection, &scale, store.path());

    let header = header(plan, inspection);
    store.begin_run(&header, &owner::this_process())?;
    let mut trials = Vec::new();
    let ended = execute(&mut host, &header, &scale, &mut store, &mut trials);
    let ending = ended.unwrap_or_else(Ending::of_failure);
    let finished_unix_ms = unix_ms();
    let noted = store.finish_run(&header.id, &ending.status, finished_unix_ms);
    if ending.agent_lost {
        leftovers::clear_after_loss(target, &header.plan.place);
    }

    let run = Run {
        header,
        status: ending.status,
        finished_unix_ms: Some(finished_unix_ms),
        trials,
    };
    runs::present(&run, args.json)?;
    let code = runs::conclude(&run, ending.failure, ending.signal)?;
    noted.map_err(of_store)?;
    Ok(code)
}

/// Which trials, in which order.
fn plan(
    args: &QualifyArgs,
    inspection: &Inspection,
    place: Place,
    scale: &Scale,
) -> Result<Plan, Failure> {
    let seed = args.seed.unwrap_or_else(random);
    let jobs = suite::jobs(args, inspection, &place, scale)?;
    let trials: Vec<u32> = jobs.iter().map(|planned| planned.trials).collect();
    Ok(Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: scale.file,
        order: interleave(&trials, seed),
        jobs,
    })
}

/// Runs the plan; each trial is stored as it ends.
fn execute(
    host: &mut Host,
    header: &RunHeader,
    scale: &Scale,
    store: &mut Store,
    trials: &mut Vec<TrialRecord>,
) -> Result<Ending, Failure> {
    let plan = &header.plan;
    let requests = host.requests();
    let mut progress = Progress::new(plan, &scale.expected(plan));
    let voice = progress.voice();
    let interrupt = Interrupt::catch(move || {
        voice.say("stopping after this I/O; finished trials are kept");
        // An agent that cannot hear it has ended, which is noticed elsewhere.
        let _ = requests.send(&ToAgent::Cancel);
    })
    .map_err(|error| Failure::failed(format!("cannot catch signals: {error}")))?;
    host.run(plan)?;
    let end = follow(host, plan, &mut progress, store, trials);
    progress.clear();
    Ok(Ending::of(end?, interrupt.exit_code()))
}

/// Listens to the agent until the run is done.
fn follow(
    host: &mut Host,
    plan: &Plan,
    progress: &mut Progress,
    store: &mut Store,
    trials: &mut Vec<TrialRecord>,
) -> Result<RunEnd, Failure> {
    let mut current = 0;
    loop {
        match host.hear()? {
            FromAgent::Preparing { done, total } => progress.preparing(done, total),
            FromAgent::TrialStarted { position } => {
                current = position;
                if let Some(slot) = plan.order.get(position as usize) {
                    progress.started(position, &plan.jobs[slot.job].job, slot.trial);
                }
            }
            FromAgent::Progress {
                elapsed_ns,
                bytes,
                ios,
            } => {
                if let Some(slot) = plan.order.get(current as usize) {
                    let elapsed = Nanos(elapsed_ns);
                    let so_far = SoFar {
                        elapsed,
                        bytes,
                        ios,
                    };
                    progress.under_way(&plan.jobs[slot.job].job, slot.trial, so_far);
                }
            }
            FromAgent::TrialDone(record) => {
                // What was told is safe: stored first, then shown.
                store.save_trial(&plan.run_id, &record).map_err(of_store)?;
                progress.ended(&record);
                let position = record.position;
                trials.push(*record);
                // An agent that cannot hear it has ended; what it said before
                // is heard next, its end or that it ended unexpectedly.
                let _ = host.stored(position);
            }
            FromAgent::RunDone { end, leftover } => {
                if let Some(leftover) = leftover {
                    progress.voice().say(&leftovers::in_words(&leftover));
                }
                return Ok(end);
            }
            FromAgent::Hello { .. }
            | FromAgent::Inspected(_)
            | FromAgent::Swept { .. }
            | FromAgent::LoadNote(_)
            | FromAgent::LoadProgress(_)
            | FromAgent::LoadStream(_)
            | FromAgent::LoadReport(_)
            | FromAgent::StepStarted { .. }
            | FromAgent::StepDone(_)
            | FromAgent::KeepSteps { .. }
            | FromAgent::WorkProgress(_)
            | FromAgent::WorkStands(_)
            | FromAgent::WorkDone { .. }
            | FromAgent::Refused(_) => {}
        }
    }
}
