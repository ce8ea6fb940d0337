//! `cargo xtask bench traits`: the costs that `assay traits` states of the emulated board's SD
//! card, against rates of sizes that it did not ask for.

use super::median;
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::{Context, Result, anyhow};
use assay_testkit::{Board, Scratch, Unavailable};
use rustix::process::nice;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

/// The card of the board.
const CARD: &str = "/mnt/sd";
const ROUNDS: usize = 3;
const TRIALS: &str = "12";
/// Blocks of 512 bytes that `assay traits` asks for.
const ASKED: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Block counts between those of `ASKED`, in blocks of 512 bytes.
const BLOCKS: [u32; 6] = [3, 12, 48, 96, 192, 768];
/// A predicted rate may be off by so much.
const MOST_OFF: f64 = 0.10;

/// Fits, measures and compares; an error when a prediction is too far off.
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

/// Predicted / measured rate of each size in between, for each round in which costs were
/// stated.
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

/// Findings about the card.
struct CardFinding {
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

/// Reads the findings from the jobs of the last run that bear the names of the trait questions.
fn costs(assay: &Path, bed: &Scratch) -> Result<CardFinding> {
    let mut command = Command::new(assay);
    command.args(["traits", "--of", "last", "--json"]);
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

/// Microseconds of a read of each size: the median read of the trials that were disturbed
/// least. The sizes of the fit are measured in the same run, in the same rounds: the machine is
/// not the same for long.
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

/// Runs as long as this process does, however that ends.
const LOOP: &str = "while kill -0 $PPID 2>/dev/null; do :; done";

/// Until it is dropped, every processor that has nothing to do runs a loop, behind all else.
pub struct Awake(Vec<Child>);

impl Awake {
    /// A loop for each processor.
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

/// Groups of processes that the scheduler weighs against each other.
const GROUP: &str = "/proc/self/autogroup";
const FIRST: i32 = -20;

/// Until it is dropped, as far as the group goes: a terminal's is that of its shell, too.
pub struct Preferred {
    group: Option<String>,
}

impl Preferred {
    /// As much as is allowed.
    pub fn now() -> Self {
        let group = fs::read_to_string(GROUP).ok().and_then(|group| {
            // Such as `/autogroup-12 nice 0`.
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
