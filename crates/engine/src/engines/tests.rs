//! Every engine on a real file.

use super::*;
use crate::buffer::IoBuf;
use crate::engines::{Completion, IoUnit, OpenFile, QueueStatus};
use assay_model::job::{FlushCall, QueueMode};
use assay_model::load::{Ddir, IoPriority};
use assay_testkit::{LoopDevice, Scratch, needs, or_skip, skip};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BLOCK: u32 = 4096;

/// Each engine that moves data and works here, as a stream would describe it.
fn movers() -> impl Iterator<Item = Engine> {
    let works = |&kind: &EngineKind| match usable(kind) {
        Ok(()) => true,
        Err(why) => {
            skip(&why.to_string());
            false
        }
    };
    let movers = EngineKind::ALL
        .into_iter()
        .filter(|kind| kind.moves_data_of_files());
    movers.filter(works).map(engine)
}

fn engine(kind: EngineKind) -> Engine {
    Engine {
        kind,
        iodepth: 4,
        ..Engine::default()
    }
}

/// A file of so many bytes, none of them zero.
fn file(folder: &TempDir, name: &str, number: u32, size: usize) -> OpenFile {
    let path = folder.path().join(name);
    fs::write(&path, vec![0xaa; size]).unwrap();
    open(&path, number)
}

fn open(path: &Path, number: u32) -> OpenFile {
    let file = File::options().read(true).write(true).open(path).unwrap();
    OpenFile::new(file, number, path, true).unwrap()
}

fn unit(ddir: Ddir, file: &OpenFile, offset: u64) -> IoUnit {
    let mut buf = IoBuf::zeroed(BLOCK as usize);
    if ddir == Ddir::Write {
        let number = offset.to_le_bytes()[1] ^ 0x55;
        buf.block_mut().fill(number);
    }
    IoUnit {
        ddir,
        file: file.number,
        offset,
        length: BLOCK,
        moved: 0,
        buf,
        submitted_ns: 0,
        priority: IoPriority::NONE,
        tag: u32::try_from(offset).unwrap_or(u32::MAX),
    }
}

/// Does some I/Os, as many at a time as the engine takes, continues those that
/// were cut short, and flushes.
struct Does<'a> {
    files: &'a [OpenFile],
    units: Vec<IoUnit>,
}

impl WithEngine for Does<'_> {
    type Output = Vec<Completion>;

    fn run<E: IoEngine>(self, mut engine: E) -> Vec<Completion> {
        for file in self.files {
            engine.opened(file).unwrap();
        }
        let mut todo: Vec<IoUnit> = self.units.into_iter().rev().collect();
        let (mut came, mut under_way, mut all) = (Vec::new(), 0, Vec::new());
        while !todo.is_empty() || under_way > 0 {
            while let Some(unit) = todo.pop() {
                match engine.queue(&self.files[unit.file as usize], unit) {
                    QueueStatus::Completed(completion) => all.push(completion),
                    QueueStatus::Queued => under_way += 1,
                    QueueStatus::Busy(unit) => {
                        todo.push(unit);
                        break;
                    }
                }
            }
            engine.commit().unwrap();
            engine
                .reap(u32::from(under_way > 0), u32::MAX, None, &mut came)
                .unwrap();
            under_way -= came.len();
            all.append(&mut came);
            let is_short = |c: &mut Completion| c.result.is_ok_and(|n| n > 0 && n < c.unit.left());
            for mut short in all.extract_if(.., is_short) {
                short.unit.moved += short.result.unwrap();
                todo.push(short.unit);
            }
        }
        for file in self.files {
            engine.flush(file, FlushCall::Fdatasync).unwrap();
            engine.closes(file);
        }
        all
    }
}

/// Does the I/Os; what came of each, in the order of their offsets.
fn does(engine: &Engine, files: &[OpenFile], units: Vec<IoUnit>) -> Vec<Completion> {
    let mut all = with_engine(engine, Does { files, units }).unwrap();
    all.sort_by_key(|completion| completion.unit.tag);
    all
}

fn results(completions: &[Completion]) -> Vec<Result<u32, i32>> {
    completions.iter().map(|c| c.result).collect()
}

fn offsets(blocks: u64) -> impl Iterator<Item = u64> {
    (0..blocks).map(|block| block * u64::from(BLOCK))
}

