//! Runs that this process has ended, for the push at its end.

use assay_store::Location;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Run that has ended, in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// Store of the run.
    pub store: PathBuf,
    /// Id of the run.
    pub id: String,
}

static ENDED: Mutex<Vec<EndedRun>> = Mutex::new(Vec::new());

/// Database of this command, to which runs are pushed.
static STORE: OnceLock<Location> = OnceLock::new();

/// Sets the store to which runs are pushed when they have ended.
pub fn go_on_to(store: Location) {
    // A command has one store, so the first call counts.
    let _ = STORE.set(store);
}

/// Returns the store to which runs are pushed; `None` if they stay in the local file.
pub fn store() -> Option<&'static Location> {
    STORE.get()
}

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
