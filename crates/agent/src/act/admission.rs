//! Permission of a work to write.

use crate::permission::{device, is_free, not_owned, refuse};
use assay_model::wire::Refusal;
use assay_model::work::WorkSpec;
use assay_probe::roots::Roots;
use assay_probe::safety::{FileUse, KernelOwned};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Standard output of the agent.
const STDOUT: &str = "/proc/self/fd/1";
/// Suffix of files that a work makes in a folder of the user.
const IN_FOLDERS: &str = "h2w";

/// Checks everything that a work would write, before it writes anything; returns warnings
/// for the user.
///
/// # Errors
/// When it would write a device or a file that is in use, or a device without
/// its user's word.
pub(super) fn admit(
    roots: &Roots,
    work: &dyn WorkSpec,
    destroy_data: bool,
) -> Result<Vec<String>, Refusal> {
    let written = written(work);
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let owned = KernelOwned::look(roots);
    let mut warnings = Vec::new();
    for path in written {
        match device(&path) {
            Some(node) if !destroy_data => {
                let node = node.display();
                return Err(refuse(format!(
                    "{node} is a block device: this destroys all data on it; if that is what you \
                     want, add --destroy-data"
                )));
            }
            Some(node) => is_free(roots, &node)?,
            None => warnings.extend(not_owned(&path, uses(&owned, &path))?),
        }
    }
    Ok(warnings)
}

/// Returns every path that a work may write, including standard output.
fn written(work: &dyn WorkSpec) -> Vec<PathBuf> {
    let mut written = work.writes();
    if work.writes_stdout()
        // A pipe has no path and needs no permission.
        && let Ok(path) = fs::canonicalize(STDOUT)
    {
        written.push(path);
    }
    written
}

/// Returns the uses of the files that are written at a path. In a folder, only files with
/// a certain suffix are written; swap space beside them does not matter.
fn uses(owned: &KernelOwned<'_>, path: &Path) -> Vec<FileUse> {
    if !path.is_dir() {
        return owned.uses_of(path);
    }
    let mut uses = owned.uses_below(path);
    uses.retain(|found| found.file.extension() == Some(OsStr::new(IN_FOLDERS)));
    uses
}
