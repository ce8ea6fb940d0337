//! Workspace of trials: a folder made by assay, a file that is only read, or a whole device.
//!
//! The folder is called `.assay-RUN` and contains `owner.json`, locked while the run is in progress.
//! A folder of that name whose owner file is not locked was left by a killed run and may be removed.
//! Nothing else is ever removed. Files are removed only in the opened folder, even if its name
//! refers to another one by then.

use assay_engine::held::{self, HeldFolder, named, remove_folder};
use assay_model::act::androbench;
use assay_model::act::scenario::SCENE;
use assay_model::plan::Place;
use assay_model::units::Bytes;
use assay_model::wire::Leftover;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat,
    syncfs, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

const PREFIX: &str = ".assay-";
const OWNER: &str = "owner.json";
/// File that jobs read and overwrite; all of its blocks are written beforehand.
const DATA: &str = "data";
/// File that is written to replace [`DATA`].
const NEXT: &str = "data.next";
/// File of jobs that write a new one.
const FRESH: &str = "fresh";

/// Content of the owner file.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    about: String,
    run_id: String,
}

/// Storage that a run works on. Dropping it removes the files of the run.
#[derive(Debug)]
pub(crate) enum Workspace {
    Folder(Folder),
    /// A file that is read but never written.
    File(PathBuf),
    /// A simulated device.
    Simulated(PathBuf),
    /// A device that is held exclusively, so that it cannot be mounted meanwhile.
    Device {
        path: PathBuf,
        held: File,
    },
}

/// A folder made by assay.
#[derive(Debug)]
pub(crate) struct Folder {
    held: HeldFolder,
    run_id: String,
    /// Locked owner file; the kernel releases the lock when the process ends. `None` while the
    /// folder is being made.
    owner: Option<File>,
    /// The folder is removed, or the problem was reported.
    cleared: bool,
}

impl Workspace {
    /// Prepares the workspace of a run.
    pub(crate) fn new(place: &Place, run_id: &str) -> io::Result<Self> {
        match place {
            Place::Directory { path } => Folder::new(path, run_id).map(Self::Folder),
            Place::File { path } => Ok(Self::File(path.clone())),
            Place::Simulated { path } => Ok(Self::Simulated(path.clone())),
            // Only works use main memory.
            Place::Memory => Err(io::ErrorKind::Unsupported.into()),
            Place::Device { path } => {
                let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
                let held = rustix::fs::open(path, flags, Mode::empty())?;
                Ok(Self::Device {
                    path: path.clone(),
                    held: File::from(held),
                })
            }
        }
    }

    /// Returns the file or device whose blocks are all written.
    pub(crate) fn data(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.path().join(DATA),
            Self::File(path) | Self::Simulated(path) | Self::Device { path, .. } => path.clone(),
        }
    }

    /// Returns the path of a file that is to replace that of [`Self::data`]; `None` outside of a
    /// folder.
    pub(crate) fn next_data(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.path().join(NEXT)),
            Self::File(_) | Self::Simulated(_) | Self::Device { .. } => None,
        }
    }

    /// Replaces the file of [`Self::data`] by that of [`Self::next_data`] if `written`, else removes
    /// the latter. Then syncs the file system.
    pub(crate) fn take_next_data(&self, written: bool) -> io::Result<()> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        let next = folder.path().join(NEXT);
        match written {
            true => fs::rename(&next, self.data())?,
            false => drop(remove_if_there(&next)?),
        }
        Ok(syncfs(&folder.held)?)
    }

    /// Returns a path to write a new file to: an empty file, or the device itself.
    pub(crate) fn fresh(&self) -> io::Result<PathBuf> {
        match self {
            Self::Folder(folder) => {
                let path = folder.path().join(FRESH);
                remove_if_there(&path)?;
                held::create_new(&path)?;
                Ok(path)
            }
            Self::File(path) | Self::Simulated(path) | Self::Device { path, .. } => {
                Ok(path.clone())
            }
        }
    }

    /// Removes the files of the run. Returns the problem if that fails; the next start tries again.
    pub(crate) fn clear(self) -> Option<String> {
        match self {
            Self::Folder(folder) => folder.clear(),
            Self::File(_) | Self::Simulated(_) | Self::Device { .. } => None,
        }
    }

    /// Removes the new file of the last trial and syncs the file system, so that its writeback does
    /// not overlap with the next trial.
    pub(crate) fn discard_fresh(&self) -> io::Result<()> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        if remove_if_there(&folder.path().join(FRESH))? {
            syncfs(&folder.held)?;
        }
        Ok(())
    }
}

