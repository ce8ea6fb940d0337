//! File of measured rates, as CSV.

use crate::checks::input::small_text;
use crate::exit::Failure;
use assay_explain::fit_input::FittedRate;
use assay_explain::on_bus::parse_rate;
use assay_flash::BLOCK_BYTES;
use assay_flash::estimate::Observation;
use assay_model::job::Direction;
use assay_model::units::Bytes;
use std::path::Path;

/// Reads the rates of a file.
pub fn read(file: &Path) -> Result<Vec<FittedRate>, Failure> {
    let refused = |why: String| Failure::in_file(file, why);
    let text = small_text(file).map_err(|error| Failure::in_file(file, error))?;
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

/// Optional first line.
const HEAD: &str = "rw,bs,rate";

fn line(text: &str) -> Result<FittedRate, String> {
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
    let bytes = size.parse::<Bytes>().map_err(|error| error.to_string())?.0;
    if bytes == 0 || bytes % BLOCK_BYTES != 0 {
        return Err(format!("'{size}' is not a multiple of 512 bytes"));
    }
    let rate = parse_rate(rate)?.0;
    Ok(FittedRate {
        job: None,
        pattern: pattern.to_owned(),
        size: size.to_owned(),
        seen: Observation {
            direction,
            random,
            blocks: bytes / BLOCK_BYTES,
            rate,
            repeated: None,
        },
    })
}
