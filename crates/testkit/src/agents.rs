//! The static agents and archives that `cargo xtask` builds.

use crate::command::Unavailable;
use std::path::PathBuf;

/// Returns the path of the static agent with this name (`armv7l`,
/// `aarch64-sqlite`).
///
/// # Errors
/// When it was not built.
pub fn static_agent(name: &str) -> Result<PathBuf, Unavailable> {
    built(&format!("agents/assay-agent-{name}")).ok_or_else(|| {
        Unavailable(format!(
            "no agent {name}: cargo xtask agents {name} builds it"
        ))
    })
}

/// Returns the path of the static program's archive for this machine.
///
/// # Errors
/// When it was not built.
pub fn archive(machine: &str) -> Result<PathBuf, Unavailable> {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("archives/assay-{version}-{machine}-linux-musl.tar.gz");
    built(&name).ok_or_else(|| {
        Unavailable(format!(
            "no archive for {machine}: cargo xtask dist {machine} makes it"
        ))
    })
}

/// Finds a file in the build folder.
fn built(file: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let mut places = program.ancestors().map(|folder| folder.join(file));
    places.find(|place| place.exists())
}
