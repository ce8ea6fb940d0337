//! Record of the places that a process holds, in a file that survives the process.
//!
//! Each process has one file, in assay's data folder, and keeps it locked while it runs. The first
//! line names the coordinator and the owner; each other line is a state of a place. It is synced
//! before the place is acquired.

use super::{LabError, Wire};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Folder of the journals in assay's data folder.
const FOLDER: &str = "labgrid";
const ENDING: &str = "journal";

/// First line of a journal.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    coordinator: String,
    owner: String,
}

/// Journal entry: state of a place.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct JournalEntry {
    place: String,
    held: bool,
    /// Time at which the place was acquired, from the coordinator; `None` while there is no
    /// answer.
    changed: Option<f64>,
}

/// Journal of this process. The file is removed when no place is held at the end.
#[derive(Debug)]
pub(super) struct LeaseJournal {
    path: PathBuf,
    /// Locked file; the kernel releases the lock when the process ends.
    file: File,
    held: HeldPlaces,
}

impl LeaseJournal {
    pub(super) fn create(data: &Path, coordinator: &str, owner: &str) -> Result<Self, LabError> {
        let folder = data.join(FOLDER);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!("{}-{}", std::process::id(), since.as_nanos());
        let path = folder.join(format!("{name}.{ENDING}"));
        let head = Head {
            coordinator: coordinator.to_owned(),
            owner: owner.to_owned(),
        };
        let file = make(&folder, &folder.join(name), &path, &head);
        let file = file.map_err(|error| unwritable(&path, &error))?;
        Ok(Self {
            path,
            file,
            held: BTreeMap::new(),
        })
    }

    /// Records that a place is about to be acquired. After this returns, it can be released even
    /// if this process is killed.
    pub(super) fn acquiring(&mut self, place: &str) -> Result<(), LabError> {
        self.note(place, true, None)
            .map_err(|error| unwritable(&self.path, &error))
    }

    /// Records that a place is held. `asked` is the name of the request, which may be an alias.
    pub(super) fn acquired(&mut self, asked: &str, place: &str, changed: f64) {
        // The entry of the request is enough to release the place.
        let _ = self.note(place, true, Some(changed));
        if asked != place {
            self.released(asked);
        }
    }

    /// Records that a place is not held.
    pub(super) fn released(&mut self, place: &str) {
        // If this fails, the next cleanup finds that the place is free.
        let _ = self.note(place, false, None);
    }

    fn note(&mut self, place: &str, held: bool, changed: Option<f64>) -> io::Result<()> {
        match held {
            true => self.held.insert(place.to_owned(), changed),
            false => self.held.remove(place),
        };
        let entry = JournalEntry {
            place: place.to_owned(),
            held,
            changed,
        };
        write_line(&mut self.file, &entry)
    }
}

