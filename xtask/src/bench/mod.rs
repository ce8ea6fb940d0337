//! `cargo xtask bench`: ratios between programs, measured in one run on the same work. The baseline
//! is a loop that only calls `pread` at random offsets.

mod cards;
mod overhead;
mod report;
mod store;
mod tools;

pub use cards::{model, traits};
pub use overhead::{depth, measure_child, overhead};
pub use report::report;
pub use store::store;
pub use tools::{dialects, memory};

use crate::run::output;
use anyhow::{Context, Result};
use assay_engine::layout;
use assay_model::job::Job;
use assay_model::units::Bytes;
use assay_testkit::{LoopDevice, Scratch};
use rustix::io::pread;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fs;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Returns the median, or 0 for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    f64::midpoint(at(values.len().saturating_sub(1) / 2), at(values.len() / 2))
}

/// File of random data in a private folder.
struct ScratchFile {
    path: PathBuf,
    _folder: Scratch,
}

impl ScratchFile {
    /// Makes a file of `size` bytes below `parent`.
    pub fn new(parent: &Path, size: Bytes) -> Result<Self> {
        let folder = Scratch::within(parent)?;
        let path = folder.join("data");
        let file = File::create_new(&path)?;
        layout::write(&file, &path, size, 1, &AtomicBool::new(false), &mut |_| {})?;
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Loop device over a file in tmpfs, so that no disk limits the rate.
struct FastDevice {
    // Dropped before the file, to detach the device first.
    device: LoopDevice,
    _file: ScratchFile,
}

impl FastDevice {
    pub fn new(size: Bytes) -> Result<Self> {
        let file = ScratchFile::new(Path::new("/dev/shm"), size)?;
        Ok(Self {
            device: LoopDevice::over(file.path())?,
            _file: file,
        })
    }

    pub fn node(&self) -> &Path {
        self.device.node()
    }
}

/// Reads a file into the page cache.
fn warm(path: &Path, size: Bytes) -> Result<()> {
    let file = OpenOptions::new().read(true).open(path)?;
    assay_engine::page_cache::warm(&file, path, 0, size.0)?;
    Ok(())
}

/// Returns the folder for benchmark files, which is next to the build, on a
/// real disk.
fn scratch_parent() -> Result<PathBuf> {
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Results of one fio job.
struct FioResult {
    /// I/Os per second.
    pub iops: f64,
    /// User and system time per I/O, in ns.
    pub cpu_ns_per_io: f64,
    /// Mean number of reads in flight, by Little's law.
    pub in_flight: f64,
    /// Percentiles of the completion latency, in ns.
    pub p50_ns: f64,
    pub p99_ns: f64,
}

/// Returns true if fio can be run.
fn fio_is_installed() -> bool {
    Command::new("fio").arg("--version").output().is_ok()
}

/// Runs the job in fio, without additional arguments.
fn run_fio(job: &Job, path: &Path) -> Result<FioResult> {
    run_with(Command::new("fio"), job, path, &[])
}

/// Runs the job in a program that accepts fio's arguments, with the arguments
/// in `more` added.
fn run_with(mut command: Command, job: &Job, path: &Path, more: &[&str]) -> Result<FioResult> {
    command
        .arg("--name=bench")
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--rw={}", job.rw))
        .arg(format!("--bs={}", job.bs.0))
        .arg(format!("--size={}", job.size.0))
        .arg(format!("--ioengine={}", job.ioengine))
        .arg(format!("--iodepth={}", job.iodepth))
        .arg(format!("--direct={}", u8::from(job.direct)))
        // fio would otherwise drop the file that `warm` has read into the page cache.
        .args(["--invalidate=0", "--output-format=json"])
        .args(more);
    if let Some(limit) = job.io_size {
        command.arg(format!("--io_size={}", limit.0));
    }
    if let Some(runtime) = job.runtime {
        command.arg("--time_based");
        command.arg(format!("--runtime={}ms", runtime.0 / 1_000_000));
    }
    let json: Value = serde_json::from_str(&output(&mut command)?)?;
    let result = &json["jobs"][0];
    let number = |value: &Value| value.as_f64().context("a figure is missing in fio's JSON");
    let ios = number(&result["read"]["total_ios"])?;
    let runtime_ns = number(&result["job_runtime"])? * 1e6;
    let cpu_percent = number(&result["usr_cpu"])? + number(&result["sys_cpu"])?;
    let read = &result["read"];
    let percentile = |name| number(&read["clat_ns"]["percentile"][name]);
    let iops = number(&read["iops"])?;
    Ok(FioResult {
        iops,
        in_flight: iops * number(&read["lat_ns"]["mean"])? / 1e9,
        p50_ns: percentile("50.000000")?,
        p99_ns: percentile("99.000000")?,
        cpu_ns_per_io: cpu_percent / 100.0 * runtime_ns / ios,
    })
}

/// Returns the CPU time per I/O, in ns, of `ios` random 4 KiB reads within the
/// first `size` bytes of a file. Offsets come from xorshift64, which costs little
/// compared with `pread` and has a long period.
fn cpu_ns_per_io(path: &Path, size: u64, ios: u64) -> Result<f64> {
    let file = File::open(path)?;
    let mut buffer = vec![0_u8; 4096];
    let blocks = size / 4096;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let before = thread_cpu_ns();
    for _ in 0..ios {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pread(&file, &mut *buffer, state % blocks * 4096)?;
    }
    Ok((thread_cpu_ns() - before) / ios as f64)
}

fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
