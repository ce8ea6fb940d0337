//! Scenarios: files that say what a product does with its storage, and the built-in ones.

mod action;
pub mod file;
mod job;
pub mod library;
pub mod resolve;
pub mod tools;

use crate::checks::admission::{self, Need};
use crate::exit::Failure;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::wire::Inspection;
use library::LibraryScenario;
use resolve::{Resolved, Wanted};
use serde::Deserialize;

/// Kinds of place where a scenario or a step can be carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceWanted {
    /// In a folder only.
    Folder,
    /// On a scratch device only.
    Device,
    /// In both.
    #[default]
    Any,
}

/// Bytes that an act moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    pub read: u64,
    pub written: u64,
}

/// A built-in scenario as a part of something larger.
pub fn built(name: &str, scale: f64, place: &Place) -> Result<Resolved, Failure> {
    let found = library::find(name)?;
    let mut resolved = resolve_in(&found, place, scale, false)?;
    for stage in &mut resolved.scenario.stages {
        for act in &mut stage.acts {
            act.job.name = format!("{name}.{}", act.job.name);
        }
    }
    Ok(resolved)
}

/// The place to work on, or why not.
pub fn admit(
    destroy_data: bool,
    found: &LibraryScenario,
    inspection: &Inspection,
) -> Result<Place, Failure> {
    let place = admission::admit(inspection, Need::written(destroy_data))?;
    let shown = inspection.path.display();
    let name = &found.name;
    match (&place, found.file.place) {
        (Place::Device { .. }, PlaceWanted::Folder) => Err(Failure::usage(format!(
            "{name} plays in a folder, and {shown} is a block device: mount a file system there"
        ))),
        (Place::Directory { .. }, PlaceWanted::Device) => Err(Failure::usage(format!(
            "{name} plays on a scratch device, and {shown} is a folder"
        ))),
        _ => Ok(place),
    }
}

/// Resolves a scenario for its place.
pub fn resolve_in(
    found: &LibraryScenario,
    place: &Place,
    scale: f64,
    allow_commands: bool,
) -> Result<Resolved, Failure> {
    let wanted = Wanted {
        name: &found.name,
        scale,
        path: place.path(),
        on_device: matches!(place, Place::Device { .. }),
        allow_commands,
    };
    resolve::resolve(&found.file, &wanted)
        .map_err(|mistake| Failure::usage(format!("{}: {mistake}", found.place)))
}

/// The acts that are measured.
pub fn measured(resolved: &Resolved) -> Vec<Job> {
    let acts = resolved.scenario.acts().filter(|act| !act.unmeasured);
    acts.map(|act| act.job.clone()).collect()
}
