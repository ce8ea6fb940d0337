//! Finding and removing the test folders of killed runs.

use super::removal::take_away;
use super::{OWNER, Owner, PREFIX};
use assay_engine::held::{self, HeldFolder, remove_folder};
use assay_model::units::Bytes;
use assay_model::wire::Leftover;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

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
            folder: held::named(path).into_owned(),
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
        folder: held::named(path).into_owned(),
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

#[cfg(test)]
mod tests {
    use super::super::{DATA, Folder};
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

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
    fn what_assay_did_not_make_stays() {
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
}
