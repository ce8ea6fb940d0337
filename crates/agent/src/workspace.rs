//! Workspace of trials: a folder of assay's own, a file that is only read, or a whole device.
//!
//! The folder is called `.assay-RUN` and holds `owner.json`, locked for as long
//! as the run lives. A folder of that name whose owner file is not locked was
//! left by a killed run and may be swept away. Nothing else is ever removed.

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
/// The file that jobs read and overwrite; every block of it was written.
const DATA: &str = "data";
/// The file that is written to replace [`DATA`].
const NEXT: &str = "data.next";
/// The file of jobs that write a new one.
const FRESH: &str = "fresh";

/// Says whose the folder is.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    about: String,
    run_id: String,
}

/// The storage a run works on. Dropping it removes what it made.
#[derive(Debug)]
pub(crate) enum Workspace {
    Folder(Folder),
    /// Read, never written.
    File(PathBuf),
    /// Nothing of this machine.
    Simulated(PathBuf),
    /// Held exclusively, so that nobody can mount it meanwhile.
    Device {
        path: PathBuf,
        held: File,
    },
}

/// A folder of assay's own.
#[derive(Debug)]
pub(crate) struct Folder {
    held: HeldFolder,
    run_id: String,
    /// The owner file, locked; the lock ends with the process, however it
    /// ends. `None` while the folder is being made.
    owner: Option<File>,
    /// It is gone, or was reported.
    cleared: bool,
}

impl Workspace {
    /// Prepares the place of a run.
    pub(crate) fn new(place: &Place, run_id: &str) -> io::Result<Self> {
        match place {
            Place::Directory { path } => Folder::new(path, run_id).map(Self::Folder),
            Place::File { path } => Ok(Self::File(path.clone())),
            Place::Simulated { path } => Ok(Self::Simulated(path.clone())),
            // Works alone go there.
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

    /// The file or device whose blocks are all written.
    pub(crate) fn data(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.path().join(DATA),
            Self::File(path) | Self::Simulated(path) | Self::Device { path, .. } => path.clone(),
        }
    }

    /// The place of a file that is to replace that of [`Self::data`]; `None` outside of a folder.
    pub(crate) fn next_data(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.path().join(NEXT)),
            Self::File(_) | Self::Simulated(_) | Self::Device { .. } => None,
        }
    }

    /// Puts the file of [`Self::next_data`] in the place of that of [`Self::data`], if `written`, or
    /// removes it. The file system is settled then.
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

    /// A place to write a new file to: empty, or the device itself.
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

    /// Removes what the run made here. The problem is returned if that cannot be done; the
    /// next start finds it.
    pub(crate) fn clear(self) -> Option<String> {
        match self {
            Self::Folder(folder) => folder.clear(),
            Self::File(_) | Self::Simulated(_) | Self::Device { .. } => None,
        }
    }

    /// Removes the new file of the last trial and lets the file system settle,
    /// so that its write-back does not fall into the next trial.
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
        // Nobody else's business, and nobody else's links in it.
        let held = HeldFolder::make(parent, &format!("{PREFIX}{run_id}"))?;
        // From here on the folder goes with this value, however far it comes.
        let mut folder = Self {
            held,
            run_id: run_id.to_owned(),
            owner: None,
            cleared: false,
        };
        folder.owner = Some(folder.own()?);
        Ok(folder)
    }

    /// Path that leads into it, whatever has its name by then.
    pub(crate) fn path(&self) -> &Path {
        self.held.path()
    }

    /// Removes it. The problem is returned if that cannot be done; the next start finds it.
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
        // If it fails, the folder is found and reported by the next start.
        if !self.cleared {
            let _ = remove(self.held.as_fd(), self.held.name());
        }
    }
}

/// Removes a file or link; whether there was one.
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
        // As `new` has it when the owner file cannot be made.
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