impl Drop for LeaseJournal {
    fn drop(&mut self) {
        if self.held.is_empty() {
            // A journal without entries is harmless.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a journal, which gets its final name only when it is locked and has its first line.
fn make(folder: &Path, unnamed: &Path, path: &Path, head: &Head) -> io::Result<File> {
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(folder)?;
    let mut options = OpenOptions::new();
    let mut file = options
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(unnamed)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    write_line(&mut file, head)?;
    fs::rename(unnamed, path)?;
    Ok(file)
}

fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_data()
}

fn unwritable(path: &Path, error: &io::Error) -> LabError {
    LabError::Journal(format!(
        "cannot write {}, without which boards could not be released after a kill: {error}",
        path.display()
    ))
}

/// A place that a dead process held, and the result of releasing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Name of the place.
    pub place: String,
    /// Coordinator of the place.
    pub coordinator: String,
    /// `true` if the place was still held and is released now; `false` if it was released or
    /// changed by others since, and was left alone.
    pub released: bool,
}

/// Releases places that are held by dead processes of this user on this host.
///
/// A place that changed since it was acquired is left alone: the same user may have released and
/// acquired it by hand.
///
/// If a coordinator does not answer, its journals are kept, and its error is returned together
/// with the results for the other coordinators.
pub fn release_stale(data: &Path) -> (Vec<Freed>, Result<(), LabError>) {
    let (mut freed, mut ended) = (Vec::new(), Ok(()));
    let Journals { abandoned, living } = journals(&data.join(FOLDER));
    let living: Vec<_> = living.iter().map(|path| read(path)).collect();
    for (path, _lock) in abandoned {
        let (head, mut held) = read(&path);
        if let Some(head) = head {
            held.retain(|place, changed| {
                changed.is_some() || !living.iter().any(|other| holds(other, &head, place))
            });
            if let Err(error) = free_all(&head, held, &mut freed) {
                ended = ended.and(Err(error));
                continue;
            }
        }
        // Another process may have removed it.
        let _ = fs::remove_file(&path);
    }
    (freed, ended)
}

/// Returns `true` if a living process of the same owner holds a place. A dead process's unanswered
/// request for that place is then ignored.
fn holds(living: &Read, head: &Head, place: &str) -> bool {
    living.0.as_ref() == Some(head) && living.1.contains_key(place)
}

fn free_all(head: &Head, held: HeldPlaces, freed: &mut Vec<Freed>) -> Result<(), LabError> {
    if held.is_empty() {
        return Ok(());
    }
    let (mut wire, _) = Wire::open(&head.coordinator)?;
    for (place, changed) in held {
        freed.push(free(&mut wire, head, place, changed)?);
    }
    Ok(())
}

fn free(
    wire: &mut Wire,
    head: &Head,
    place: String,
    changed: Option<f64>,
) -> Result<Freed, LabError> {
    #[derive(Deserialize)]
    struct Released {
        kept: bool,
    }
    let owner = &head.owner;
    let request = json!({"do": "free_stale", "place": place, "owner": owner, "changed": changed});
    let released = match wire.ask::<Released>(&request) {
        Ok(released) => released.kept,
        // An unknown place is not held.
        Err(LabError::Unknown(_)) => false,
        Err(error) => return Err(error.of_place(&place)),
    };
    Ok(Freed {
        place,
        coordinator: head.coordinator.clone(),
        released,
    })
}

/// Journals in a folder.
#[derive(Default)]
struct Journals {
    /// Journals of dead processes; locked so that other processes skip them.
    abandoned: Vec<(PathBuf, File)>,
    living: Vec<PathBuf>,
}

fn journals(folder: &Path) -> Journals {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    let mut journals = Journals::default();
    for path in paths {
        let Ok(file) = File::open(&path) else {
            continue;
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if path.exists() => journals.abandoned.push((path, file)),
            Ok(()) => {}
            Err(_) => journals.living.push(path),
        }
    }
    journals
}

/// Held places with the time of acquisition; `None` if the request was not answered.
type HeldPlaces = BTreeMap<String, Option<f64>>;
/// Content of a journal.
type Read = (Option<Head>, HeldPlaces);

/// Reads the first line, and the places that are held after the last line. An incomplete line is
/// ignored: the request that it announces was not sent.
fn read(path: &Path) -> Read {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    let head = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    let mut held = BTreeMap::new();
    for entry in lines.filter_map(|line| serde_json::from_str::<JournalEntry>(line).ok()) {
        match entry.held {
            true => held.insert(entry.place, entry.changed),
            false => held.remove(&entry.place),
        };
    }
    (head, held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;

    fn files(data: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(data.join(FOLDER)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_a_dead_process_held_is_known_and_what_a_living_one_holds_is_not_touched() {
        let data = Scratch::new().unwrap();
        let mut journal = LeaseJournal::create(data.path(), "c:1", "host/me").unwrap();
        journal.acquiring("kept").unwrap();
        journal.acquired("kept", "kept", 1.25);
        journal.acquiring("alias").unwrap();
        journal.acquired("alias", "name", 2.5);
        journal.acquiring("gone").unwrap();
        journal.released("gone");
        journal.acquiring("asked").unwrap();
        let [path] = &files(data.path())[..] else {
            panic!("one file");
        };
        let looked_at = || {
            let Journals { abandoned, living } = journals(&data.join(FOLDER));
            (abandoned.len(), living.len())
        };
        assert_eq!(looked_at(), (0, 1), "it lives");
        // A kill releases the lock, and may leave half a line.
        flock(&journal.file, FlockOperation::Unlock).unwrap();
        journal.file.write_all(br#"{"place":"half","#).unwrap();
        assert_eq!(looked_at(), (1, 0));
        let (head, held) = read(path);
        let (coordinator, owner) = ("c:1".to_owned(), "host/me".to_owned());
        assert_eq!(head, Some(Head { coordinator, owner }));
        let expected = [("asked", None), ("kept", Some(1.25)), ("name", Some(2.5))];
        let expected = expected.map(|(place, changed)| (place.to_owned(), changed));
        assert_eq!(held, BTreeMap::from(expected));
    }

    #[test]
    fn what_was_only_asked_for_may_be_a_living_ones() {
        let head = |owner: &str| Head {
            coordinator: "c:1".to_owned(),
            owner: owner.to_owned(),
        };
        let held = HeldPlaces::from([("p".to_owned(), Some(1.0))]);
        let living = (Some(head("host/me")), held);
        assert!(holds(&living, &head("host/me"), "p"));
        assert!(!holds(&living, &head("host/me"), "q"));
        assert!(!holds(&living, &head("host/other"), "p"));
    }

    #[test]
    fn a_journal_goes_when_nothing_is_held() {
        let data = Scratch::new().unwrap();
        let mut journal = LeaseJournal::create(data.path(), "c:1", "host/me").unwrap();
        journal.acquiring("p").unwrap();
        journal.acquired("p", "p", 1.0);
        journal.released("p");
        drop(journal);
        assert!(files(data.path()).is_empty());
    }
}
