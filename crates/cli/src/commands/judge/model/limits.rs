//! `assay model limits`: ceilings of buses, and measured rates below them.

use super::LimitsArgs;
use crate::checks::part::bus_mode;
use crate::exit::{DONE, Failure};
use assay_explain::on_bus::OnBus;
use assay_model::device::{Ceiling, all_ceilings};
use assay_model::job::Direction;
use assay_report::document::{Column, Document, Section, Table, TableRow};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Shows the ceilings, and measured rates.
pub fn run(args: &LimitsArgs) -> Result<ExitCode, Failure> {
    let ceilings = match &args.bus {
        Some(word) => vec![bus_mode(word)?],
        None => all_ceilings(),
    };
    let measured = measured(args, &ceilings)?;
    let values = || {
        let limits: Vec<Value> = ceilings.iter().map(value).collect();
        let measured: Vec<Value> = measured.iter().map(OnBus::value).collect();
        json!({ "schema": 1, "limits": limits, "measured": measured })
    };
    args.output
        .present(values, || document(&ceilings, &measured))?;
    Ok(DONE)
}

fn measured(args: &LimitsArgs, ceilings: &[Ceiling]) -> Result<Vec<OnBus>, Failure> {
    let [ceiling] = ceilings else {
        return Ok(Vec::new());
    };
    let given = [(Direction::Read, args.read), (Direction::Write, args.write)];
    let given = given
        .into_iter()
        .filter_map(|(direction, rate)| Some((direction, rate?)));
    let flash = ["eMMC", "SD", "UFS"].contains(&ceiling.bus);
    let of = |rate| {
        OnBus::of(rate, ceiling, args.request, flash)
            .ok_or_else(|| Failure::usage("--request must not be 0"))
    };
    given.map(of).collect()
}

fn value(ceiling: &Ceiling) -> Value {
    json!({
        "bus": ceiling.bus,
        "mode": ceiling.mode,
        "nominal_bytes_per_s": ceiling.nominal,
        "read_bytes_per_s": ceiling.read,
        "write_bytes_per_s": ceiling.write,
        "command_us": ceiling.command_us,
        "formula": ceiling.formula,
        "source": ceiling.source,
    })
}

/// Makes the document: measured rates first, then the ceilings.
fn document(ceilings: &[Ceiling], measured: &[OnBus]) -> Document {
    // Below 1000 MB/s a decimal matters: 101.4 and 100.7 are two figures.
    let mb = |rate: f64| match rate / 1e6 {
        rate if rate < 1000.0 => format!("{rate:.1}").into(),
        rate => format!("{rate:.0}").into(),
    };
    let row = |ceiling: &Ceiling| {
        TableRow::new(vec![
            ceiling.bus.into(),
            ceiling.mode.clone().into(),
            mb(ceiling.nominal),
            mb(ceiling.read),
            mb(ceiling.write),
        ])
    };
    let mut section = Section::new("limits", "");
    for measured in measured {
        section.say(measured.sentence(), None);
    }
    section.table(Table {
        columns: ["bus", "mode"]
            .map(Column::text)
            .into_iter()
            .chain(["nominal", "read", "write"].map(Column::number))
            .collect(),
        rows: ceilings.iter().map(row).collect(),
    });
    if let [ceiling] = ceilings {
        section.say(ceiling.formula.as_str(), None);
        section.say(ceiling.source, None);
    } else {
        let note = "Ceilings count the framing of data, not commands, interrupts or the device. \
                    --bus MODE shows a formula and its source, --json all of them.";
        section.say(note, None);
    }
    let title = "Payload ceilings of buses in MB/s (1 MB is 1000000 bytes)";
    let mut document = Document::new(title.to_owned());
    document.push(section);
    document
}