impl Folder {
    /// Makes the folder of a run in another one.
    pub(crate) fn new(parent: &Path, run_id: &str) -> io::Result<Self> {
        // The folder is private: other users can neither read it nor create links in it.
        let held = HeldFolder::make(parent, &format!("{PREFIX}{run_id}"))?;
        // From here on, dropping this value removes the folder, even if a later step fails.
        let mut folder = Self {
            held,
            run_id: run_id.to_owned(),
            owner: None,
            cleared: false,
        };
        folder.owner = Some(folder.own()?);
        Ok(folder)
    }

    /// Returns a path into the folder, which remains valid if the folder is renamed.
    pub(crate) fn path(&self) -> &Path {
        self.held.path()
    }

    /// Removes the folder. Returns the problem if that fails; the next start tries again.
    pub(crate) fn clear(mut self) -> Option<String> {
        self.cleared = true;
        let leftover = take_away(self.held.as_fd(), self.held.name(), &self.run_id);
        let problem = leftover.problem?;
        let path = leftover.folder.display();
        Some(format!(
            "the leftover test file in {path} cannot be removed: {problem}; the next start tries \
             again"
        ))
    }

    /// Makes the owner file and locks it.
    fn own(&self) -> io::Result<File> {
        let owner = Owner {
            about: "Test files of assay. They may be removed when assay is not running.".to_owned(),
            run_id: self.run_id.clone(),
        };
        let file = held::create_new(&self.path().join(OWNER))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        (&file).write_all(&serde_json::to_vec(&owner)?)?;
        Ok(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it fails, the next start finds and reports the folder.
        if !self.cleared {
            let _ = remove(self.held.as_fd(), self.held.name());
        }
    }
}

/// Removes a file or link; `true` if there was one.
fn remove_if_there(path: &Path) -> io::Result<bool> {
    match held::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the files that assay makes in a test folder, and the folder if it is empty
/// then. The owner file is removed last: while it exists, an interrupted removal can be
/// resumed.
fn remove(folder: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
    remove_tree(folder, SCENE)?;
    for name in files().chain([OWNER.to_owned()]) {
        match unlinkat(folder, name.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    remove_folder(folder, name)
}

/// Removes a test folder; returns its size, and the problem if that fails.
fn take_away(folder: BorrowedFd<'_>, name: &Path, run_id: &str) -> Leftover {
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
    Bytes(sizes.sum::<u64>() + tree_bytes(folder, SCENE))
}

/// Age after which a run must have locked and written its owner file.
const STARTING: Duration = Duration::from_secs(60);

/// Size of an owner file, at most. assay's have some hundred bytes; a longer file is not
/// one of them.
const MAX_OWNER_BYTES: u64 = 64 << 10;

/// Removes the test folders that killed runs left in `directory`.
pub(crate) fn sweep(directory: &Path) -> Vec<Leftover> {
    let Ok(held) = HeldFolder::open(directory) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(held.path()) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let run_id = name.to_str()?.strip_prefix(PREFIX)?;
            sweep_one(&entry.path(), run_id)
        })
        .collect()
}

/// Removes one folder with a matching name; `None` if it is not a leftover of assay.
fn sweep_one(path: &Path, run_id: &str) -> Option<Leftover> {
    let folder = held::open(path, OFlags::DIRECTORY, Mode::empty()).ok()?;
    if !held::is_own(&folder) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&folder, OWNER, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return never_owned(folder, path, run_id),
        Err(_) => return None,
    };
    let mut text = Vec::new();
    let read = (&file).take(MAX_OWNER_BYTES).read_to_end(&mut text);
    let owner = read.map(|_| serde_json::from_slice::<Owner>(&text));
    let ours = owner.is_ok_and(|owner| owner.is_ok_and(|owner| owner.run_id == run_id));
    let unfinished = file.metadata().is_ok_and(|meta| was_never_written(&meta));
    let abandoned = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    match abandoned {
        true if ours || unfinished => Some(take_away(folder.as_fd(), path, run_id)),
        false if ours => Some(Leftover {
            folder: named(path).into_owned(),
            run_id: run_id.to_owned(),
            size: Bytes(0),
            problem: Some("a process still uses it".to_owned()),
            locked: true,
        }),
        _ => None,
    }
}

/// Removes the folder of a run that was killed before it made its owner file: it is empty.
fn never_owned(folder: impl AsFd, path: &Path, run_id: &str) -> Option<Leftover> {
    let folder = File::from(folder.as_fd().try_clone_to_owned().ok()?);
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_ours = run_id.len() == 8 && run_id.bytes().all(is_letter);
    let removed =
        is_ours && is_old(&folder.metadata().ok()?) && remove_folder(folder.as_fd(), path).is_ok();
    removed.then(|| Leftover {
        folder: named(path).into_owned(),
        run_id: run_id.to_owned(),
        size: Bytes(0),
        problem: None,
        locked: false,
    })
}

/// Returns `true` if the run was killed between creating the owner file and writing it.
fn was_never_written(owner: &fs::Metadata) -> bool {
    owner.len() == 0 && is_old(owner)
}

/// Returns `true` unless the file or folder may belong to a run that is just starting.
fn is_old(meta: &fs::Metadata) -> bool {
    let age = meta.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > STARTING)
}

