//! `cargo xtask bench traits`: the costs that `assay traits` states of the emulated board's SD
//! card, against rates of sizes that it did not ask for.

use super::preferred::Preferred;
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::{Context, Result, anyhow};
use assay_testkit::{Board, Scratch, Unavailable};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The card of the board.
const CARD: &str = "/mnt/sd";
/// Fit and rates take turns: the machine is not the same for long.
const ROUNDS: usize = 3;
const TRIALS: &str = "10";
/// Blocks of 512 bytes of sizes that are not powers of two.
const BLOCKS: [u32; 6] = [3, 12, 48, 96, 192, 768];
/// A predicted rate may be off by so much.
const MOST_OFF: f64 = 0.10;

/// Fits, measures and compares; an error when a prediction is too far off.
pub fn traits() -> Result<()> {
    let there = |why: Unavailable| anyhow!("{why}");
    let assay = shipped()?;
    let _preferred = Preferred::now();
    let board = Board::shared().map_err(there)?;
    board.agent().map_err(there)?;
    let bed = Scratch::new().map_err(there)?;
    let mut ratios: [Vec<f64>; BLOCKS.len()] = Default::default();
    let mut limits = Limits::default();
    let mut stated = 0;
    for _ in 0..ROUNDS {
        let costs = costs(&assay, &board, &bed)?;
        let measured = measured(&assay, &board, &bed)?;
        println!("       {}", costs.sentence);
        let Some(costs) = costs.us else { continue };
        stated += 1;
        for ((blocks, us), ratios) in BLOCKS.into_iter().zip(measured).zip(&mut ratios) {
            ratios.push(us / costs.at(f64::from(blocks)));
        }
    }
    board.run(&format!("rm {CARD}/predicted")).map_err(there)?;
    limits.check(
        "costs are stated",
        &format!("in {stated} of {ROUNDS} rounds"),
        stated * 2 > ROUNDS,
    );
    for (blocks, ratios) in BLOCKS.into_iter().zip(&ratios) {
        let off = median(ratios) - 1.0;
        limits.check(
            &format!("rate of reads of {} B, predicted / measured", blocks * 512),
            &format!("{:.3} of {ratios:.3?}", off + 1.0),
            off.abs() <= MOST_OFF,
        );
    }
    limits.end()
}

/// What was said of the card.
struct Said {
    sentence: String,
    us: Option<Costs>,
}

/// Microseconds of a read.
struct Costs {
    command: f64,
    block: f64,
    ramp: f64,
    ramp_blocks: f64,
}

impl Costs {
    fn at(&self, blocks: f64) -> f64 {
        self.command + self.block * blocks + self.ramp * blocks.min(self.ramp_blocks)
    }
}

fn costs(assay: &Path, board: &Board, bed: &Scratch) -> Result<Said> {
    let words = [
        "traits",
        CARD,
        "--only",
        "read-costs",
        "--read-only",
        "--size",
        "64M",
        "--trials",
        TRIALS,
        "--json",
    ];
    let found = run(assay, board, bed, &words)?;
    let all = found["traits"].as_array().context("no traits")?;
    let of_reads = all.iter().find(|one| one["trait"] == "read-costs");
    let of_reads = of_reads.context("no costs of reads")?;
    let values = &of_reads["values"];
    let value = |name: &str| values[name].as_f64();
    Ok(Said {
        sentence: of_reads["sentence"].as_str().unwrap_or_default().to_owned(),
        us: value("command_us")
            .zip(value("block_us"))
            .map(|(command, block)| Costs {
                command,
                block,
                ramp: value("ramp_us").unwrap_or(0.0),
                ramp_blocks: value("ramp_blocks").unwrap_or(0.0),
            }),
    })
}

/// Microseconds of a read of each size: the median read of the trials that were disturbed
/// least.
fn measured(assay: &Path, board: &Board, bed: &Scratch) -> Result<Vec<f64>> {
    let job = bed.join("predicted.fio");
    let sections = BLOCKS.map(|blocks| format!("[{blocks}]\nstonewall\nbs={}\n", blocks * 512));
    let global = format!(
        "[global]\nfilename={CARD}/predicted\nrw=randread\nsize=64m\ndirect=1\nruntime=1\ntime_based\n"
    );
    fs::write(&job, global + &sections.concat())?;
    let job = job.to_string_lossy();
    let run = run(
        assay,
        board,
        bed,
        &["run", &job, "--trials", TRIALS, "--json"],
    )?;
    let trials = run["trials"].as_array().context("no trials")?;
    let us = |blocks: u32| -> Result<f64> {
        let name = blocks.to_string();
        let of_size = trials.iter().filter(|trial| trial["job"]["name"] == *name);
        let metrics = of_size.flat_map(|trial| trial["metrics"].as_array().into_iter().flatten());
        let medians = metrics.filter(|metric| metric["name"] == "read_lat_p50");
        let mut ns: Vec<f64> = medians
            .filter_map(|metric| metric["value"].as_f64())
            .collect();
        ns.sort_by(f64::total_cmp);
        let quartile = ns.get(ns.len() / 4).context("no latency")?;
        Ok(quartile / 1e3)
    };
    BLOCKS.into_iter().map(us).collect()
}

fn run(assay: &Path, board: &Board, bed: &Scratch, words: &[&str]) -> Result<Value> {
    let mut command = Command::new(assay);
    command.args(words).args(["--on", &board.url(), "--store"]);
    command.arg(bed.join("runs.sqlite"));
    command
        .env("PATH", board.search_path())
        .env("ASSAY_AGENTS", Board::agents());
    Ok(serde_json::from_str(&output(&mut command)?)?)
}

/// 0 of nothing, which is off by all.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
