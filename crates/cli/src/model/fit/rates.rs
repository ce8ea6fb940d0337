//! `assay model fit`: parameters of a part from measured rates.

use super::args::{FitArgs, parse_rate};
use super::simulate::find;
use super::table;
use crate::args::parse_size;
use crate::exit::{DONE, Failure};
use crate::output::print;
use assay_flash::BLOCK_BYTES;
use assay_flash::estimate::{Estimated, Observation, estimate};
use assay_flash::part::Part;
use assay_model::job::Direction;
use assay_model::units::BytesPerSec;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The longest file of rates.
const MOST_BYTES: u64 = 1 << 20;

/// Fits, and shows the estimates.
pub fn run(args: &FitArgs) -> Result<ExitCode, Failure> {
    let start = find(&args.part)?;
    let lines = read(&args.file)?;
    let seen: Vec<Observation> = lines.iter().map(|line| line.seen).collect();
    let estimated = estimate(&start, args.policy, &seen);
    let estimated = estimated.map_err(|error| Failure::usage(error.to_string()))?;
    if args.json {
        let value = value(&start, &lines, &estimated);
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        print(|out| write(&start, &lines, &estimated, out))?;
    }
    Ok(DONE)
}

/// A line of the file.
struct Line {
    pattern: String,
    size: String,
    seen: Observation,
}

fn read(file: &Path) -> Result<Vec<Line>, Failure> {
    let refused = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let meta = fs::metadata(file).map_err(|error| refused(error.to_string()))?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(refused("it is no file, or longer than 1 MiB".to_owned()));
    }
    let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    let mut lines = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') || (number == 0 && text == HEAD) {
            continue;
        }
        lines.push(line(text).map_err(|why| refused(format!("line {}: {why}", number + 1)))?);
    }
    if lines.is_empty() {
        return Err(refused(format!(
            "there are no rates in it: lines are {HEAD}"
        )));
    }
    Ok(lines)
}

/// The first line, which may be there.
const HEAD: &str = "rw,bs,rate";

fn line(text: &str) -> Result<Line, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [pattern, size, rate] = fields[..] else {
        return Err(format!("it must have three fields, {HEAD}"));
    };
    let (direction, random) = match pattern {
        "read" => (Direction::Read, false),
        "write" => (Direction::Write, false),
        "randread" => (Direction::Read, true),
        "randwrite" => (Direction::Write, true),
        _ => {
            return Err(format!(
                "'{pattern}' is not read, write, randread or randwrite"
            ));
        }
    };
    let bytes = parse_size(size).map_err(|error| error.to_string())?.0;
    if bytes == 0 || bytes % BLOCK_BYTES != 0 {
        return Err(format!("'{size}' is no multiple of 512 bytes"));
    }
    let rate = parse_rate(rate)?.0;
    Ok(Line {
        pattern: pattern.to_owned(),
        size: size.to_owned(),
        seen: Observation {
            direction,
            random,
            blocks: bytes / BLOCK_BYTES,
            rate,
        },
    })
}

fn off_percent(line: &Line, rate: f64) -> f64 {
    (rate / line.seen.rate - 1.0) * 100.0
}

fn value(start: &Part, lines: &[Line], found: &Estimated) -> Value {
    let parameters = found.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "unit": parameter.unit,
            "value": parameter.value,
            "std_error": parameter.error,
        })
    });
    let rates = lines.iter().zip(&found.rates).map(|(line, rate)| {
        json!({
            "rw": line.pattern,
            "block_size": line.size,
            "measured_bytes_per_s": line.seen.rate,
            "model_bytes_per_s": rate,
            "error_pct": off_percent(line, *rate),
        })
    });
    json!({
        "schema": 1,
        "start": start.name,
        "parameters": parameters.collect::<Vec<_>>(),
        "rates": rates.collect::<Vec<_>>(),
    })
}

fn write(start: &Part, lines: &[Line], found: &Estimated, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} rates, fitted from {} on\n",
        lines.len(),
        start.name
    )?;
    table::write_parameters(&found.parameters, out)?;
    writeln!(out)?;
    let rows = lines.iter().zip(&found.rates).map(|(line, rate)| {
        vec![
            line.pattern.clone(),
            line.size.clone(),
            BytesPerSec(line.seen.rate).to_string(),
            BytesPerSec(*rate).to_string(),
            format!("{:+.1} %", off_percent(line, *rate)),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table::write(&["rw", "bs", "measured", "model", "error"], &rows, 2, out)?;
    writeln!(out)?;
    table::paragraph(
        "Rates must be of the device, not of the page cache, with one I/O after the other. What \
         cannot be told keeps the value of the part that the fit began with.",
        0,
        out,
    )
}
