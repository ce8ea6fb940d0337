//! The table of open files.

use super::super::table::LockBusy;
use super::super::{FileTable, Room};
use super::*;
use crate::page_cache;
use assay_model::job::EngineKind;
use assay_model::load::Ddir;
use assay_model::load::blocks::FileLock;
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

fn no_stop() -> AtomicBool {
    AtomicBool::new(false)
}

/// How the first file of a stream is opened.
fn flags_of(stream: &Stream, shared: &SharedFiles) -> Result<OFlags, EngineError> {
    let (plan, _) = made(stream, shared);
    let mut table = FileTable::new(stream, &plan, shared);
    table.open(0).map(|file| fcntl_getfl(&file.file).unwrap())
}

#[test]
fn the_least_recently_used_idle_file_makes_room() {
    let folder = TempDir::new().unwrap();
    let paths: Vec<_> = (0..4)
        .map(|n| file(&folder, &n.to_string(), 8192))
        .collect();
    let mut reads = stream(paths);
    reads.files.open_at_once = 2;
    let shared = SharedFiles::default();
    let (plan, _) = made(&reads, &shared);
    let mut table = FileTable::new(&reads, &plan, &shared);
    table.open_first(&no_stop()).unwrap();
    assert_eq!(table.open_numbers().collect::<Vec<_>>(), [0, 1]);
    assert!(table.get(2).is_none() && table.get(9).is_none());

    table.began(1);
    table.began(0);
    assert_eq!(table.room(), Room::Busy);
    table.ended(0);
    assert_eq!(table.room(), Room::Close(0), "1 is older but busy");
    table.ended(1);
    assert_eq!(table.room(), Room::Close(1));
    let closed = table.close(1).unwrap();
    assert_eq!(closed.number, 1);
    assert_eq!(table.room(), Room::Free);
    assert_eq!(table.open(3).unwrap().path, plan.files[3].path);
    assert_eq!(table.room(), Room::Close(0));
    assert!(table.close(1).is_none());
}

#[test]
fn files_are_opened_as_the_stream_wants() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 8192);
    let shared = SharedFiles::default();
    let access = OFlags::RDWR | OFlags::WRONLY;
    let reads = flags_of(&stream([&path]), &shared).unwrap();
    assert_eq!(reads & access, OFlags::RDONLY);
    let mut writes = writer([&path]);
    assert_eq!(flags_of(&writes, &shared).unwrap() & access, OFlags::RDWR);
    writes.durability.sync = assay_model::job::OpenSync::Dsync;
    let synchronous = libc::O_SYNC.cast_unsigned();
    let dsync = flags_of(&writes, &shared).unwrap().bits() & synchronous;
    assert_eq!(dsync, libc::O_DSYNC.cast_unsigned(), "and not O_SYNC");
    writes.durability.direct = true;
    match flags_of(&writes, &shared) {
        Ok(flags) => assert!(flags.contains(OFlags::DIRECT)),
        Err(error) => assert!(matches!(error, EngineError::NoDirect { .. }), "{error}"),
    }
}

#[test]
fn direct_io_is_refused_by_name() {
    let mut direct = sized(writer(["/dev/null"]), MIB);
    direct.durability.direct = true;
    let end = flags_of(&direct, &SharedFiles::default());
    assert!(matches!(end, Err(EngineError::NoDirect { .. })), "{end:?}");
}

#[test]
fn a_file_is_made_on_open_when_that_is_wanted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new");
    let mut reads = sized(stream([&path]), MIB);
    reads.files.create_on_open = true;
    flags_of(&reads, &SharedFiles::default()).unwrap();
    assert!(path.exists());
}

#[test]
fn engines_on_paths_open_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new");
    let shared = SharedFiles::default();
    for kind in [EngineKind::Null, EngineKind::FileCreate] {
        let mut by_name = sized(writer([&path]), MIB);
        by_name.engine.kind = kind;
        let (plan, _) = made(&by_name, &shared);
        let mut table = FileTable::new(&by_name, &plan, &shared);
        assert_eq!(table.open(0).unwrap().path, path);
        assert!(!path.exists());
    }
    let mut stats = sized(stream([&path]), MIB);
    stats.engine.kind = EngineKind::FileStat;
    let (plan, _) = made(&stats, &shared);
    assert!(path.exists());
    let mut table = FileTable::new(&stats, &plan, &shared);
    assert_eq!(table.open(0).unwrap().size, MIB);
}

#[test]
fn the_cache_is_emptied_on_opening_or_filled_by_pre_read() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 32));
    let path = volume.point().join("a");
    let shared = SharedFiles::default();
    let mut reads = sized(stream([&path]), MIB);
    let cached = |stream: &Stream| {
        let (plan, _) = made(stream, &shared);
        let file = File::open(&path).unwrap();
        page_cache::warm(&file, &path, 0, 4096).unwrap();
        let mut table = FileTable::new(stream, &plan, &shared);
        table.open_first(&no_stop()).unwrap();
        assert_eq!(table.take_notes(), []);
        page_cache::cached_pages(&file).unwrap().cached_bytes
    };
    assert_eq!(cached(&reads), 0);
    reads.files.pre_read = true;
    assert_eq!(cached(&reads), MIB);
    reads.files.pre_read = false;
    reads.files.invalidate = false;
    made(&reads, &shared);
    assert_eq!(cached(&reads), MIB);
}

