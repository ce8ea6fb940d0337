//! Overhead of assay itself, and `cargo xtask bench depth`: I/Os in flight, latencies and rates
//! compared with fio's on the same jobs.

use super::{FioResult, median};
use crate::run::{Limits, in_release, output, shipped};
use anyhow::{Context, Result, bail};
use assay_engine::{Observer, Start, layout, measure};
use assay_model::job::{CacheState, EngineKind, Job, Rw};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use assay_testkit::{Undo, run};
use rustix::fs::{major, minor};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

const FILE: Bytes = Bytes::mib(256);
/// Many short rounds, because a machine with other users is seldom in one state
/// for long.
const IOS: u64 = 250_000;
const ROUNDS: usize = 31;
/// Limits of the overhead, as ratios.
const MAX_OVER_BARE: f64 = 1.10;
const MAX_OVER_FIO: f64 = 0.85;
const MAX_LOGGED_OVER_BARE: f64 = 1.25;
const MAX_NULL_NS: f64 = 100.0;
const MIN_URING_OVER_FIO: f64 = 1.0;
const MAX_MEMORY: Bytes = Bytes::mib(16);
const MAX_FIRST_IO: Nanos = Nanos::millis(20);

/// Runs all comparisons. Returns an error if one misses its limit.
pub fn overhead() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["bench", "overhead"]);
    }
    if !super::fio_is_installed() {
        bail!("fio is not installed: apt-get install fio");
    }
    let mut limits = Limits::default();
    cached_reads(&mut limits)?;
    in_fios_words(&mut limits)?;
    null_engine(&mut limits)?;
    uring(&mut limits)?;
    footprint(&mut limits)?;
    limits.end()
}

/// Job of random 4 KiB reads from the page cache, depth 1.
fn cached_read_job(engine: EngineKind) -> Job {
    let mut job = Job::new("cached", Rw::RandRead, Bytes::kib(4), FILE);
    job.ioengine = engine;
    job.io_size = Some(Bytes(IOS * 4096));
    job.cache_state = CacheState::AsIs;
    job
}

fn cached_reads(limits: &mut Limits) -> Result<()> {
    let file = super::ScratchFile::new(&super::scratch_parent()?, FILE)?;
    super::warm(file.path(), FILE)?;
    let job = cached_read_job(EngineKind::Psync);
    let (mut bare_ns, mut own_ns, mut fio_ns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare_ns.push(in_child("bare", file.path())?);
        own_ns.push(in_child("cached", file.path())?);
        fio_ns.push(super::run_fio(&job, file.path())?.cpu_ns_per_io);
    }
    println!(
        "CPU per cached 4 KiB read (median of {ROUNDS}): bare {:.0} ns, assay {:.0} ns, fio {:.0} ns",
        median(bare_ns.clone()),
        median(own_ns.clone()),
        median(fio_ns.clone())
    );
    let over_bare = median_ratio(&own_ns, &bare_ns);
    let over_fio = median_ratio(&own_ns, &fio_ns);
    limits.check(
        "assay / bare pread loop, at most 1.10",
        &format!("{over_bare:.3}"),
        over_bare <= MAX_OVER_BARE,
    );
    limits.check(
        "assay / fio, at most 0.85",
        &format!("{over_fio:.3}"),
        over_fio <= MAX_OVER_FIO,
    );
    Ok(())
}

