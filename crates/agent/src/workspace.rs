//! Workspace of trials: a folder made by assay, a file that is only read, or a whole device.
//!
//! The folder is called `.assay-RUN` and contains `owner.json`, locked while the run is in progress.
//! A folder of that name whose owner file is not locked was left by a killed run and may be removed.
//! Nothing else is ever removed.

mod removal;
mod sweep;
mod tree;

pub(crate) use sweep::sweep;

use assay_engine::held::{self, HeldFolder};
use assay_model::plan::Place;
use removal::{remove, take_away};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, syncfs};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

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
            true => std::fs::rename(&next, self.data())?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
}
