//! Runs that this process has ended: what is copied to others at its end.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Run that has ended, in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// Store of the run.
    pub store: PathBuf,
    /// Id of the run.
    pub id: String,
}

static ENDED: Mutex<Vec<EndedRun>> = Mutex::new(Vec::new());

/// Notes that a run has ended.
pub fn note(store: &Path, id: &str) {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    ended.push(EndedRun {
        store: store.to_owned(),
        id: id.to_owned(),
    });
}

/// Returns the runs that have ended since the last call.
pub fn take() -> Vec<EndedRun> {
    std::mem::take(&mut ENDED.lock().unwrap_or_else(PoisonError::into_inner))
}
