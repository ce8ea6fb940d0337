//! Journal of changes, in a file that survives the process.
//!
//! Each plan in progress has one file, in a folder that only its user may write: `/run/assay` for
//! root. The file is locked while its process runs; a file without a lock was left by a killed run.
//! Every line is one change, written and synced before the change is made.

use assay_model::condition::Knob;
use assay_probe::processes::{descendants, leads_session};
use assay_probe::roots::Roots;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, geteuid, getppid};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Environment variable for another folder of journals: for systems without `/run`, or for tests.
const FOLDER: &str = "ASSAY_JOURNAL_DIR";
const ENDING: &str = "journal";
/// Mode bits that a private folder must not have: access by others.
const PRIVATE: u32 = 0o077;

/// Age after which a process must have locked and written its journal.
const STARTING: Duration = Duration::from_secs(60);

/// Change of a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnobChange {
    pub(super) knob: Knob,
    /// Value before the plan; `None` for a command.
    pub(super) old: Option<String>,
    /// New value; `None` if only the kernel changes it.
    pub(super) new: Option<String>,
    /// Knob whose change also changes this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) with: Option<Knob>,
}

impl KnobChange {
    pub(super) fn new(knob: Knob, old: Option<String>, new: String) -> Self {
        Self {
            knob,
            old,
            new: Some(new),
            with: None,
        }
    }

    /// Creates the entry of a knob that the kernel may change together with another one.
    pub(super) fn beside(knob: Knob, old: Option<String>, with: &Knob) -> Self {
        Self {
            knob,
            old,
            new: None,
            with: Some(with.clone()),
        }
    }
}

/// Line of a journal: the change, and the run that made it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JournalLine {
    pub(super) run_id: String,
    pub(super) boot_id: String,
    /// For messages; the lock shows if the process runs.
    pub(super) pid: u32,
    /// Process that started it; `None` if it outlives that process.
    #[serde(default)]
    pub(super) host: Option<i32>,
    #[serde(flatten)]
    pub(super) entry: KnobChange,
}

/// Journal of a plan in progress.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) path: PathBuf,
    /// Locked file; the kernel releases the lock when the process ends.
    file: File,
    run_id: String,
    boot_id: String,
    /// Knobs in the journal that no other run had claimed.
    claimed: Vec<Knob>,
}

impl Journal {
    /// Creates the journal of a run.
    pub(super) fn create(folder: &Path, run_id: &str) -> Result<Self, String> {
        let path = folder.join(format!("{run_id}-{}.{ENDING}", std::process::id()));
        let made = make(folder, &path).or_else(|error| match error.kind() {
            // Another run may have just removed the folder together with its own journal.
            io::ErrorKind::NotFound => make(folder, &path),
            _ => Err(error),
        });
        let file = made.map_err(|error| {
            format!(
                "cannot write {}, without which settings could not be undone after a kill: {error} \
                 (the variable {FOLDER} names another folder)",
                path.display()
            )
        })?;
        Ok(Self {
            path,
            file,
            run_id: run_id.to_owned(),
            boot_id: boot_id(),
            claimed: Vec::new(),
        })
    }

    /// Records changes durably before they are made. Fails if another run in progress changes the
    /// same knobs.
    pub(super) fn add(&mut self, entries: &[KnobChange]) -> Result<(), String> {
        let new = entries.iter().map(|entry| &entry.knob);
        let new: Vec<Knob> = new.filter(|knob| !self.claims(knob)).cloned().collect();
        self.are_free(&new)?;
        self.write(entries)?;
        // If two runs write at the same time, at least one of them sees the other's entry.
        self.are_free(&new)?;
        self.claimed.extend(new);
        Ok(())
    }

    /// Returns true if this run has already claimed the knob.
    pub(super) fn claims(&self, knob: &Knob) -> bool {
        self.claimed.contains(knob)
    }

