//! `assay model limits`: ceilings of buses, and measured rates below them.

use super::args::LimitsArgs;
use super::table::{self, paragraph};
use crate::exit::{DONE, Failure};
use crate::output::print;
use assay_model::job::Direction;
use assay_model::limits::{Ceiling, Placed, all, find};
use assay_model::units::{Bytes, BytesPerSec, three_digits};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

/// Shows them.
pub fn run(args: &LimitsArgs) -> Result<ExitCode, Failure> {
    let ceilings = match &args.bus {
        Some(word) => vec![known(word)?],
        None => all(),
    };
    let measured = measured(args, &ceilings)?;
    if args.json {
        let limits: Vec<Value> = ceilings.iter().map(value).collect();
        let measured: Vec<Value> = measured.iter().map(Measured::value).collect();
        let value = json!({ "schema": 1, "limits": limits, "measured": measured });
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        print(|out| write_all(&ceilings, &measured, out))?;
    }
    Ok(DONE)
}

fn known(word: &str) -> Result<Ceiling, Failure> {
    find(word).ok_or_else(|| {
        let near = all().into_iter().map(|ceiling| ceiling.mode);
        let likeness = |mode: &String| strsim::jaro_winkler(mode, &word.to_ascii_lowercase());
        let near = near.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        Failure::usage(format!(
            "no bus is called '{word}': did you mean '{}'? (assay model limits lists all)",
            near.unwrap_or_default()
        ))
    })
}

/// A measured rate beside its ceiling.
struct Measured {
    direction: Direction,
    rate: BytesPerSec,
    ceiling: BytesPerSec,
    request: Bytes,
    placed: Placed,
}

fn measured(args: &LimitsArgs, ceilings: &[Ceiling]) -> Result<Vec<Measured>, Failure> {
    let [ceiling] = ceilings else {
        return Ok(Vec::new());
    };
    let given = [
        (Direction::Read, args.read, ceiling.read),
        (Direction::Write, args.write, ceiling.write),
    ];
    let given = given
        .into_iter()
        .filter_map(|(direction, rate, limit)| Some((direction, rate?, limit)));
    let of = |(direction, rate, limit): (Direction, BytesPerSec, f64)| {
        let placed = Placed::of(rate.0, limit, args.request.0);
        let placed = placed.ok_or_else(|| Failure::usage("--request must not be 0"))?;
        Ok(Measured {
            direction,
            rate,
            ceiling: BytesPerSec(limit),
            request: args.request,
            placed,
        })
    };
    given.map(of).collect()
}

impl Measured {
    fn value(&self) -> Value {
        json!({
            "direction": self.direction.to_string(),
            "measured_bytes_per_s": self.rate.0,
            "ceiling_bytes_per_s": self.ceiling.0,
            "share": self.placed.share,
            "request_bytes": self.request.0,
            "request_us": self.placed.request_us,
            "wire_us": self.placed.wire_us,
            "other_us": self.placed.other_us(),
        })
    }

    /// What the distance to the ceiling is made of, as far as it can be told.
    fn sentence(&self) -> String {
        let (name, placed) = (self.direction, &self.placed);
        let percent = placed.share * 100.0;
        let head = format!(
            "{name}: {} is {percent:.1} % of {}.",
            self.rate, self.ceiling
        );
        if placed.share > 1.0 {
            return format!(
                "{head} More than the bus carries: it was not this bus, not in this mode, or \
                 not the device that was measured."
            );
        }
        let rest = match self.direction {
            Direction::Read => {
                "commands, interrupts, the host driver and the card's reading, which did not \
                 overlap with the data"
            }
            Direction::Write => {
                "commands, the host driver and above all the card's programming, which the bus \
                 waits for"
            }
        };
        format!(
            "{head} Of each request of {}, {} µs are its data on the wire and {} µs are not: \
             {rest}. Which of them cannot be told from one rate: rates of several sizes can.",
            self.request,
            three_digits(placed.wire_us),
            three_digits(placed.other_us()),
        )
    }
}

fn value(ceiling: &Ceiling) -> Value {
    json!({
        "bus": ceiling.bus,
        "mode": ceiling.mode,
        "nominal_bytes_per_s": ceiling.nominal,
        "read_bytes_per_s": ceiling.read,
        "write_bytes_per_s": ceiling.write,
        "formula": ceiling.formula,
        "source": ceiling.source,
    })
}

fn write_all(ceilings: &[Ceiling], measured: &[Measured], out: &mut dyn Write) -> io::Result<()> {
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
