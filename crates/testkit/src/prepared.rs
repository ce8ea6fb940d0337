//! Test files that `cargo xtask` prepares in the build folder.

use crate::command::Unavailable;
use std::path::PathBuf;

/// Returns the folder of that name in the test program's build folder.
///
/// # Errors
/// When `by`, the command that prepares it, was not run.
pub fn folder(name: &str, by: &str) -> Result<PathBuf, Unavailable> {
    let program = std::env::current_exe().map_err(|error| Unavailable(error.to_string()))?;
    let folders = program.ancestors().map(|folder| folder.join(name));
    folders
        .into_iter()
        .find(|folder| folder.join("recipe").exists())
        .ok_or_else(|| Unavailable(format!("nothing is prepared for that: {by} does it")))
}
