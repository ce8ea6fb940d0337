//! Loads on the real kernel: several streams, their files, their checks.

use assay_engine::load::{Controls, LoadObserver, Note, adopt, run};
use assay_model::job::{EngineKind, FlushCall};
use assay_model::load::blocks::{BlockSizes, FileLock, Verify, VerifyKind};
use assay_model::load::report::{FilePart, LoadProgress, LoadReport};
use assay_model::load::{ExitWhat, Extent, Load, PerDirection, Stream};
use assay_model::units::Nanos;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const MIB: u64 = 1 << 20;

#[derive(Default)]
struct Listener {
    notes: Vec<Note>,
    waves: Vec<(u32, bool)>,
    ramps: Vec<u32>,
    interims: Vec<LoadReport>,
}

impl LoadObserver for Listener {
    fn note(&mut self, note: &Note) {
        self.notes.push(note.clone());
    }
    fn wave_starts(&mut self, wave: u32, _files: &[(u32, Vec<(PathBuf, FilePart)>)]) {
        self.waves.push((wave, true));
    }
    fn ramp_ended(&mut self, wave: u32) {
        self.ramps.push(wave);
    }
    fn wave_ended(&mut self, wave: u32) {
        self.waves.push((wave, false));
    }
    fn progress(&mut self, _progress: &LoadProgress) {}
    fn interim(&mut self, report: LoadReport) {
        self.interims.push(report);
    }
}

fn go(streams: Vec<Stream>) -> (LoadReport, Listener) {
    let mut load = Load {
        streams,
        destroy_data: true,
        ..Load::default()
    };
    adopt(&mut load).expect("a trace that is there");
    let mut listener = Listener::default();
    let report = run(&load, &Controls::default(), &mut listener);
    (report, listener)
}

fn stream(folder: &Path, file: &str, size: u64) -> Stream {
    let mut stream = Stream::new("t");
    stream.files.paths = vec![folder.join(file)];
    stream.region.size = Some(Extent::Bytes(size));
    stream
}

fn engines() -> Vec<EngineKind> {
    let all = EngineKind::ALL.into_iter();
    all.filter(|kind| kind.moves_data_of_files())
        .filter(|&kind| match assay_engine::usable(kind) {
            Ok(()) => true,
            Err(why) => {
                assay_testkit::skip(&why.to_string());
                false
            }
        })
        .collect()
}

#[test]
fn each_engine_reads_every_block_once() {
    let folder = tempfile::tempdir().unwrap();
    for kind in engines() {
        let mut job = stream(folder.path(), "data", MIB);
        job.blocks.rw.random = true;
        job.engine.kind = kind;
        job.engine.iodepth = 8;
        let (report, listener) = go(vec![job]);
        let stream = &report.streams[0];
        assert_eq!(stream.errno, 0, "{kind}: {:?}", listener.notes);
        let read = &stream.directions.read;
        assert_eq!((read.ios, read.bytes), (256, MIB), "{kind}");
        assert_eq!(read.completion.count, 256, "{kind}");
        assert!(read.runtime_ns > 0);
        if kind.is_asynchronous() {
            let total = read.total.as_ref().unwrap();
            let parts = read.submission.sum_ns + read.completion.sum_ns;
            assert_eq!(total.sum_ns, parts, "{kind}: slat + clat = lat");
        }
    }
}

#[test]
fn what_was_written_is_read_back_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    for kind in engines() {
        let mut job = stream(folder.path(), "data", MIB);
        job.blocks.rw.read = false;
        job.blocks.rw.write = true;
        job.blocks.rw.random = true;
        job.engine.kind = kind;
        job.engine.iodepth = 8;
        job.verify = Some(Verify {
            backlog: 10,
            ..Verify::new(VerifyKind::Md5)
        });
        let (report, listener) = go(vec![job]);
        let stream = &report.streams[0];
        assert_eq!(stream.errno, 0, "{kind}: {:?}", listener.notes);
        assert_eq!(stream.directions.write.bytes, MIB, "{kind}");
        assert_eq!(stream.directions.read.bytes, MIB, "{kind}");
    }
}

