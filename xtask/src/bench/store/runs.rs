//! Simulated runs of a lab: 20 boards with three devices each.

use super::Lab;
use crate::bench::huge::save;
use crate::run::output;
use anyhow::{Result, bail};
use assay_model::run::Run;
use assay_store::{Store, StoredId};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Boards of the lab.
const BOARDS: u64 = 20;
/// Devices of each board.
const PARTS: [&str; 3] = ["emmc-8gb-hs400", "rtsx-sd-pro-plus-128", "ufs-128gb-g3x2"];
/// Jobs of a run, two trials each: together they give about 60 figures.
const JOBS: &str = "mixed-4k-70-30,append-4k-fsync,seq-read-1m,seq-write-1m,rand-read-4k,\
    rand-read-4k-qd32,rand-read-8k,rand-read-16k,rand-read-1m,rand-write-4k,\
    rand-write-4k-qd32,rand-write-8k,rand-write-16k";

/// Makes one run of each device with the program.
pub fn of_each_device(lab: &Lab) -> Result<Vec<Run>> {
    let path = lab.place.join("devices.sqlite");
    let mut runs = Vec::new();
    for part in PARTS {
        let mut qualify = Command::new(&lab.assay);
        qualify.args(["qualify", "--quick", "--trials", "2", "--only", JOBS]);
        qualify.arg(format!("sim:{part}"));
        qualify.arg("--store").arg(&path);
        output(&mut qualify)?;
        let store = Store::open_existing(path.as_path())?;
        let StoredId::Run(id) = store.find("last")? else {
            bail!("the run of {part} is not in its store");
        };
        runs.push(store.load(&id)?.run);
    }
    Ok(runs)
}

/// Writes a file with `number` runs, one of each device of each board in turn, a
/// second apart.
pub fn file(lab: &Lab, name: &str, like: &[Run], number: u64, begin: u64) -> Result<PathBuf> {
    let path = lab.place.join(name);
    let mut store = Store::open(path.as_path())?;
    for index in 0..number {
        let (board, device) = (
            index / like.len() as u64 % BOARDS,
            index % like.len() as u64,
        );
        let Some(like) = like.get(usize::try_from(device)?) else {
            bail!("there are no runs");
        };
        let mut run = like.clone();
        let start = begin + index * 1_000;
        let took = like.finished_unix_ms.unwrap_or_default() - like.header.started_unix_ms;
        run.header.id = format!("{}{index:06}", name.split('.').next().unwrap_or(name));
        run.header.target = Some(format!("board-{board:02}"));
        run.header.started_unix_ms = start;
        run.finished_unix_ms = Some(start + took);
        save(&mut store, &run)?;
    }
    Ok(path)
}

/// Number of devices in the lab.
pub fn devices() -> u64 {
    BOARDS * PARTS.len() as u64
}

/// Copies all runs of a file to another store, as a user would.
pub fn push(lab: &Lab, from: &Path, to: &str) -> Result<()> {
    let mut push = Command::new(&lab.assay);
    push.args(["push", "--all", "--to", to, "--store"])
        .arg(from);
    output(&mut push).map(drop)
}
