//! `cargo xtask calibrate --changes`: compares the change points found in series with a known truth
//! with those of Apache Otava.
//!
//! The series are simulated runs with known changes, and published series with annotations by
//! people, in the format of the Turing Change Point Dataset: a folder with `annotations.json` and a
//! `datasets/NAME/NAME.json` for each series.

use crate::prerequisites;
use crate::run::{Limits, build_folder, in_release};
use anyhow::{Context, Result, bail};
use assay_model::figures::Better;
use assay_model::rng::SplitMix64;
use assay_stats::changes::{Rules, RunPoint, RunSeries, find};
use assay_stats::distributions::normal_quantile;
use assay_testkit::Otava;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::time::Instant;
use std::{fmt, fs};

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
    prerequisites::provide_otava()?;
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
    let all: Vec<_> = (seed..seed + SERIES).map(draw_series).collect();
    let truths: Vec<&[usize]> = all.iter().map(|drawn| &drawn.changes[..]).collect();
    let series: Vec<&RunSeries> = all.iter().map(|drawn| &drawn.series).collect();
    against_otava("simulated", otava, &series, &truths, limits)
}

/// Compares F1 on published series with annotations by people.
fn annotated_series(otava: &Otava, folder: &Path, limits: &mut Limits) -> Result<()> {
    let all = read_annotated(folder)?;
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
    let quiet = (seed..seed + QUIET_SERIES).map(|seed| draw_quiet(seed, QUIET_RUNS));
    let found: usize = quiet
        .map(|series| indices(&series, &Rules::default()).len())
        .sum();
    limits.check(
        &format!("{QUIET_SERIES} series of {QUIET_RUNS} runs without a change: changes found"),
        &found.to_string(),
        found <= MAX_FALSE_OF_QUIET,
    );
    let quiet = (seed..seed + WATCHED_SERIES).map(|seed| draw_quiet(seed, QUIET_RUNS));
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

/// Distance up to which annotations of two people count as one, in points.
const SAME: u64 = 5;

/// Series and its changes.
struct Annotated {
    /// Series in which each run has one trial.
    series: RunSeries,
    /// Indices that more than half of the annotators give.
    changes: Vec<usize>,
}

/// Reads all series of one dimension whose values are positive.
fn read_annotated(folder: &Path) -> Result<Vec<Annotated>> {
    let all = read_json(&folder.join("annotations.json"))?;
    let all: BTreeMap<String, BTreeMap<String, Vec<u64>>> = serde_json::from_value(all)?;
    let mut found = Vec::new();
    for (name, annotations) in all {
        let file = folder
            .join("datasets")
            .join(&name)
            .join(format!("{name}.json"));
        if !file.exists() {
            continue;
        }
        let Some(values) = positive_values(&read_json(&file)?) else {
            continue;
        };
        let annotations: Vec<Vec<u64>> = annotations.into_values().collect();
        let changes = named_by_most(&annotations);
        println!(
            "annotated: {name}: {} values, changes {changes:?}",
            values.len()
        );
        found.push(Annotated {
            series: series_of_values(&values),
            changes,
        });
    }
    Ok(found)
}

fn read_json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

fn positive_values(file: &Value) -> Option<Vec<f64>> {
    let [only] = &file["series"].as_array()?[..] else {
        return None;
    };
    let values = only["raw"].as_array()?.iter();
    let values = values.map(|value| value.as_f64().filter(|value| *value > 0.0));
    values.collect()
}

/// Returns places that more than half of the annotators give, each by its first annotation.
fn named_by_most(annotations: &[Vec<u64>]) -> Vec<usize> {
    let mut all: Vec<u64> = annotations.iter().flatten().copied().collect();
    all.sort_unstable();
    let mut found: Vec<u64> = Vec::new();
    for place in all {
        let names = |by: &&Vec<u64>| by.iter().any(|other| other.abs_diff(place) <= SAME);
        let votes = annotations.iter().filter(names).count();
        let is_new = found.iter().all(|other| other.abs_diff(place) > SAME);
        if 2 * votes > annotations.len() && is_new {
            found.push(place);
        }
    }
    let found = found.into_iter().filter_map(|at| usize::try_from(at).ok());
    found.collect()
}

fn series_of_values(values: &[f64]) -> RunSeries {
    let point = |(index, value): (usize, &f64)| RunPoint {
        run_id: format!("run{index}"),
        started_unix_ms: index as u64,
        trials: vec![*value],
    };
    RunSeries {
        points: values.iter().enumerate().map(point).collect(),
        better: Better::Higher,
        tail: false,
        margin: None,
    }
}

/// Smallest number of runs between two changes, and between a change and an end.
const APART: u64 = 10;

/// Series and its changes.
struct Drawn {
    /// Series of runs.
    series: RunSeries,
    /// Indices of the first runs after each change.
    changes: Vec<usize>,
}

/// Disturbance of a series in addition to noise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Disturbance {
    None,
    /// The level rises or falls over the whole series, by up to 6 %.
    Line(f64),
    /// The level oscillates by up to 2 %: amplitude and number of periods.
    Wave(f64, f64),
    /// Single runs are off by 5 to 40 %, three in a hundred.
    Outliers,
    /// The noise has this factor (second value) from this share of the series (first value) on.
    Spread(f64, f64),
}