#[test]
fn a_changed_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = stream(folder.path(), "data", MIB);
    job.blocks.rw.read = false;
    job.blocks.rw.write = true;
    job.verify = Some(Verify {
        read_back: false,
        ..Verify::new(VerifyKind::Crc32c)
    });
    let (report, _) = go(vec![job.clone()]);
    assert_eq!(report.streams[0].errno, 0);
    let path = folder.path().join("data");
    let mut data = std::fs::read(&path).unwrap();
    data[500_000] ^= 1;
    std::fs::write(&path, data).unwrap();
    job.blocks.rw.read = true;
    job.blocks.rw.write = false;
    let (report, listener) = go(vec![job]);
    assert_eq!(report.streams[0].data_mismatches, 1);
    assert_ne!(report.streams[0].errno, 0);
    assert!(
        listener
            .notes
            .iter()
            .any(|note| matches!(note, Note::Error(text) if text.contains("499712"))),
        "{:?}",
        listener.notes
    );
}

#[test]
fn waves_come_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut streams: Vec<Stream> = (0..4)
        .map(|number| {
            let mut stream = stream(folder.path(), &format!("{number}"), MIB);
            stream.number = number + 1;
            stream.wave = number / 2;
            stream.report = number;
            stream
        })
        .collect();
    streams[3].blocks.sizes = PerDirection::all(BlockSizes {
        min: 512,
        max: 4096,
        ..BlockSizes::default()
    });
    let (report, listener) = go(streams);
    assert_eq!(
        listener.waves,
        [(0, true), (0, false), (1, true), (1, false)]
    );
    for stream in &report.streams {
        assert_eq!(stream.errno, 0, "{:?}", listener.notes);
        assert_eq!(stream.directions.read.bytes, MIB);
    }
}

#[test]
fn time_and_ramp_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = stream(folder.path(), "data", MIB);
    job.length.time_based = true;
    job.length.runtime = Some(Nanos::millis(300));
    job.length.ramp_time = Nanos::millis(100);
    let (report, listener) = go(vec![job]);
    assert_eq!(listener.ramps, [0]);
    let stream = &report.streams[0];
    assert_eq!(stream.errno, 0, "{:?}", listener.notes);
    let run_ms = stream.runtime_ns / 1_000_000;
    assert!((300..2000).contains(&run_ms), "{run_ms}");
    assert!(stream.moved_bytes.read > stream.directions.read.bytes);
}

#[test]
fn a_failure_that_ends_all_is_not_a_stop_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let mut endless = stream(folder.path(), "data", MIB);
    endless.length.time_based = true;
    endless.length.runtime = Some(Nanos::secs(1 << 30));
    // The file is there, but ends before the region does.
    let mut fails = stream(folder.path(), "short", MIB);
    std::fs::write(&fails.files.paths[0], [1; 5000]).unwrap();
    fails.files.prepared = true;
    fails.schedule.exit_all_on_error = true;
    (fails.number, fails.report) = (2, 1);
    let load = Load {
        streams: vec![endless, fails],
        ..Load::default()
    };
    let controls = Controls::default();
    let report = run(&load, &controls, &mut Listener::default());
    assert!(report.streams[0].started);
    assert_eq!(report.streams[0].errno, 0);
    assert_ne!(report.streams[1].errno, 0);
    assert_eq!(report.streams[1].errors.first[0].offset, 5000);
    assert!(!controls.stop.load(Ordering::Relaxed));
}

/// A stream that writes all of a file and can check it.
fn checked(folder: &Path, file: &str, size: u64) -> Stream {
    let mut job = stream(folder, file, size);
    job.blocks.rw.read = false;
    job.blocks.rw.write = true;
    job.verify = Some(Verify::new(VerifyKind::Crc32c));
    job
}

fn damage(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path);
    let file = file.expect("it was written before");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("it is that long");
    file.write_all_at(&[byte[0] ^ 1], at)
        .expect("it can be written");
}

#[test]
fn only_checking_checks_and_ends_whatever_the_pattern_and_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = checked(folder.path(), "data", MIB);
    let (report, _) = go(vec![job.clone()]);
    assert_eq!(report.streams[0].errno, 0);
    let verify = job.verify.as_mut().unwrap();
    verify.only = true;
    let mut reads = job.clone();
    reads.blocks.rw.read = true;
    reads.blocks.rw.write = false;
    let mut timed = job.clone();
    timed.length.time_based = true;
    timed.length.runtime = Some(Nanos::secs(3600));
    for only in [&job, &reads, &timed] {
        let (report, listener) = go(vec![only.clone()]);
        assert_eq!(report.streams[0].errno, 0, "{:?}", listener.notes);
        assert_eq!(report.streams[0].directions.read.bytes, MIB);
    }
    damage(&folder.path().join("data"), 700_000);
    for only in [&job, &reads, &timed] {
        let (report, _) = go(vec![only.clone()]);
        assert_eq!(report.streams[0].data_mismatches, 1);
    }
}