/// Depth of nested folders, at most; scenarios make no deeper ones.
const DEEPEST: u32 = 64;

/// Removes a folder of this name with its content; succeeds if it does not exist. Everything in the
/// folder of a scenario was made by assay or by a program that the scenario ran there. It is
/// removed entry by entry, relative to opened folders: links are removed but never followed, and
/// file systems mounted there are left alone.
fn remove_tree(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let folder = match open_folder(parent, name) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let device = fstat(&folder)?.st_dev;
    empty_folder(&folder, device, DEEPEST)?;
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Returns the bytes of all files in a folder, as far as they can be read.
fn tree_bytes(parent: BorrowedFd<'_>, name: &str) -> u64 {
    let Ok(folder) = open_folder(parent, name) else {
        return 0;
    };
    sum_bytes(&folder, DEEPEST)
}

fn sum_bytes(folder: &OwnedFd, deep: u32) -> u64 {
    let Ok(entries) = entry_names(folder) else {
        return 0;
    };
    let sizes = entries.iter().map(|name| match stat_entry(folder, name) {
        Ok(meta) if is_folder(&meta) && deep > 0 => {
            open_folder(folder, &**name).map_or(0, |inner| sum_bytes(&inner, deep - 1))
        }
        Ok(meta) => u64::try_from(meta.st_size).unwrap_or(0),
        Err(_) => 0,
    });
    sizes.sum()
}

fn empty_folder(folder: &OwnedFd, device: u64, deep: u32) -> io::Result<()> {
    for name in entry_names(folder)? {
        let meta = stat_entry(folder, &name)?;
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
        empty_folder(&open_folder(folder, &*name)?, device, deep - 1)?;
        unlinkat(folder, &*name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

fn entry_names(folder: &OwnedFd) -> Result<Vec<Box<CStr>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.into_boxed_c_str());
        }
    }
    Ok(names)
}

fn stat_entry(folder: &OwnedFd, name: &CStr) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_folder(meta: &Stat) -> bool {
    FileType::from_raw_mode(meta.st_mode) == FileType::Directory
}

