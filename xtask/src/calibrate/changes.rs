//! `cargo xtask calibrate --changes`: change points of series whose truth is known, beside those
//! of Apache Otava.

pub mod annotated;
pub mod score;
pub mod simulated;

use crate::limits::{Limits, in_release};
use crate::python;
use crate::run::build_folder;
use anyhow::{Result, bail};
use assay_stats::changes::{Rules, RunSeries, find};
use assay_testkit::Otava;
use score::Score;
use std::path::Path;
use std::time::{Duration, Instant};

/// Simulated series with changes, and their first seed.
const SERIES: u64 = 1_000;
const SEED: u64 = 1_000_000;

/// Series without a change, of so many runs.
const QUIET_SERIES: u64 = 20;
const QUIET_RUNS: usize = 40;
const MAX_FALSE_OF_QUIET: usize = 1;

/// Series of a busy job, and the time that finding their changes may take.
const BUSY_SERIES: u64 = 60;
const BUSY_RUNS: usize = 500;
const MAX_BUSY: Duration = Duration::from_millis(500);

/// Settings of Otava: its own, and those of Hunter's paper.
pub const OTAVA: [(usize, f64, f64); 2] = [(50, 0.001, 0.0), (50, 0.001, 0.05)];

/// Runs all parts; an error when one misses its limit.
pub fn run(words: &[&str]) -> Result<()> {
    let folder = match words {
        [] => None,
        ["--annotated", folder] => Some(Path::new(folder)),
        _ => bail!("cargo xtask calibrate --changes [--annotated FOLDER]"),
    };
    if cfg!(debug_assertions) {
        return in_release(&[&["calibrate", "--changes"], words].concat());
    }
    python::provide_otava()?;
    let otava = Otava::within(&build_folder()?.join(Otava::FOLDER))?;
    let mut limits = Limits::default();
    simulated_series(&otava, SEED, &mut limits)?;
    quiet_series(SEED, &mut limits);
    busy_series(&mut limits);
    if let Some(folder) = folder {
        annotated_series(&otava, folder, &mut limits)?;
    }
    limits.end()
}

/// F1 and false alarms beside Otava's.
pub fn simulated_series(otava: &Otava, seed: u64, limits: &mut Limits) -> Result<()> {
    let all: Vec<_> = (seed..seed + SERIES).map(simulated::draw).collect();
    let truths: Vec<&[usize]> = all.iter().map(|drawn| &drawn.changes[..]).collect();
    let series: Vec<&RunSeries> = all.iter().map(|drawn| &drawn.series).collect();
    against_otava("simulated", otava, &series, &truths, limits)
}

/// Published series that people annotated.
pub fn annotated_series(otava: &Otava, folder: &Path, limits: &mut Limits) -> Result<()> {
    let all = annotated::read(folder)?;
    let truths: Vec<&[usize]> = all.iter().map(|read| &read.changes[..]).collect();
    let series: Vec<&RunSeries> = all.iter().map(|read| &read.series).collect();
    against_otava("annotated", otava, &series, &truths, limits)
}

fn against_otava(
    what: &str,
    otava: &Otava,
    series: &[&RunSeries],
    truths: &[&[usize]],
    limits: &mut Limits,
) -> Result<()> {
    let found = series
        .iter()
        .map(|series| indices(series, &Rules::default()));
    let ours = Score::of(truths, &found.collect::<Vec<_>>());
    let means: Vec<Vec<f64>> = series.iter().map(|series| means(series)).collect();
    println!("{what}: assay: {ours}");
    for (window, max_p, magnitude) in OTAVA {
        let found = otava.change_points(&means, window, max_p, magnitude)?;
        let theirs = Score::of(truths, &found);
        let name =
            format!("{what}: Otava (windows of {window}, p {max_p}, changes over {magnitude})");
        println!("{name}: {theirs}");
        if (window, max_p, magnitude) == OTAVA[0] {
            let holds = ours.f1() >= theirs.f1() && 2 * ours.wrong <= theirs.wrong;
            limits.check(
                &format!("{what}: beside Otava's own settings"),
                &format!("{ours}"),
                holds,
            );
        }
    }
    Ok(())
}

/// Nothing changes: nearly nothing may be found.
pub fn quiet_series(seed: u64, limits: &mut Limits) {
    let quiet = (seed..seed + QUIET_SERIES).map(|seed| simulated::quiet(seed, QUIET_RUNS));
    let found: usize = quiet
        .map(|series| indices(&series, &Rules::default()).len())
        .sum();
    limits.check(
        &format!("{QUIET_SERIES} series of {QUIET_RUNS} runs without a change: changes found"),
        &found.to_string(),
        found <= MAX_FALSE_OF_QUIET,
    );
}

/// A job of many series over more than a year.
pub fn busy_series(limits: &mut Limits) {
    let busy = 0..BUSY_SERIES;
    let busy: Vec<RunSeries> = busy.map(|seed| simulated::quiet(seed, BUSY_RUNS)).collect();
    let start = Instant::now();
    let found: usize = busy
        .iter()
        .map(|series| indices(series, &Rules::default()).len())
        .sum();
    let took = start.elapsed();
    limits.check(
        &format!("{BUSY_SERIES} series of {BUSY_RUNS} runs ({found} changes)"),
        &format!("{} ms", took.as_millis()),
        took <= MAX_BUSY,
    );
}

/// Indices of the changes of a series.
pub fn indices(series: &RunSeries, rules: &Rules) -> Vec<usize> {
    let found = find(series, &[], rules);
    found.iter().map(|change| change.index).collect()
}

/// Mean of each run: what other tools are given.
pub fn means(series: &RunSeries) -> Vec<f64> {
    let runs = series.points.iter().map(|point| &point.trials);
    runs.map(|trials| trials.iter().sum::<f64>() / trials.len() as f64)
        .collect()
}
