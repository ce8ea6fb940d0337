use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use tempfile::{TempDir, tempdir};

/// A folder that is held, in another one.
fn made() -> (TempDir, HeldFolder) {
    let above = tempdir().unwrap();
    let held = HeldFolder::make(above.path(), "private").unwrap();
    (above, held)
}

/// Puts a link to another folder in its place.
fn swap(above: &Path, victim: &Path) {
    fs::rename(above.join("private"), above.join("moved")).unwrap();
    symlink(victim, above.join("private")).unwrap();
}

#[test]
fn a_made_folder_is_for_its_user_alone_and_new() {
    let (above, held) = made();
    assert_eq!(held.name(), above.path().join("private"));
    let mode = fs::metadata(held.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let again = HeldFolder::make(above.path(), "private").unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_folder_is_told_from_one_of_another_user() {
    let (_above, held) = made();
    assert!(is_own(&held) && is_owner_of_new(&held).unwrap());
    if chown(held.path(), Some(65_534), None).is_err() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    assert!(!is_own(&held) && !is_owner_of_new(&held).unwrap());
    assert_eq!(entries(&held.held.folder).unwrap().count(), 0);
}

#[test]
fn in_a_folder_that_was_removed_no_folder_can_be_made() {
    let (above, held) = made();
    fs::remove_dir_all(above.path()).unwrap();
    let refused = make_folders(&held.path().join("a/b/c"), Mode::RWXU).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
}

#[test]
fn names_lead_into_the_folder_whatever_has_its_name() {
    let (above, held) = made();
    let victim = tempdir().unwrap();
    fs::write(victim.path().join("data"), "precious").unwrap();
    swap(above.path(), victim.path());
    let path = held.path().join("data");
    create_new(&path).unwrap();
    fs::write(&path, "ours").unwrap();
    open(&path, OFlags::WRONLY | OFlags::TRUNC, Mode::empty()).unwrap();
    make_folders(&held.path().join("a/b"), Mode::RWXU).unwrap();
    assert!(above.path().join("moved/a/b").is_dir());
    assert_eq!(status(&path).unwrap().st_size, 0);
    remove_file(&path).unwrap();
    assert!(!above.path().join("moved/data").exists());
    let there = fs::read_to_string(victim.path().join("data")).unwrap();
    assert_eq!(there, "precious");
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_is_removed_under_the_name_that_it_has_now() {
    let (above, held) = made();
    let victim = tempdir().unwrap();
    swap(above.path(), victim.path());
    held.remove().unwrap();
    assert!(!above.path().join("moved").exists());
    assert!(victim.path().exists());

    let (above, held) = made();
    fs::write(held.path().join("data"), "").unwrap();
    assert!(held.remove().is_err(), "it is not empty");
    assert!(above.path().join("private").exists());
}

#[test]
fn links_in_a_held_folder_are_not_followed() {
    let (_above, held) = made();
    let victim = tempdir().unwrap();
    let precious = victim.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::create_dir(victim.path().join("empty")).unwrap();
    symlink(&precious, held.path().join("link")).unwrap();
    symlink(victim.path(), held.path().join("folder")).unwrap();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let write = |name: &str| open(&held.path().join(name), flags, Mode::RUSR).err();
    assert_eq!(write("link"), Some(Errno::LOOP));
    for name in ["folder/precious", "folder/new"] {
        assert_eq!(write(name), Some(Errno::NOTDIR), "{name}");
    }
    assert_eq!(write("../beside"), Some(Errno::XDEV));
    let kind = |name: &str| stat(&held.path().join(name)).map(|it| it.st_mode & 0o170_000);
    assert_eq!(kind("link"), Ok(0o120_000));
    assert_eq!(kind("folder/precious"), Err(Errno::NOTDIR));
    assert_eq!(
        make_folder(&held.path().join("folder/new"), Mode::RWXU),
        Err(Errno::NOTDIR)
    );
    assert_eq!(
        unlink(&held.path().join("folder/empty"), AtFlags::REMOVEDIR),
        Err(Errno::NOTDIR)
    );
    assert!(remove_file(&held.path().join("folder/precious")).is_err());
    assert!(make_folders(&held.path().join("folder/new"), Mode::RWXU).is_err());
    assert!(make_folders(&held.path().join("folder"), Mode::RWXU).is_err());
    remove_file(&held.path().join("link")).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 2);
}

/// A copy gives its thread such a table, and other acts follow in the same thread.
#[test]
fn a_thread_with_its_own_file_table_holds_folders() {
    let above = tempdir().unwrap();
    let held = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Descriptors of this thread alone.
            crate::own_file_table();
            let held = HeldFolder::make(above.path(), "private").unwrap();
            fs::write(held.path().join("file"), "content").unwrap();
            assert_eq!(
                named(&held.path().join("file")),
                above.path().join("private/file")
            );
            held.remove().unwrap_err();
            remove_file(&held.path().join("file")).unwrap();
            held.remove()
        });
        thread.join().unwrap()
    });
    held.unwrap();
}

#[test]
fn people_see_the_name_and_not_the_descriptor() {
    let (above, held) = made();
    let private = above.path().join("private");
    assert_eq!(named(&held.path().join("a/b")), private.join("a/b"));
    assert_eq!(named(held.path()), private);
    assert_eq!(shown(Path::new("/proc/self/fd/x")), "/proc/self/fd/x");
    let path = held.path().join("data");
    drop(held);
    assert_eq!(named(&path), path, "nobody holds it any more");
}

#[test]
fn root_follows_only_links_that_nobody_else_can_change() {
    let above = tempdir().unwrap();
    let (folder, link) = (above.path().join("folder"), above.path().join("link"));
    fs::create_dir(&folder).unwrap();
    symlink("folder/../folder", &link).unwrap();
    let held = HeldFolder::open(&link).unwrap();
    fs::write(held.path().join("data"), "").unwrap();
    assert!(folder.join("data").exists());
    if chown(above.path(), Some(65_534), None).is_err() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let refused = HeldFolder::open(&link).unwrap_err().to_string();
    assert!(refused.contains("a link on the way, link,"), "{refused}");
    HeldFolder::open(&folder).unwrap();
    // As /tmp: a link of root stays what it is there.
    chown(above.path(), Some(0), None).unwrap();
    fs::set_permissions(above.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    HeldFolder::open(&link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
    assert!(HeldFolder::open(&link).is_err());
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_and_its_journals_stay_in_the_held_folder() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let (above, held) = made();
        let victim = tempdir().unwrap();
        let names = ["db", "db-journal", "db-wal", "db-shm"];
        for name in names {
            fs::write(victim.path().join(name), "precious").unwrap();
        }
        let_sqlite_in().unwrap();
        let database = rusqlite::Connection::open(held.path().join("db")).unwrap();
        let set = format!("PRAGMA journal_mode = {mode}");
        let is: String = database.query_row(&set, [], |row| row.get(0)).unwrap();
        assert_eq!(is, mode);
        swap(above.path(), victim.path());
        let fill = "CREATE TABLE a (b); INSERT INTO a VALUES (1); PRAGMA wal_checkpoint";
        for statement in fill.split(';') {
            let done = database
                .prepare(statement)
                .and_then(|mut it| it.query([])?.next().map(drop));
            done.unwrap();
        }
        drop(database);
        assert!(above.path().join("moved/db").metadata().unwrap().len() > 0);
        for name in names {
            let there = fs::read_to_string(victim.path().join(name)).unwrap();
            assert_eq!(there, "precious", "{mode}: {name}");
        }
    }
}
