//! Clocks that stop before their streams end.

use super::*;
use assay_model::load::blocks::{Verify, VerifyKind};
use assay_model::load::report::{BetweenPasses, ClockStop, FilePart};

/// A buffered write of 4 s, of which `device` bytes had reached the device when its clock
/// stopped, and all when it had been read back, 10 s after the start.
fn checked(device: u64) -> Wave {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, device);
    let mut after = wave.after().clone();
    after.at_ns = 4 * SECOND;
    wave.wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.verify = Some(Verify::new(VerifyKind::Crc32c));
        came.stopped_ns = Some(4 * SECOND);
        came.unflushed_bytes = Some(MOVED);
    });
    let stop = ClockStop {
        streams: vec![0],
        after,
        between: None,
    };
    wave.report.evidence[0].stops.push(stop);
    wave
}

#[test]
fn what_reading_back_wrote_came_too_late() {
    assert_eq!(checked(0).labels(Ddir::Write), ["page-cache"]);
    assert_eq!(checked(MOVED / 2).labels(Ddir::Write), ["mixed"]);
    assert_eq!(checked(MOVED).labels(Ddir::Write), ["device-unflushed"]);
    // Without the counters of that moment nothing is proven.
    let mut wave = checked(0);
    wave.report.evidence[0].stops.clear();
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
}

#[test]
fn what_is_read_back_is_judged_to_its_end() {
    let mut wave = checked(0);
    wave.last(|_, came| {
        came.directions.read.bytes = MOVED;
        came.directions.read.ios = MOVED / MIB;
        came.moved_bytes.read = MOVED;
        came.files[0].1 = Bytes(2 * MOVED);
    });
    wave.read(MOVED);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    assert_eq!(wave.labels(Ddir::Write), ["page-cache"]);
}

#[test]
fn what_passes_left_was_written_between_them() {
    let mut wave = checked(0);
    let stop = &mut wave.report.evidence[0].stops[0];
    // Two passes of half of it: the first one was written back before the second.
    stop.after.devices[0].write_bytes = MOVED / 2;
    stop.after.file_cache = Some(cache(MOVED / 2, MOVED / 2));
    let mut device = stop.after.devices[0].clone();
    device.write_bytes = MOVED / 2;
    let between = BetweenPasses {
        times: 1,
        elapsed_ns: SECOND,
        devices: vec![device],
        own_io: Some(OwnIo::default()),
        dirty_bytes: Some(MOVED / 2),
        cached_bytes: Some(0),
    };
    stop.between = Some(between.clone());
    assert_eq!(wave.labels(Ddir::Write), ["page-cache"]);
    let lost = BetweenPasses {
        devices: Vec::new(),
        ..between
    };
    wave.report.evidence[0].stops[0].between = Some(lost);
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    assert!(wave.because(Ddir::Write).contains("several times"));
}

/// One of two copies stopped, with half of all in its own pages and none on the device.
#[test]
fn a_copy_that_goes_on_does_not_vouch_for_one_that_stopped() {
    let mut wave = checked(0);
    wave.stream("w", Ddir::Write, MOVED)
        .wrote(2 * MOVED, 2 * MOVED);
    let mut stop = |device: u64| {
        let after = &mut wave.report.evidence[0].stops[0].after;
        after.devices[0].write_bytes = device;
        after.own_io.as_mut().unwrap().write_bytes = 2 * MOVED;
        after.file_cache = Some(cache(2 * MOVED, 2 * MOVED - device));
        wave.labels(Ddir::Write)[0]
    };
    assert_eq!(stop(0), "page-cache");
    assert_eq!(stop(MOVED), "unknown");
    assert_eq!(stop(2 * MOVED), "device-unflushed");
}

#[test]
fn flushes_on_the_way_prove_what_they_cover() {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.durability.fdatasync = 32;
        came.sync.count = 8;
        came.unflushed_bytes = Some(0);
    });
    wave.after().devices[0].flush_ios = Some(8);
    assert_eq!(wave.labels(Ddir::Write), ["device"]);
    wave.after().devices[0].flush_ios = Some(7);
    assert_eq!(
        wave.labels(Ddir::Write),
        ["device-unflushed"],
        "one is lost"
    );
    // A quarter came after the last one and is dirty; the counters were read late.
    wave.wrote(MOVED, MOVED / 4 * 3);
    wave.last(|_, came| {
        came.unflushed_bytes = Some(MOVED / 4);
        came.runtime_ns = SECOND;
        came.elapsed_ns = SECOND;
    });
    assert_eq!(wave.labels(Ddir::Write), ["mixed"]);
}

/// A wave whose stream read the first 8 MiB of a file of 64 MiB, `passes` times; the device
/// moved 24 MiB, of which 16 MiB are cached beyond.
fn read_again(passes: u64) -> Wave {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, passes * 8 * MIB)
        .read(24 * MIB);
    wave.last(|_, came| {
        came.files[0].1 = Bytes(64 * MIB);
        came.regions = vec![FilePart {
            offset: 0,
            length: 8 * MIB,
        }];
    });
    wave.after().file_cache = Some(cache(24 * MIB, 0));
    wave.after().region_cache = Some(cache(8 * MIB, 0));
    let evidence = &mut wave.report.evidence[0].evidence;
    evidence.before.region_cache = Some(cache(0, 0));
    wave
}

