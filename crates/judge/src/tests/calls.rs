//! Labels of reads, and of single calls, whose label may differ from that of the job.

use super::*;
use assay_model::act::iozone::{Child, Test};
use assay_model::job::Flush;

#[track_caller]
fn labels(trial: &Trial) -> [&'static str; 4] {
    let written = trial.written();
    let all = [
        Quantity::Whole,
        Quantity::Call,
        Quantity::Operation,
        Quantity::Level,
    ];
    all.map(|quantity| written.of(quantity).label())
}

fn flushed_after_each() -> Trial {
    let trial = Trial::write().all_written().flushed("sda", 512);
    trial.job(|job| job.flush.every = Some((1, FlushCall::Fdatasync)))
}

#[test]
fn a_buffered_write_is_a_copy_into_memory_however_often_it_is_flushed() {
    let cached = "page-cache";
    assert_eq!(
        labels(&flushed_after_each()),
        ["device", cached, "device", "device"]
    );
    let at_end = Trial::write().fdatasync_at_end().all_written();
    assert_eq!(
        labels(&at_end.flushed("sda", 2)),
        ["device", cached, "device", "unknown"]
    );
    let never = Trial::write().own_writes(JOB).dirty(JOB);
    assert_eq!(labels(&never), [cached; 4]);
    let long = Trial::write().own_writes(JOB).dirty(JOB / 4 * 3);
    let long = long.wrote("sda", JOB / 4);
    assert_eq!(labels(&long), ["mixed", cached, cached, "unknown"]);
}

#[test]
fn direct_and_synchronous_writes_wait_for_what_the_whole_measured() {
    let direct = Trial::write().direct().all_written().write_through();
    assert_eq!(labels(&direct), ["device"; 4]);
    for sync in [OpenSync::Dsync, OpenSync::Sync] {
        let synced = Trial::write().sync(sync).all_written();
        assert_eq!(labels(&synced.flushed("sda", 512)), ["device"; 4]);
    }
    let mounted = |option: &str| {
        flushed_after_each().with(|t| {
            let mount = t.evidence().storage.mount.as_mut();
            mount.unwrap().options.push(option.to_owned());
        })
    };
    assert_eq!(labels(&mounted("sync")), ["device"; 4]);
    // The file system takes direct writes through the page cache.
    let journal = mounted("data=journal").direct().written();
    assert_eq!(*journal.of(Quantity::Call), Measured::PageCache);
}

#[test]
fn a_file_system_that_asks_others_is_not_guessed_at() {
    let fuse = flushed_after_each().with(|t| {
        let mount = t.evidence().storage.mount.as_mut();
        mount.unwrap().fs_type = "fuseblk".to_owned();
    });
    assert_eq!(labels(&fuse)[1], "unknown");
}

#[test]
fn reads_are_judged_as_a_whole() {
    let read = Trial::read().direct().read_from("sda", JOB).came();
    assert_eq!(read.of(Quantity::Call).label(), read.measured.label());
    assert_eq!(read.calls, CallEnd::Whole);
    assert_ne!(CallEnd::PageCache(Flush::default()), read.calls);
}

/// Sequential reads of 4 KiB, 128 KiB a request, with so many sleeps of the thread.
fn small_reads(sleeps: u64) -> Trial {
    let trial = Trial::read().own_reads(JOB).read_from("sda", JOB);
    trial.in_requests("sda", JOB >> 17).with(|t| {
        t.measured().read.ios = JOB >> 12;
        t.measured().cpu.voluntary_switches = sleeps;
        for queue in &mut t.evidence().queues {
            queue.read_ahead_kib = Some(128);
        }
    })
}

fn percentiles(trial: &Trial) -> [&'static str; 4] {
    let read = trial.came();
    [500_000, 950_000, 990_000, 999_000].map(|ppm| read.of(Quantity::Percentile(ppm)).label())
}

#[test]
fn percentiles_of_buffered_reads_are_of_the_reads_that_waited() {
    let cached = "page-cache";
    // One in 32 reads can have waited: 3.1 %.
    let read = small_reads(JOB >> 17);
    assert_eq!(read.came().measured, Measured::Device);
    assert_eq!(percentiles(&read), [cached, cached, "device", "device"]);
    // Read-ahead may have been there before the reads were.
    let seldom = small_reads(100);
    assert_eq!(percentiles(&seldom), [cached, cached, "unknown", "device"]);
    let paced =
        small_reads(JOB >> 17).job(|job| job.rate = Some(assay_model::job::RateLimit::Iops(1000)));
    assert_eq!(percentiles(&paced)[2], "unknown");
    // Four threads may wait for the same request.
    let several = small_reads(JOB >> 17).job(|job| job.numjobs = 4);
    assert_eq!(percentiles(&several)[1], "unknown");
    // A read that is longer than all that is read ahead waits.
    let long = small_reads(0).with(|t| t.measured().read.ios = JOB >> 20);
    assert_eq!(percentiles(&long), ["device"; 4]);
}

