//! Protection of the store's files from being overwritten by a measurement.

use crate::exit::Failure;
use assay_model::storage::folder_of;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Suffixes of SQLite's files: the write-ahead log with its index, and the rollback journal
/// (<https://sqlite.org/tempfiles.html>).
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Checks that none of the written paths is a file of the store. Called before the store is opened,
/// which may create it.
///
/// # Errors
/// If one of the paths that would be written is the store.
pub fn keep_apart(store: &Path, written: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let files = BESIDE.map(|ending| {
        let mut file = store.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    });
    let is_store = |path: &PathBuf| files.iter().any(|file| is_same(path, file));
    match written.into_iter().find(is_store) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "{} is the store that keeps the runs ({}): write another file, or keep the run \
             elsewhere with --store",
            path.display(),
            store.display()
        ))),
    }
}

/// Returns `true` if two paths resolve to one file; for files that do not exist yet, if they
/// would.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(_), Err(_)) => place(one).is_some_and(|one| Some(one) == place(other)),
        _ => false,
    }
}

/// Returns the resolved folder of a file that does not exist, and its name.
fn place(path: &Path) -> Option<(PathBuf, PathBuf)> {
    Some((
        fs::canonicalize(folder_of(path)).ok()?,
        path.file_name()?.into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_store_is_known_by_any_name() {
        let folder = Scratch::new().unwrap();
        let store = folder.join("runs.sqlite");
        let kept_apart = |path: &str| keep_apart(&store, [folder.join(path)]).is_ok();
        fs::create_dir(folder.join("sub")).unwrap();
        assert!(!kept_apart("runs.sqlite"), "it will be made");
        assert!(!kept_apart("sub/../runs.sqlite"));
        assert!(!kept_apart("sub/../runs.sqlite-wal"));
        assert!(kept_apart("sub/runs.sqlite"));
        fs::write(&store, "kept").unwrap();
        symlink(&store, folder.join("link")).unwrap();
        fs::hard_link(&store, folder.join("second")).unwrap();
        for path in ["runs.sqlite", "link", "second", "runs.sqlite-journal"] {
            assert!(!kept_apart(path), "{path}");
        }
        assert!(kept_apart("runs.sqlite-old"));
        let refusal = keep_apart(&store, [folder.join("link")]).unwrap_err();
        assert!(
            refusal.to_string().contains("link is the store"),
            "{refusal}"
        );
    }
}
