//! Scenarios: files that describe the storage accesses of a product, and the built-in ones.

mod action;
pub mod file;
mod job;
pub mod library;
pub mod resolve;

use crate::checks::admission::{self, Need};
use crate::driver::host::Host;
use crate::exit::Failure;
use assay_model::condition::{FileSystem, Offer, Subject};
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::wire::Inspection;
use assay_model::work::scenario::{Act, Action, Scenario};
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

/// Resolves a built-in scenario as a part of a larger run.
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

/// Admits the place to work on.
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

/// Returns the jobs of the measured acts.
pub fn measured(resolved: &Resolved) -> Vec<Job> {
    let acts = resolved.scenario.acts().filter(|act| !act.unmeasured);
    acts.map(|act| act.job.clone()).collect()
}

/// Checks, before anything is written, that the file systems of a scenario can be made: half of a
/// factory reset would leave an empty device.
///
/// # Errors
/// Missing programs and permissions.
pub fn tools_are_there(host: &mut Host, scenario: &Scenario) -> Result<(), Failure> {
    let kinds: Vec<String> = scenario.acts().filter_map(file_system).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let offered = host.offers(&scenario.path, vec![Subject::Mkfs])?;
    let there = match offered.first().map(|offered| &offered.offer) {
        Some(Offer::FileSystems { kinds }) => kinds.as_slice(),
        _ => &[],
    };
    match kinds.iter().find(|kind| !there.contains(kind)) {
        None => Ok(()),
        Some(kind) => Err(Failure::usage(format!(
            "{}: it makes a file system, and there is no mkfs.{kind} on {}{}: install that there, \
             or give a folder",
            scenario.name,
            host.target().unwrap_or("this machine"),
            instead(there)
        ))),
    }
}

fn file_system(act: &Act) -> Option<String> {
    match &act.action {
        Action::Format { kind } => FileSystem::parse(kind).map(|asked| asked.kind),
        _ => None,
    }
}

/// Suggests the file systems that can be made instead.
fn instead(there: &[String]) -> String {
    match there {
        [] => String::new(),
        there => format!(" (there is one for {})", there.join(", ")),
    }
}
