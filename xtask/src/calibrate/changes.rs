//! `cargo xtask calibrate --changes`: compares the change points found in series with a known
//! truth with those of Apache Otava.

mod annotated;
mod simulated;

use crate::limits::{Limits, in_release};
use crate::python;
use crate::run::build_folder;
use anyhow::{Result, bail};
use assay_model::rng::SplitMix64;
use assay_stats::changes::{Rules, RunSeries, find};
use assay_testkit::Otava;
use simulated::draw_runs;
use std::fmt;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::time::Instant;

/// Number of simulated series with changes, and their first seed.
const SERIES: u64 = 1_000;
const SEED: u64 = 1_000_000;

/// Number of series without a change, and of their runs.
const QUIET_SERIES: u64 = 20;
const QUIET_RUNS: u64 = 40;
const MAX_FALSE_OF_QUIET: usize = 1;

/// Number of series without a change that are checked after each run, and the share that may
/// ever alarm.
const WATCHED_SERIES: u64 = 1_000;
const MAX_SHARE_OF_WATCHED: f64 = 0.02;

/// Series of a busy job; the time to find their changes is printed.
const BUSY_SERIES: u64 = 60;
const BUSY_RUNS: u64 = 500;

/// Settings of Otava: its defaults, and those of Hunter's paper.
const OTAVA: [(usize, f64, f64); 2] = [(50, 0.001, 0.0), (50, 0.001, 0.05)];

/// Runs all parts. Returns an error if one misses its limit.
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
    busy_series();
    if let Some(folder) = folder {
        annotated_series(&otava, folder, &mut limits)?;
    }
    limits.end()
}

/// Compares F1 and false alarms on simulated series with Otava's.
fn simulated_series(otava: &Otava, seed: u64, limits: &mut Limits) -> Result<()> {
    let all: Vec<_> = (seed..seed + SERIES).map(simulated::draw).collect();
    let truths: Vec<&[usize]> = all.iter().map(|drawn| &drawn.changes[..]).collect();
    let series: Vec<&RunSeries> = all.iter().map(|drawn| &drawn.series).collect();
    against_otava("simulated", otava, &series, &truths, limits)
}

/// Compares F1 on published series with annotations by people.
fn annotated_series(otava: &Otava, folder: &Path, limits: &mut Limits) -> Result<()> {
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

/// Checks that hardly any change is found in series without one, also if they are checked after
/// each run.
fn quiet_series(seed: u64, limits: &mut Limits) {
    let quiet = (seed..seed + QUIET_SERIES).map(|seed| simulated::quiet(seed, QUIET_RUNS));
    let found: usize = quiet
        .map(|series| indices(&series, &Rules::default()).len())
        .sum();
    limits.check(
        &format!("{QUIET_SERIES} series of {QUIET_RUNS} runs without a change: changes found"),
        &found.to_string(),
        found <= MAX_FALSE_OF_QUIET,
    );
    let quiet = (seed..seed + WATCHED_SERIES).map(|seed| simulated::quiet(seed, QUIET_RUNS));
    let alarms = quiet.filter(ever_changes).count();
    let share = alarms as f64 / WATCHED_SERIES as f64;
    limits.check(
        &format!("{WATCHED_SERIES} such series, looked at after each run: series with an alarm"),
        &alarms.to_string(),
        share <= MAX_SHARE_OF_WATCHED,
    );
}

/// Returns true if a change is found when a series ends with any of its runs.
fn ever_changes(series: &RunSeries) -> bool {
    let mut so_far = RunSeries {
        points: Vec::new(),
        ..*series
    };
    series.points.iter().any(|point| {
        so_far.points.push(point.clone());
        !indices(&so_far, &Rules::default()).is_empty()
    })
}

/// Measures a job of many series over more than a year.
fn busy_series() {
    let busy = (0..BUSY_SERIES).map(|seed| draw_runs(&mut SplitMix64::new(seed), BUSY_RUNS).series);
    let busy: Vec<RunSeries> = busy.collect();
    let start = Instant::now();
    let found: usize = busy
        .iter()
        .map(|series| indices(series, &Rules::default()).len())
        .sum();
    let took = start.elapsed().as_millis();
    println!("{BUSY_SERIES} series of {BUSY_RUNS} runs ({found} changes): {took} ms");
}

/// Returns indices of the changes of a series.
fn indices(series: &RunSeries, rules: &Rules) -> Vec<usize> {
    let found = find(series, &[], rules);
    found.iter().map(|change| change.index).collect()
}

/// Returns the mean of each run, the input of other tools.
fn means(series: &RunSeries) -> Vec<f64> {
    let runs = series.points.iter().map(|point| &point.trials);
    runs.map(|trials| trials.iter().sum::<f64>() / trials.len() as f64)
        .collect()
}

/// Distance up to which a found change counts as right, in points, as in the Turing Change
/// Point Detection benchmark.
const TOLERANCE: usize = 5;

/// Counts over all series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Score {
    /// True changes that were found.
    pub right: usize,
    /// True changes that were missed.
    pub missed: usize,
    /// Changes that were found but are not true.
    pub wrong: usize,
}

impl Score {
    /// Matches the found changes of each series with its true ones, each at most once.
    pub fn of(truths: &[&[usize]], found: &[Vec<usize>]) -> Self {
        let mut score = Self::default();
        for (truth, found) in truths.iter().zip(found) {
            let mut left = truth.to_vec();
            for at in found {
                let near = left.iter().enumerate();
                let near = near.filter(|(_, change)| change.abs_diff(*at) <= TOLERANCE);
                match near.min_by_key(|(_, change)| change.abs_diff(*at)) {
                    Some((index, _)) => {
                        left.remove(index);
                        score.right += 1;
                    }
                    None => score.wrong += 1,
                }
            }
            score.missed += left.len();
        }
        score
    }

    /// Harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let right = 2 * self.right;
        right as f64 / (right + self.missed + self.wrong).max(1) as f64
    }
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let f1 = self.f1();
        let Self {
            right,
            missed,
            wrong,
        } = self;
        write!(
            f,
            "F1 {f1:.3}, {right} right, {missed} missed, {wrong} false alarms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_once_and_not_far_off() {
        let score = Score::of(&[&[10, 50], &[]], &[vec![8, 12, 60], vec![]]);
        assert_eq!((score.right, score.missed, score.wrong), (1, 1, 2));
        assert!((score.f1() - 0.4).abs() < 1e-12);
    }
}