    /// Fails if another run in progress has one of these knobs.
    fn are_free(&self, knobs: &[Knob]) -> Result<(), String> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let others = if knobs.is_empty() {
            Vec::new()
        } else {
            paths(folder)
        };
        let lines = others.iter().filter(|path| **path != self.path);
        let mut lines = lines.filter_map(|path| live(path)).flatten();
        let taken =
            lines.find(|line| line.boot_id == self.boot_id && knobs.contains(&line.entry.knob));
        match taken {
            None => Ok(()),
            Some(JournalLine {
                run_id, pid, entry, ..
            }) => Err(format!(
                "run {run_id} (pid {pid}), which is under way, sets {} too: each would take the \
                 other's value for the original one; wait for its end",
                entry.knob
            )),
        }
    }

    fn write(&mut self, entries: &[KnobChange]) -> Result<(), String> {
        let mut text = Vec::new();
        for entry in entries {
            let line = JournalLine {
                run_id: self.run_id.clone(),
                boot_id: self.boot_id.clone(),
                pid: std::process::id(),
                host: host(),
                entry: entry.clone(),
            };
            serde_json::to_writer(&mut text, &line).map_err(|error| error.to_string())?;
            text.push(b'\n');
        }
        let written = self
            .file
            .write_all(&text)
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }

    /// Removes the journal after everything is undone.
    pub(super) fn remove(self) {
        // A journal that remains describes the current state: it is harmless. The folder is removed
        // with the last journal in it.
        let _ = fs::remove_file(&self.path);
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

fn make(folder: &Path, path: &Path) -> io::Result<File> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_ours_alone(folder) {
        return Err(io::Error::other(format!(
            "{} is not a folder that only this user may write",
            folder.display()
        )));
    }
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // A process that looks for abandoned journals may hold the lock for a moment.
    flock(&file, FlockOperation::LockExclusive)?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// Returns `true` if no other user can write the folder: root executes the entries of a journal.
fn is_ours_alone(folder: &Path) -> bool {
    let meta = fs::symlink_metadata(folder);
    meta.is_ok_and(|meta| {
        meta.is_dir() && meta.uid() == geteuid().as_raw() && meta.mode() & PRIVATE == 0
    })
}

/// Returns the folder of this user's journals. It is not on a disk: writing there would disturb the
/// measurement, and after a reboot nothing needs to be undone.
pub(crate) fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return folder.into();
    }
    let user = geteuid();
    let run = Path::new("/run");
    if user.is_root() && run.is_dir() {
        return run.join("assay");
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| !user.is_root() && path.is_absolute()) {
        Some(path) => path.join("assay"),
        None => std::env::temp_dir().join(format!("assay-{}", user.as_raw())),
    }
}

/// Returns journals without a process, locked so that no other process takes them.
pub(super) fn abandoned(folder: &Path) -> Vec<(PathBuf, File)> {
    if !is_ours_alone(folder) {
        return Vec::new();
    }
    let open = |path: PathBuf| {
        let file = File::open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        // The process that held the lock may have removed the journal. A new journal is empty at
        // first.
        let there = path.exists() && !is_young(&file);
        there.then_some((path, file))
    };
    paths(folder).into_iter().filter_map(open).collect()
}

/// Returns the process that started this one; `None` for an agent that outlives its host.
fn host() -> Option<i32> {
    let is_kept = leads_session(&Roots::default());
    getppid().filter(|_| !is_kept).map(Pid::as_raw_pid)
}

/// Returns the journals of running processes whose parent process has ended.
pub(super) fn orphaned(roots: &Roots, folder: &Path) -> Vec<Vec<JournalLine>> {
    let is_orphan = |line: &JournalLine| {
        let host = line.host.and_then(|host| u32::try_from(host).ok());
        host.is_some_and(|host| !descendants(roots, host).contains(&line.pid))
    };
    let journals = paths(folder).into_iter().filter(|_| is_ours_alone(folder));
    let lines = journals.filter_map(|path| live(&path));
    lines
        .filter(|lines| lines.first().is_some_and(is_orphan))
        .collect()
}

/// Returns the paths of all journals, in the order of their names.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    paths
}

/// Returns the lines of a journal whose process is running.
fn live(path: &Path) -> Option<Vec<JournalLine>> {
    let file = File::open(path).ok()?;
    let free = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
    (!free).then(|| lines(&file))
}

/// Returns the lines of a journal. An incomplete line belongs to a change that was not made.
pub(super) fn lines(file: &File) -> Vec<JournalLine> {
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    lines
        .map_while(|line| serde_json::from_slice(line.as_bytes()).ok())
        .collect()
}

/// Returns `true` for a new journal without a line, which its process is about to write.
fn is_young(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| {
        let age = meta.modified().ok().and_then(|time| time.elapsed().ok());
        meta.len() == 0 && age.is_none_or(|age| age < STARTING)
    })
}

/// Returns an identifier that differs after each boot.
pub(super) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}
