//! `assay model compare`: the multi-block experiment.

mod json;
mod text;

use super::args::CompareArgs;
use crate::exit::{DONE, Failure};
use assay_flash::FlashError;
use assay_flash::check::{Checked, check};
use assay_flash::experiment::{Experiment, PublishedFigure, mean_and_worst};
use assay_flash::policy::Policy;
use std::process::ExitCode;

/// The policies of the published table.
const PUBLISHED: [Policy; 2] = [Policy::Closed, Policy::OPEN];
/// Alternative policies.
const ALTERNATIVES: [Policy; 4] = [
    Policy::Closed,
    Policy::OPEN,
    Policy::OPEN_SAFE,
    Policy::OPEN_AFTER_TWO,
];

/// Fits the model to the published table, and shows the results.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let outcome = Outcome::of(&policies(args))?;
    args.output
        .present(|| json::value(&outcome), || text::document(&outcome))?;
    Ok(DONE)
}

/// Returns the given policies without repetitions, in their order.
fn policies(args: &CompareArgs) -> Vec<Policy> {
    let mut policies: Vec<Policy> = Vec::new();
    for policy in &args.policies {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    match policies.as_slice() {
        [] => PUBLISHED.to_vec(),
        _ => policies,
    }
}

/// Data to show.
struct Outcome {
    experiment: Experiment,
    /// Table of each requested policy.
    tables: Vec<Table>,
    /// Tables of the alternative policies.
    alternatives: Vec<Table>,
    /// Rules that each policy can break.
    checked: Vec<Result<Checked, FlashError>>,
    fit: Errors,
    left_out: Errors,
}

/// Figures under one policy.
struct Table {
    policy: Policy,
    cells: Vec<PublishedFigure>,
}

/// Absolute errors, in percent.
struct Errors {
    count: usize,
    mean: f64,
    worst: f64,
}

impl Errors {
    fn of(errors: &[f64]) -> Self {
        let (mean, worst) = mean_and_worst(errors);
        Self {
            count: errors.len(),
            mean,
            worst,
        }
    }
}

impl Outcome {
    fn of(policies: &[Policy]) -> Result<Self, Failure> {
        let experiment = Experiment::of_table();
        let experiment = experiment.map_err(Failure::failed)?;
        // Errors are those of the fit to the published table, even if other policies are shown.
        let published = tables(&experiment, &PUBLISHED)?;
        let of_all = |of: fn(&PublishedFigure) -> Option<f64>| {
            let cells = published.iter().flat_map(|table| &table.cells);
            Errors::of(&cells.filter_map(of).collect::<Vec<_>>())
        };
        Ok(Self {
            tables: tables(&experiment, policies)?,
            alternatives: tables(&experiment, &ALTERNATIVES)?,
            checked: policies.iter().map(|policy| check(*policy)).collect(),
            fit: of_all(PublishedFigure::error_percent),
            left_out: of_all(PublishedFigure::left_out_percent),
            experiment,
        })
    }
}

fn tables(experiment: &Experiment, policies: &[Policy]) -> Result<Vec<Table>, Failure> {
    let table = |policy: &Policy| {
        let cells = experiment.cells(*policy);
        let cells = cells.map_err(Failure::usage)?;
        Ok(Table {
            policy: *policy,
            cells,
        })
    };
    policies.iter().map(table).collect()
}