/// Measures these reads in `assay fio`, without and with a latency log.
fn in_fios_words(limits: &mut Limits) -> Result<()> {
    let assay = shipped()?;
    let file = super::ScratchFile::new(&super::scratch_parent()?, FILE)?;
    super::warm(file.path(), FILE)?;
    let job = cached_read_job(EngineKind::Psync);
    let log = format!("--write_lat_log={}", file.path().display());
    let own = |more: &[&str]| -> Result<f64> {
        let mut command = Command::new(&assay);
        command.arg("fio");
        Ok(super::run_with(command, &job, file.path(), more)?.cpu_ns_per_io)
    };
    let (mut bare_ns, mut plain_ns, mut logged_ns, mut fio_ns) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare_ns.push(in_child("bare", file.path())?);
        plain_ns.push(own(&[])?);
        logged_ns.push(own(&[&log])?);
        fio_ns.push(super::run_fio(&job, file.path())?.cpu_ns_per_io);
    }
    println!(
        "the same through assay fio: bare {:.0} ns, assay fio {:.0} ns, with write_lat_log {:.0} ns, fio {:.0} ns",
        median(bare_ns.clone()),
        median(plain_ns.clone()),
        median(logged_ns.clone()),
        median(fio_ns.clone())
    );
    let comparisons = [
        (
            "assay fio / bare pread loop",
            &plain_ns,
            &bare_ns,
            MAX_OVER_BARE,
        ),
        ("assay fio / fio", &plain_ns, &fio_ns, MAX_OVER_FIO),
        (
            "assay fio with write_lat_log / bare",
            &logged_ns,
            &bare_ns,
            MAX_LOGGED_OVER_BARE,
        ),
    ];
    for (what, ours, theirs, most) in comparisons {
        let ratio = median_ratio(ours, theirs);
        limits.check(
            &format!("{what}, at most {most:.2}"),
            &format!("{ratio:.3}"),
            ratio <= most,
        );
    }
    Ok(())
}

fn null_engine(limits: &mut Limits) -> Result<()> {
    let file = super::ScratchFile::new(&super::scratch_parent()?, Bytes::mib(1))?;
    let mut job = cached_read_job(EngineKind::Null);
    job.io_size = Some(Bytes(10 * IOS * 4096));
    let mut ns = Vec::new();
    for _ in 0..ROUNDS {
        ns.push(cpu_ns_per_io(&measure_here(&job, file.path())?));
    }
    let ns = median(ns);
    limits.check(
        "null engine per I/O, at most 100 ns",
        &format!("{ns:.1} ns"),
        ns <= MAX_NULL_NS,
    );
    Ok(())
}

fn uring(limits: &mut Limits) -> Result<()> {
    let device = super::FastDevice::new(FILE)?;
    let mut job = Job::new("uring", Rw::RandRead, Bytes::kib(4), FILE);
    job.ioengine = EngineKind::IoUring;
    job.iodepth = 32;
    job.direct = true;
    job.time_based = true;
    job.runtime = Some(Nanos::secs(2));
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let measured = measure_here(&job, device.node())?;
        own.push(measured.read.ios as f64 / Nanos(measured.elapsed_ns).as_secs_f64());
        theirs.push(super::run_fio(&job, device.node())?.iops);
    }
    println!(
        "io_uring, depth 32, loop device over memory (median of {ROUNDS}): assay {:.0}, fio {:.0} IOPS",
        median(own.clone()),
        median(theirs.clone())
    );
    let ratio = median_ratio(&own, &theirs);
    limits.check(
        "io_uring IOPS, assay / fio, at least 1",
        &format!("{ratio:.3}"),
        ratio >= MIN_URING_OVER_FIO,
    );
    Ok(())
}

/// Measures memory and start-up time of a process that runs one job.
fn footprint(limits: &mut Limits) -> Result<()> {
    let file = super::ScratchFile::new(&super::scratch_parent()?, FILE)?;
    let (mut memory, mut first_io) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let spawned_ns = now_ns();
        let words = output(&mut child("footprint", file.path())?)?;
        let mut figures = words.split_whitespace().map(str::parse::<f64>);
        let mut next = || {
            figures
                .next()
                .context("the child printed too little")?
                .context("not a number")
        };
        memory.push(next()?);
        first_io.push(next()? - spawned_ns);
    }
    let (memory, first_io) = (median(memory), median(first_io));
    limits.check(
        "peak memory without I/O buffers, at most 16 MiB",
        &format!("{:.1} MiB", memory / 1048576.0),
        memory <= MAX_MEMORY.0 as f64,
    );
    limits.check(
        "first I/O after process start, at most 20 ms",
        &format!("{:.2} ms", first_io / 1e6),
        first_io <= MAX_FIRST_IO.0 as f64,
    );
    Ok(())
}

