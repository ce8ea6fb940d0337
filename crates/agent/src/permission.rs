//! Whether something may be written: nobody else uses it.

use crate::inspect::uses;
use assay_model::wire::Refusal;
use assay_probe::roots::Roots;
use assay_probe::safety::FileUse;
use assay_probe::stack;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What the user should know of files that are written although a loop device
/// is on them.
///
/// # Errors
/// When that device is in use, or a file is swap space.
pub(crate) fn not_owned(path: &Path, uses: Vec<FileUse>) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    for FileUse {
        file,
        device,
        reasons,
    } in uses
    {
        let what = match &device {
            Some(name) => format!("the file {} is behind {name}", file.display()),
            None => format!("the file {}", file.display()),
        };
        if !reasons.is_empty() {
            return Err(refuse(format!(
                "{} is left alone: {what}: {}",
                path.display(),
                reasons.join("; ")
            )));
        }
        warnings.push(format!(
            "{what}: what is written to it changes the device too"
        ));
    }
    Ok(warnings)
}

/// The node of a block device behind a path; `None` for all else.
pub(crate) fn device(path: &Path) -> Option<PathBuf> {
    let node = fs::canonicalize(path).ok()?;
    let meta = fs::metadata(&node).ok()?;
    meta.file_type().is_block_device().then_some(node)
}

/// Fails when somebody uses a device.
pub(crate) fn is_free(roots: &Roots, node: &Path) -> Result<(), Refusal> {
    let storage = stack::resolve(roots, node).map_err(|error| refuse(error.to_string()))?;
    let reasons = match storage.top() {
        Some(top) => uses(roots, node, &top.name),
        None => vec!["what it is cannot be told".to_owned()],
    };
    if reasons.is_empty() {
        return Ok(());
    }
    Err(refuse(format!(
        "{} is in use and is left alone: {}",
        node.display(),
        reasons.join("; ")
    )))
}

pub(crate) fn refuse(message: String) -> Refusal {
    Refusal {
        usage: true,
        message,
    }
}
