//! Candidates for change points are those of Apache Otava.

use assay_model::rng::SplitMix64;
use assay_stats::changes::{Windows, suspects};
use assay_testkit::{Otava, or_skip};

/// Series of all kinds: steps, drifts, spikes, values that repeat, short and long ones.
fn series(seed: u64) -> Vec<f64> {
    let mut rng = SplitMix64::new(seed);
    let length = 1 + rng.below(180);
    let (step, drift) = (rng.fraction() * 0.2, (rng.fraction() - 0.5) * 0.002);
    let every = 5 + rng.below(60);
    let rounded = rng.below(4) == 0;
    let mut level = 100.0;
    let mut values = Vec::new();
    for index in 0..length {
        if index % every == every - 1 && rng.below(2) == 0 {
            level *= 1.0 + step * (rng.fraction() - 0.5);
        }
        let noise: f64 = (0..4).map(|_| rng.fraction() - 0.5).sum();
        let spike = if rng.below(40) == 0 { 1.3 } else { 1.0 };
        let value = level * (1.0 + drift * index as f64 + 0.02 * noise) * spike;
        values.push(if rounded { value.round() } else { value });
    }
    values
}

#[test]
fn candidates_are_those_of_otava() {
    let otava = or_skip!(Otava::of_tests());
    let all: Vec<Vec<f64>> = (0..600).map(series).collect();
    let mut points = 0;
    for windows in [
        Windows::default(),
        Windows {
            length: 30,
            max_p: 0.05,
            min_magnitude: 0.05,
        },
        Windows {
            length: 10,
            max_p: 0.2,
            min_magnitude: 0.0,
        },
    ] {
        let found = otava.change_points(&all, windows.length, windows.max_p, windows.min_magnitude);
        for (values, expected) in all.iter().zip(found.unwrap()) {
            let ours = suspects(values, &windows);
            let ours: Vec<usize> = ours.iter().map(|suspect| suspect.index).collect();
            assert_eq!(ours, expected, "{windows:?} {values:?}");
            points += expected.len();
        }
    }
    assert!(points > 1_000, "{points} change points");
}