/// Returns a command that runs one measurement of this program in another
/// process.
fn child(what: &str, path: &Path) -> Result<Command> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["bench", "measure", what]).arg(path);
    Ok(child)
}

/// Returns the CPU time per I/O, in ns, of a fresh process. The placement of
/// its few pages in memory changes the figure by several percent, so it must
/// differ between rounds.
fn in_child(what: &str, path: &Path) -> Result<f64> {
    let words = output(&mut child(what, path)?)?;
    words.trim().parse().context("the child printed no figure")
}

/// Runs a measurement in a child process.
pub fn measure_child(what: &str, path: &Path) -> Result<()> {
    match what {
        "bare" => println!("{}", super::cpu_ns_per_io(path, FILE.0, IOS)?),
        "cached" => {
            let measured = measure_here(&cached_read_job(EngineKind::Psync), path)?;
            println!("{}", cpu_ns_per_io(&measured));
        }
        "footprint" => measure_footprint(path)?,
        other => bail!("{other} is nothing that can be measured"),
    }
    Ok(())
}

/// Runs the child of [`footprint`]: prints its peak memory less buffers, in
/// bytes, and the submission time of the first I/O, in ns of the monotonic
/// clock.
fn measure_footprint(path: &Path) -> Result<()> {
    let mut job = cached_read_job(EngineKind::IoUring);
    job.iodepth = 32;
    job.io_size = Some(Bytes::mib(64));
    let mut watch = StartWatch::default();
    measure(&job, path, 1, &AtomicBool::new(false), &mut watch)?;
    let buffers = u64::from(job.iodepth) * job.bs.0;
    let memory = peak_memory()?.saturating_sub(buffers);
    println!("{memory} {}", watch.started_ns);
    Ok(())
}

fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

#[derive(Default)]
struct StartWatch {
    started_ns: f64,
}

impl Observer for StartWatch {
    fn clock_starts(&mut self, _start: Start) {
        self.started_ns = now_ns();
    }
}

fn measure_here(job: &Job, path: &Path) -> Result<Measurement> {
    let mut watch = StartWatch::default();
    Ok(measure(job, path, 1, &AtomicBool::new(false), &mut watch)?)
}

fn cpu_ns_per_io(measured: &Measurement) -> f64 {
    let cpu_ns = measured.cpu.user_ns + measured.cpu.system_ns;
    cpu_ns as f64 / measured.read.ios as f64
}

fn now_ns() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the median of the ratios of each round, in which the machine's drift
/// cancels out.
fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(a, b)| a / b).collect())
}

const SIZE: Bytes = Bytes::mib(256);
/// Rounds of fio, assay, assay, fio.
const DEPTH_ROUNDS: usize = 3;

/// Name of a figure, the figure, and the smallest and largest ratio of assay's to fio's.
type Check = (&'static str, fn(&FioResult) -> f64, f64, f64);

/// Runs all comparisons. Returns an error if one misses its limit.
pub fn depth() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["bench", "depth"]);
    }
    if !super::fio_is_installed() {
        bail!("fio is not installed: apt-get install fio");
    }
    let assay = shipped()?;
    let mut limits = Limits::default();
    {
        let node = run(&["zramctl", "--find", "--size", "320M"])?;
        let _undo = Undo::by(&["zramctl", "--reset", &node]);
        let (node, stop) = (Path::new(&node), AtomicBool::new(false));
        let file = File::options().write(true).open(node)?;
        layout::write(&file, node, SIZE, 1, &stop, &mut |_| {})?;
        drop(file);
        compare(&assay, "zram", node, &mut limits)?;
    }
    let device = super::FastDevice::new(SIZE)?;
    let _apart = workers_apart()?;
    compare(&assay, "loop", device.node(), &mut limits)?;
    let _throttled = throttle(device.node())?;
    compare(&assay, "throttled loop", device.node(), &mut limits)?;
    limits.end()
}

