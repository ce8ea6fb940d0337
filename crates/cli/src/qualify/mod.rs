//! `assay qualify PATH`: what is this storage, how fast is it really, and can
//! I believe it?

mod announce;
mod leftovers;
mod place;
mod suite;

use crate::args::QualifyArgs;
use crate::exit::{DONE, FAILED, Failure};
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::output::{print, style};
use crate::owner;
use crate::progress::{Progress, SoFar};
use crate::stored::store_path;
use announce::announce;
use assay_model::plan::{Place, Plan, interleave};
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use assay_model::wire::{FromAgent, Inspection, RunEnd, ToAgent};
use assay_report::json;
use assay_report::terminal::write_summary;
use assay_store::{Store, StoreError};
use assay_target::Target;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
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
    present(&run, args.json)?;
    let code = conclude(&run, ending.failure, ending.signal)?;
    noted.map_err(of_store)?;
    Ok(code)
}

/// Once a run has begun, whatever befalls its store is a failure on the way.
#[expect(
    clippy::needless_pass_by_value,
    reason = "to be handed to map_err as it is"
)]
fn of_store(error: StoreError) -> Failure {
    Failure::failed(error.to_string())
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

fn header(plan: Plan, inspection: Inspection) -> RunHeader {
    RunHeader {
        id: plan.run_id.clone(),
        started_unix_ms: unix_ms(),
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        plan,
        system: inspection.system,
        storage: inspection.storage,
    }
}

/// How the trials ended, and with what the command ends.
struct Ending {
    status: RunStatus,
    /// Why, unless all trials were run.
    failure: Option<Failure>,
    /// Exit code of the signal that stopped it.
    signal: Option<u8>,
    /// The agent ended before the run did.
    agent_lost: bool,
}

impl Ending {
    fn of_failure(failure: Failure) -> Self {
        Self {
            status: RunStatus::Failed {
                error: failure.to_string(),
            },
            agent_lost: failure.is_lost(),
            failure: Some(failure),
            signal: None,
        }
    }
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
    Ok(ending(end?, interrupt.exit_code()))
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
            | FromAgent::Refused(_) => {}
        }
    }
}

fn ending(end: RunEnd, signal: Option<u8>) -> Ending {
    let (status, failure) = match end {
        RunEnd::Finished => (RunStatus::Finished, None),
        RunEnd::Cancelled => (RunStatus::Interrupted, None),
        RunEnd::DeviceLost { error } => (
            RunStatus::Failed {
                error: error.clone(),
            },
            Some(Failure::lost(error)),
        ),
        RunEnd::Failed { error } => (
            RunStatus::Failed {
                error: error.clone(),
            },
            Some(Failure::failed(error)),
        ),
    };
    Ending {
        status,
        failure,
        signal,
        agent_lost: false,
    }
}

/// The run on standard output: a summary, or all of it as JSON.
fn present(run: &Run, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(|out| json::write(run, out));
    }
    let id = &run.header.id;
    let closing = [
        format!("Stored as run {id}: assay show {id}"),
        format!("Full report: assay report {id} -o {id}.html"),
    ];
    print(|out| write_summary(run, style(), &closing, out))
}

/// The exit code: what stopped the run, or whether a trial failed.
fn conclude(run: &Run, failure: Option<Failure>, signal: Option<u8>) -> Result<ExitCode, Failure> {
    if let Some(failure) = failure {
        return Err(failure);
    }
    if run.status == RunStatus::Interrupted {
        // Without a signal of its own: somebody stopped the agent.
        return Ok(ExitCode::from(signal.unwrap_or(FAILED)));
    }
    let failed = |trial: &TrialRecord| matches!(trial.outcome, Outcome::Failed { .. });
    match run.trials.iter().filter(|trial| failed(trial)).count() {
        0 => Ok(DONE),
        count => Err(Failure::failed(format!(
            "{count} of {} trials failed: see the summary",
            run.trials.len()
        ))),
    }
}

/// Eight letters and digits without the ones that look alike.
fn run_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bits = random();
    (0..8)
        .map(|at| char::from(ALPHABET[((bits >> (5 * at)) & 31) as usize]))
        .collect()
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Before the kernel's pool is ready (early boot) the time must do.
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(8) => u64::from_le_bytes(bytes),
        _ => unix_ms() ^ u64::from(std::process::id()) << 40,
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