fn writes_and_reads_back(engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let size = 16 * BLOCK as usize;
    let files = [file(&folder, "a", 0, size), file(&folder, "b", 1, size)];
    // Neighbours, neighbours in the other file, and far apart.
    let order = [0, 1, 2, 3, 4, 5, 9, 7, 8, 6, 15, 14, 13, 12, 11, 10];
    let all = |ddir| {
        let at = order.iter().map(|block| block * u64::from(BLOCK));
        at.flat_map(|offset| files.each_ref().map(|file| unit(ddir, file, offset)))
            .collect()
    };
    let written = does(engine, &files, all(Ddir::Write));
    assert_eq!(results(&written), [Ok(BLOCK); 32], "{}", engine.kind);
    for mut read in does(engine, &files, all(Ddir::Read)) {
        assert_eq!(read.result, Ok(BLOCK), "{}", engine.kind);
        let expected = unit(Ddir::Write, &files[0], read.unit.offset)
            .buf
            .block_mut()[0];
        let bytes = read.unit.remainder().1;
        assert!(
            bytes.iter().all(|&byte| byte == expected),
            "{}",
            engine.kind
        );
    }
    for file in &files {
        let content = fs::read(&file.path).unwrap();
        assert_eq!(content.len(), size, "{}", engine.kind);
        for (block, number) in content.chunks(BLOCK as usize).zip(0_u8..) {
            let expected = (number << 4) ^ 0x55;
            assert!(
                block.iter().all(|&byte| byte == expected),
                "{}",
                engine.kind
            );
        }
    }
}

/// Bytes that a file takes on its storage.
fn space(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn what_is_written_is_read_back() {
    for engine in movers() {
        writes_and_reads_back(&engine);
    }
}

#[test]
fn trims_free_the_block_and_keep_the_size() {
    for engine in movers() {
        let folder = tempfile::tempdir().unwrap();
        let files = [file(&folder, "a", 0, 8 * BLOCK as usize)];
        files[0].file.sync_all().unwrap();
        let before = space(&files[0].path);
        // A write that is still gathered must not undo the trim behind it.
        let at = u64::from(BLOCK);
        let units = vec![
            unit(Ddir::Write, &files[0], at),
            unit(Ddir::Trim, &files[0], at),
        ];
        let done = does(&engine, &files, units);
        if done.iter().any(|c| c.result == Err(libc::EOPNOTSUPP)) {
            skip("no holes here");
            return;
        }
        assert_eq!(results(&done), [Ok(BLOCK); 2], "{}", engine.kind);
        let content = fs::read(&files[0].path).unwrap();
        assert_eq!(content.len(), 8 * BLOCK as usize, "{}", engine.kind);
        // An asynchronous write may come after the trim.
        if matches!(
            engine.kind.properties().queue,
            QueueMode::OneByOne | QueueMode::Combined
        ) {
            let block = &content[BLOCK as usize..2 * BLOCK as usize];
            assert!(block.iter().all(|&byte| byte == 0), "{}", engine.kind);
            assert!(space(&files[0].path) < before, "{}", engine.kind);
        }
    }
}

#[test]
fn the_end_of_a_file_cuts_a_read_short() {
    for engine in movers() {
        let folder = tempfile::tempdir().unwrap();
        // Neither a multiple of the block nor of the page.
        let files = [file(&folder, "a", 0, 3 * BLOCK as usize + 1000)];
        let units = offsets(5)
            .map(|at| unit(Ddir::Read, &files[0], at))
            .collect();
        let done = does(&engine, &files, units);
        let came: Vec<_> = done.iter().map(|c| (c.unit.moved, c.result)).collect();
        let whole = (0, Ok(BLOCK));
        let expected = [whole, whole, whole, (1000, Ok(0)), (0, Ok(0))];
        assert_eq!(came, expected, "{}", engine.kind);
    }
}

#[test]
fn waiting_for_more_than_is_under_way_ends() {
    struct Waits<'a>(&'a OpenFile);
    impl WithEngine for Waits<'_> {
        type Output = usize;
        fn run<E: IoEngine>(self, mut engine: E) -> usize {
            let mut done = Vec::new();
            engine.opened(self.0).unwrap();
            engine.reap(1, 1, None, &mut done).unwrap();
            for offset in offsets(3) {
                match engine.queue(self.0, unit(Ddir::Read, self.0, offset)) {
                    QueueStatus::Completed(completion) => done.push(completion),
                    status => assert!(matches!(status, QueueStatus::Queued)),
                }
                engine.commit().unwrap();
                engine.reap(100, 100, None, &mut done).unwrap();
            }
            engine.reap(0, 0, Some(0), &mut done).unwrap();
            done.len()
        }
    }
    for engine in movers() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder, "a", 0, 4 * BLOCK as usize);
        assert_eq!(with_engine(&engine, Waits(&file)).unwrap(), 3);
    }
}

