//! Jobs that commands measure: those of job files, the suite of `assay qualify`, and short
//! measurements of main memory.
//!
//! To add a job: its name begins with its group (`ladder-`, `rand-`), because users select jobs
//! with `--only`. A `Purpose` puts it into a group of the report where its shape does not.

use crate::checks::estimate::{self, file_size};
use crate::checks::input;
use crate::child;
use crate::driver::Host;
use crate::driver::acts::PlannedAct;
use crate::driver::runs::random;
use crate::exit::Failure;
use crate::output::say;
use assay_dialects::fio::Environment;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::capacity::{ALLOCATING, Capacity, Fill, Task};
use assay_model::act::memory::{
    Bandwidth, Kernel, Latency, Memory, MemoryPattern, Stores, latency_job, stress_job,
};
use assay_model::job::{
    CacheState, EngineKind, FileState, Flush, FlushCall, Job, OpenSync, Purpose, Rw, is_named,
};
use assay_model::plan::{Place, PlannedJob};
use assay_model::storage::System;
use assay_model::text::{clean, meant};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_model::wire::{Inspection, PathKind};
use clap::Args;
use std::fs::File;
use std::path::Path;
use std::{fs, io};

/// This machine.
pub struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path == Path::new("-") {
            true if child::this().is_some() => Err(io::Error::other(
                "several targets cannot read one standard input: name a file",
            )),
            true => input::all(io::stdin().lock()),
            false => input::all(File::open(path)?),
        }
    }

    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Counts the processors for which the kernel has a folder, online or not.
    fn cpus(&self) -> u32 {
        let is_cpu = |name: &str| {
            let number = name.strip_prefix("cpu");
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let folder = fs::read_dir("/sys/devices/system/cpu")
            .into_iter()
            .flatten();
        let names = folder.filter_map(|entry| Some(entry.ok()?.file_name()));
        let seen = names.filter(|name| name.to_str().is_some_and(is_cpu));
        match u32::try_from(seen.count()) {
            Ok(count @ 1..) => count,
            _ => std::thread::available_parallelism()
                .map_or(1, |count| u32::try_from(count.get()).unwrap_or(1)),
        }
    }

    fn memory_mib(&self) -> u64 {
        let info = rustix::system::sysinfo();
        // The kernel counts in units, whose type depends on the platform.
        #[expect(clippy::useless_conversion, reason = "u32 on 32 bit")]
        let total = u64::from(info.totalram) * u64::from(info.mem_unit);
        total >> 20
    }

    fn page_bytes(&self) -> u32 {
        u32::try_from(rustix::param::page_size()).unwrap_or(4096)
    }

    fn entropy(&self) -> u64 {
        random()
    }

    fn is_special(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
    }
}

/// Returns the environment of a job file: the host's target if that is another machine, else this
/// machine. Job files are always read on this machine.
pub fn machine(host: Option<&mut Host>) -> Result<Box<dyn Environment>, Failure> {
    Ok(match host {
        Some(host) if host.target().is_some() => {
            Box::new(Elsewhere(host.inspect(Path::new("/"))?.system))
        }
        _ => Box::new(Machine),
    })
}

/// Another machine, as its agent described it. Job files are read on this one.
struct Elsewhere(System);

impl Environment for Elsewhere {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Machine.read(path)
    }

    fn var(&self, name: &str) -> Option<String> {
        Machine.var(name)
    }

    fn cpus(&self) -> u32 {
        self.0.cpus
    }

    fn memory_mib(&self) -> u64 {
        self.0.memory.0 / MIB
    }

    fn page_bytes(&self) -> u32 {
        u32::try_from(self.0.page_size.0).unwrap_or(4096)
    }

    fn entropy(&self) -> u64 {
        random()
    }

    /// The other machine is not queried: only paths in `/dev` count as special.
    fn is_special(&self, path: &Path) -> bool {
        path.starts_with("/dev")
    }
}

/// Function that prints a message that is no result.
pub type Talk = fn(&str);

/// Prints the warnings about a job file.
pub fn warn(warnings: &[String], talk: Talk) {
    for warning in warnings {
        talk(&format!("assay: warning: {}", clean(warning)));
    }
}