#[test]
fn percentiles_of_random_reads_are_of_those_that_asked() {
    let half = Trial::new(Rw::RandRead).cached_before(JOB / 2);
    let half = half.own_reads(JOB / 2).read_from("sda", JOB / 2);
    let half = half.in_requests("sda", JOB >> 13).with(|t| {
        t.0.job.bs = Bytes(4096);
        t.measured().read.ios = JOB >> 12;
    });
    assert_eq!(half.came().measured.label(), "mixed");
    let read = half.came();
    let label = |ppm| read.of(Quantity::Percentile(ppm)).label();
    assert_eq!([label(400_000), label(990_000)], ["page-cache", "device"]);
    // Without the page cache, each read asks the device.
    let direct = Trial::read().direct().own_reads(JOB);
    let direct = direct.read_from("sda", JOB).came();
    assert_eq!(
        (direct.waited, direct.of(Quantity::Percentile(1)).label()),
        (None, "device")
    );
}

#[test]
fn wsync_is_of_metadata_alone() {
    let wsync = flushed_after_each().mount_option("wsync");
    assert_eq!(labels(&wsync)[1], "page-cache");
}

#[test]
fn direct_writes_that_the_file_system_took_through_the_page_cache() {
    let fallen_back = || {
        let trial = Trial::write().direct().all_written().fdatasync_at_end();
        let trial = trial.flushed("sda", 1);
        trial.with(|t| t.moment(true).file_cache = Some(cache(JOB, 0)))
    };
    assert_eq!(labels(&fallen_back())[..2], ["device", "page-cache"]);
    assert_eq!(labels(&fallen_back().other_wrote(JOB))[1], "unknown");
    let few = fallen_back().with(|t| t.moment(true).file_cache = Some(cache(JOB / 100, 0)));
    assert_eq!(labels(&few)[1], "device");
}

#[test]
fn a_copy_whose_last_block_was_short_wrote_directly() {
    let copy = |direct_bytes| {
        let report = assay_model::act::copy::CopyReport {
            left_direct: true,
            direct_bytes,
            ..Default::default()
        };
        let trial = Trial::write().direct().all_written().flushed("sda", 1);
        let trial = trial.with(|t| t.measured().flush.count = 1);
        trial.with(|t| t.0.detail = Some(Box::new(StepDetail::Copy(report))))
    };
    assert_eq!(labels(&copy(JOB - MIB))[..2], ["device"; 2]);
    assert_eq!(labels(&copy(JOB / 2))[1], "page-cache");
}

#[test]
fn a_record_of_a_map_waits_for_its_msync() {
    let step = IozoneStep {
        test: assay_model::act::iozone::Test::Write,
        file_kib: JOB / KIB,
        record_kib: 1024,
        children: Vec::new(),
        mismatch: false,
        parent_ns: None,
    };
    let mapped = flushed_after_each().job(|job| job.ioengine = EngineKind::Mmap);
    assert_eq!(labels(&mapped)[1], "page-cache", "a job of fio's");
    let cell = mapped.with(|t| t.0.detail = Some(Box::new(StepDetail::Iozone(step))));
    assert_eq!(labels(&cell)[..2], ["device"; 2]);
}

#[test]
fn all_from_the_device_or_all_from_the_cache() {
    let trial = || Trial::read().own_reads(JOB).read_from("sda", JOB);
    trial().reads_are("device");
    assert_eq!(trial().came().device_share, Some(1.0));
    Trial::read().cached_before(JOB).reads_are("page-cache");
}

#[test]
fn half_cached_is_mixed() {
    let trial = Trial::read().own_reads(JOB / 2).read_from("sda", JOB / 2);
    let judged = trial.cached_before(JOB / 2).came();
    assert_eq!(judged.measured, Measured::Mixed { device_share: 0.5 });
}

#[test]
fn reading_ahead_of_a_cold_file_is_still_all_device() {
    let trial = Trial::read().own_reads(JOB * 2).read_from("sda", JOB * 2);
    let judged = trial.came();
    assert_eq!(judged.measured, Measured::Device);
    assert_eq!(judged.device_share, Some(1.0));
}

/// Seen on Linux 6.18: a file cached to one half, a quarter of its pages
/// read at random; the device moved 87 % of the job's bytes.
#[test]
fn read_ahead_may_hide_what_was_cached() {
    let trial = || {
        Trial::new(Rw::RandRead)
            .own_reads(JOB)
            .read_from("sda", JOB)
    };
    trial().cached_before(JOB / 2).reads_are("unknown");
    trial().cached_before(JOB / 100).reads_are("device");
    trial().cached_before(JOB / 2).direct().reads_are("device");
    // The page cache was not examined.
    trial()
        .with(|t| t.moment(false).file_cache = None)
        .reads_are("unknown");
}

