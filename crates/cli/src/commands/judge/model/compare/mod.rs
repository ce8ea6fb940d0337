//! `assay model compare`: the multi-block experiment.

mod text;

use super::{CompareArgs, check};
use crate::exit::{DONE, Failure};
use assay_flash::FlashError;
use assay_flash::check::{Checked, check};
use assay_flash::device::RequestPhase;
use assay_flash::experiment::{Experiment, Parameter, PublishedFigure, SOURCE, mean_and_worst};
use assay_flash::policy::Policy;
use serde_json::{Map, Value, json};
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
        .present(|| value(&outcome), || text::document(&outcome))?;
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

/// Returns the whole outcome as JSON.
fn value(outcome: &Outcome) -> Value {
    json!({
        "schema": 1,
        "source": SOURCE,
        "cells": cells(&outcome.tables),
        "errors_pct": {
            "fit": errors(&outcome.fit),
            "left_out": errors(&outcome.left_out),
        },
        "parameters": outcome.experiment.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "changes": changes(&outcome.tables),
        "rules": outcome.checked.iter().flatten().map(check::value).collect::<Vec<_>>(),
        "alternatives": cells(&outcome.alternatives),
    })
}

fn errors(errors: &Errors) -> Value {
    json!({ "figures": errors.count, "mean_abs": errors.mean, "max_abs": errors.worst })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "unit": parameter.unit,
        "value": parameter.value,
        "std_error": parameter.error,
    })
}

fn cells(tables: &[Table]) -> Vec<Value> {
    let cells = tables.iter().flat_map(|table| &table.cells);
    cells.map(cell).collect()
}

fn cell(cell: &PublishedFigure) -> Value {
    json!({
        "tool": cell.row.tool.name(),
        "workload": cell.row.workload,
        "block_size": cell.row.block_size,
        "unit": cell.row.unit,
        "policy": cell.policy.to_string(),
        "published": cell.published,
        "model": cell.model,
        "error_pct": cell.error_percent(),
        "left_out_model": cell.left_out,
        "left_out_error_pct": cell.left_out_percent(),
        "io_us": cell.io_us,
        "phases_us": phases(|phase| cell.phase_us(phase)),
        "left_us": cell.left_us(),
    })
}

fn phases(of: impl Fn(RequestPhase) -> f64) -> Value {
    let phases = RequestPhase::ALL.map(|phase| (phase.name().to_owned(), of(phase).into()));
    Value::Object(Map::from_iter(phases))
}

/// Returns the time that each further policy saved or cost, in microseconds per I/O.
fn changes(tables: &[Table]) -> Vec<Value> {
    let Some((base, others)) = tables.split_first() else {
        return Vec::new();
    };
    let pairs = others
        .iter()
        .flat_map(|other| base.cells.iter().zip(&other.cells));
    let change = |(before, after): (&PublishedFigure, &PublishedFigure)| {
        json!({
            "tool": after.row.tool.name(),
            "workload": after.row.workload,
            "block_size": after.row.block_size,
            "policy": after.policy.to_string(),
            "baseline": before.policy.to_string(),
            "io_us": after.io_us - before.io_us,
            "phases_us": phases(|phase| after.phase_us(phase) - before.phase_us(phase)),
            "left_us": after.left_us() - before.left_us(),
        })
    };
    pairs.map(change).collect()
}
