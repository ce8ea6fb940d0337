//! What every engine that moves data has in common.

use super::*;
use assay_model::job::QueueMode;

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
