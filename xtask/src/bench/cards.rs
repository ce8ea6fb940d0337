//! `cargo xtask bench traits`: compares the costs that `assay model traits` reports for the emulated
//! board's SD card with measured rates of I/O sizes that it did not use.
//!
//! `cargo xtask bench model`: speed of the simulation of cards.

use super::median;
use crate::run::{Limits, in_release, output, shipped};
use anyhow::{Context, Result, anyhow};
use assay_flash::device::Device;
use assay_flash::experiment::{SimulatedJob, run};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_testkit::{Board, Scratch, Unavailable};
use rustix::process::nice;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

/// Mount point of the board's card.
const CARD: &str = "/mnt/sd";
const ROUNDS: usize = 3;
const TRIALS: &str = "12";
/// I/O sizes that `assay model traits` measures, in blocks of 512 bytes.
const ASKED: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// I/O sizes between those of `ASKED`, in blocks of 512 bytes.
const BLOCKS: [u32; 6] = [3, 12, 48, 96, 192, 768];
/// Largest relative error of a predicted rate.
const MOST_OFF: f64 = 0.10;

/// Fits, measures and compares. Returns an error if a prediction is too far off.
pub fn traits() -> Result<()> {
    let there = |why: Unavailable| anyhow!("{why}");
    let assay = shipped()?;
    let _preferred = Preferred::now();
    let _awake = Awake::now()?;
    let board = Board::shared().map_err(there)?;
    board.agent().map_err(there)?;
    let bed = Scratch::new().map_err(there)?;
    let mut ratios = Ratios::default();
    for _ in 0..ROUNDS {
        let measured = measured(&assay, &board, &bed)?;
        let costs = costs(&assay, &bed)?;
        println!("       {}", costs.sentence);
        let Some(costs) = costs.us else { continue };
        for ((blocks, us), ratios) in BLOCKS.into_iter().zip(measured).zip(&mut ratios) {
            ratios.push(us / costs.at(f64::from(blocks)));
        }
    }
    board.run(&format!("rm {CARD}/bench")).map_err(there)?;
    judge(&ratios)
}

/// Ratios of predicted to measured rate for each size of `BLOCKS`, one per round with a
/// reported cost.
type Ratios = [Vec<f64>; BLOCKS.len()];

fn judge(ratios: &Ratios) -> Result<()> {
    let mut limits = Limits::default();
    let stated = ratios[0].len();
    limits.check(
        "costs are stated",
        &format!("in {stated} of {ROUNDS} rounds"),
        stated * 2 > ROUNDS,
    );
    for (blocks, ratios) in BLOCKS.into_iter().zip(ratios).filter(|_| stated > 0) {
        let ratio = median(ratios.clone());
        limits.check(
            &format!("rate of reads of {} B, predicted / measured", blocks * 512),
            &format!("{ratio:.3} of {ratios:.3?}"),
            (ratio - 1.0).abs() <= MOST_OFF,
        );
    }
    limits.end()
}

/// Costs and sentence of a finding about the card.
struct CardFinding {
    sentence: String,
    us: Option<Costs>,
}

/// Costs of a read, in microseconds.
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

