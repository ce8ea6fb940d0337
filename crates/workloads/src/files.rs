//! What works have in common about files.

use crate::WorkError;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Removes a file; it need not be there.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), WorkError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(WorkError::io("remove", path, &error))
        }
        _ => Ok(()),
    }
}
