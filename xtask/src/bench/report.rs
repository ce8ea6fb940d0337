//! `cargo xtask bench report`: checks the page of a run that is larger than users' runs, in a
//! private store.

use super::median;
use crate::run::{Limits, output, shipped};
use anyhow::{Context, Result, bail};
use assay_model::plan::Slot;
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::{Interval, Measurement, TrialRecord};
use assay_model::units::MIB;
use assay_store::{Owner, Store, StoredId};
use assay_testkit::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Rounds of each timing; the median counts.
const ROUNDS: usize = 5;
const MAX_PAGE_BYTES: u64 = 3_000_000;
const MAX_SECONDS: f64 = 2.0;

/// Writes the page and measures it. Returns an error if a limit is missed.
pub fn report() -> Result<()> {
    let assay = shipped()?;
    let place = Scratch::within(&super::scratch_parent()?)?;
    let store = huge_store(&assay, &place)?;
    let page = place.join("page.html");
    let mut limits = Limits::default();
    let took = median_of(|| written(&assay, &store, &page))?;
    limits.check(
        "a page of 1 000 000 intervals in 100 trials, made within 2 s",
        &format!("{took:.2} s"),
        took <= MAX_SECONDS,
    );
    let bytes = fs::metadata(&page)?.len();
    limits.check(
        "its size, at most 3 MB",
        &format!("{:.2} MB", bytes as f64 / 1e6),
        bytes <= MAX_PAGE_BYTES,
    );
    let html = fs::read_to_string(&page)?;
    let drawn = html.matches("<title>100 ms at ").count();
    limits.check(
        "its one stall of 100 ms, drawn once",
        &drawn.to_string(),
        drawn == 1,
    );
    in_a_browser(&html, &place, &mut limits)?;
    limits.end()
}

/// Returns the duration of an `assay report` process in seconds.
fn written(assay: &Path, store: &Path, page: &Path) -> Result<f64> {
    let mut command = Command::new(assay);
    command.args(["report", HUGE_RUN, "--store"]).arg(store);
    command.arg("-o").arg(page);
    let start = Instant::now();
    output(&mut command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Measures the time until the page is laid out and a table in it has been sorted.
fn in_a_browser(html: &str, place: &Scratch, limits: &mut Limits) -> Result<()> {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("skipped the browser: chromium is not installed (Debian's package chromium)");
        return Ok(());
    }
    let copy = place.join("probed.html");
    fs::write(&copy, html.replace("</body>", PROBE))?;
    let took = median_of(|| interactive(&copy, &place.join("profile")))?;
    limits.check(
        "laid out, and a table sorted, within 2 s",
        &format!("{took:.2} s"),
        took <= MAX_SECONDS,
    );
    Ok(())
}

/// Script that measures the time from the request for the page until it is laid out and
/// has handled a click.
const PROBE: &str = "<script>\
document.body.getBoundingClientRect();\
document.querySelector('th button').click();\
document.body.getBoundingClientRect();\
const probed = document.createElement('pre');\
probed.id = 'probed';\
probed.textContent = performance.now();\
document.body.append(probed);\
</script></body>";

fn interactive(page: &Path, profile: &Path) -> Result<f64> {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu"]);
    command.args(["--disable-dev-shm-usage", "--no-first-run", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("file://{}", page.display()));
    let dom = output(&mut command)?;
    let said = dom.rsplit_once("<pre id=\"probed\">");
    let said = said.and_then(|(_, rest)| rest.split_once('<'));
    let (milliseconds, _) = said.context("the page did not come to its end")?;
    Ok(milliseconds.parse::<f64>()? / 1e3)
}

fn median_of(mut round: impl FnMut() -> Result<f64>) -> Result<f64> {
    let rounds: Result<Vec<f64>> = (0..ROUNDS).map(|_| round()).collect();
    Ok(median(rounds?))
}

/// Trials of the run.
const TRIALS: usize = 100;
/// Intervals of each trial: a million altogether.
const INTERVALS: usize = 10_000;
/// Trial and interval in which no I/O completed.
const STALL: (usize, usize) = (57, 3_456);
/// Jobs of the run.
const JOBS: &str = "seq-read-1m,seq-write-1m,rand-read-4k,rand-write-4k";
/// Prefix of the run's id.
const HUGE_RUN: &str = "huge";

/// Makes the run from a small real one, so that its evidence is real, too. Returns
/// the path of its store.
fn huge_store(assay: &Path, place: &Scratch) -> Result<PathBuf> {
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
    run.header.id = format!("{HUGE_RUN}0000");
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
