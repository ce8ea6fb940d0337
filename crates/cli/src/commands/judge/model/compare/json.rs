//! The experiment as JSON.

use super::super::check;
use super::{Errors, Outcome, Table};
use assay_flash::device::RequestPhase;
use assay_flash::experiment::{Parameter, PublishedFigure, SOURCE};
use serde_json::{Map, Value, json};

/// Returns the whole outcome as JSON.
pub fn value(outcome: &Outcome) -> Value {
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
