//! Folder of a scenario in a test folder: everything in it was made by assay or by a
//! program that the scenario ran there. It is removed entry by entry, relative to opened
//! folders: links are removed but never followed, and file systems mounted there are left
//! alone.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Depth of nested folders, at most; scenarios make no deeper ones.
const DEEPEST: u32 = 64;

/// Removes a folder of this name with its content; succeeds if it does not exist.
pub(super) fn remove(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let folder = match open(parent, name) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let device = fstat(&folder)?.st_dev;
    empty(&folder, device, DEEPEST)?;
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Returns the bytes of all files in a folder, as far as they can be read.
pub(super) fn bytes(parent: BorrowedFd<'_>, name: &str) -> u64 {
    let Ok(folder) = open(parent, name) else {
        return 0;
    };
    sum(&folder, DEEPEST)
}

fn sum(folder: &OwnedFd, deep: u32) -> u64 {
    let Ok(entries) = entries(folder) else {
        return 0;
    };
    let sizes = entries.iter().map(|name| match look(folder, name) {
        Ok(meta) if is_folder(&meta) && deep > 0 => {
            open(folder, &**name).map_or(0, |inner| sum(&inner, deep - 1))
        }
        Ok(meta) => u64::try_from(meta.st_size).unwrap_or(0),
        Err(_) => 0,
    });
    sizes.sum()
}

fn empty(folder: &OwnedFd, device: u64, deep: u32) -> io::Result<()> {
    for name in entries(folder)? {
        let meta = look(folder, &name)?;
        if !is_folder(&meta) {
            unlinkat(folder, &*name, AtFlags::empty())?;
            continue;
        }
        if meta.st_dev != device || deep == 0 {
            let name = name.to_string_lossy();
            return Err(io::Error::other(format!(
                "{name} in it is on another file system, or too deep, and is left alone"
            )));
        }
        empty(&open(folder, &*name)?, device, deep - 1)?;
        unlinkat(folder, &*name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

fn entries(folder: &OwnedFd) -> Result<Vec<Box<CStr>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.into_boxed_c_str());
        }
    }
    Ok(names)
}

fn look(folder: &OwnedFd, name: &CStr) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_folder(meta: &Stat) -> bool {
    FileType::from_raw_mode(meta.st_mode) == FileType::Directory
}

fn open(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    #[test]
    fn all_of_a_folder_goes_and_links_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let precious = other.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let inner = parent.path().join("scene/a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), [1; 1000]).unwrap();
        symlink(other.path(), inner.join("folder")).unwrap();
        symlink(&precious, parent.path().join("scene/link")).unwrap();
        let folder = File::open(parent.path()).unwrap();
        assert!(bytes(folder.as_fd(), "scene") >= 1000);
        remove(folder.as_fd(), "scene").unwrap();
        remove(folder.as_fd(), "scene").unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("precious"), "").unwrap();
        symlink(other.path(), parent.path().join("scene")).unwrap();
        let folder = File::open(parent.path()).unwrap();
        assert!(remove(folder.as_fd(), "scene").is_err());
        assert!(other.path().join("precious").exists());
    }
}
