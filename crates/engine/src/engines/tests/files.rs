//! Engines that move no data.

use super::*;
use std::path::PathBuf;

/// A file that is not there, as engines know it that do not open files.
fn unopened(path: PathBuf) -> OpenFile {
    let nothing = File::open("/dev/null").unwrap();
    OpenFile {
        path,
        ..OpenFile::new(nothing, 0, Path::new("/dev/null"), true).unwrap()
    }
}

#[test]
fn files_are_made_looked_at_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let once = |kind| {
        let files = [unopened(path.clone())];
        let done = does(&engine(kind), &files, vec![unit(Ddir::Read, &files[0], 0)]);
        (done[0].result, path.exists())
    };
    assert_eq!(once(EngineKind::FileStat), (Err(libc::ENOENT), false));
    assert_eq!(once(EngineKind::FileDelete), (Err(libc::ENOENT), false));
    assert_eq!(once(EngineKind::FileCreate), (Ok(BLOCK), true));
    assert_eq!(once(EngineKind::FileStat), (Ok(BLOCK), true));
    assert_eq!(once(EngineKind::FileDelete), (Ok(BLOCK), false));
}

#[test]
fn directories_are_made_looked_at_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let once = |kind| {
        let files = [unopened(path.clone())];
        let done = does(&engine(kind), &files, vec![unit(Ddir::Read, &files[0], 0)]);
        (done[0].result, path.is_dir())
    };
    assert_eq!(once(EngineKind::DirStat), (Err(libc::ENOENT), false));
    assert_eq!(once(EngineKind::DirCreate), (Ok(BLOCK), true));
    assert_eq!(once(EngineKind::DirCreate), (Err(libc::EEXIST), true));
    assert_eq!(once(EngineKind::DirStat), (Ok(BLOCK), true));
    assert_eq!(once(EngineKind::DirDelete), (Ok(BLOCK), false));
}

#[test]
fn ftruncate_ends_the_file_where_the_block_starts() {
    let folder = tempfile::tempdir().unwrap();
    let files = [file(&folder, "a", 0, 0)];
    let engine = engine(EngineKind::Ftruncate);
    for block in [5, 2] {
        let at = block * u64::from(BLOCK);
        let done = does(&engine, &files, vec![unit(Ddir::Write, &files[0], at)]);
        assert_eq!(results(&done), [Ok(BLOCK)]);
        assert_eq!(fs::metadata(&files[0].path).unwrap().len(), at);
    }
    for ddir in [Ddir::Read, Ddir::Trim] {
        let done = does(&engine, &files, vec![unit(ddir, &files[0], 0)]);
        assert_eq!(results(&done), [Err(libc::EINVAL)]);
    }
}

#[test]
fn falloc_reserves_and_frees() {
    let folder = tempfile::tempdir().unwrap();
    let files = [file(&folder, "a", 0, 0)];
    let path = &files[0].path;
    let once = |ddir, block: u64| {
        let at = block * u64::from(BLOCK);
        let done = does(
            &engine(EngineKind::Falloc),
            &files,
            vec![unit(ddir, &files[0], at)],
        );
        (done[0].result, fs::metadata(path).unwrap().len())
    };
    let (first, size) = once(Ddir::Write, 3);
    if first == Err(libc::EOPNOTSUPP) {
        skip("no fallocate here");
        return;
    }
    let end = 4 * u64::from(BLOCK);
    assert_eq!((first, size), (Ok(BLOCK), end));
    let before = space(path);
    assert_eq!(once(Ddir::Read, 7), (Ok(BLOCK), end));
    let both = space(path);
    assert!(both > before);
    // (Some file systems free nothing behind the end.)
    assert_eq!(once(Ddir::Trim, 3), (Ok(BLOCK), end));
    assert!(space(path) < both);
}