/// In half as much memory as the file takes: the end of it is cached, and gone
/// before its turn comes.
#[test]
fn a_file_read_whole_needs_all_that_is_fetched() {
    let whole = |test: Test, moved: u64| {
        let step = IozoneStep {
            test,
            file_kib: JOB / 1024,
            record_kib: 1024,
            children: vec![Child {
                bytes: JOB,
                elapsed_ns: 1,
                ..Child::default()
            }],
            parent_ns: None,
            mismatch: false,
        };
        let trial = Trial::read().own_reads(moved).read_from("sda", moved);
        trial
            .cached_before(JOB / 2)
            .with(|t| t.0.detail = Some(Box::new(StepDetail::Iozone(step))))
    };
    whole(Test::Reread, JOB).reads_are("device");
    whole(Test::Reread, JOB / 2).reads_are("mixed");
    whole(Test::Reread, 0).reads_are("page-cache");
    // What it skips may have been read ahead.
    whole(Test::StrideRead, JOB).reads_are("unknown");
}

#[test]
fn reads_of_others_are_not_ours() {
    let trial = || Trial::read().read_from("sda", JOB);
    trial().cached_before(JOB).reads_are("page-cache");
    let busy = trial().cached_before(0).no_own_io().with(|t| {
        let process = ProcessIo {
            read_bytes: JOB,
            ..ProcessIo::default()
        };
        t.evidence().other_processes = Some(vec![process]);
    });
    busy.reads_are("unknown");
    trial().no_own_io().reads_are("device");
}

#[test]
fn own_reads_of_another_device_are_not_this_one() {
    Trial::read().own_reads(JOB).reads_are("unknown");
}

#[test]
fn small_random_reads_that_share_a_page_are_mostly_cached() {
    // Each page is read once and serves eight reads.
    let trial = || {
        let trial = Trial::new(Rw::RandRead).job(|job| job.bs = Bytes(512));
        trial.with(|t| t.measured().read.ios = JOB / 512)
    };
    let once = trial().own_reads(JOB).read_from("sda", JOB).came();
    assert_eq!(
        once.measured,
        Measured::Mixed {
            device_share: 0.125
        }
    );
    let each = trial().own_reads(8 * JOB).read_from("sda", 8 * JOB);
    each.reads_are("device");
    // In order, the device's rate is what is measured.
    let in_order = trial().job(|job| job.rw = Rw::Read);
    in_order
        .own_reads(JOB)
        .read_from("sda", JOB)
        .reads_are("device");
}

#[test]
fn a_job_without_bytes_has_no_label() {
    let trial = Trial::read().with(|t| t.measured().read.bytes = 0);
    assert_eq!(trial.judged().read, None);
    assert_eq!(trial.judged().write, None);
}

#[test]
fn mixed_jobs_have_both_sides() {
    let trial = Trial::new(Rw::RandRw).own_reads(JOB).read_from("sda", JOB);
    let judged = trial.own_writes(JOB).dirty(JOB).judged();
    assert_eq!(judged.read.unwrap().measured, Measured::Device);
    assert_eq!(judged.write.unwrap().measured, Measured::PageCache);
}

#[test]
fn random_reads_that_found_what_others_fetched_are_cached() {
    let trial = || {
        let trial = Trial::new(Rw::RandRead).own_reads(JOB);
        trial.read_from("sda", JOB)
    };
    trial().in_requests("sda", JOB / MIB).reads_are("device");
    trial().in_requests("sda", JOB / MIB / 2).reads_are("mixed");
    let direct = trial().direct();
    direct.in_requests("sda", 1).reads_are("device");
}

/// A hole is zeros that the kernel makes up, past the page cache too.
#[test]
fn direct_reads_that_no_device_answered_are_not_the_page_caches() {
    let holes = Trial::read().direct().came();
    assert!(matches!(holes.measured, Measured::Unknown { .. }));
    assert!(holes.because.contains("holes"), "{}", holes.because);
    let half = Trial::read().direct().own_reads(JOB / 2);
    half.read_from("sda", JOB / 2).reads_are("unknown");
    // Zeros of holes are cached as well.
    let cached = Trial::read().direct().cached_before(JOB);
    cached.reads_are("unknown");
    Trial::read().reads_are("page-cache");
}

#[test]
fn holes_are_read_without_a_device() {
    use assay_model::evidence::FileHoles;
    let holes = |hole_bytes, moved| {
        let trial = Trial::read()
            .direct()
            .read_from("sda", moved)
            .own_reads(moved);
        trial.with(|t| {
            t.moment(false).holes = Some(FileHoles {
                hole_bytes,
                region_bytes: JOB,
            });
        })
    };
    holes(JOB, 0).reads_are("page-cache");
    holes(JOB / 2, JOB / 2).reads_are("mixed");
    holes(0, JOB).reads_are("device");
    holes(0, 0).reads_are("unknown");
    holes(JOB, JOB / 2).reads_are("unknown");
}
