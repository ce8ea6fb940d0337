//! Files that are no store of ours are named as such and left as they are.

mod common;

use assay_store::{Store, StoreError};
use common::{header, owner};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

/// Opens `path` both ways; asserts one line per error, and that not a byte
/// changed and no file appeared.
#[expect(
    clippy::unwrap_used,
    reason = "a helper of tests, where a panic is a failure"
)]
fn refuse(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    let error = Store::open(path).unwrap_err();
    let existing = Store::open_existing(path).unwrap_err();
    assert_eq!(error.to_string(), existing.to_string());
    assert!(!error.to_string().contains('\n'));
    assert!(error.to_string().contains(&path.display().to_string()));
    assert_eq!(fs::read(path).unwrap(), before, "the file was changed");
    let neighbours = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(neighbours, 1, "a file appeared beside it");
    error
}

#[test]
fn a_text_file() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["x", &"my notes\n".repeat(1_000)] {
        let path = folder.path().join("notes.txt");
        fs::write(&path, text).unwrap();
        let error = refuse(&path);
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
    }
}

#[test]
fn the_database_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places.sqlite");
    for application_id in [0, 0x0f05_5112] {
        let other = rusqlite::Connection::open(&path).unwrap();
        other
            .pragma_update(None, "application_id", application_id)
            .unwrap();
        other
            .execute_batch("CREATE TABLE IF NOT EXISTS bookmarks (url)")
            .unwrap();
        drop(other);
        let error = refuse(&path);
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
}

#[test]
fn a_store_from_a_newer_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = common::path(&folder);
    drop(Store::open(&path).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = refuse(&path);
    assert!(matches!(error, StoreError::Newer { found: 99, .. }));
    assert!(error.to_string().contains("update assay"), "{error}");
}

#[test]
fn a_directory_and_a_device() {
    for path in [Path::new("/"), Path::new("/dev/null")] {
        for error in [
            Store::open(path).unwrap_err(),
            Store::open_existing(path).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("sub/runs.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Access { .. }), "{error}");
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn a_missing_or_empty_file_has_no_runs_but_may_become_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let missing = folder.path().join("new/folder/runs.sqlite");
    for path in [empty, missing] {
        let error = Store::open_existing(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "no store at {}: check the path; the first measurement makes one (assay qualify)",
                path.display()
            )
        );
        Store::open(&path).unwrap();
        assert!(
            Store::open_existing(&path)
                .unwrap()
                .runs()
                .unwrap()
                .is_empty()
        );
    }
}

/// Set for the process that opens the store as another user.
const AS_NOBODY: &str = "ASSAY_TEST_STORE_OF_NOBODY";

/// Root may write everything, so the store is opened by a process of another
/// user; run by the next test.
#[test]
fn child_opens_as_nobody() {
    let Some(folder) = std::env::var_os(AS_NOBODY) else {
        return;
    };
    let folder = Path::new(&folder);
    let read_only = Store::open(&folder.join("runs.sqlite")).unwrap_err();
    assert!(
        matches!(read_only, StoreError::ReadOnly { .. }),
        "{read_only}"
    );
    let new = Store::open(&folder.join("new.sqlite")).unwrap_err();
    assert!(matches!(new, StoreError::ReadOnly { .. }), "{new}");
    let deep = Store::open(&folder.join("sub/new.sqlite")).unwrap_err();
    assert!(matches!(deep, StoreError::Access { .. }), "{deep}");
    let secret = Store::open_existing(&folder.join("secret.sqlite")).unwrap_err();
    assert!(matches!(secret, StoreError::Access { .. }), "{secret}");

    let mut store = Store::open_existing(&folder.join("runs.sqlite")).unwrap();
    assert_eq!(store.runs().unwrap().len(), 1, "reading is allowed");
    let change = store.mark_interrupted("k3v9").unwrap_err();
    assert!(matches!(change, StoreError::ReadOnly { .. }), "{change}");

    let old = Store::open_existing(&folder.join("old.sqlite")).unwrap();
    assert_eq!(old.runs().unwrap().len(), 1, "also of an old format");
    assert!(old.imports().unwrap().is_empty());
    assert_eq!(old.find("last").unwrap().id(), "old");
}

#[test]
fn files_of_another_user_are_read_only() {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    if let Err(error) = chown(folder.path(), Some(0), Some(0)) {
        assay_testkit::skip(&format!(
            "only root can open a store as another user ({error})"
        ));
        return;
    }
    for name in ["runs.sqlite", "secret.sqlite"] {
        let path = folder.path().join(name);
        let mut store = Store::open(&path).unwrap();
        store.begin_run(&header("k3v9", 1_000), &owner()).unwrap();
    }
    let mode = |name, mode| {
        let path = folder.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/v1.sqlite");
    fs::copy(old, folder.path().join("old.sqlite")).unwrap();
    mode("", 0o755);
    mode("old.sqlite", 0o644);
    mode("runs.sqlite", 0o644);
    mode("secret.sqlite", 0o600);
    let child = assay_testkit::command(std::env::current_exe().unwrap())
        .args(["--exact", "child_opens_as_nobody"])
        .env(AS_NOBODY, folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    match child {
        Err(error) => assay_testkit::skip(&format!("nobody cannot run this test ({error})")),
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        ),
    }
}

#[test]
fn a_file_that_is_no_longer_the_one_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let [path, one, other] = ["runs.sqlite", "one", "other"].map(|name| folder.path().join(name));
    drop(Store::open(&one).unwrap());
    fs::copy(&one, &other).unwrap();
    std::os::unix::fs::symlink(&one, &path).unwrap();
    let mut store = Store::open(&path).unwrap();
    store.begin_run(&header("run", 1), &owner()).unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    let saved = store.save_trial("run", &common::trial(0));
    assert!(
        matches!(saved, Err(StoreError::Replaced { .. })),
        "{saved:?}"
    );
}

#[test]
fn a_file_whose_contents_were_replaced_misses_trials() {
    let (folder, mut store) = common::store();
    let [path, copy] = [common::path(&folder), folder.path().join("copy")];
    store.begin_run(&header("run", 1), &owner()).unwrap();
    fs::copy(&path, &copy).unwrap();
    store.save_trial("run", &common::trial(0)).unwrap();
    assert!(store.expect_trials("run", 1).is_ok());
    fs::copy(&copy, &path).unwrap();
    let there = store.expect_trials("run", 1);
    assert!(
        matches!(
            there,
            Err(StoreError::Incomplete {
                there: 0,
                trials: 1,
                ..
            })
        ),
        "{there:?}"
    );
}
