//! `cargo xtask bench dialects`: compares assay's dialects with the original tools,
//! as ratios within one run.

use super::{ScratchFile, folder, median, warm};
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::{Context, Result};
use assay_model::units::Bytes;
use assay_testkit::Scratch;
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
    let file = ScratchFile::new(&folder()?, FILE)?;
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
    let place = Scratch::within(&folder()?)?;
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
