//! Ratios of rates beside the tools that assay replaces, within one run.
//!
//! - `cargo xtask bench dialects`: assay's dialects beside the original tools.
//! - `cargo xtask bench memory`: `assay mem` beside a plain loop in C, as in STREAM, and mbw.

use super::{ScratchFile, median, scratch_parent, warm};
use crate::run::{Limits, output, run, shipped};
use anyhow::{Context, Result, bail};
use assay_model::units::Bytes;
use assay_testkit::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Rounds of each comparison; the tools alternate.
const ROUNDS: usize = 15;
/// Rounds of the comparison with iozone, which take long.
const IOZONE_ROUNDS: usize = 9;
/// Lowest ratio of assay's rate to dd's.
const LEAST_RATIO: f64 = 0.98;
/// Longest time of `assay iozone -a` as a share of iozone's.
const MOST_TIME: f64 = 1.05;
/// Size of the cached file.
const FILE: Bytes = Bytes(1 << 30);

/// Runs all comparisons. Returns an error if a ratio misses its limit.
pub fn dialects() -> Result<()> {
    let assay = shipped()?;
    let mut limits = Limits::default();
    copies(&assay, &mut limits)?;
    file_tests(&assay, &mut limits)?;
    limits.end()
}

fn copies(assay: &Path, limits: &mut Limits) -> Result<()> {
    let file = ScratchFile::new(&scratch_parent()?, FILE)?;
    warm(file.path(), FILE)?;
    let cached = format!("if={}", file.path().display());
    let cases: [(&str, &[&str]); 2] = [
        (
            "dd bs=1M, /dev/zero to /dev/null",
            &["if=/dev/zero", "of=/dev/null", "bs=1M", "count=16384"],
        ),
        (
            "dd bs=1M, cached file to /dev/null",
            &[&cached, "of=/dev/null", "bs=1M"],
        ),
    ];
    for (what, operands) in cases {
        let ratio = rate_ratio(assay, operands)?;
        limits.check(
            what,
            &format!("{ratio:.3} of GNU dd's rate (at least {LEAST_RATIO})"),
            ratio >= LEAST_RATIO,
        );
    }
    Ok(())
}

/// Compares the automatic mode, as a whole process, on a file system on a disk.
fn file_tests(assay: &Path, limits: &mut Limits) -> Result<()> {
    if Command::new("iozone").arg("-v").output().is_err() {
        println!("skipped iozone -a: iozone is not installed (Debian's package iozone3)");
        return Ok(());
    }
    let place = Scratch::within(&scratch_parent()?)?;
    let own = || {
        let mut command = Command::new(assay);
        command.arg("iozone").arg("--store").arg(place.join("runs"));
        wall_seconds(command, &place)
    };
    let ratio = median_of_rounds(
        IOZONE_ROUNDS,
        || wall_seconds(Command::new("iozone"), &place),
        own,
        |theirs, own| own / theirs,
    )?;
    limits.check(
        "iozone -a -n 256 -g 64m",
        &format!("{ratio:.3} of iozone's time (at most {MOST_TIME})"),
        ratio <= MOST_TIME,
    );
    Ok(())
}

/// Returns the duration of `-a` in seconds.
fn wall_seconds(mut command: Command, place: &Scratch) -> Result<f64> {
    command.args(["-a", "-n", "256", "-g", "64m", "-f"]);
    command.arg(place.join("file")).stderr(Stdio::null());
    let start = Instant::now();
    output(&mut command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the ratio of assay's rate to GNU dd's.
fn rate_ratio(assay: &Path, operands: &[&str]) -> Result<f64> {
    let store = Scratch::new()?;
    let own = || {
        let mut command = Command::new(assay);
        command.arg("dd").arg("--store").arg(store.join("runs"));
        seconds(command.args(operands))
    };
    median_of_rounds(
        ROUNDS,
        || seconds(Command::new("dd").args(operands)),
        own,
        |theirs, own| theirs / own,
    )
}

/// Returns the median of the ratios of all rounds: a disturbance within a round
/// affects both of its runs.
fn median_of_rounds(
    rounds: usize,
    theirs: impl Fn() -> Result<f64>,
    own: impl Fn() -> Result<f64>,
    ratio: impl Fn(f64, f64) -> f64,
) -> Result<f64> {
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // Alternate the order: the second run may find a warmer machine.
        let (theirs, own) = if round % 2 == 0 {
            let theirs = theirs()?;
            (theirs, own()?)
        } else {
            let own = own()?;
            (theirs()?, own)
        };
        ratios.push(ratio(theirs, own));
    }
    Ok(median(ratios))
}

/// Returns the time in dd's last line.
fn seconds(command: &mut Command) -> Result<f64> {
    let output = command.env("LC_ALL", "C").output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once(" copied, "));
    let time = line.and_then(|(_, rest)| rest.split_once(" s,"));
    let (time, _) = time.with_context(|| format!("no rate was told: {text}"))?;
    time.parse().with_context(|| format!("{time} is no time"))
}

/// Source of the C loop.
const STREAM: &str = include_str!("stream.c");
/// Bytes of each array: 128 MiB, four times a last-level cache of 32 MiB.
const ARRAY_MIB: u64 = 128;
const PASSES: u32 = 10;
/// Rounds; the programs alternate. The best round counts, because other users may
/// disturb the machine.
const MEMORY_ROUNDS: usize = 7;
/// Lowest ratios of assay's rate to theirs.
const MIN_OVER_C: f64 = 0.95;
const MIN_OVER_MBW: f64 = 1.0;