/// Draws a series of 40 to 200 runs, with noise of 0.3 to 3 % between runs and within them. Three
/// of ten have no change, the others one to three of 2 to 20 %.
fn draw_series(seed: u64) -> Drawn {
    let mut rng = SplitMix64::new(SplitMix64::mix(seed));
    let length = 40 + rng.below(161);
    draw_runs(&mut rng, length)
}

/// Draws a series like [`draw_series`] with `length` runs.
fn draw_runs(rng: &mut SplitMix64, length: u64) -> Drawn {
    let changes = places(rng, length);
    let disturbance = disturbance(rng);
    let mut noise = Noise::draw(rng);
    let mut level = 0.0;
    let mut points = Vec::new();
    for index in 0..length {
        if changes.contains(&index) {
            let size = (0.02 + 0.18 * rng.fraction()).ln_1p();
            level += if rng.below(2) == 0 { size } else { -size };
        }
        let share = index as f64 / length as f64;
        let off = disturbance.at(share, rng);
        points.push(noise.run(index, level + off, disturbance.spread(share), rng));
    }
    let changes = changes
        .into_iter()
        .filter_map(|at| usize::try_from(at).ok());
    Drawn {
        series: series_of_points(points),
        changes: changes.collect(),
    }
}

/// Draws a series that consists of noise only.
fn draw_quiet(seed: u64, runs: u64) -> RunSeries {
    let mut rng = SplitMix64::new(SplitMix64::mix(!seed));
    let mut noise = Noise::draw(&mut rng);
    let runs = 0..runs;
    series_of_points(
        runs.map(|index| noise.run(index, 0.0, 1.0, &mut rng))
            .collect(),
    )
}

fn series_of_points(points: Vec<RunPoint>) -> RunSeries {
    RunSeries {
        points,
        better: Better::Higher,
        tail: false,
        margin: None,
    }
}

fn places(rng: &mut SplitMix64, length: u64) -> Vec<u64> {
    let wanted = if rng.fraction() < 0.3 {
        0
    } else {
        1 + rng.below(3)
    };
    let mut places: Vec<u64> = Vec::new();
    for _ in 0..wanted {
        let place = APART + rng.below(length - 2 * APART + 1);
        if places.iter().all(|other| other.abs_diff(place) >= APART) {
            places.push(place);
        }
    }
    places.sort_unstable();
    places
}

fn disturbance(rng: &mut SplitMix64) -> Disturbance {
    let size = rng.fraction();
    match rng.below(5) {
        0 => Disturbance::Line(0.12 * (size - 0.5)),
        1 => Disturbance::Wave(0.02 * size, 0.5 + 2.0 * rng.fraction()),
        2 => Disturbance::Outliers,
        3 => Disturbance::Spread(0.2 + 0.6 * rng.fraction(), 1.5 + 2.0 * size),
        _ => Disturbance::None,
    }
}

impl Disturbance {
    /// Change of a run's logarithm at this share of the series.
    fn at(self, share: f64, rng: &mut SplitMix64) -> f64 {
        match self {
            Self::Line(size) => size * share,
            Self::Wave(size, periods) => size * (std::f64::consts::TAU * periods * share).sin(),
            Self::Outliers if rng.fraction() < 0.03 => {
                let size = 0.05 + 0.35 * rng.fraction();
                // Disturbed runs are slower more often than faster.
                if rng.below(4) == 0 { size } else { -size }
            }
            _ => 0.0,
        }
    }

    fn spread(self, share: f64) -> f64 {
        match self {
            Self::Spread(from, times) if share >= from => times,
            _ => 1.0,
        }
    }
}

/// Noise between runs and within them.
struct Noise {
    between: f64,
    within: f64,
    trials: u64,
}

impl Noise {
    fn draw(rng: &mut SplitMix64) -> Self {
        let mut size = || 0.003 * 10.0_f64.powf(rng.fraction());
        let (between, within) = (size(), size());
        let trials = 3 + rng.below(3);
        Self {
            between,
            within,
            trials,
        }
    }

    fn run(&mut self, index: u64, level: f64, spread: f64, rng: &mut SplitMix64) -> RunPoint {
        let run = level + spread * self.between * normal(rng);
        let trial = |_| 100.0 * (run + spread * self.within * normal(rng)).exp();
        RunPoint {
            run_id: format!("run{index}"),
            started_unix_ms: 86_400_000 * index,
            trials: (0..self.trials).map(trial).collect(),
        }
    }
}

fn normal(rng: &mut SplitMix64) -> f64 {
    normal_quantile((rng.fraction() + 1e-17).min(1.0 - 1e-16))
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