/// Confines this process and its children to one CPU, and the kernel's workers, which serve a loop
/// device, to the others, until the result is dropped. On a machine with two CPUs, a program is two
/// to four times as fast while the thread that serves it shares its CPU, and whether it does is up
/// to the scheduler.
fn workers_apart() -> Result<Undo> {
    const BEGIN: &str = "echo $0 >/sys/devices/virtual/workqueue/cpumask
        taskset --all-tasks --cpu-list --pid 0 $1 >/dev/null";
    const END: &str = "echo $0 >/sys/devices/virtual/workqueue/cpumask
        taskset --all-tasks --cpu-list --pid 0-$(($(nproc --all) - 1)) $1 >/dev/null";
    let all = std::fs::read_to_string("/sys/devices/virtual/workqueue/cpumask")?;
    let mut all_but_first = all.trim().to_owned();
    let last = all_but_first.pop().and_then(|digit| digit.to_digit(16));
    all_but_first.push_str(&format!("{:x}", last.unwrap_or(0) & !1));
    let process = std::process::id().to_string();
    let begin = ["sh", "-c", BEGIN, &all_but_first, &process];
    Ok(Undo::after(
        &begin,
        &["sh", "-c", END, all.trim(), &process],
    )?)
}

/// Limits this process and its children to 2000 reads a second of a device, by either version of
/// control groups.
fn throttle(node: &Path) -> Result<Undo> {
    const BEGIN: &str = "set -e; cd /sys/fs/cgroup
        if [ -d blkio ]; then cd blkio; mkdir -p assay-depth
            echo $0 2000 >assay-depth/blkio.throttle.read_iops_device
        else echo +io >cgroup.subtree_control; mkdir -p assay-depth
            echo $0 riops=2000 >assay-depth/io.max; fi
        echo $1 >assay-depth/cgroup.procs";
    const END: &str = "cd /sys/fs/cgroup; [ ! -d blkio ] || cd blkio
        echo $0 >cgroup.procs; echo $$ >cgroup.procs; rmdir assay-depth";
    let number = std::fs::metadata(node)?.st_rdev();
    let number = format!("{}:{}", major(number), minor(number));
    let process = std::process::id().to_string();
    let begin = ["sh", "-c", BEGIN, &number, &process];
    Ok(Undo::after(&begin, &["sh", "-c", END, &process])?)
}

fn compare(assay: &Path, device: &str, node: &Path, limits: &mut Limits) -> Result<()> {
    let engines = [EngineKind::Libaio, EngineKind::IoUring];
    let jobs = engines.map(|engine| [1, 4, 32, 128].map(|depth| (engine, depth)));
    for (engine, depth) in jobs.into_iter().flatten() {
        let mut job = Job::new("depth", Rw::RandRead, Bytes::kib(4), SIZE);
        (job.ioengine, job.iodepth, job.direct) = (engine, depth, true);
        (job.time_based, job.runtime) = (true, Some(Nanos::secs(1)));
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        for _ in 0..DEPTH_ROUNDS {
            theirs.push(super::run_fio(&job, node)?);
            for _ in 0..2 {
                let mut command = Command::new(assay);
                command.arg("fio");
                own.push(super::run_with(command, &job, node, &[])?);
            }
            theirs.push(super::run_fio(&job, node)?);
        }
        let of = |all: &[FioResult], one: fn(&FioResult) -> f64| {
            let all = all.iter().map(one);
            median(all.collect())
        };
        let fios = of(&theirs, |result| result.in_flight);
        let checks: [Check; 4] = [
            ("in flight, within 3 %", |run| run.in_flight, 0.97, 1.03),
            ("p50, at most 10 % above", |run| run.p50_ns, 0.0, 1.1),
            ("p99, at most 10 % above", |run| run.p99_ns, 0.0, 1.1),
            ("IOPS, not lower", |run| run.iops, 0.98, f64::INFINITY),
        ];
        for (what, figure, least, most) in checks {
            let ratio = of(&own, figure) / of(&theirs, figure);
            let what = format!("{device}, {engine}, depth {depth} (fio keeps {fios:.1}): {what}");
            // If fio does not keep its depth, there is nothing to compare.
            let holds = fios < 0.95 * f64::from(depth) || (least..=most).contains(&ratio);
            limits.check(&what, &format!("{ratio:.3}"), holds);
        }
    }
    Ok(())
}
