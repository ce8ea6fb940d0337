//! `assay mem`: main memory, without any storage.

mod args;

use crate::checks::estimate;
use crate::driver::host::Host;
use crate::driver::runs;
use crate::driver::works::{self, Done, Request};
use crate::exit::{DATA_MISMATCH, Failure};
use crate::output::say;
use crate::ui::announce::minutes;
use crate::ui::step_progress::{Counted, StepTalk};
pub use args::MemArgs;
use args::Part;
use assay_lang::tr;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::storage::Storage;
use assay_model::wire::Inspection;
use assay_model::work::memory::{
    Bandwidth, Kernel, Latency, Memory, Pattern, Stores, Stress, latency_job, stress_job,
};
use assay_model::work::{StepDetail, Work};
use assay_target::Target;
use std::path::Path;
use std::process::ExitCode;

/// Said when the user asks to stop.
const STOPPING: &str = "stopping after this step; finished steps are kept";
/// Trials where figures are compared.
const TRIALS: u32 = 5;
/// Passes of each kernel where nobody says how many.
const PASSES: u32 = 10;

/// Measures the memory of a target.
///
/// # Errors
/// When it cannot be measured.
pub fn run(args: &MemArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some((flag, part)) = args.without_its_part() {
        return Err(Failure::usage(format!(
            "{flag} is for the part {part}, which is not asked for: add {part}"
        )));
    }
    target.needs_larger_agent();
    let mut host = Host::start(target)?;
    let inspection = inspection(&mut host)?;
    let request = request(args);
    say(&expected(args, &request));
    let mut talk = StepTalk::new(Counted::Bytes, request.steps.len());
    let done = works::execute(
        target,
        &mut host,
        inspection,
        &request,
        &args.store,
        &mut talk,
    );
    conclude(talk.present(done, args.json)?)
}

/// Said before it starts.
fn expected(args: &MemArgs, request: &Request) -> String {
    let (steps, trials) = (request.steps.len(), request.trials);
    let all = usize::try_from(trials).map_or(usize::MAX, |trials| steps.saturating_mul(trials));
    let stress = args.wants(Part::Stress);
    let limit = args.duration.filter(|_| stress);
    match limit {
        None if stress => tr!(
            "assay: main memory, {steps} steps, {trials} times; a pass over all free memory takes minutes",
            steps,
            trials
        ),
        limit => tr!(
            "assay: main memory, {steps} steps, {trials} times, about {time}",
            steps,
            trials,
            time = minutes(limit.unwrap_or_else(|| estimate::of_memory(all)))
        ),
    }
}

/// The machine alone: what its root file system is on is no matter.
fn inspection(host: &mut Host) -> Result<Inspection, Failure> {
    let found = host.inspect(Path::new("/"))?;
    Ok(Inspection {
        storage: Storage::main_memory(Some(found.system.memory)),
        ..found
    })
}

fn request(args: &MemArgs) -> Request {
    let work = work(args);
    let stress_alone = work.bandwidth.is_none() && work.latency.is_none();
    Request {
        steps: steps(&work),
        work: Work::Memory(Box::new(work)),
        trials: args.trials.unwrap_or(if stress_alone { 1 } else { TRIALS }),
        seed: args.seed.unwrap_or_else(runs::random),
        destroy_data: false,
        place: Place::Memory,
        stopping: STOPPING,
        must_be_stored: true,
        sweep: None,
    }
}

fn work(args: &MemArgs) -> Memory {
    let of = |part| args.wants(part);
    Memory {
        bandwidth: of(Part::Bandwidth).then(|| Bandwidth {
            array_bytes: args.size.map(|size| size.0),
            passes: args.passes,
            threads: args.threads,
        }),
        latency: of(Part::Latency).then(|| Latency {
            most_bytes: args.largest_set.0,
            ..Latency::default()
        }),
        stress: of(Part::Stress).then(|| Stress {
            bytes: args.stress_size.map(|size| size.0),
            passes: u32::from(args.duration.is_none()),
            limit_ns: args.duration.map(|duration| duration.0),
            flip: args.flip_bit,
        }),
    }
}

/// Bandwidth and latency, as a part of something larger.
pub fn short() -> (Work, Vec<Job>) {
    let work = Memory {
        bandwidth: Some(Bandwidth {
            array_bytes: None,
            passes: PASSES,
            threads: None,
        }),
        latency: Some(Latency::default()),
        stress: None,
    };
    let steps = steps(&work);
    (Work::Memory(Box::new(work)), steps)
}

/// Its steps, as far as they are known: how many CPUs the target has, and so what its
/// steps with all of them are called, is not. The work's own order is a random one.
fn steps(work: &Memory) -> Vec<Job> {
    let mut steps = Vec::new();
    if let Some(bandwidth) = &work.bandwidth {
        let kernels = Kernel::ALL.into_iter();
        let all = kernels.flat_map(|kernel| kernel.stores().iter().map(move |s| (kernel, *s)));
        let plain = all.filter(|(_, stores)| *stores == Stores::Plain);
        steps.extend(plain.map(|(kernel, stores)| {
            assay_model::work::memory::bandwidth_job(kernel, stores, 1, bandwidth.passes)
        }));
    }
    if let Some(latency) = &work.latency {
        steps.extend(latency.sets().map(latency_job));
    }
    if work.stress.is_some() {
        steps.extend(Pattern::ALL.map(stress_job));
    }
    steps
}

/// Bits that flipped are an end of its own.
fn conclude(done: Done) -> Result<ExitCode, Failure> {
    let details = done
        .run
        .trials
        .iter()
        .filter_map(|trial| trial.detail.as_deref());
    let flips: u64 = details
        .filter_map(StepDetail::memory)
        .map(|step| step.flips())
        .sum();
    if flips > 0 && done.ending.failure.is_none() {
        return Ok(ExitCode::from(DATA_MISMATCH));
    }
    done.conclude()
}
