//! `cargo xtask bench dialects`: assay's dialects beside the tools whose words they
//! speak, as ratios in one run.

use super::median;
use super::scratch::{ScratchFile, folder, warm};
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::{Context, Result};
use assay_model::units::Bytes;
use assay_testkit::Scratch;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Rounds of each comparison, the tools in turn.
const ROUNDS: usize = 15;
/// The same where a round takes long.
const IOZONE_ROUNDS: usize = 9;
/// assay's rate must be at least this share of dd's.
const LEAST_RATIO: f64 = 0.98;
/// `assay iozone -a` takes at most this share of iozone's time.
const MOST_TIME: f64 = 1.05;
/// Size of the cached file.
const FILE: Bytes = Bytes(1 << 30);

/// Compares, and fails when a ratio is missed.
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

/// The automatic mode as a whole process, to a file system on a disk.
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

/// assay's share of GNU dd's rate.
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

/// The median of the ratios of all rounds: what disturbs one round disturbs both
/// of its runs alike.
fn median_of_rounds(
    rounds: usize,
    theirs: impl Fn() -> Result<f64>,
    own: impl Fn() -> Result<f64>,
    ratio: impl Fn(f64, f64) -> f64,
) -> Result<f64> {
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // Whoever comes second may find a warmer machine.
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

/// The time on dd's last line.
fn seconds(command: &mut Command) -> Result<f64> {
    let output = command.env("LC_ALL", "C").output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once(" copied, "));
    let time = line.and_then(|(_, rest)| rest.split_once(" s,"));
    let (time, _) = time.with_context(|| format!("no rate was told: {text}"))?;
    time.parse().with_context(|| format!("{time} is no time"))
}
