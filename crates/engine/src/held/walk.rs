//! Resolution of a path to a folder, component by component.

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Flags to open a folder for access to its entries.
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Flags to open a file of any kind for inspection only.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Maximum number of links in a path, which is that of the kernel.
const MOST_LINKS: u32 = 40;

/// A resolved path.
pub(super) struct Way {
    /// Folder or file at the end of the path; it may be unreadable.
    pub(super) folder: OwnedFd,
    /// True if a user other than root can replace a component of the path, or an entry of the
    /// folder.
    pub(super) is_open_to_others: bool,
}

/// Resolves a path to a folder.
pub(super) fn to_folder(path: &Path) -> io::Result<Way> {
    let mut way = to(path)?;
    way.folder = openat(&way.folder, ".", PLACE | OFlags::DIRECTORY, Mode::empty())?;
    way.is_open_to_others |= others_can_change(&fstat(&way.folder)?, None);
    Ok(way)
}

/// Resolves a path to a file or folder. As root, follows only links that no other user can
/// change, because a user may have created the link to redirect root.
pub(super) fn to(path: &Path) -> io::Result<Way> {
    let (mut at, rest) = start(path)?;
    // Remaining names, the next one last.
    let mut names = names_of(rest);
    let mut is_open_to_others = false;
    let mut links = 0;
    while let Some(name) = names.pop() {
        let found = openat(&at, &name, PLACE, Mode::empty())?;
        let meta = fstat(&found)?;
        let is_exposed = others_can_change(&fstat(&at)?, Some(&meta));
        is_open_to_others |= is_exposed;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Symlink {
            at = found;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        if is_exposed && geteuid().is_root() {
            return Err(io::Error::other(format!(
                "there is a link on the way, {}, that another user can change, which root does \
                 not follow: name the folder that it leads to",
                name.to_string_lossy()
            )));
        }
        let target = readlinkat(&found, "", Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            at = start(&target)?.0;
        }
        names.extend(names_of(&target));
    }
    Ok(Way {
        folder: at,
        is_open_to_others,
    })
}

/// Returns the folder in which a path starts, and the rest of the path.
fn start(path: &Path) -> Result<(OwnedFd, &Path), Errno> {
    if let Some((held, rest)) = super::find(path) {
        let folder = openat(&held.folder, ".", PLACE, Mode::empty())?;
        return Ok((folder, rest.as_path()));
    }
    let start = if path.is_absolute() { "/" } else { "." };
    Ok((openat(CWD, start, PLACE, Mode::empty())?, path))
}

/// Returns the names of a path, the last one first.
fn names_of(path: &Path) -> Vec<OsString> {
    let names = path.components().rev();
    let named = names.filter(|name| matches!(name, Component::Normal(_) | Component::ParentDir));
    named.map(|name| name.as_os_str().to_owned()).collect()
}

/// Returns true if a user other than root can replace an entry, or any entry if none is given.
fn others_can_change(folder: &Stat, entry: Option<&Stat>) -> bool {
    const STICKY: u32 = 0o1000;
    let is_root = |stat: &Stat| stat.st_uid == 0;
    let group = folder.st_gid != 0 && folder.st_mode & 0o020 != 0;
    let others_write = group || folder.st_mode & 0o002 != 0;
    let is_kept = folder.st_mode & STICKY != 0 && entry.is_some_and(is_root);
    !is_root(folder) || others_write && !is_kept
}
