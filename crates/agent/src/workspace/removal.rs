//! Removing a test folder: only what assay makes, and only in the folder
//! itself, wherever its name may lead by then.

use super::{DATA, FRESH, OWNER, tree};
use assay_model::units::Bytes;
use assay_model::wire::Leftover;
use assay_model::work::androbench;
use assay_model::work::scenario::SCENE;
use rustix::fs::{AtFlags, Mode, OFlags, statat, unlinkat};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Opens a folder, not what a link of its name leads to.
pub(super) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Removes the files that assay makes in a test folder, and the folder when
/// nothing else is in it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match open_folder(path) {
        Ok(folder) => remove_opened(path, folder.as_fd()),
        // Gone with the storage it was on.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The owner file goes last: while it is there, an interrupted removal can be
/// taken up again.
fn remove_opened(path: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
    tree::remove(folder, SCENE)?;
    for name in files().chain([OWNER.to_owned()]) {
        match unlinkat(folder, name.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes a test folder, and says what was there and whether it worked.
pub(super) fn take_away(path: &Path, run_id: &str) -> Leftover {
    let (size, removed) = match open_folder(path) {
        Ok(folder) => (size_of(folder.as_fd()), remove_opened(path, folder.as_fd())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Bytes(0), Ok(())),
        Err(error) => (Bytes(0), Err(error)),
    };
    Leftover {
        folder: path.to_owned(),
        run_id: run_id.to_owned(),
        size,
        problem: removed.err().map(|error| error.to_string()),
    }
}

/// Names of all files that runs and works make in their folders.
fn files() -> impl Iterator<Item = String> {
    [DATA, FRESH]
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
