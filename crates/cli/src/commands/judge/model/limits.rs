//! `assay model limits`: ceilings of buses, and measured rates below them.

use super::args::LimitsArgs;
use crate::checks::part::bus_mode;
use crate::exit::{DONE, Failure};
use crate::output::print;
use crate::ui::paragraph;
use assay_explain::on_bus::OnBus;
use assay_explain::table;
use assay_model::job::Direction;
use assay_model::limits::{Ceiling, all};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

/// Shows them.
pub fn run(args: &LimitsArgs) -> Result<ExitCode, Failure> {
    let ceilings = match &args.bus {
        Some(word) => vec![bus_mode(word)?],
        None => all(),
    };
    let measured = measured(args, &ceilings)?;
    if args.json {
        let limits: Vec<Value> = ceilings.iter().map(value).collect();
        let measured: Vec<Value> = measured.iter().map(OnBus::value).collect();
        let value = json!({ "schema": 1, "limits": limits, "measured": measured });
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        print(|out| write_all(&ceilings, &measured, out))?;
    }
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

fn write_all(ceilings: &[Ceiling], measured: &[OnBus], out: &mut dyn Write) -> io::Result<()> {
    // 101.4 and 100.7 are two figures.
    let mb = |rate: f64| match rate / 1e6 {
        rate if rate < 1000.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    };
    let rows = ceilings.iter().map(|ceiling| {
        vec![
            ceiling.bus.to_owned(),
            ceiling.mode.clone(),
            mb(ceiling.nominal),
            mb(ceiling.read),
            mb(ceiling.write),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    writeln!(out, "MB/s (1 MB is 1000000 bytes)")?;
    table::write(&["bus", "mode", "nominal", "read", "write"], &rows, 2, out)?;
    let [ceiling] = ceilings else {
        let note = "Ceilings count the framing of data, not commands, interrupts or the device. \
                    --bus MODE shows a formula and its source, --json all of them.";
        writeln!(out)?;
        return paragraph(note, 0, out);
    };
    writeln!(out)?;
    paragraph(&ceiling.formula, 2, out)?;
    paragraph(ceiling.source, 2, out)?;
    for measured in measured {
        writeln!(out)?;
        paragraph(&measured.sentence(), 0, out)?;
    }
    Ok(())
}
