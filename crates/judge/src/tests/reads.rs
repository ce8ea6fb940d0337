//! What was read.

use super::*;
use assay_model::act::iozone::{Child, Test};

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
    // Nobody looked.
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
