//! User's claims about the device: `--bus` and `--datasheet`.

use super::QualifyArgs;
use crate::checks::{input, toml_file};
use crate::exit::Failure;
use assay_model::limits::find;
use assay_model::run::{Claims, Datasheet};
use std::path::Path;

/// Reads the claims; returns `None` when there are none.
pub fn of(args: &QualifyArgs) -> Result<Option<Claims>, Failure> {
    if args.bus.is_none() && args.datasheet.is_none() {
        return Ok(None);
    }
    if let Some(word) = args.bus.as_deref().filter(|word| find(word).is_none()) {
        return Err(Failure::usage(format!(
            "no bus is called '{word}': assay model limits lists them"
        )));
    }
    let datasheet = args.datasheet.as_deref().map(read).transpose()?;
    Ok(Some(Claims {
        bus: args.bus.clone(),
        datasheet,
    }))
}

fn read(path: &Path) -> Result<Datasheet, Failure> {
    let refused = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let text = input::text(path).map_err(|error| refused(error.to_string()))?;
    let sheet: Datasheet = toml_file::read(&text)
        .map_err(|mistake| refused(format!("it is not a datasheet: {mistake}")))?;
    match sheet.problem() {
        Some(field) => Err(refused(format!("{field} must be a number above 0"))),
        None => Ok(sheet),
    }
}
