//! Runs fio for comparison, and assay with fio's arguments.

use crate::run::output;
use anyhow::{Context, Result};
use assay_model::job::Job;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Results of one fio job.
pub struct FioResult {
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
pub fn available() -> bool {
    Command::new("fio").arg("--version").output().is_ok()
}

/// Runs the job in fio with fio's defaults.
pub fn run(job: &Job, path: &Path) -> Result<FioResult> {
    run_with(Command::new("fio"), job, path, &[])
}

/// Runs the job in a program that accepts fio's arguments, with the arguments
/// in `more` added.
pub fn run_with(mut command: Command, job: &Job, path: &Path, more: &[&str]) -> Result<FioResult> {
    command
        .arg("--name=bench")
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--rw={}", job.rw))
        .arg(format!("--bs={}", job.bs.0))
        .arg(format!("--size={}", job.size.0))
        .arg(format!("--ioengine={}", job.ioengine))
        .arg(format!("--iodepth={}", job.iodepth))
        .arg(format!("--direct={}", u8::from(job.direct)))
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
