//! `assay mem`: measures main memory, without storage.

use crate::checks::estimate;
use crate::config;
use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::announce::Announcement;
use crate::exit::Failure;
use crate::jobs::steps;
use crate::ui::parse_time;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::memory::{Bandwidth, Bit, Kernel, Latency, Memory, MemoryPattern, Stress};
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::storage::Storage;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Feature;
use assay_target::Target;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
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
        let further = further_steps(args, &system.machine, system.cpus);
        Ok(Planned {
            place: Place::Memory,
            act: Act::Memory(Box::new(work)),
            announced: Some(announcement(args, memory, steps.len() + further)),
            steps,
        })
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

/// Describes the measurements and their duration.
fn announcement(args: &MemArgs, memory: Bytes, steps: usize) -> Announcement {
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
    Announcement {
        first: vec![(tr!("Measures"), measures.join("; "))],
        writes: tr!("nothing to storage").to_owned(),
        steps,
        times: [Nanos(once); 2],
    }
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

const AFTER: &str = "\
Examples:
  assay mem                        bandwidth and latency, five trials
  assay mem bandwidth --size 1G    arrays of 1 GiB each
  assay mem stress --for 8h        as much memory as is safe, for eight hours

docs/memory.md says what each figure is.

Exit codes: 0 done, 1 failed, 2 wrong usage, 4 memory did not keep what was written to it,
5 target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

/// Part of the memory test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryPart {
    /// Rates of copy, scale, add, triad (STREAM's), memset, read and memcpy (mbw's), with
    /// one thread and with all.
    Bandwidth,
    /// Latency of dependent loads, in working sets of 4 KiB to 256 MiB.
    Latency,
    /// Write and check patterns in as much memory as is safe, on all CPUs.
    Stress,
}

/// `assay mem`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct MemArgs {
    /// Parts to run [default: bandwidth latency].
    #[arg(value_enum)]
    pub parts: Vec<MemoryPart>,
    /// Size of each of the three arrays [default: four times the last-level caches].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Passes of each kernel in a trial, the first of which does not count.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub passes: u32,
    /// Threads of the multi-threaded loops [default: one per CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Largest working set of the latency test.
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pub largest_set: Bytes,
    /// Size of the memory under stress [default: the available memory less a reserve].
    #[arg(long, value_name = "SIZE")]
    pub stress_size: Option<Bytes>,
    /// Repeat the patterns of the stress test for this long, for example 90s, 30m or 8h
    /// [default: each once per trial].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Nanos>,
    /// Number of repetitions [default: 5, with stress 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// For tests of assay: flip that bit under the stress, as BYTE.BIT.
    #[arg(long, value_name = "BYTE.BIT", hide = true, value_parser = parse_bit)]
    pub flip_bit: Option<Bit>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl MemArgs {
    /// `true` if a part of the test is requested.
    pub fn wants(&self, part: MemoryPart) -> bool {
        match self.parts.as_slice() {
            [] => part != MemoryPart::Stress,
            parts => parts.contains(&part),
        }
    }

    /// Returns the first flag that has no effect because its part of the test is not requested.
    pub fn without_its_part(&self) -> Option<(&'static str, MemoryPart)> {
        let flags = [
            (self.size.is_some(), "--size", MemoryPart::Bandwidth),
            (self.threads.is_some(), "--threads", MemoryPart::Bandwidth),
            (
                self.stress_size.is_some(),
                "--stress-size",
                MemoryPart::Stress,
            ),
            (self.duration.is_some(), "--for", MemoryPart::Stress),
            (self.flip_bit.is_some(), "--flip-bit", MemoryPart::Stress),
        ];
        let mut given = flags.into_iter().filter(|(given, ..)| *given);
        let idle = given.find(|(_, _, part)| !self.wants(*part));
        idle.map(|(_, flag, part)| (flag, part))
    }
}

/// Parses `BYTE.BIT`.
fn parse_bit(text: &str) -> Result<Bit, String> {
    let numbers = text.split_once('.').and_then(|(offset, bit)| {
        let (offset, bit) = (offset.parse().ok()?, bit.parse().ok()?);
        (bit < 8).then_some(Bit { offset, bit })
    });
    numbers.ok_or_else(|| "write BYTE.BIT, for example 4096.3".to_owned())
}
