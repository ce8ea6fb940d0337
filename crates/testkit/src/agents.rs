//! The static agents that `cargo xtask agents` builds.

use crate::command::Unavailable;
use std::path::PathBuf;

/// Within the build folder.
const FOLDER: &str = "agents";

/// The static agent of that name (`armv7l`, `aarch64-sqlite`).
///
/// # Errors
/// When it was not built.
pub fn static_agent(name: &str) -> Result<PathBuf, Unavailable> {
    let program = std::env::current_exe().map_err(|error| Unavailable(error.to_string()))?;
    let file = format!("{FOLDER}/assay-agent-{name}");
    let mut places = program.ancestors().map(|folder| folder.join(&file));
    places.find(|place| place.exists()).ok_or_else(|| {
        Unavailable(format!(
            "no agent {name}: cargo xtask agents {name} builds it"
        ))
    })
}
