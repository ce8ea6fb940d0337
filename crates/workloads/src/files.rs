//! Files, file systems and programs, for all works.

use crate::ActError;
use assay_engine::held;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Removes a file, if it exists.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), ActError> {
    match held::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(ActError::io("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes back all dirty data in the file system of a folder.
pub(crate) fn write_back(folder: &Path) -> Result<(), ActError> {
    held::open_to_read(folder)
        .and_then(|opened| Ok(rustix::fs::syncfs(opened)?))
        .map_err(|error| ActError::io("write back", folder, &error))
}

/// Runs a system program such as `mount`; an error is its standard error.
pub(crate) fn run_program(command: &mut Command) -> Result<(), String> {
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}