#[test]
fn the_cache_of_a_device_is_emptied() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "image", 4));
    let reads = stream([device.node()]);
    let shared = SharedFiles::default();
    let (plan, _) = made(&reads, &shared);
    // Held open: the last closing of a device empties its cache as well.
    let file = File::open(device.node()).unwrap();
    page_cache::warm(&file, device.node(), 0, MIB).unwrap();
    let mut table = FileTable::new(&reads, &plan, &shared);
    assert!(table.open(0).unwrap().is_device);
    assert_eq!(page_cache::cached_pages(&file).unwrap().cached_bytes, 0);
}

#[test]
fn pages_that_stay_are_told() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 8192);
    let reads = stream([&path]);
    let shared = SharedFiles::default();
    let (plan, _) = made(&reads, &shared);
    let opened = File::open(&path).unwrap();
    opened.read_exact_at(&mut [0; 8192], 0).unwrap();
    let mut table = FileTable::new(&reads, &plan, &shared);
    table.open(0).unwrap();
    let stay = page_cache::cached_pages(&opened).is_some_and(|cache| cache.cached_bytes > 0);
    let told = !table.take_notes().is_empty();
    assert_eq!(told, stay, "on tmpfs they stay, elsewhere not");
}

#[test]
fn holes_are_told_to_who_reads_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sparse");
    File::create(&path).unwrap().set_len(MIB).unwrap();
    let shared = SharedFiles::default();
    let notes = |stream: &Stream| {
        let (plan, _) = made(stream, &shared);
        let mut table = FileTable::new(stream, &plan, &shared);
        table.open(0).unwrap();
        let _ = table.close(0);
        table.open(0).unwrap();
        table.take_notes()
    };
    let mut reads = stream([&path]);
    reads.files.invalidate = false;
    let told = notes(&reads);
    assert!(
        matches!(&told[..], [Note::Warning(text)] if text.contains("holes")),
        "once: {told:?}"
    );
    let mut writes = writer([&path]);
    writes.files.invalidate = false;
    assert_eq!(notes(&writes), []);
    // A hole that is not in the region concerns nobody.
    let data = vec![1; 65_536];
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(&data, 65_536)
        .unwrap();
    reads.region.offset = Extent::Bytes(65_536);
    reads.region.size = Some(Extent::Bytes(65_536));
    assert_eq!(notes(&reads), []);
}

#[test]
fn regular_files_are_removed_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (file(&folder, "a", 8192), file(&folder, "b", 8192));
    let shared = SharedFiles::default();
    let all = sized(writer([a.clone(), b.clone(), "/dev/null".into()]), MIB);
    let (plan, _) = made(&all, &shared);
    fs::remove_file(&b).unwrap();
    FileTable::new(&all, &plan, &shared).remove_files().unwrap();
    assert!(!a.exists() && fs::metadata("/dev/null").is_ok());

    let foreign = file(&folder, "foreign", 8192);
    let mut null = sized(writer([&foreign]), MIB);
    null.engine.kind = EngineKind::Null;
    let (plan, _) = made(&null, &shared);
    FileTable::new(&null, &plan, &shared)
        .remove_files()
        .unwrap();
    assert!(foreign.exists(), "the null engine made nothing");
}

#[test]
fn locks_hold_between_streams() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 8192);
    let shared = SharedFiles::default();
    let mut locking = writer([&path]);
    let (plan, _) = made(&locking, &shared);
    let free = FileTable::new(&locking, &plan, &shared);
    assert!(
        matches!(free.try_lock(0, Ddir::Write), Ok(None)),
        "none wanted"
    );

    locking.files.lock = FileLock::ReadWrite;
    let [one, two] = [(); 2].map(|()| FileTable::new(&locking, &plan, &shared));
    let read = one.try_lock(0, Ddir::Read).unwrap();
    assert!(two.try_lock(0, Ddir::Read).is_ok(), "readers go together");
    assert_eq!(two.try_lock(0, Ddir::Write).unwrap_err(), LockBusy);
    drop(read);
    let write = two.try_lock(0, Ddir::Write).unwrap();
    assert_eq!(one.try_lock(0, Ddir::Read).unwrap_err(), LockBusy);
    drop(write);

    let mut exclusive = locking.clone();
    exclusive.files.lock = FileLock::Exclusive;
    let only = FileTable::new(&exclusive, &plan, &shared);
    let _held = only.try_lock(0, Ddir::Read).unwrap();
    assert_eq!(only.try_lock(0, Ddir::Read).unwrap_err(), LockBusy);
}
