//! Boards of a labgrid, for commands: opening a session, and the journal of held boards.

use crate::exit::Failure;
use crate::stored::lookup::data_folder;
use assay_model::text::clean;
use assay_target::labgrid::{BoardFilter, Lab};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens a session with the coordinator that the environment names.
pub fn open() -> Result<Arc<Lab>, Failure> {
    Ok(Lab::open(&folder()?)?)
}

/// Returns the folder of the journal of held boards.
pub fn folder() -> Result<PathBuf, Failure> {
    data_folder().ok_or_else(|| {
        Failure::usage(
            "neither XDG_DATA_HOME nor HOME is set: there is no folder to note in which boards \
             are held, so none could be released after a kill",
        )
    })
}

/// Returns the message that the command waits for a board.
pub fn waiting_for(wanted: &BoardFilter) -> String {
    clean(&format!("{wanted}: waiting for a board"))
}
