//! Simulated devices, in agents that support them.

use assay_model::job::EngineKind;
use assay_model::storage::{self, Storage};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use assay_probe::roots::Roots;
use assay_probe::system;
use std::path::Path;

/// Returns true if a path names a simulated device.
pub(crate) fn means(path: &Path) -> bool {
    storage::simulated(path).is_some()
}

/// Returns the simulated storage at a path.
///
/// # Errors
/// The reason why the path is not valid.
#[cfg(feature = "sim")]
pub(crate) fn storage(path: &Path) -> Result<Storage, String> {
    assay_engine::sim::storage(path).map_err(|why| format!("{}: {why}", path.display()))
}

/// Refuses a simulated device: agents for boards support none.
#[cfg(not(feature = "sim"))]
pub(crate) fn storage(path: &Path) -> Result<Storage, String> {
    Err(format!(
        "{}: simulated devices are a part of assay on its own machine: leave --on out",
        path.display()
    ))
}

/// Inspects the simulated device at a path.
///
/// # Errors
/// As in [`storage()`].
pub(crate) fn inspect(roots: &Roots, path: &Path) -> Result<Inspection, String> {
    let storage = storage(path)?;
    Ok(Inspection {
        path: path.to_owned(),
        kind: PathKind::Simulated {
            size: storage.total.unwrap_or(Bytes(0)),
        },
        system: system::system(roots),
        storage,
        in_use: Vec::new(),
        holds: Vec::new(),
        async_engines: vec![EngineKind::Sim],
    })
}
