//! The tables of the method, and what must never happen.

mod agree;
mod hard;
mod looks;
mod tables;

use super::*;
use assay_model::figures::{Better, Figure, Sample};
use proptest::prelude::*;

/// A figure of a benchmark that prints mean and deviation, or of trials.
fn figure(condition: &str, metric: &str, unit: &str, sample: Sample) -> Figure {
    Figure {
        condition: condition.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample,
        measured: None,
        waited: None,
    }
}

fn of_values(values: &[f64]) -> Figure {
    ordered(values, &[])
}

fn ordered(values: &[f64], positions: &[f64]) -> Figure {
    let sample = Sample::Values {
        values: values.to_vec(),
        positions: positions.to_vec(),
    };
    figure("", "bw", "MB/s", sample)
}

#[test]
fn what_is_beyond_all_numbers_is_absent() {
    let found = change(0.0, Some((-0.1, 1e4)), Better::Higher).unwrap();
    assert_eq!((found.percent, found.interval), (0.0, None));
    assert_eq!(change(1e4, None, Better::Higher), None);
    let small = change(1.1f64.ln(), Some((0.0, 1.2f64.ln())), Better::Higher).unwrap();
    assert!((small.percent - 10.0).abs() < 1e-9);
    assert!((small.interval.unwrap().1 - 20.0).abs() < 1e-9);
}

/// 201 us to 1.46 ms is +626 %, however bad that is.
#[test]
fn a_change_is_that_of_the_quantity() {
    let d = -(1_460.0f64 / 201.0).ln();
    let interval = Some((d - 0.1, d + 0.2));
    let time = change(d, interval, Better::Lower).unwrap();
    assert!((time.percent - 626.4).abs() < 0.1, "{time:?}");
    let (low, high) = time.interval.unwrap();
    assert!(low < time.percent && time.percent < high, "{time:?}");
    assert!((high / 100.0).ln_1p() - time.log() < 0.100_001);
    let rate = change(d, interval, Better::Higher).unwrap();
    assert!((rate.percent + 86.2).abs() < 0.1, "{rate:?}");
}

fn near(found: &[Adjusted], truth: &[f64]) {
    for (found, truth) in found.iter().zip(truth) {
        assert!((found.p - truth).abs() < 1e-12, "{} {truth}", found.p);
    }
}

/// As R's `p.adjust` gives them.
#[test]
fn corrected_values_are_those_of_r() {
    let p = [0.01, 0.04, 0.03, 0.005, 0.5];
    near(&holm(&p, 0.05), &[0.04, 0.09, 0.09, 0.025, 0.5]);
    near(
        &benjamini_hochberg(&p, 0.1),
        &[0.025, 0.05, 0.05, 0.025, 0.5],
    );
    assert!(holm(&[], 0.05).is_empty() && benjamini_hochberg(&[], 0.1).is_empty());
}

/// The second would pass alone.
#[test]
fn nothing_is_found_after_the_first_that_fails() {
    let found = holm(&[0.03, 0.03], 0.05);
    assert!(
        found
            .iter()
            .all(|adjusted| (adjusted.level - 0.025).abs() < 1e-12)
    );
}

proptest! {
    #[test]
    fn level_and_corrected_value_decide_alike(p in prop::collection::vec(prop_oneof![0.0..0.06, 0.0..1.0], 1..12)) {
        for (adjusted, alpha) in [(holm(&p, 0.05), 0.05), (benjamini_hochberg(&p, 0.1), 0.1)] {
            for (raw, adjusted) in p.iter().zip(&adjusted) {
                prop_assert_eq!(*raw <= adjusted.level, adjusted.p <= alpha);
            }
        }
    }
}