fn open_folder(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn workspace(parent: &Path) -> (PathBuf, Workspace) {
        let folder = Folder::new(parent, "abc").unwrap();
        (folder.held.name().to_owned(), Workspace::Folder(folder))
    }

    #[test]
    fn a_folder_is_private_and_goes_with_its_run() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path(), "abc").unwrap();
        fs::write(folder.path().join(DATA), [1; 1000]).unwrap();
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_owned_goes_too() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(".assay-abc");
        let folder = Folder {
            held: HeldFolder::make(parent.path(), ".assay-abc").unwrap(),
            run_id: "abc".to_owned(),
            owner: None,
            cleared: false,
        };
        // The state in `new` if the owner file cannot be made.
        fs::create_dir(path.join(OWNER)).unwrap();
        assert!(folder.own().is_err());
        fs::remove_dir(path.join(OWNER)).unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_new_file_never_follows_a_link() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let (folder, workspace) = workspace(parent.path());
        symlink(&precious, folder.join(FRESH)).unwrap();
        let fresh = workspace.fresh().unwrap();
        assert!(fs::symlink_metadata(&fresh).unwrap().is_file());
        assert!(held::create_new(&fresh).is_err());

        // A link that leads nowhere is removed as well.
        fs::remove_file(&fresh).unwrap();
        symlink("nowhere", folder.join(FRESH)).unwrap();
        workspace.discard_fresh().unwrap();
        assert!(fs::symlink_metadata(&fresh).is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }

    /// Creates the leftovers of a killed run: no lock, all files.
    fn killed(parent: &Path, run_id: &str) -> PathBuf {
        let path = parent.join(format!("{PREFIX}{run_id}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join(DATA), [1; 1000]).unwrap();
        let owner = format!(r#"{{"about":"","run_id":"{run_id}"}}"#);
        fs::write(path.join(OWNER), owner).unwrap();
        path
    }

    #[test]
    fn a_living_run_is_left_alone_and_a_killed_one_swept() {
        let parent = tempfile::tempdir().unwrap();
        let living = Folder::new(parent.path(), "living").unwrap();
        let path = killed(parent.path(), "killed");
        let (locked, swept): (Vec<_>, Vec<_>) = sweep(parent.path())
            .into_iter()
            .partition(|found| found.locked);
        assert_eq!((locked.len(), swept.len()), (1, 1));
        assert_eq!(swept[0].run_id, "killed");
        assert_eq!(swept[0].size, Bytes(1000));
        assert_eq!(swept[0].problem, None);
        assert!(!path.exists());
        // A folder that is in use is reported, not omitted.
        assert_eq!(locked[0].run_id, "living");
        assert!(locked[0].folder.exists() && locked[0].problem.is_some());
        drop(living);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn databases_and_their_journals_are_swept_too() {
        let parent = tempfile::tempdir().unwrap();
        let path = killed(parent.path(), "killed");
        for name in [
            "testing.db",
            "testing.db-journal",
            "testing.db-wal",
            "file-63",
        ] {
            fs::write(path.join(name), [1; 10]).unwrap();
        }
        let swept = sweep(parent.path());
        assert_eq!((swept[0].size, &swept[0].problem), (Bytes(1040), &None));
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_assay_did_not_make_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let strange = parent.path().join(".assay-mine");
        fs::create_dir(&strange).unwrap();
        fs::write(strange.join(DATA), "precious").unwrap();
        assert_eq!(sweep(parent.path()), []);
        fs::write(strange.join(OWNER), r#"{"about":"","run_id":"other"}"#).unwrap();
        assert_eq!(sweep(parent.path()), []);
        assert!(strange.join(DATA).exists());

        // A leftover with another program's file in it: only assay's files are removed.
        fs::write(strange.join(OWNER), r#"{"about":"","run_id":"mine"}"#).unwrap();
        fs::write(strange.join("notes"), "precious").unwrap();
        let swept = sweep(parent.path());
        assert!(swept[0].problem.is_some());
        assert!(strange.join("notes").exists());
    }

    #[test]
    fn the_empty_folder_of_a_run_that_was_killed_at_once_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, is_old: bool| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            let age = STARTING * if is_old { 2 } else { 0 };
            let made = std::time::SystemTime::now() - age;
            File::open(&path).unwrap().set_modified(made).unwrap();
            path
        };
        let killed = make(".assay-abcdefgh", true);
        let others = [
            make(".assay-starting", false),
            make(".assay-startin2", false),
            make(".assay-of a user", true),
        ];
        let full = make(".assay-abcdefg2", true);
        fs::write(full.join("notes"), "precious").unwrap();
        File::open(&full)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        let swept = sweep(parent.path());
        assert_eq!(swept.len(), 1, "{swept:?}");
        assert_eq!(swept[0].run_id, "abcdefgh");
        assert!(!killed.exists() && full.join("notes").exists());
        assert!(others.iter().all(|path| path.exists()));
    }

    #[test]
    fn links_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = killed(elsewhere.path(), "linked");
        symlink(&target, parent.path().join(".assay-linked")).unwrap();
        assert_eq!(sweep(parent.path()), []);
        assert!(target.join(DATA).exists());

        // The owner file is a link, which assay never creates.
        let path = killed(parent.path(), "mine");
        fs::rename(path.join(OWNER), path.join("moved")).unwrap();
        symlink("moved", path.join(OWNER)).unwrap();
        assert_eq!(sweep(parent.path()), []);
        assert!(path.join(DATA).exists());
    }

    #[test]
    fn a_folder_of_another_user_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = killed(parent.path(), "theirs");
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
            assay_testkit::skip("only root can give a folder away");
            return;
        }
        assert_eq!(sweep(parent.path()), []);
        assert!(path.join(DATA).exists());
    }

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
        assert!(tree_bytes(folder.as_fd(), "scene") >= 1000);
        remove_tree(folder.as_fd(), "scene").unwrap();
        remove_tree(folder.as_fd(), "scene").unwrap();
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
        assert!(remove_tree(folder.as_fd(), "scene").is_err());
        assert!(other.path().join("precious").exists());
    }
}