#[test]
fn a_backlog_that_is_overwritten_again_and_again_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = checked(folder.path(), "data", MIB / 8);
    job.blocks.rw.random = true;
    job.blocks.no_map = true;
    job.length.io_size = Some(Extent::Bytes(64 * MIB));
    job.verify.as_mut().unwrap().backlog = 15_000;
    let (report, listener) = go(vec![job]);
    assert_eq!(report.streams[0].errno, 0, "{:?}", listener.notes);
}

#[test]
fn locked_files_and_checking_threads_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = checked(folder.path(), "data", 4 * MIB);
    job.files.lock = FileLock::Exclusive;
    let verify = job.verify.as_mut().unwrap();
    verify.threads = 2;
    verify.backlog = 16;
    let (report, listener) = go(vec![job]);
    assert_eq!(report.streams[0].errno, 0, "{:?}", listener.notes);
    assert_eq!(report.streams[0].directions.read.bytes, 4 * MIB);
}

#[test]
fn a_trace_of_nothing_but_flushes_is_replayed_and_files_keep_their_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let (large, small) = (folder.path().join("large"), folder.path().join("small"));
    std::fs::write(&small, [7; 4096]).unwrap();
    let mut log = format!(
        "fio version 2 iolog\n{0} add\n{1} add\n{0} open\n{1} open\n{0} write 1044480 4096\n{1} read 0 4096\n",
        large.display(),
        small.display()
    );
    for _ in 0..20_000 {
        log += &format!("{} datasync 0 0\n", large.display());
    }
    let trace = folder.path().join("log");
    std::fs::write(&trace, log).unwrap();
    let mut job = stream(folder.path(), "unused", MIB);
    job.trace.read = Some(trace);
    job.trace.no_stall = true;
    // What the flushes take on a disk is not what is tested.
    job.engine.kind = EngineKind::Psync;
    let (report, listener) = go(vec![job]);
    let report = &report.streams[0];
    assert_eq!(report.errno, 0, "{:?}", listener.notes);
    assert_eq!(report.sync.count, 20_000);
    assert_eq!(std::fs::metadata(&large).unwrap().len(), MIB);
    assert_eq!(std::fs::metadata(&small).unwrap().len(), 4096);
}

#[test]
fn a_stream_that_another_one_ends_still_flushes() {
    let folder = tempfile::tempdir().unwrap();
    let mut brief = stream(folder.path(), "brief", MIB);
    brief.schedule.exit_all = Some(ExitWhat::All);
    let mut endless = stream(folder.path(), "endless", MIB);
    endless.number = 2;
    endless.report = 1;
    endless.blocks.rw.read = false;
    endless.blocks.rw.write = true;
    endless.length.time_based = true;
    endless.length.runtime = Some(Nanos::secs(3600));
    endless.durability.at_end = Some(FlushCall::Fsync);
    let (report, listener) = go(vec![brief, endless]);
    assert_eq!(report.streams[1].errno, 0, "{:?}", listener.notes);
    assert!(report.streams[1].flushed_at_end);
}

#[test]
fn a_command_before_the_start_ends_with_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = stream(folder.path(), "data", MIB);
    job.schedule.exec_before = Some("sleep 3600".to_owned());
    let load = Load {
        streams: vec![job],
        aux_path: Some(folder.path().to_owned()),
        ..Load::default()
    };
    let controls = Controls::default();
    let report = std::thread::scope(|scope| {
        let runs = scope.spawn(|| run(&load, &controls, &mut Listener::default()));
        // The command's file is made just before the command runs.
        while !folder.path().join("t.prerun.txt").exists() {
            std::thread::yield_now();
        }
        controls.stop.store(true, Ordering::Relaxed);
        runs.join().unwrap()
    });
    assert!(!report.streams[0].started);
}
