//! Which Python has labgrid.

use crate::Local;
use std::env;
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!("session.py");
const CLIENT: &str = "labgrid-client";
const PYTHON: &str = "python3";
/// The module of Python that [`CLIENT`] starts.
const CLIENT_MODULE: &str = "labgrid.remote.client";

/// The session's process, to be started.
pub(super) fn session(coordinator: &str) -> Local {
    Local::new(python(), &["-c", SCRIPT, coordinator])
}

/// The words that start labgrid's own client.
#[must_use]
pub fn client() -> Vec<String> {
    let python = python().to_string_lossy().into_owned();
    vec![python, "-m".to_owned(), CLIENT_MODULE.to_owned()]
}

fn python() -> PathBuf {
    beside_client().unwrap_or_else(|| PYTHON.into())
}

/// labgrid's client is in the folder of the Python that it is installed for, or is a link
/// to one that is.
fn beside_client() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let client = env::split_paths(&path)
        .map(|folder| folder.join(CLIENT))
        .find(|client| client.is_file())?;
    let real = client.canonicalize().ok()?;
    let python = |client: &Path| Some(client.parent()?.join(PYTHON));
    let candidates = [python(&real), python(&client)];
    candidates
        .into_iter()
        .flatten()
        .find(|python| python.is_file())
}