/// Free space below which a probe of it would say nothing about the device.
const LEAST_PROBED: Bytes = Bytes::mib(64);

/// Returns the task that probes the capacity of a place.
///
/// # Errors
/// The reason why the place cannot be probed, as one clause.
pub fn probe(place: &Place, inspection: &Inspection) -> Result<Task, String> {
    if !matches!(place, Place::Directory { .. }) {
        return Ok(Task::Probe);
    }
    let mount = inspection.storage.mount.as_ref();
    let file_system = mount.map_or("?", |mount| &*mount.fs_type);
    if !ALLOCATING.iter().any(|(kind, _)| *kind == file_system) {
        return Err(tr!(
            "{kind} does not allocate space without writing it: fill it, or unmount it and probe its device",
            kind = file_system
        ));
    }
    Ok(Task::ProbeFree)
}

/// Plans a check of the capacity as an act of a composed run, and announces it: all of it if `full`,
/// else a probe.
///
/// # Errors
/// As for [`probe`], and if too little of a folder is free.
pub fn capacity(full: bool, place: &Place, inspection: &Inspection) -> Result<PlannedAct, String> {
    let space = match inspection.kind {
        PathKind::Device { size } => size,
        _ => inspection.storage.available.unwrap_or(Bytes(0)),
    };
    let task = match full {
        true => Task::Fill(Fill {
            remove: matches!(place, Place::Directory { .. }),
            ..Fill::default()
        }),
        false => match probe(place, inspection)? {
            Task::ProbeFree if space < LEAST_PROBED => {
                return Err(tr!("only {space} are free", space));
            }
            task => task,
        },
    };
    let path = place.path().display();
    say(&clean(&match full {
        true => tr!(
            "first all of {space} on {path} are written and read back",
            space,
            path
        ),
        false => tr!(
            "first some blocks all over {space} on {path} are written and read back",
            space,
            path
        ),
    }));
    Ok(PlannedAct {
        steps: task.steps(),
        times: estimate::of_capacity(&task, space),
        act: Act::Capacity(Box::new(Capacity {
            path: place.path().to_owned(),
            task,
        })),
        trials: 1,
    })
}

/// Default number of passes of each kernel.
pub const PASSES: u32 = 10;

/// Plans bandwidth and latency of main memory as an act of a composed run.
pub fn memory(trials: u32) -> PlannedAct {
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
    PlannedAct {
        act: Act::Memory(Box::new(work)),
        times: [estimate::of_memory(steps.len()); 2],
        steps,
        trials,
    }
}

/// Returns the steps that are known: the names of others contain the target's number of CPUs, which
/// is unknown. The work itself runs the steps in random order.
pub fn steps(work: &Memory) -> Vec<Job> {
    let mut steps = Vec::new();
    if let Some(bandwidth) = &work.bandwidth {
        let kernels = Kernel::ALL.into_iter();
        let all = kernels.flat_map(|kernel| kernel.stores().iter().map(move |s| (kernel, *s)));
        let plain = all.filter(|(_, stores)| *stores == Stores::Plain);
        steps.extend(plain.map(|(kernel, stores)| {
            assay_model::act::memory::bandwidth_job(kernel, stores, 1, bandwidth.passes)
        }));
    }
    if let Some(latency) = &work.latency {
        steps.extend(latency.sets().map(latency_job));
    }
    if work.stress.is_some() {
        steps.extend(MemoryPattern::ALL.map(stress_job));
    }
    steps
}

/// I/O depth of the jobs that keep several I/Os in flight.
const DEEP: u32 = 32;

/// Flags that say how large and long the jobs of a qualification are.
#[derive(Args, Clone, Debug)]
pub struct SuiteArgs {
    /// Short trials, with a test file of 256 MiB; all jobs of assay qualify take about a minute.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Longer trials, with a test file larger than the memory if it fits.
    #[arg(long)]
    pub thorough: bool,
    /// Size of the test file, for example 512M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
}

/// Sizes and durations of a suite.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Size of the test file.
    pub file: Bytes,
    /// Bytes that each step of the ladder writes.
    ladder: Bytes,
    /// Maximum duration of a trial.
    trial: Nanos,
    /// Maximum size of the writes of a trial of the other jobs.
    written: Bytes,
    /// Maximum duration of a trial of the sustained write.
    sustained: Nanos,
    /// Maximum size of the writes of a trial of the sustained write.
    sustained_bytes: Bytes,
}