#[test]
fn read_ahead_beyond_the_region_is_no_second_pass() {
    assert_eq!(read_again(1).labels(Ddir::Read), ["device"]);
    assert_eq!(read_again(2).labels(Ddir::Read), ["mixed"]);
    // The cached pages of the region are not known.
    let mut wave = read_again(2);
    wave.after().region_cache = None;
    assert_eq!(wave.labels(Ddir::Read), ["unknown"]);
}

#[test]
fn a_file_larger_than_memory_is_read_anew_by_each_pass() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, 2 * MOVED).read(2 * MOVED);
    wave.last(|_, came| {
        came.files[0].1 = Bytes(MOVED);
        came.regions = vec![FilePart {
            offset: 0,
            length: MOVED,
        }];
    });
    wave.report.evidence[0].evidence.queues[0].read_ahead_kib = Some(128);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
}

#[test]
fn two_that_read_the_same_need_the_device_once() {
    let mut wave = read_again(1);
    wave.stream("s", Ddir::Read, 8 * MIB).read(24 * MIB);
    wave.last(|_, came| {
        came.files[0].1 = Bytes(64 * MIB);
        came.regions = vec![FilePart {
            offset: 0,
            length: 8 * MIB,
        }];
    });
    wave.report.evidence[0].evidence.after.region_cache = None;
    assert_eq!(wave.labels(Ddir::Read), ["unknown"; 2]);
}

#[test]
fn a_mount_that_is_synchronous_makes_writes_durable() {
    let with = |option: &str| {
        let mut wave = Wave::new();
        wave.stream("w", Ddir::Write, MOVED).wrote(MOVED, MOVED);
        wave.after().devices[0].flush_ios = Some(MOVED / MIB);
        let mount = wave.report.evidence[0].evidence.storage.mount.as_mut();
        mount.unwrap().super_options.push(option.to_owned());
        wave
    };
    assert_eq!(with("sync").labels(Ddir::Write), ["device"]);
    assert_eq!(with("dirsync").labels(Ddir::Write), ["device-unflushed"]);
    let mut file = with("rw");
    file.after().synchronous_files = Some(true);
    assert_eq!(file.labels(Ddir::Write), ["device"]);
    // Stores through a map are no writes.
    file.last(|stream, _| stream.engine.kind = EngineKind::Mmap);
    assert_eq!(file.labels(Ddir::Write), ["device-unflushed"]);
}

#[test]
fn dirty_pages_of_others_are_theirs() {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, 4 * MIB).direct();
    wave.wrote(4 * MIB, 4 * MIB);
    wave.after().devices[0].flush_ios = Some(4);
    wave.after().file_cache = Some(cache(16 * MIB, 16 * MIB));
    // It may have fallen back on the page cache, if nobody else is known to have written; not
    // if each write was flushed: then somebody wrote who cannot be seen.
    assert_eq!(wave.labels(Ddir::Write), ["page-cache"]);
    wave.last(|stream, _| stream.durability.sync = OpenSync::Dsync);
    wave.after().file_cache = Some(cache(16 * MIB, 2 * MIB));
    assert_eq!(wave.labels(Ddir::Write), ["device"]);
    wave.last(|stream, _| stream.durability.sync = OpenSync::None);
    wave.after().file_cache = Some(cache(16 * MIB, 16 * MIB));
    let synced = |wave: &mut Wave| {
        wave.last(|stream, _| stream.durability.sync = OpenSync::Dsync);
        wave.labels(Ddir::Write)[0]
    };
    wave.report.evidence[0].evidence.before.file_cache = Some(cache(16 * MIB, 16 * MIB));
    assert_eq!(wave.labels(Ddir::Write), ["unknown"], "whose they are");
    assert_eq!(synced(&mut wave), "device");
    // Its own region has none.
    wave.last(|stream, _| stream.durability.sync = OpenSync::None);
    wave.after().region_cache = Some(cache(0, 0));
    wave.report.evidence[0].evidence.before.region_cache = Some(cache(0, 0));
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"]);
}

#[test]
fn random_reads_of_single_pages_show_what_was_cached() {
    let mut wave = Wave::new();
    wave.stream("r", Ddir::Read, MOVED / 4).read(MOVED / 8);
    wave.last(|stream, came| {
        stream.blocks.rw.random = true;
        came.directions.read.ios = MOVED / 4 / 4096;
        came.files[0].1 = Bytes(MOVED);
    });
    let before = &mut wave.report.evidence[0].evidence.before;
    before.file_cache = Some(cache(MOVED / 2, 0));
    assert_eq!(wave.labels(Ddir::Read), ["mixed"]);
    // Larger requests: some of it was read ahead.
    wave.after().devices[0].read_ios = MOVED / 8 / 8192;
    assert_eq!(wave.labels(Ddir::Read), ["unknown"]);
}
