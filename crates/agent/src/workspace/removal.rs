//! Removal of a test folder: only files that assay makes, and only in the opened folder,
//! even if its name refers to another one by then.

use super::{DATA, FRESH, NEXT, OWNER, tree};
use assay_engine::held::{named, remove_folder};
use assay_model::units::Bytes;
use assay_model::wire::Leftover;
use assay_model::work::androbench;
use assay_model::work::scenario::SCENE;
use rustix::fs::{AtFlags, statat, unlinkat};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Removes the files that assay makes in a test folder, and the folder if it is empty
/// then. The owner file is removed last: while it exists, an interrupted removal can be
/// resumed.
pub(super) fn remove(folder: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
    tree::remove(folder, SCENE)?;
    for name in files().chain([OWNER.to_owned()]) {
        match unlinkat(folder, name.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    remove_folder(folder, name)
}

/// Removes a test folder; returns its size, and the problem if that fails.
pub(super) fn take_away(folder: BorrowedFd<'_>, name: &Path, run_id: &str) -> Leftover {
    let size = size_of(folder);
    let removed = remove(folder, name);
    Leftover {
        folder: named(name).into_owned(),
        run_id: run_id.to_owned(),
        size,
        problem: removed.err().map(|error| error.to_string()),
        locked: false,
    }
}

/// Returns the names of all files that runs and works make in their folders.
fn files() -> impl Iterator<Item = String> {
    [DATA, NEXT, FRESH]
        .map(str::to_owned)
        .into_iter()
        .chain(androbench::file_names())
}

fn size_of(folder: BorrowedFd<'_>) -> Bytes {
    let sizes = files().filter_map(|name| {
        let meta = statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        u64::try_from(meta.st_size).ok()
    });
    Bytes(sizes.sum::<u64>() + tree::bytes(folder, SCENE))
}