impl Scale {
    /// Returns the scale for `--quick`, `--thorough` and `--size`, limited by the free space.
    pub fn new(args: &SuiteArgs, inspection: &Inspection) -> Result<Self, Failure> {
        let mut scale = if args.quick {
            Self::quick()
        } else if args.thorough {
            Self::thorough(inspection.system.memory)
        } else {
            Self::usual()
        };
        scale.file = file_size(args.size, scale.file, scale.ladder, inspection)?;
        scale.ladder = scale.ladder.min(scale.file);
        scale.written = scale.written.min(scale.file);
        Ok(scale)
    }

    /// Doubles the length of trials, for rounds of a few jobs that look for small differences.
    pub fn with_longer_trials(self) -> Self {
        Self {
            trial: Nanos(2 * self.trial.0),
            written: Bytes(2 * self.written.0).min(self.file),
            ..self
        }
    }

    /// Scale of `--quick`: with [`QUICK_TRIALS`] about a minute, and at most 7 GiB written.
    const fn quick() -> Self {
        Self {
            file: Bytes::mib(256),
            ladder: Bytes::mib(64),
            trial: Nanos::millis(400),
            written: Bytes::mib(96),
            sustained: Nanos::secs(2),
            sustained_bytes: Bytes::mib(512),
        }
    }

    /// Default scale: with [`TRIALS`] less than five minutes, and at most 19 GiB written, in up to
    /// three test files.
    const fn usual() -> Self {
        Self {
            file: Bytes::gib(1),
            ladder: Bytes::mib(128),
            trial: Nanos::millis(1_750),
            written: Bytes::mib(192),
            sustained: Nanos::secs(12),
            sustained_bytes: Bytes::mib(1_280),
        }
    }

    /// Scale of `--thorough`: the file is larger than the memory, so that it cannot be cached. With
    /// [`TRIALS`] half an hour. The size is coarse, because kernels report slightly different memory
    /// sizes on the same machine.
    fn thorough(memory: Bytes) -> Self {
        let file = larger_than(memory);
        Self {
            file,
            ladder: Bytes::mib(512),
            trial: Nanos::secs(6),
            written: Bytes((file.0 / 2).next_multiple_of(MIB)),
            sustained: Nanos::secs(180),
            sustained_bytes: Bytes((file.0 / 2).next_multiple_of(MIB).max(Bytes::gib(4).0)),
        }
    }
}

/// Returns a size above that of the memory, in steps of an eighth to a sixteenth of it.
fn larger_than(memory: Bytes) -> Bytes {
    let least = memory.0 + memory.0 / 8;
    let step = least.checked_ilog2().map_or(1, |power| (1 << power) / 8);
    Bytes(least.next_multiple_of(step.max(MIB)))
}

/// Default number of trials of each job: a verdict takes four trials a side, and one of them may
/// fail.
pub const TRIALS: u32 = 5;
/// Default number of trials with `--quick`, which takes about a minute.
pub const QUICK_TRIALS: u32 = 4;

/// Returns all jobs that apply here, or those of `--only`: names of jobs, or their beginnings
/// before a `*`.
pub fn jobs(
    (only, trials): (&[String], u32),
    inspection: &Inspection,
    place: &Place,
    scale: &Scale,
) -> Result<Vec<PlannedJob>, Failure> {
    let engine = inspection.async_engines.first().copied();
    let mut jobs = all(scale, engine, trials);
    if matches!(place, Place::File { .. }) {
        jobs.retain(|planned| !planned.job.rw.writes());
    }
    if matches!(place, Place::Simulated { .. }) {
        // A simulated device has no page cache, so jobs that test it are omitted.
        let simulated = |planned: PlannedJob| {
            let (job, trials) = (planned.job.simulated()?, planned.trials);
            Some(PlannedJob { job, trials })
        };
        jobs = jobs.into_iter().filter_map(simulated).collect();
    }
    for name in only {
        if !jobs.iter().any(|planned| is_named(name, &planned.job.name)) {
            let known = jobs.iter().map(|planned| planned.job.name.as_str());
            let known: Vec<&str> = known.collect();
            return Err(Failure::usage(format!(
                "--only {name}: no such job here{}; there are {}",
                meant(name, known.iter().copied()),
                known.join(", ")
            )));
        }
    }
    if !only.is_empty() {
        jobs.retain(|planned| only.iter().any(|name| is_named(name, &planned.job.name)));
    }
    Ok(jobs)
}

