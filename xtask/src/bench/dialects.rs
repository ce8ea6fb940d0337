//! `cargo xtask bench dialects`: assay's dialects beside the tools whose words they
//! speak, as ratios in one run.

use super::scratch::{ScratchFile, folder, warm};
use crate::run::{build_folder, cargo, run};
use anyhow::{Context, Result, bail};
use assay_model::units::Bytes;
use assay_testkit::Scratch;
use std::path::Path;
use std::process::Command;

/// Rounds of each comparison, the tools in turn.
const ROUNDS: usize = 15;
/// assay's rate must be at least this share of dd's.
const LEAST_RATIO: f64 = 0.98;
/// Size of the cached file.
const FILE: Bytes = Bytes(1 << 30);

/// Compares, and fails when a ratio is missed.
pub fn dialects() -> Result<()> {
    run(cargo().args(["build", "--release", "--package", "assay-cli"]))?;
    let assay = build_folder()?.join("release/assay");
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
    let mut missed = Vec::new();
    for (what, operands) in cases {
        let ratio = ratio(&assay, operands)?;
        let holds = ratio >= LEAST_RATIO;
        let word = if holds { "ok    " } else { "MISSED" };
        println!("{word} {what}: {ratio:.3} of GNU dd's rate (at least {LEAST_RATIO})");
        if !holds {
            missed.push(what);
        }
    }
    if missed.is_empty() {
        return Ok(());
    }
    bail!("missed: {}", missed.join(", "))
}

/// The median of the ratios of all rounds: what disturbs one round disturbs both
/// of its runs alike.
fn ratio(assay: &Path, operands: &[&str]) -> Result<f64> {
    let store = Scratch::new()?;
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let gnu = || seconds(Command::new("dd").args(operands));
        let own = || {
            let mut command = Command::new(assay);
            command.arg("dd").arg("--store").arg(store.join("runs"));
            seconds(command.args(operands))
        };
        // Whoever comes second may find a warmer machine.
        let (gnu, own) = if round % 2 == 0 {
            let gnu = gnu()?;
            (gnu, own()?)
        } else {
            let own = own()?;
            (gnu()?, own)
        };
        ratios.push(gnu / own);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ROUNDS / 2])
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