#[test]
fn no_more_are_taken_than_asked_for() {
    struct Takes<'a>(&'a OpenFile);
    impl WithEngine for Takes<'_> {
        type Output = ();
        fn run<E: IoEngine>(self, mut engine: E) {
            let mut done = Vec::new();
            engine.opened(self.0).unwrap();
            for offset in offsets(3) {
                let status = engine.queue(self.0, unit(Ddir::Read, self.0, offset));
                assert!(matches!(status, QueueStatus::Queued));
            }
            engine.commit().unwrap();
            for taken in 1..=3 {
                // Once three are back, and once while some may be under way.
                engine.reap(1, 1, None, &mut done).unwrap();
                assert_eq!(done.len(), taken);
            }
            engine.reap(0, 8, Some(0), &mut done).unwrap();
            assert_eq!(done.len(), 3);
        }
    }
    for engine in movers() {
        if engine.kind.properties().queue == QueueMode::Kernel {
            let folder = tempfile::tempdir().unwrap();
            let file = file(&folder, "a", 0, 4 * BLOCK as usize);
            with_engine(&engine, Takes(&file)).unwrap();
        }
    }
}

#[test]
fn the_model_knows_which_engines_are_asynchronous() {
    struct Asks;
    impl WithEngine for Asks {
        type Output = bool;
        fn run<E: IoEngine>(self, engine: E) -> bool {
            engine.is_asynchronous()
        }
    }
    for engine in movers() {
        let is_asynchronous = with_engine(&engine, Asks).unwrap();
        let expected = engine.kind.is_asynchronous();
        assert_eq!(is_asynchronous, expected, "{}", engine.kind);
    }
}

#[test]
fn a_read_only_file_can_be_read_and_not_written() {
    for engine in movers() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "a", 0, 1000).path;
        let read_only = OpenFile::new(File::open(&path).unwrap(), 0, &path, false).unwrap();
        let files = [read_only];
        let mut first = unit(Ddir::Read, &files[0], 0);
        first.length = 1000;
        let done = does(&engine, &files, vec![first]);
        assert_eq!(results(&done), [Ok(1000)], "{}", engine.kind);
        if engine.kind == EngineKind::Libaio {
            // The kernel does not even take it, which ends the job.
            continue;
        }
        let done = does(&engine, &files, vec![unit(Ddir::Write, &files[0], 0)]);
        assert_eq!(results(&done), [Err(libc::EBADF)], "{}", engine.kind);
        assert_eq!(fs::read(&path).unwrap(), [0xaa; 1000], "{}", engine.kind);
    }
}

#[test]
fn an_engine_dropped_with_io_under_way_leaves_memory_alone() {
    struct Drops<'a>(&'a OpenFile);
    impl WithEngine for Drops<'_> {
        type Output = ();
        fn run<E: IoEngine>(self, mut engine: E) {
            engine.opened(self.0).unwrap();
            for offset in offsets(4) {
                let status = engine.queue(self.0, unit(Ddir::Read, self.0, offset));
                assert!(!matches!(status, QueueStatus::Busy(_)));
            }
            engine.commit().unwrap();
        }
    }
    for engine in movers() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(&folder, "a", 0, 4 * BLOCK as usize);
        for _ in 0..50 {
            with_engine(&engine, Drops(&file)).unwrap();
        }
    }
}

#[test]
fn options_of_a_ring_move_the_same_bytes() {
    if let Err(why) = usable(EngineKind::IoUring) {
        skip(&why.to_string());
        return;
    }
    let plain = engine(EngineKind::IoUring);
    let registers = Engine {
        register_files: true,
        ..plain.clone()
    };
    let polled = Engine {
        sq_thread_poll: true,
        ..plain.clone()
    };
    let both = Engine {
        sq_thread_poll: true,
        ..registers.clone()
    };
    for engine in [plain, registers, polled, both] {
        writes_and_reads_back(&engine);
    }
}

