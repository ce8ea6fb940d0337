//! Run that is larger than users' runs, in a private store.

use crate::run::output;
use anyhow::{Context, Result, bail};
use assay_model::plan::Slot;
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::{Interval, Measurement, TrialRecord};
use assay_model::units::MIB;
use assay_store::{Owner, Store, StoredId};
use assay_testkit::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Trials of the run.
const TRIALS: usize = 100;
/// Intervals of each trial: a million altogether.
const INTERVALS: usize = 10_000;
/// Trial and interval in which no I/O completed.
const STALL: (usize, usize) = (57, 3_456);
/// Jobs of the run.
const JOBS: &str = "seq-read-1m,seq-write-1m,rand-read-4k,rand-write-4k";
/// Prefix of the run's id.
pub const ID: &str = "huge";

/// Makes the run from a small real one, so that its evidence is real, too. Returns
/// the path of its store.
pub fn store(assay: &Path, place: &Scratch) -> Result<PathBuf> {
    let path = place.join("runs.sqlite");
    let mut small = Command::new(assay);
    small.args(["qualify", "--quick", "--size", "4M", "--trials", "1"]);
    small.arg("--only").arg(JOBS);
    small.arg("--store").arg(&path).arg(place.path());
    output(&mut small)?;
    let mut store = Store::open(&path)?;
    let StoredId::Run(id) = store.find("last")? else {
        bail!("{} has no run", path.display());
    };
    let run = enlarged(store.load(&id)?.run)?;
    save(&mut store, &run)?;
    Ok(path)
}

/// Stores a completed run.
pub fn save(store: &mut Store, run: &Run) -> Result<()> {
    let nobody = Owner {
        pid: 0,
        boot_id: String::new(),
        start_ticks: 0,
    };
    let id = &run.header.id;
    store.begin_run(&run.header, &nobody)?;
    store.save_trials(id, &run.trials)?;
    let finished = run.finished_unix_ms.unwrap_or_default();
    Ok(store.finish_run(id, &RunStatus::Finished, finished)?)
}

fn enlarged(mut run: Run) -> Result<Run> {
    run.header.id = format!("{ID}0000");
    let like = std::mem::take(&mut run.trials);
    let jobs = run.header.plan.jobs.len();
    run.header.plan.order.clear();
    for planned in &mut run.header.plan.jobs {
        planned.trials = u32::try_from(TRIALS / jobs)?;
    }
    for (index, trial) in like.iter().cycle().take(TRIALS).enumerate() {
        let number = u32::try_from(index / like.len())? + 1;
        let name = &trial.job.name;
        let job = run.header.plan.jobs.iter();
        let job = job.clone().position(|planned| &planned.job.name == name);
        let job = job.context("a trial of no job")?;
        run.header.plan.order.push(Slot::plain(job, number));
        run.trials.push(TrialRecord {
            trial: number,
            position: u32::try_from(index)?,
            measured: Some(long(trial, index)?),
            ..trial.clone()
        });
    }
    Ok(run)
}

/// Returns a measurement of [`INTERVALS`] intervals with a scattered rate.
fn long(trial: &TrialRecord, index: usize) -> Result<Measurement> {
    let mut measured = trial.measured.clone().context("a trial that failed")?;
    let mut rng = SplitMix64::new(index as u64);
    let reads = trial.job.rw.reads();
    let mut point = || {
        let bytes = 7 * MIB + rng.below(2 * MIB);
        let (ios, none) = (bytes / trial.job.bs.0.max(1), 0);
        Interval {
            read_bytes: if reads { bytes } else { none },
            read_ios: if reads { ios } else { none },
            write_bytes: if reads { none } else { bytes },
            write_ios: if reads { none } else { ios },
            max_latency_ns: 1_000_000 + rng.below(9_000_000),
            ..Interval::default()
        }
    };
    let mut points: Vec<Interval> = (0..INTERVALS).map(|_| point()).collect();
    if index == STALL.0 {
        points[STALL.1] = Interval::default();
    }
    measured.series.interval_ns = 100_000_000;
    measured.elapsed_ns = measured.series.interval_ns * INTERVALS as u64;
    measured.longest_gap = None;
    measured.series.points = points;
    Ok(measured)
}
