//! Where trials do their I/O: a folder of assay's own, a file that is only
//! read, or a whole device.
//!
//! The folder is called `.assay-RUN` and holds `owner.json`, locked for as long
//! as the run lives. A folder of that name whose owner file is not locked was
//! left by a killed run and may be swept away. Nothing else is ever removed.

use assay_model::plan::{Place, Plan};
use assay_model::units::Bytes;
use assay_model::wire::Leftover;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = ".assay-";
const OWNER: &str = "owner.json";
/// The file that jobs read and overwrite; every block of it was written.
const DATA: &str = "data";
/// The file of jobs that write a new one.
const FRESH: &str = "fresh";

/// A run has long locked and written its owner file after this time.
const STARTING: Duration = Duration::from_secs(60);

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
    /// Held exclusively, so that nobody can mount it meanwhile.
    Device {
        path: PathBuf,
        _held: File,
    },
}

/// A folder of assay's own.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    run_id: String,
    /// Locked; the lock ends with the process, however it ends.
    _owner: File,
}

impl Workspace {
    /// Prepares the place of a plan.
    pub(crate) fn new(plan: &Plan) -> io::Result<Self> {
        match &plan.place {
            Place::Directory { path } => Folder::new(path, &plan.run_id).map(Self::Folder),
            Place::File { path } => Ok(Self::File(path.clone())),
            Place::Device { path } => {
                let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
                let held = rustix::fs::open(path, flags, Mode::empty())?;
                Ok(Self::Device {
                    path: path.clone(),
                    _held: File::from(held),
                })
            }
        }
    }

    /// The file or device whose blocks are all written.
    pub(crate) fn data(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.path.join(DATA),
            Self::File(path) | Self::Device { path, .. } => path.clone(),
        }
    }

    /// A place to write a new file to: emptied, or the device itself.
    pub(crate) fn fresh(&self) -> io::Result<PathBuf> {
        match self {
            Self::Folder(folder) => {
                let path = folder.path.join(FRESH);
                File::create(&path)?;
                Ok(path)
            }
            Self::File(path) | Self::Device { path, .. } => Ok(path.clone()),
        }
    }

    /// Removes what the run made here. What cannot be removed is returned: the
    /// next start finds it.
    pub(crate) fn clear(self) -> Option<Leftover> {
        match self {
            Self::Folder(folder) => {
                let leftover = take_away(&folder.path, &folder.run_id);
                leftover.problem.is_some().then_some(leftover)
            }
            Self::File(_) | Self::Device { .. } => None,
        }
    }

    /// Removes the new file of the last trial and lets the file system settle,
    /// so that its write-back does not fall into the next trial.
    pub(crate) fn discard_fresh(&self) -> io::Result<()> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        let path = folder.path.join(FRESH);
        if path.exists() {
            fs::remove_file(&path)?;
            rustix::fs::syncfs(File::open(&folder.path)?)?;
        }
        Ok(())
    }
}

impl Folder {
    fn new(parent: &Path, run_id: &str) -> io::Result<Self> {
        let path = parent.join(format!("{PREFIX}{run_id}"));
        fs::create_dir(&path)?;
        let owner = Owner {
            about: "Test files of assay. They may be removed when assay is not running.".to_owned(),
            run_id: run_id.to_owned(),
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path.join(OWNER))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        serde_json::to_writer(&file, &owner)?;
        Ok(Self {
            path,
            run_id: run_id.to_owned(),
            _owner: file,
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it fails, the folder is found and reported by the next start.
        let _ = remove(&self.path);
    }
}

/// Removes the files that assay makes in a test folder, and the folder when
/// nothing else is in it. The owner file goes last: while it is there, an
/// interrupted removal can be taken up again.
fn remove(folder: &Path) -> io::Result<()> {
    for name in [DATA, FRESH, OWNER] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match fs::remove_dir(folder) {
        // Gone with the storage it was on.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes the test folders that killed runs left in `directory`.
pub(crate) fn sweep(directory: &Path) -> Vec<Leftover> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            let name = entry.file_name();
            let run_id = name.to_str()?.strip_prefix(PREFIX)?;
            is_folder.then(|| sweep_one(&entry.path(), run_id))?
        })
        .collect()
}

/// One folder with the right name; `None` when it is not a leftover of ours.
fn sweep_one(folder: &Path, run_id: &str) -> Option<Leftover> {
    let file = File::open(folder.join(OWNER)).ok()?;
    let ours = serde_json::from_reader::<_, Owner>(&file).is_ok_and(|o| o.run_id == run_id);
    let unfinished = file.metadata().is_ok_and(|meta| was_never_written(&meta));
    let abandoned = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !(ours || unfinished) || !abandoned {
        return None;
    }
    Some(take_away(folder, run_id))
}

/// Killed between making the owner file and writing it. A young empty file may
/// be that of a run which is just starting.
fn was_never_written(owner: &fs::Metadata) -> bool {
    let age = owner.modified().ok().and_then(|time| time.elapsed().ok());
    owner.len() == 0 && age.is_some_and(|age| age > STARTING)
}

/// Removes a test folder, and says what was there and whether it worked.
fn take_away(folder: &Path, run_id: &str) -> Leftover {
    let size = [DATA, FRESH]
        .iter()
        .filter_map(|name| fs::symlink_metadata(folder.join(name)).ok())
        .map(|meta| meta.len())
        .sum();
    Leftover {
        folder: folder.to_owned(),
        run_id: run_id.to_owned(),
        size: Bytes(size),
        problem: remove(folder).err().map(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(parent: &Path, run_id: &str) -> Folder {
        let folder = Folder::new(parent, run_id).unwrap();
        fs::write(folder.path.join(DATA), [1; 1000]).unwrap();
        folder
    }

    #[test]
    fn a_folder_goes_with_its_run() {
        let parent = tempfile::tempdir().unwrap();
        drop(folder(parent.path(), "abc"));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_living_run_is_left_alone_and_a_killed_one_swept() {
        let parent = tempfile::tempdir().unwrap();
        let living = folder(parent.path(), "living");
        assert_eq!(sweep(parent.path()), []);

        // A kill: the lock is gone, the files stay.
        let path = living.path.clone();
        let Folder { .. } = &living;
        let kept = parent.path().join("kept");
        fs::rename(&path, &kept).unwrap();
        drop(living);
        fs::rename(&kept, &path).unwrap();

        let swept = sweep(parent.path());
        assert_eq!(swept.len(), 1);
        assert_eq!(swept[0].run_id, "living");
        assert_eq!(swept[0].size, Bytes(1000));
        assert_eq!(swept[0].problem, None);
        assert!(!path.exists());
    }

    #[test]
    fn what_assay_did_not_make_stays() {
        let parent = tempfile::tempdir().unwrap();
        let strange = parent.path().join(".assay-mine");
        fs::create_dir(&strange).unwrap();
        fs::write(strange.join(DATA), "precious").unwrap();
        assert_eq!(sweep(parent.path()), []);
        fs::write(strange.join(OWNER), r#"{"about":"","run_id":"other"}"#).unwrap();
        assert_eq!(sweep(parent.path()), []);
        assert!(strange.join(DATA).exists());

        // A leftover with a file of somebody else in it: only ours goes.
        fs::write(strange.join(OWNER), r#"{"about":"","run_id":"mine"}"#).unwrap();
        fs::write(strange.join("notes"), "precious").unwrap();
        let swept = sweep(parent.path());
        assert!(swept[0].problem.is_some());
        assert!(strange.join("notes").exists());
    }
}