/// Either the cache has it or the call says so, instead of waiting.
#[test]
fn nowait_reads_what_is_cached() {
    for kind in [EngineKind::Pvsync2, EngineKind::IoUring, EngineKind::Libaio] {
        if let Err(why) = usable(kind) {
            skip(&why.to_string());
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let files = [file(&folder, "a", 0, 4 * BLOCK as usize)];
        let nowait = Engine {
            nowait: true,
            ..engine(kind)
        };
        let units = offsets(4)
            .map(|at| unit(Ddir::Read, &files[0], at))
            .collect();
        for read in does(&nowait, &files, units) {
            match read.result {
                Err(libc::EOPNOTSUPP) => skip(&format!("{kind}: no RWF_NOWAIT here")),
                result => assert_eq!(result, Ok(BLOCK), "{kind}"),
            }
        }
    }
}

/// Polled, if the device can be: each I/O ends, with its data or the kernel's
/// refusal. (A file that is not open for direct I/O cannot.)
#[test]
fn polled_io_ends_either_way() {
    for kind in [EngineKind::Pvsync2, EngineKind::IoUring] {
        if let Err(why) = usable(kind) {
            skip(&why.to_string());
            continue;
        }
        let polled = Engine {
            hipri: true,
            ..engine(kind)
        };
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "a", 0, 4 * BLOCK as usize).path;
        for direct in [false, true] {
            let flags = if direct { libc::O_DIRECT } else { 0 };
            let Ok(opened) = File::options().read(true).custom_flags(flags).open(&path) else {
                skip("no direct I/O here");
                continue;
            };
            let files = [OpenFile::new(opened, 0, &path, false).unwrap()];
            let reads = offsets(4).map(|at| unit(Ddir::Read, &files[0], at));
            for read in does(&polled, &files, reads.collect()) {
                match read.result {
                    Err(libc::EOPNOTSUPP) => {}
                    result => assert_eq!(result, Ok(BLOCK), "{kind} direct={direct}"),
                }
            }
        }
    }
}

/// A class that no kernel knows is refused, so that it was handed over.
#[test]
fn a_ring_hands_over_priorities() {
    if let Err(why) = usable(EngineKind::IoUring) {
        skip(&why.to_string());
        return;
    }
    assert_eq!(
        read_with(EngineKind::IoUring, IoPriority::new(5, 0)),
        Err(libc::EINVAL)
    );
    assert_eq!(
        read_with(EngineKind::IoUring, IoPriority::new(2, 7)),
        Ok(BLOCK)
    );
}

#[test]
fn libaio_takes_priorities() {
    if let Err(why) = usable(EngineKind::Libaio) {
        skip(&why.to_string());
        return;
    }
    assert_eq!(
        read_with(EngineKind::Libaio, IoPriority::new(2, 7)),
        Ok(BLOCK)
    );
}

fn read_with(kind: EngineKind, priority: IoPriority) -> Result<u32, i32> {
    let folder = tempfile::tempdir().unwrap();
    let files = [file(&folder, "a", 0, BLOCK as usize)];
    let mut read = unit(Ddir::Read, &files[0], 0);
    read.priority = priority;
    let done = does(&engine(kind), &files, vec![read]);
    done.into_iter().next().unwrap().result
}

