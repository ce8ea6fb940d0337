//! Simulated series of runs with known changes.

use assay_model::figures::Better;
use assay_model::rng::SplitMix64;
use assay_stats::changes::{RunPoint, RunSeries};
use assay_stats::distributions::normal_quantile;

/// Smallest number of runs between two changes, and between a change and an end.
const APART: u64 = 10;

/// Series and its changes.
pub struct Drawn {
    /// Series of runs.
    pub series: RunSeries,
    /// Indices of the first runs after each change.
    pub changes: Vec<usize>,
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
pub fn draw(seed: u64) -> Drawn {
    let mut rng = SplitMix64::new(SplitMix64::mix(seed));
    let length = 40 + rng.below(161);
    draw_runs(&mut rng, length)
}

/// Draws a series like [`draw`] with `length` runs.
pub fn draw_runs(rng: &mut SplitMix64, length: u64) -> Drawn {
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
        series: series(points),
        changes: changes.collect(),
    }
}

/// Draws a series that consists of noise only.
pub fn quiet(seed: u64, runs: u64) -> RunSeries {
    let mut rng = SplitMix64::new(SplitMix64::mix(!seed));
    let mut noise = Noise::draw(&mut rng);
    let runs = 0..runs;
    series(
        runs.map(|index| noise.run(index, 0.0, 1.0, &mut rng))
            .collect(),
    )
}

fn series(points: Vec<RunPoint>) -> RunSeries {
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