/// Best rates of kernels, bytes per second.
type Rates = BTreeMap<String, f64>;

/// Runs all programs in turn. Returns an error if a ratio misses its limit.
pub fn memory() -> Result<()> {
    if Command::new("mbw").arg("-h").output().is_err() {
        bail!("mbw is not installed: apt-get install mbw");
    }
    let assay = shipped()?;
    let folder = tempfile::tempdir()?;
    let stream = compiled(folder.path())?;
    let threads = std::thread::available_parallelism()?.get();
    let (mut own, mut theirs, mut mbw) = (Rates::new(), Rates::new(), Rates::new());
    for _ in 0..MEMORY_ROUNDS {
        for count in [1, threads] {
            take(&mut theirs, in_c(&stream, count)?);
        }
        take(&mut own, of_assay(&assay, folder.path())?);
        take(&mut mbw, of_mbw()?);
    }
    let mut limits = Limits::default();
    compare_with_c(&own, &theirs, threads, &mut limits)?;
    compare_with_mbw(&own, &mbw, &mut limits)?;
    limits.end()
}

/// Keeps the better rate of each kernel.
fn take(best: &mut Rates, found: Rates) {
    for (name, rate) in found {
        let known = best.entry(name).or_insert(0.0);
        *known = known.max(rate);
    }
}

fn compiled(folder: &Path) -> Result<std::path::PathBuf> {
    let (source, program) = (folder.join("stream.c"), folder.join("stream"));
    fs::write(&source, STREAM)?;
    let flags = ["-O3", "-march=native", "-fopenmp", "-o"];
    run(Command::new("gcc").args(flags).arg(&program).arg(&source))?;
    Ok(program)
}

/// Runs the C loop and parses its output, a line per kernel: `copy 27214696914`.
fn in_c(program: &Path, threads: usize) -> Result<Rates> {
    let mut command = Command::new(program);
    command.args([(ARRAY_MIB << 17).to_string(), PASSES.to_string()]);
    command.env("OMP_NUM_THREADS", threads.to_string());
    command.env("OMP_PROC_BIND", "true");
    let said = output(&mut command)?;
    let rate = |line: &str| {
        let (kernel, rate) = line.split_once(' ')?;
        Some((format!("{kernel}-{threads}t"), rate.parse().ok()?))
    };
    Ok(said.lines().filter_map(rate).collect())
}

/// Runs mbw and parses its output: `0 Method: MEMCPY Elapsed: 0.01682 MiB:
/// 128.00000 Copy: 7611.798 MiB/s`
fn of_mbw() -> Result<Rates> {
    let mut command = Command::new("mbw");
    command.args(["-t0", "-n", &PASSES.to_string(), &ARRAY_MIB.to_string()]);
    let said = output(&mut command)?;
    let rates = said.lines().filter(|line| line.contains("MEMCPY"));
    let rates = rates.filter_map(|line| {
        let (_, rest) = line.split_once("Copy: ")?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    });
    let best = rates.fold(0.0, f64::max) * f64::from(1 << 20);
    Ok(Rates::from([("memcpy-1t".to_owned(), best)]))
}

/// Runs assay and returns the best pass of each kernel.
fn of_assay(assay: &Path, folder: &Path) -> Result<Rates> {
    let mut command = Command::new(assay);
    command.args(["mem", "bandwidth", "--trials", "1", "--json"]);
    command.arg(format!("--size={ARRAY_MIB}M"));
    command.arg(format!("--passes={PASSES}"));
    command.arg("--store").arg(folder.join("runs.sqlite"));
    let run: Value = serde_json::from_str(&output(&mut command)?)?;
    let trials = run["trials"].as_array().context("there are no trials")?;
    let rate = |trial: &Value| {
        let metrics = trial["metrics"].as_array()?;
        let best = metrics
            .iter()
            .find(|metric| metric["name"] == "memory_bw_best")?;
        let name = trial["job"]["name"].as_str()?.to_owned();
        Some((name, best["value"].as_f64()?))
    };
    Ok(trials.iter().filter_map(rate).collect())
}

fn compare_with_c(own: &Rates, theirs: &Rates, threads: usize, limits: &mut Limits) -> Result<()> {
    for count in [1, threads] {
        for kernel in ["copy", "scale", "add", "triad", "memset", "read"] {
            let of = |rates: &Rates, name: String| rates.get(&name).copied();
            let plain = of(own, format!("{kernel}-{count}t")).context("assay left one out")?;
            let streaming = of(own, format!("{kernel}-nt-{count}t")).unwrap_or(0.0);
            let c = of(theirs, format!("{kernel}-{count}t")).context("the loop left one out")?;
            let best = plain.max(streaming) / c;
            limits.check(
                &format!("assay / C loop, {kernel}, {count} threads, at least {MIN_OVER_C}"),
                &format!(
                    "{best:.3} (plain stores {:.3}; C {:.2} GB/s)",
                    plain / c,
                    c / 1e9
                ),
                best >= MIN_OVER_C,
            );
        }
    }
    Ok(())
}

fn compare_with_mbw(own: &Rates, mbw: &Rates, limits: &mut Limits) -> Result<()> {
    let own = own.get("memcpy-1t").context("assay left memcpy out")?;
    let mbw = mbw.get("memcpy-1t").context("mbw says nothing of MEMCPY")?;
    let ratio = own / mbw;
    limits.check(
        &format!("assay / mbw, memcpy, at least {MIN_OVER_MBW}"),
        &format!("{ratio:.3} (mbw {:.2} GB/s)", mbw / 1e9),
        ratio >= MIN_OVER_MBW,
    );
    Ok(())
}