#[test]
fn an_empty_file_cannot_be_mapped() {
    struct Opens(OpenFile);
    impl WithEngine for Opens {
        type Output = Result<(), EngineError>;
        fn run<E: IoEngine>(self, mut engine: E) -> Self::Output {
            engine.opened(&self.0)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let empty = Opens(file(&folder, "a", 0, 0));
    let error = with_engine(&engine(EngineKind::Mmap), empty)
        .unwrap()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cannot map") && text.contains("empty"),
        "{text}"
    );
}

/// A mapped file becomes shorter: I/O to the missing pages fails, and succeeds once they are back.
#[test]
fn missing_pages_of_a_mapped_file_fail_the_io_alone() {
    struct Shrinks(OpenFile);
    impl WithEngine for Shrinks {
        type Output = ();
        fn run<E: IoEngine>(self, mut engine: E) {
            let file = self.0;
            engine.opened(&file).unwrap();
            let mut io = |ddir, offset| match engine.queue(&file, unit(ddir, &file, offset)) {
                QueueStatus::Completed(completion) => completion.result,
                other => panic!("{other:?}"),
            };
            file.file.set_len(2 * u64::from(BLOCK)).unwrap();
            let far = 6 * u64::from(BLOCK);
            for _ in 0..2 {
                assert_eq!(io(Ddir::Read, far), Err(libc::EIO));
                assert_eq!(io(Ddir::Write, far), Err(libc::EIO));
                assert_eq!(io(Ddir::Read, 0), Ok(BLOCK));
            }
            file.file.set_len(file.size).unwrap();
            assert_eq!(io(Ddir::Write, far), Ok(BLOCK));
            let mut byte = [0];
            file.file.read_exact_at(&mut byte, far).unwrap();
            assert_eq!(byte, [0x60 ^ 0x55], "it reached the file");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, "a", 0, 8 * BLOCK as usize);
    with_engine(&engine(EngineKind::Mmap), Shrinks(file)).unwrap();
}

/// Read and write calls of this thread so far; `None`: the kernel does not
/// count them.
fn calls() -> Option<(u64, u64)> {
    let io = fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = |name: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some((count("syscr:")?, count("syscw:")?))
}

/// Calls that the I/Os took, besides those for looking.
fn calls_for(files: &[OpenFile], units: Vec<IoUnit>) -> Option<(u64, u64)> {
    let look = calls()?;
    let before = calls()?;
    let done = does(&engine(EngineKind::Vsync), files, units);
    let after = calls()?;
    assert!(done.iter().all(|c| c.result == Ok(BLOCK)));
    let looking = before.0 - look.0;
    Some((after.0 - before.0 - looking, after.1 - before.1))
}

#[test]
fn neighbours_of_one_direction_and_file_are_moved_together() {
    let folder = tempfile::tempdir().unwrap();
    let size = 16 * BLOCK as usize;
    let files = [file(&folder, "a", 0, size), file(&folder, "b", 1, size)];
    let blocks = |ddir, file: &OpenFile, order: &[u64]| -> Vec<IoUnit> {
        let at = order.iter().map(|block| block * u64::from(BLOCK));
        at.map(|offset| unit(ddir, file, offset)).collect()
    };
    let Some(took) = calls_for(
        &files,
        blocks(Ddir::Write, &files[0], &[0, 1, 2, 3, 4, 5, 6, 7]),
    ) else {
        return skip("no /proc/thread-self/io");
    };
    assert_eq!(took, (0, 2), "two times the depth");
    let took = calls_for(&files, blocks(Ddir::Read, &files[0], &[0, 1, 5, 6]));
    assert_eq!(took, Some((2, 0)), "a gap");
    let took = calls_for(&files, blocks(Ddir::Read, &files[0], &[3, 2, 1]));
    assert_eq!(took, Some((3, 0)), "backwards");
    let mut mixed = blocks(Ddir::Read, &files[0], &[0, 1]);
    mixed.extend(blocks(Ddir::Write, &files[0], &[2, 3]));
    assert_eq!(calls_for(&files, mixed), Some((1, 1)), "another direction");
    let mut elsewhere = blocks(Ddir::Write, &files[0], &[0, 1]);
    elsewhere.extend(blocks(Ddir::Write, &files[1], &[2, 3]));
    assert_eq!(calls_for(&files, elsewhere), Some((0, 2)), "another file");
}

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

#[test]
fn a_device_is_written_read_and_discarded() {
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 1));
    for engine in movers() {
        let files = [open(device.node(), 0)];
        assert!(files[0].is_device);
        assert_eq!(files[0].size, 1 << 20);
        let all = |ddir| offsets(4).map(|at| unit(ddir, &files[0], at)).collect();
        let done = does(&engine, &files, all(Ddir::Write));
        assert_eq!(results(&done), [Ok(BLOCK); 4], "{}", engine.kind);
        let done = does(&engine, &files, vec![unit(Ddir::Trim, &files[0], 0)]);
        if done[0].result == Err(libc::EOPNOTSUPP) {
            return skip("the device discards nothing");
        }
        assert_eq!(results(&done), [Ok(BLOCK)], "{}", engine.kind);
        for mut read in does(&engine, &files, all(Ddir::Read)) {
            assert_eq!(read.result, Ok(BLOCK), "{}", engine.kind);
            let offset = read.unit.offset;
            let gone = read.unit.remainder().1.iter().all(|&byte| byte == 0);
            assert_eq!(gone, offset == 0, "{}: {offset}", engine.kind);
        }
    }
}