/// Reads the findings from the jobs of the last run that bear the names of the trait questions.
fn costs(assay: &Path, bed: &Scratch) -> Result<CardFinding> {
    let mut command = Command::new(assay);
    command.args(["model", "traits", "--of", "last", "--json"]);
    let found = said(command, bed)?;
    let all = found["traits"].as_array().context("no traits")?;
    let of_reads = all.iter().find(|one| one["trait"] == "read-costs");
    let of_reads = of_reads.context("no costs of reads")?;
    let values = &of_reads["values"];
    let value = |name: &str| values[name].as_f64();
    Ok(CardFinding {
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

/// Returns the time of a read of each size, in microseconds: the median read of the least
/// disturbed trials. The sizes of the fit are measured in the same run and the same rounds,
/// because the machine's speed changes over time.
fn measured(assay: &Path, board: &Board, bed: &Scratch) -> Result<Vec<f64>> {
    let job = bed.join("bench.fio");
    let section = |name: &str, blocks: u32| {
        let bytes = blocks * 512;
        format!("[{name}-{bytes}]\nstonewall\nbs={bytes}\n")
    };
    let sections = ASKED.map(|blocks| section("read-costs", blocks));
    let others = BLOCKS.map(|blocks| section("between", blocks));
    let global = format!(
        "[global]\nfilename={CARD}/bench\nrw=randread\nsize=64m\ndirect=1\nruntime=150ms\ntime_based\n"
    );
    fs::write(&job, global + &sections.concat() + &others.concat())?;
    let mut command = Command::new(assay);
    command
        .arg("run")
        .arg(&job)
        .args(["--trials", TRIALS, "--json"]);
    command.args(["--on", &board.url()]);
    command
        .env("PATH", board.search_path())
        .env("ASSAY_AGENTS", Board::agents());
    let run = said(command, bed)?;
    let trials = run["trials"].as_array().context("no trials")?;
    let us = |blocks: u32| -> Result<f64> {
        let name = format!("between-{}", blocks * 512);
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

fn said(mut command: Command, bed: &Scratch) -> Result<Value> {
    command.arg("--store").arg(bed.join("runs.sqlite"));
    Ok(serde_json::from_str(&output(&mut command)?)?)
}

/// Busy loop that ends when this process ends, even if it is killed.
const LOOP: &str = "while kill -0 $PPID 2>/dev/null; do :; done";

/// Keeps idle processors busy with a loop at idle priority, until it is dropped.
pub struct Awake(Vec<Child>);

impl Awake {
    /// Starts a loop for each processor.
    pub fn now() -> Result<Self> {
        let processors = std::thread::available_parallelism()?.get();
        let mut awake = Self(Vec::new());
        for _ in 0..processors {
            let words = ["--idle", "0", "sh", "-c", LOOP];
            let child = Command::new("chrt").args(words).spawn();
            awake.0.push(child.context("chrt (util-linux)")?);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// File with the nice value of this process's autogroup, the unit of scheduling.
const GROUP: &str = "/proc/self/autogroup";
const FIRST: i32 = -20;

/// Raises the priority of this process. The drop restores that of its autogroup, which a
/// terminal's shell shares.
pub struct Preferred {
    group: Option<String>,
}

impl Preferred {
    /// Raises the priority as far as permitted.
    pub fn now() -> Self {
        let group = fs::read_to_string(GROUP).ok().and_then(|group| {
            // The content is, for example, `/autogroup-12 nice 0`.
            let nice = group.split_whitespace().last()?.to_owned();
            fs::write(GROUP, FIRST.to_string()).ok().map(|()| nice)
        });
        let own = nice(FIRST).is_ok();
        if !own && group.is_none() {
            eprintln!("what else this machine does takes part: only root may be preferred");
        }
        Self { group }
    }
}

impl Drop for Preferred {
    fn drop(&mut self) {
        if let Some(nice) = &self.group
            && fs::write(GROUP, nice).is_err()
        {
            eprintln!("{GROUP} could not be set back to {nice}");
        }
    }
}

/// Simulated I/Os of each case.
const IOS: u64 = 5_000_000;
/// Lowest rate of simulated I/Os per second on one core.
const LEAST: f64 = 2e6;
/// Runs of each case. The fastest counts, because others were disturbed.
const MODEL_ROUNDS: u32 = 3;

/// Simulates each case. Returns an error if a rate is below the limit.
pub fn model() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["bench", "model"]);
    }
    let mut limits = Limits::default();
    for (name, policy, blocks) in [
        ("rtsx-sd-pro-plus-128", Policy::OPEN, 8),
        ("rtsx-sd-pro-plus-128", Policy::Closed, 2048),
        ("emmc-8gb-hs400", Policy::SetCount, 8),
        ("ufs-128gb-g3x2", Policy::Queued, 8),
    ] {
        let part =
            DeviceModel::find(name).with_context(|| format!("the part {name} is missing"))?;
        let (rate, digest) = fastest(&part, policy, blocks)?;
        limits.check(
            &format!("{name}, {policy}, {} KiB", blocks / 2),
            &format!(
                "{:.1} million I/Os/s (at least 2.0), digest {digest:016x}",
                rate / 1e6
            ),
            rate >= LEAST,
        );
    }
    limits.end()
}

/// Returns the rate of the fastest run, in I/Os per second, and the digest of
/// all runs.
fn fastest(part: &DeviceModel, policy: Policy, blocks: u64) -> Result<(f64, u64)> {
    let job = SimulatedJob {
        read_percent: 70,
        random: true,
        blocks,
        span: 1 << 26,
        warm: 0,
        ios: IOS,
        seed: 1,
    };
    let (mut best, mut digest) = (0.0_f64, 0);
    for _ in 0..MODEL_ROUNDS {
        let mut device = Device::new(part, policy)?;
        let begun = Instant::now();
        digest = run(&mut device, &job).digest;
        best = best.max(IOS as f64 / begun.elapsed().as_secs_f64());
    }
    Ok((best, digest))
}
