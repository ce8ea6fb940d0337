//! The tables of the method, and what must never happen.

mod agree;
mod hard;
mod looks;
mod tables;

use assay_model::figures::{Better, Figure, Sample};

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
