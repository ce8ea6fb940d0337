//! Buses and parts that the user names.

use crate::checks::toml_file::meant;
use crate::exit::Failure;
use assay_flash::part::DeviceModel;
use assay_model::limits::{self, Ceiling};
use std::fs;

/// The longest file of a part.
const MOST_BYTES: u64 = 1 << 20;

/// Mode of a bus by its name.
pub fn bus_mode(word: &str) -> Result<Ceiling, Failure> {
    limits::find(word).ok_or_else(|| {
        let all = limits::all();
        let modes = all.iter().map(|ceiling| ceiling.mode.as_str());
        let meant = meant(&word.to_ascii_lowercase(), modes);
        Failure::usage(format!(
            "no bus is called '{word}'{meant}: assay model limits lists all"
        ))
    })
}

/// Model of a part: a built-in one by its name, or that of a file.
pub fn device_model(word: &str) -> Result<DeviceModel, Failure> {
    if let Some(part) = DeviceModel::find(word) {
        return Ok(part);
    }
    let refused = |why: String| Failure::usage(format!("{word}: {why}"));
    let meta = fs::metadata(word).map_err(|error| {
        refused(format!(
            "no part is called so: there are {}; as a file it cannot be read: {error}",
            DeviceModel::known_names()
        ))
    })?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(refused("it is not a file, or longer than 1 MiB".to_owned()));
    }
    let text = fs::read_to_string(word).map_err(|error| refused(error.to_string()))?;
    DeviceModel::parse(&text).map_err(|error| refused(error.to_string()))
}
