//! `assay mem`: measures main memory, without storage.

mod args;

use crate::checks::estimate;
use crate::config;
use crate::driver::announce::{minutes, tell};
use crate::driver::measuring::MeasuringCommand;
use crate::exit::Failure;
use crate::jobs::memory::steps;
pub use args::MemArgs;
use args::MemoryPart;
use assay_lang::{counted, tr};
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::storage::Storage;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Feature;
use assay_model::work::Work;
use assay_model::work::memory::{Bandwidth, Kernel, Latency, Memory, MemoryPattern, Stress};
use assay_target::Target;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::path::Path;
use std::process::ExitCode;

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
        needs: Feature::Sqlite,
        path: Path::new("/"),
        trials: match stress_alone {
            true => args.trials.unwrap_or(1),
            false => config::trials(args.trials, config::TRIALS),
        },
        destroy_data: false,
        shared: &args.shared,
        stopping: "stopping after this step; finished steps are kept",
    };
    let done = command.carry_out(target, |bench| {
        // The inspected root file system takes no part in the measurement.
        let memory = bench.inspection.system.memory;
        bench.inspection.storage = Storage::main_memory(Some(memory));
        let system = &bench.inspection.system;
        let count = steps.len() + further_steps(args, &system.machine, system.cpus);
        announce(args, memory, count, command.trials);
        Ok((Place::Memory, Work::Memory(Box::new(work)), steps))
    })?;
    done.present(args.shared.json)
}

/// Returns the number of bandwidth steps besides those of one thread through the caches, which every
/// target has: those of all threads, and on x86 those that bypass the caches.
fn further_steps(args: &MemArgs, machine: &str, cpus: u32) -> usize {
    if !args.wants(MemoryPart::Bandwidth) {
        return 0;
    }
    let ways = Kernel::ALL.iter().map(|kernel| match machine {
        "x86_64" | "i686" => kernel.stores().len(),
        _ => 1,
    });
    let numbers = if args.threads.unwrap_or(cpus) > 1 {
        2
    } else {
        1
    };
    ways.sum::<usize>() * numbers - Kernel::ALL.len()
}

/// Announces the measurements and their duration.
fn announce(args: &MemArgs, memory: Bytes, steps: usize, trials: u32) {
    let mut measures = Vec::new();
    if args.wants(MemoryPart::Bandwidth) {
        measures.push(tr!("bandwidth, with one thread and with all").to_owned());
    }
    if args.wants(MemoryPart::Latency) {
        let largest = args.largest_set;
        measures.push(tr!("latency of working sets up to {largest}", largest));
    }
    let mut timed = steps;
    let mut stress = Nanos(0);
    if args.wants(MemoryPart::Stress) {
        let size = args.stress_size.unwrap_or(memory);
        measures.push(tr!("patterns written and checked in up to {size}", size));
        timed -= MemoryPattern::ALL.len();
        stress = args.duration.unwrap_or_else(|| estimate::of_stress(size));
    }
    let once = estimate::of_memory(timed).0.saturating_add(stress.0);
    let takes = tr!(
        "about {time}: {steps}, {trials}",
        time = minutes(Nanos(once.saturating_mul(trials.into()))),
        steps = counted!(steps, "{n} step", "{n} steps"),
        trials = match trials {
            1 => tr!("once").to_owned(),
            n => tr!("{n} times each", n),
        }
    );
    tell(&[
        (tr!("Measures"), measures.join("; ")),
        (tr!("Writes"), tr!("nothing to storage").to_owned()),
        (tr!("Takes"), takes),
    ]);
}

/// Returns the measurements that the arguments ask for, and their steps.
pub fn work(args: &MemArgs) -> (Memory, Vec<Job>) {
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
