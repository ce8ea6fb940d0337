//! Bus modes and parts that the user names.

use crate::checks::input::small_text;
use crate::checks::toml_file::meant;
use crate::exit::Failure;
use assay_flash::part::DeviceModel;
use assay_model::device::{self, Ceiling};
use std::path::Path;

/// Finds the mode of a bus by its name.
pub fn bus_mode(word: &str) -> Result<Ceiling, Failure> {
    device::find_ceiling(word).ok_or_else(|| {
        let all = device::all_ceilings();
        let modes = all.iter().map(|ceiling| ceiling.mode.as_str());
        let meant = meant(&word.to_ascii_lowercase(), modes);
        Failure::usage(format!(
            "no bus is called '{word}'{meant}: assay model limits lists all"
        ))
    })
}

/// Finds the model of a part: a built-in one by its name, or that in a file.
pub fn device_model(word: &str) -> Result<DeviceModel, Failure> {
    if let Some(part) = DeviceModel::find(word) {
        return Ok(part);
    }
    let path = Path::new(word);
    let text = small_text(path).map_err(|error| {
        let known = DeviceModel::known_names();
        let meant = meant(word, known.split(", "));
        let why = format!(
            "no part is called so{meant}: there are {known}; as a file it cannot be read: {error}"
        );
        Failure::in_file(path, why)
    })?;
    DeviceModel::parse(&text).map_err(|error| Failure::in_file(path, error))
}
