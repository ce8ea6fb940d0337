//! `cargo xtask bench depth`: compares I/Os in flight, latencies and rates with fio's on the same
//! jobs.

use super::{FioResult, median};
use crate::limits::{Limits, in_release};
use crate::run::shipped;
use anyhow::{Result, bail};
use assay_engine::layout;
use assay_model::job::{EngineKind, Job, Rw};
use assay_model::units::{Bytes, Nanos};
use assay_testkit::{Undo, run};
use rustix::fs::{major, minor};
use std::fs::File;
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

const SIZE: Bytes = Bytes::mib(256);
/// Rounds of fio, assay, assay, fio.
const ROUNDS: usize = 3;

/// Name of a figure, the figure, and the smallest and largest ratio of assay's to fio's.
type Check = (&'static str, fn(&FioResult) -> f64, f64, f64);

/// Runs all comparisons. Returns an error if one misses its limit.
pub fn depth() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["bench", "depth"]);
    }
    if !super::available() {
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
        for _ in 0..ROUNDS {
            theirs.push(super::run(&job, node)?);
            for _ in 0..2 {
                let mut command = Command::new(assay);
                command.arg("fio");
                own.push(super::run_with(command, &job, node, &[])?);
            }
            theirs.push(super::run(&job, node)?);
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
