//! `assay mem`: main memory, without any storage.

mod args;

use crate::checks::estimate;
use crate::driver::announce::minutes;
use crate::driver::measuring::MeasuringCommand;
use crate::driver::step_progress::Counted;
use crate::exit::Failure;
use crate::jobs::memory::steps;
use crate::output::say;
pub use args::MemArgs;
use args::MemoryPart;
use assay_lang::tr;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::storage::Storage;
use assay_model::work::Work;
use assay_model::work::memory::{Bandwidth, Latency, Memory, Stress};
use assay_target::Target;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::path::Path;
use std::process::ExitCode;

/// Trials where figures are compared.
const TRIALS: u32 = 5;

/// Measures the memory of a target.
pub fn run(args: &MemArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some((flag, part)) = args.without_its_part() {
        let part = part.to_possible_value();
        let part = part.as_ref().map_or("", PossibleValue::get_name);
        return Err(Failure::usage(format!(
            "{flag} is for the part {part}, which is not asked for: add {part}"
        )));
    }
    let (work, steps) = work(args);
    let stress_alone = work.bandwidth.is_none() && work.latency.is_none();
    let command = MeasuringCommand {
        path: Path::new("/"),
        trials: args.trials.unwrap_or(if stress_alone { 1 } else { TRIALS }),
        destroy_data: false,
        shared: &args.shared,
        stopping: "stopping after this step; finished steps are kept",
        counted: Counted::Bytes,
    };
    let done = command.carry_out(target, |bench| {
        // The storage of the root file system takes no part.
        let memory = bench.inspection.system.memory;
        bench.inspection.storage = Storage::main_memory(Some(memory));
        say(&expected(args, steps.len(), command.trials));
        Ok((Place::Memory, Work::Memory(Box::new(work)), steps))
    })?;
    done.present(args.shared.json)
}

/// Said before it starts.
fn expected(args: &MemArgs, steps: usize, trials: u32) -> String {
    let all = usize::try_from(trials).map_or(usize::MAX, |trials| steps.saturating_mul(trials));
    let stress = args.wants(MemoryPart::Stress);
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

fn work(args: &MemArgs) -> (Memory, Vec<Job>) {
    let of = |part| args.wants(part);
    let work = Memory {
        bandwidth: of(MemoryPart::Bandwidth).then(|| Bandwidth {
            array_bytes: args.size.map(|size| size.0),
            passes: args.passes,
            threads: args.threads,
        }),
        latency: of(MemoryPart::Latency).then(|| Latency {
            most_bytes: args.largest_set.0,
            ..Latency::default()
        }),
        stress: of(MemoryPart::Stress).then(|| Stress {
            bytes: args.stress_size.map(|size| size.0),
            passes: u32::from(args.duration.is_none()),
            limit_ns: args.duration.map(|duration| duration.0),
            flip: args.flip_bit,
        }),
    };
    let steps = steps(&work);
    (work, steps)
}