/// Returns the names of all jobs.
pub fn names() -> Vec<String> {
    let jobs = all(&Scale::usual(), Some(EngineKind::IoUring), TRIALS);
    jobs.into_iter().map(|planned| planned.job.name).collect()
}

fn all(scale: &Scale, engine: Option<EngineKind>, trials: u32) -> Vec<PlannedJob> {
    let mut jobs = ladder(scale);
    jobs.extend(read_ladder(scale));
    jobs.push(direct(scale, "seq-read-1m", Rw::Read, Bytes::mib(1)));
    jobs.push(direct(scale, "seq-write-1m", Rw::Write, Bytes::mib(1)));
    for (size, bs) in [
        ("4k", Bytes::kib(4)),
        ("8k", Bytes::kib(8)),
        ("16k", Bytes::kib(16)),
        ("1m", Bytes::mib(1)),
    ] {
        jobs.push(direct(
            scale,
            &format!("rand-read-{size}"),
            Rw::RandRead,
            bs,
        ));
        jobs.push(direct(
            scale,
            &format!("rand-write-{size}"),
            Rw::RandWrite,
            bs,
        ));
    }
    if let Some(engine) = engine {
        for (name, rw) in [("read", Rw::RandRead), ("write", Rw::RandWrite)] {
            let name = format!("rand-{name}-4k-qd{DEEP}");
            let mut job = direct(scale, &name, rw, Bytes::kib(4));
            job.ioengine = engine;
            job.iodepth = DEEP;
            jobs.push(job);
        }
    }
    jobs.push(mixed(scale));
    jobs.push(appends(scale));
    jobs.push(sustained(scale));
    let planned = jobs.into_iter().map(|job| PlannedJob { job, trials });
    planned.collect()
}

/// Returns dd's four ways to write a new file.
fn ladder(scale: &Scale) -> Vec<Job> {
    let step = |name: &str| {
        let mut job = Job::new(name, Rw::Write, Bytes::mib(1), scale.ladder);
        job.file_state = FileState::Fresh;
        job.runtime = Some(scale.trial);
        job.purpose = Some(Purpose::WriteLadder);
        job
    };
    let plain = step("ladder-plain");
    let mut fdatasync = step("ladder-fdatasync");
    fdatasync.flush.at_end = Some(FlushCall::Fdatasync);
    let mut direct = step("ladder-direct");
    direct.direct = true;
    let mut dsync = step("ladder-dsync");
    dsync.sync = OpenSync::Dsync;
    vec![plain, fdatasync, direct, dsync]
}

/// Returns jobs that read a file from the page cache, and through an empty one. (`seq-read-1m`
/// bypasses it.)
fn read_ladder(scale: &Scale) -> Vec<Job> {
    let step = |name: &str, cache_state| {
        let mut job = Job::new(name, Rw::Read, Bytes::mib(1), scale.ladder);
        job.runtime = Some(scale.trial);
        job.cache_state = cache_state;
        job.purpose = Some(Purpose::ReadLadder);
        job
    };
    vec![
        step("read-cached", CacheState::Warm),
        step("read-buffered", CacheState::Cold),
    ]
}

/// Returns a job with direct I/O at depth 1 that runs for the time of a trial; writes are limited
/// by the scale.
fn direct(scale: &Scale, name: &str, rw: Rw, bs: Bytes) -> Job {
    let mut job = Job::new(name, rw, bs, scale.file);
    job.direct = true;
    job.time_based = true;
    job.runtime = Some(scale.trial);
    if rw.writes() {
        job.io_size = Some(scale.written);
    }
    job
}

/// Returns the job of a sweep of the job's options: random reads of 4 KiB, changed by the options.
pub fn to_vary(scale: &Scale) -> Job {
    direct(scale, "job", Rw::RandRead, Bytes::kib(4))
}

