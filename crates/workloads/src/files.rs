//! File helpers shared by works.

use crate::WorkError;
use assay_engine::held;
use std::io::ErrorKind;
use std::path::Path;

/// Removes a file; it need not be there.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), WorkError> {
    match held::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(WorkError::io("remove", path, &error))
        }
        _ => Ok(()),
    }
}
