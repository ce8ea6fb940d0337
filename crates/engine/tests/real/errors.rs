//! What fails is a typed error before the clock starts, and a located record
//! after.

use super::{BLOCK, alone, engines, folder, job, run, try_run, zeros};
use assay_engine::EngineError;
use assay_model::job::{DataPath, Direction, EngineKind, Job, RateLimit, Rw};
use assay_model::units::{Bytes, MIB};
use assay_testkit::{Mount, needs, or_skip, skip};
use std::fs;
use std::path::Path;

const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EISDIR: i32 = 21;
const ENOSPC: i32 = 28;

#[test]
fn the_end_of_the_file_is_located() {
    let _alone = alone();
    let folder = folder();
    // The last block is cut in the middle.
    let path = zeros(&folder, 100 * BLOCK + 1000);
    for (engine, depth) in engines() {
        let mut job = job(Rw::Read, 200);
        job.ioengine = engine;
        job.iodepth = depth;
        let measured = run(&job, &path);
        assert_eq!(measured.read.ios, 100, "{engine}");
        assert!(measured.errors.count >= 1, "{engine}");
        let ends = measured.errors.first.iter();
        let first = ends.min_by_key(|error| error.offset).unwrap();
        assert_eq!(first.errno, None, "{engine}");
        assert_eq!(first.direction, Some(Direction::Read));
        if depth == 1 {
            let (offset, length) = (100 * BLOCK + 1000, BLOCK - 1000);
            assert_eq!((first.offset, first.length), (offset, length), "{engine}");
            assert_eq!(measured.read.short_ios, 1, "{engine}");
        } else {
            // Its neighbours may come back first and end the job.
            assert!(first.offset >= 100 * BLOCK, "{engine}");
        }
    }
}

#[test]
fn a_full_file_system_is_located() {
    let _alone = alone();
    needs!(root);
    let folder = folder();
    let mount = or_skip!(Mount::tmpfs(1, &folder.join("tiny")));
    for (engine, depth) in engines() {
        let path = mount.point().join("data");
        let file = fs::File::create(&path).unwrap();
        let mut job = job(Rw::Write, 512);
        // A mapping has no room for an error number but the medium's.
        let expected = if engine == EngineKind::Mmap {
            file.set_len(job.size.0).unwrap();
            EIO
        } else {
            ENOSPC
        };
        job.ioengine = engine;
        job.iodepth = depth;
        drop(file);
        let measured = run(&job, &path);
        assert!(measured.write.bytes <= MIB, "{engine}");
        let first = &measured.errors.first[0];
        assert_eq!(first.errno, Some(expected), "{engine}");
        assert_eq!(first.direction, Some(Direction::Write));
        assert!(
            (MIB / 2..=MIB + 8 * BLOCK).contains(&first.offset),
            "{engine}: {}",
            first.offset
        );
        assert!(!first.message.is_empty());
        // A process that another test is starting may still have the file open, and its space with it.
        fs::File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_cannot_be_opened_is_a_typed_error() {
    let _alone = alone();
    let folder = folder();
    let missing = folder.join("missing");
    for (engine, _) in engines() {
        for rw in [Rw::Read, Rw::Write, Rw::Rw] {
            let mut job = job(rw, 1);
            job.ioengine = engine;
            for (path, errno) in [(missing.as_path(), ENOENT), (folder.path(), EISDIR)] {
                let error = try_run(&job, path).unwrap_err();
                assert!(matches!(error, EngineError::File { .. }), "{error}");
                assert_eq!(error.errno(), Some(errno), "{engine} {rw}: {error}");
                let text = error.to_string();
                assert!(text.contains(&path.display().to_string()), "{text}");
            }
        }
        assert!(!missing.exists(), "a job makes no file");
    }
}

#[test]
fn a_file_that_refuses_direct_io_says_so() {
    let _alone = alone();
    let path = Path::new("/proc/version");
    let mut job = Job::new("t", Rw::Read, Bytes(512), Bytes(512));
    job.direct = true;
    match try_run(&job, path) {
        Err(error @ EngineError::NoDirect { .. }) => {
            let text = error.to_string();
            assert!(text.contains("/proc/version") && text.contains("O_DIRECT"));
        }
        Err(other) => panic!("{other}"),
        Ok(_) => skip("this kernel reads /proc directly"),
    }
}

#[test]
fn jobs_that_cannot_mean_anything_are_refused() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 8 * BLOCK);
    let refused = |change: &dyn Fn(&mut Job)| {
        let mut job = job(Rw::Read, 8);
        change(&mut job);
        let error = try_run(&job, &path).expect_err("accepted");
        assert!(matches!(error, EngineError::Job { .. }), "{error}");
    };
    refused(&|job| job.bs = Bytes(0));
    refused(&|job| job.bs = Bytes(1 << 33));
    refused(&|job| job.size = Bytes(BLOCK - 1));
    refused(&|job| job.iodepth = 0);
    refused(&|job| job.numjobs = 0);
    refused(&|job| job.time_based = true);
    refused(&|job| job.rate = Some(RateLimit::Iops(0)));
    refused(&|job| job.rate = Some(RateLimit::BytesPerSec(0)));
    refused(&|job| {
        job.direct = true;
        job.bs = Bytes(1000);
    });
    refused(&|job| {
        job.direct = true;
        job.ioengine = EngineKind::Mmap;
    });
    let engines = EngineKind::ALL.into_iter();
    for engine in engines.filter(|engine| engine.properties().data == DataPath::NoData) {
        refused(&|job| job.ioengine = engine);
    }
    assert!(path.exists(), "nothing was done");
    refused(&|job| job.ramp_time = assay_model::units::Nanos::secs(3600));
}

#[test]
fn more_than_can_be_in_flight_is_a_typed_error() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 8 * BLOCK);
    for (engine, depth) in engines() {
        let mut job = job(Rw::Read, 8);
        job.ioengine = engine;
        job.iodepth = u32::MAX;
        let error = try_run(&job, &path).expect_err("accepted");
        assert!(
            matches!(error, EngineError::Job { .. }),
            "{engine}: {error}"
        );
        job.iodepth = depth;
        job.numjobs = u32::MAX;
        let error = try_run(&job, &path).expect_err("accepted");
        assert!(
            matches!(error, EngineError::Job { .. }),
            "{engine}: {error}"
        );
    }
}

#[test]
fn buffers_beyond_the_memory_are_refused() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, BLOCK);
    let mut job = job(Rw::Read, 1);
    job.bs = Bytes(1 << 31);
    job.size = Bytes(1 << 31);
    job.iodepth = 30_000;
    let text = try_run(&job, &path).expect_err("accepted").to_string();
    assert!(
        text.contains("58.6 TiB") && text.contains("iodepth"),
        "{text}"
    );
}