fn mixed(scale: &Scale) -> Job {
    let mut job = direct(scale, "mixed-4k-70-30", Rw::RandRw, Bytes::kib(4));
    job.read_percent = 70;
    job
}

/// Returns a job that writes like a logger or a database: append a little, make it durable.
fn appends(scale: &Scale) -> Job {
    let mut job = Job::new("append-4k-fsync", Rw::Write, Bytes::kib(4), scale.ladder);
    job.file_state = FileState::Fresh;
    job.flush = Flush {
        every: Some((1, FlushCall::Fsync)),
        at_end: None,
    };
    job.runtime = Some(scale.trial);
    job
}

fn sustained(scale: &Scale) -> Job {
    let mut job = direct(scale, "sustained-write-1m", Rw::Write, Bytes::mib(1));
    job.runtime = Some(scale.sustained);
    job.io_size = Some(scale.sustained_bytes);
    job.purpose = Some(Purpose::Sustained);
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_what_machines_have() {
        assert!(Machine.cpus() >= 1);
        assert!(Machine.memory_mib() >= 16);
        assert!(Machine.page_bytes().is_power_of_two());
        assert_ne!(Machine.entropy(), Machine.entropy());
    }

    #[test]
    fn a_file_longer_than_the_limit_is_refused() {
        assert!(Machine.read(Path::new("/dev/zero")).is_err());
        assert_eq!(Machine.read(Path::new("/dev/null")).unwrap(), b"");
        let longest = usize::try_from(input::LONGEST).unwrap();
        let text = vec![b' '; longest + 1];
        assert_eq!(input::all(&text[1..]).unwrap().len(), longest);
        assert!(input::all(&text[..]).is_err());
    }

    #[test]
    fn only_what_is_there_and_no_file_is_special() {
        assert!(Machine.is_special(Path::new("/dev/null")));
        assert!(!Machine.is_special(Path::new("/proc/self/status")));
        assert!(!Machine.is_special(Path::new("/no/such/thing")));
    }

    /// Seconds and bytes of all trials at the limits of their jobs, without the test file.
    fn cost(scale: &Scale, trials: u32) -> (u64, Bytes) {
        let jobs = all(scale, Some(EngineKind::IoUring), trials);
        assert!(jobs.iter().all(|planned| planned.trials == trials));
        let each = |planned: &PlannedJob| {
            let job = &planned.job;
            let time_ns = job.runtime.map_or(0, |time| time.0);
            let written = job.max_written().map_or(0, |bytes| bytes.0);
            (time_ns, written)
        };
        let (time_ns, written) = jobs
            .iter()
            .map(each)
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let trials = u64::from(trials);
        (trials * time_ns / 1_000_000_000, Bytes(trials * written))
    }

    #[test]
    fn a_file_larger_than_the_memory_has_the_same_size_for_every_kernel() {
        let gib = |bytes: Bytes| bytes.0 as f64 / Bytes::gib(1).0 as f64;
        for (memory_kib, expected) in [
            (16_303_104, 18.0),
            (16_281_000, 18.0),
            (16_330_000, 18.0),
            (1_015_000, 1.125),
            (8_000_000, 9.0),
        ] {
            let memory = Bytes::kib(memory_kib);
            let found = larger_than(memory);
            assert_eq!(gib(found), expected, "{memory_kib}");
            assert!(found.0 >= memory.0 + memory.0 / 8);
        }
        assert_eq!(larger_than(Bytes(0)), Bytes(0));
    }

    /// Checks the promise of the README and `--help`.
    #[test]
    fn a_default_run_can_be_compared_in_five_minutes_and_writes_little() {
        let (seconds, written) = cost(&Scale::usual(), TRIALS);
        assert!(TRIALS >= 5 && seconds < 270, "{seconds}");
        assert!(written.0 + Bytes::gib(3).0 <= Bytes::gib(19).0, "{written}");
        let (seconds, written) = cost(&Scale::quick(), QUICK_TRIALS);
        assert!(QUICK_TRIALS >= 4 && seconds < 50, "{seconds}");
        assert!(
            written.0 + Bytes::mib(768).0 <= Bytes::gib(7).0,
            "{written}"
        );
    }
}
