//! What was written.

use super::*;
use assay_model::act::copy::CopyReport;

#[test]
fn left_in_the_page_cache() {
    Trial::write()
        .own_writes(JOB)
        .dirty(JOB)
        .writes_are("page-cache");
}

#[test]
fn a_quarter_already_written_back_is_mixed_with_that_share() {
    let trial = Trial::write().own_writes(JOB).dirty(JOB / 4 * 3);
    let judged = trial.wrote("sda", JOB / 4).written();
    let expected = Measured::Mixed { device_share: 0.25 };
    assert_eq!(judged.measured, expected);
    assert_eq!(judged.device_share, Some(0.25));
    assert_eq!(judged.dirty_bytes_at_stop, Some(JOB / 4 * 3));
    assert!(judged.because.contains("25 %"), "{}", judged.because);
}

#[test]
fn flushed_at_the_end() {
    let trial = Trial::write().fdatasync_at_end().all_written();
    trial.flushed("sda", 2).writes_are("device");
}

#[test]
fn direct_is_device_only_without_a_volatile_cache() {
    let trial = || Trial::write().direct().all_written();
    trial().writes_are("device-unflushed");
    trial().write_through().writes_are("device");
    // Flushes that nobody asked for prove nothing about the last write.
    trial().flushed("sda", 3).writes_are("device-unflushed");
}

#[test]
fn each_synchronous_write_needs_its_flush_or_fua() {
    let trial = || Trial::write().direct().sync(OpenSync::Dsync).all_written();
    trial().flushed("sda", 512).writes_are("device");
    trial().writes_are("device-unflushed");
    trial().fua().writes_are("device");
    // Those of others cannot stand for 256 of our own.
    trial().flushed("sda", 5).writes_are("device-unflushed");
    trial().fua().flushed("sda", 5).writes_are("device");
    let because = trial().flushed("sda", 5).written().because;
    assert!(
        because.contains("256") && because.contains("only 5"),
        "{because}"
    );
}

#[test]
fn fua_is_for_direct_dsync_only() {
    let trial = |sync| Trial::write().sync(sync).all_written().fua();
    trial(OpenSync::Dsync).writes_are("device-unflushed");
    trial(OpenSync::Sync)
        .direct()
        .writes_are("device-unflushed");
    let raw = trial(OpenSync::Sync).direct();
    raw.with(|t| t.evidence().storage.mount = None)
        .writes_are("device");
}

#[test]
fn without_barriers_flushes_are_those_of_others() {
    for option in ["nobarrier", "barrier=0", "fsync_mode=nobarrier"] {
        let trial = Trial::write().fdatasync_at_end().all_written();
        let trial = trial.flushed("sda", 4).mount_option(option);
        trial.writes_are("device-unflushed");
        assert!(trial.written().because.contains(option));
        trial.write_through().writes_are("device");
    }
}

#[test]
fn a_journal_of_data_hides_where_the_data_is() {
    let trial = Trial::write().fdatasync_at_end().all_written();
    let trial = trial.flushed("sda", 4).mount_option("data=journal");
    trial.writes_are("unknown");
    assert!(trial.written().because.contains("data=journal"));
}

#[test]
fn missing_counters_are_unknown_never_device() {
    let trial = || {
        Trial::write()
            .fdatasync_at_end()
            .all_written()
            .flushed("sda", 2)
    };
    trial()
        .with(|t| t.counters("sda").flush_ios = None)
        .writes_are("unknown");
    trial()
        .with(|t| t.evidence().queues.clear())
        .writes_are("unknown");
    trial()
        .with(|t| t.evidence().queues[0].write_cache = None)
        .writes_are("unknown");
    let blind = trial().with(|t| t.moment(false).devices.clear());
    blind.writes_are("unknown");
    assert!(blind.written().because.contains("no counters for sda"));
    assert_eq!(blind.written().device_share, None);
    assert_eq!(blind.judged().foreign, None);
}

#[test]
fn memory_is_page_cache_and_an_unknown_backing_says_why() {
    let memory = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    let trial = Trial::write().fdatasync_at_end().own_writes(JOB).bare();
    trial
        .with(|t| t.evidence().storage.backing = memory)
        .writes_are("page-cache");
    let why = "the file system is on a network".to_owned();
    let trial = Trial::write().all_written().with(|t| {
        t.evidence().storage.backing = Backing::Unknown { why: why.clone() };
    });
    assert_eq!(trial.written().measured, Measured::Unknown { why });
}

#[test]
fn a_foreign_writer_does_not_make_dirty_pages_ours_on_the_device() {
    let trial = || {
        let trial = Trial::write().own_writes(JOB).dirty(JOB);
        trial.wrote("sda", JOB).other_wrote(JOB)
    };
    trial().writes_are("page-cache");
    // The dirty pages alone are proof enough.
    trial().no_own_io().writes_are("page-cache");
    let blind = trial().no_own_io().no_cachestat(JOB, JOB);
    blind.writes_are("unknown");
    // Nor when the process table may not be read.
    let hidden = trial().no_own_io().no_cachestat(JOB, JOB);
    hidden
        .with(|t| t.evidence().other_processes = None)
        .writes_are("unknown");
}

#[test]
fn an_old_kernel_is_believed_as_far_as_its_evidence_goes() {
    // Direct: nothing is cached, so nothing is dirty.
    let direct = || Trial::write().direct().all_written().write_through();
    direct().no_cachestat(0, JOB).writes_are("device");
    direct()
        .no_cachestat(0, JOB)
        .no_own_io()
        .writes_are("device");
    // Plain, all left dirty.
    let plain = || Trial::write().own_writes(JOB).no_cachestat(JOB, JOB);
    plain().writes_are("page-cache");
    // Plain, all written back meanwhile, or by a foreign writer: who knows.
    plain().wrote("sda", JOB).writes_are("unknown");
    // Nothing is dirty in all of memory: it must have been written.
    let clean = plain().wrote("sda", JOB).no_cachestat(JOB, 0);
    clean.write_through().writes_are("device");
    // A flush of everything leaves nothing dirty.
    let flushed = plain().wrote("sda", JOB).fdatasync_at_end();
    flushed.flushed("sda", 1).writes_are("device");
}

#[test]
fn without_own_accounting_surplus_traffic_is_not_ours_to_claim() {
    let trial = || Trial::write().direct().write_through().no_own_io();
    trial().wrote("sda", JOB + MIB).writes_are("device");
    trial().wrote("sda", JOB * 2).writes_are("unknown");
    trial()
        .wrote("sda", JOB)
        .other_wrote(JOB)
        .writes_are("unknown");
}

#[test]
fn a_tail_in_the_page_cache_is_not_safe_on_any_device() {
    let trial = Trial::write().own_writes(JOB).write_through();
    let trial = trial.dirty(JOB / 50).wrote("sda", JOB / 50 * 49);
    trial.writes_are("device-unflushed");
}

#[test]
fn overwriting_cached_pages_reaches_nothing() {
    // Four passes over a quarter: the kernel accounts each page once.
    let trial = Trial::write().own_writes(JOB / 4).wrote("sda", JOB / 4);
    let judged = trial.fdatasync_at_end().flushed("sda", 2).written();
    assert_eq!(judged.measured, Measured::Mixed { device_share: 0.25 });
}

#[test]
fn small_blocks_dirty_whole_pages_which_are_not_their_bytes() {
    // 512-byte writes dirty eight times their size; an eighth of the pages
    // was written back, as many bytes as the job wrote.
    let trial = Trial::write().job(|job| job.bs = Bytes(512));
    let trial = trial.own_writes(8 * JOB).dirty(7 * JOB).wrote("sda", JOB);
    let judged = trial.write_through().written();
    assert_eq!(
        judged.measured,
        Measured::Mixed {
            device_share: 0.125
        }
    );
}

#[test]
fn cancelled_writes_never_arrived() {
    let trial = Trial::write().own_writes(JOB).wrote("sda", JOB);
    let trial = trial.write_through().with(|t| {
        t.moment(true)
            .own_io
            .as_mut()
            .unwrap()
            .cancelled_write_bytes = JOB;
    });
    trial.writes_are("page-cache");
}

#[test]
fn flushes_on_the_way_do_not_cover_the_end() {
    let every = |n| {
        let trial = Trial::write().all_written().flushed("sda", 300);
        trial
            .job(|job| job.flush.every = Some((n, FlushCall::Fsync)))
            .with(|t| t.measured().flush.count = 256 / u64::from(n))
    };
    every(100).writes_are("device-unflushed");
    every(100).write_through().writes_are("device");
    every(1).writes_are("device");
    every(100).fdatasync_at_end().writes_are("device");
}

#[test]
fn a_job_cut_short_has_skipped_its_last_flush() {
    for outcome in [
        Outcome::Interrupted,
        Outcome::Failed {
            error: "EIO".to_owned(),
        },
    ] {
        let trial = Trial::write().fdatasync_at_end().all_written();
        // A journal flushed meanwhile.
        let trial = trial.flushed("sda", 1).with(|t| t.0.outcome = outcome);
        trial.writes_are("device-unflushed");
    }
}

#[test]
fn workers_that_flush_together_may_share_a_flush() {
    let trial = || {
        let trial = Trial::write().all_written().job(|job| {
            job.numjobs = 4;
            job.flush.every = Some((1, FlushCall::Fdatasync));
        });
        trial.with(|t| t.measured().flush.count = 256)
    };
    trial().flushed("sda", 64).writes_are("device");
    trial().flushed("sda", 63).writes_are("device-unflushed");
}

#[test]
fn the_null_engine_measures_no_storage() {
    let trial = Trial::write().job(|job| job.ioengine = EngineKind::Null);
    trial.writes_are("unknown");
}

#[test]
fn a_failed_write_or_flush_leaves_nothing_proven() {
    let failed = |direction| {
        let trial = Trial::write().all_written().write_through();
        trial.with(|t| {
            t.measured()
                .errors
                .first
                .push(assay_model::trial::IoErrorRecord {
                    direction,
                    offset: 0,
                    length: 4096,
                    errno: Some(5),
                    message: "Input/output error".to_owned(),
                    at_ns: 0,
                });
        })
    };
    failed(Some(Direction::Write)).writes_are("unknown");
    failed(None).writes_are("unknown");
    failed(Some(Direction::Read)).writes_are("device");
}

#[test]
fn nearly_all_is_not_shown_as_all() {
    let trial = Trial::write().all_written().dirty(4096);
    let because = trial.written().because;
    assert!(because.starts_with("99.9 % of the bytes"), "{because}");
    assert!(because.ends_with("the rest was still in the page cache"));
}

#[test]
fn a_copy_that_left_direct_io_is_judged_as_a_buffered_one() {
    let copy = |left_direct| {
        let report = CopyReport {
            left_direct,
            ..CopyReport::default()
        };
        let trial = Trial::write().direct().sync(OpenSync::Dsync).all_written();
        trial
            .fua()
            .with(|t| t.0.detail = Some(Box::new(StepDetail::Copy(report))))
    };
    copy(false).writes_are("device");
    copy(true).writes_are("device-unflushed");
    copy(true).flushed("sda", 512).writes_are("device");
}

#[test]
fn what_a_copy_left_to_the_page_cache_it_flushed_only_at_its_end() {
    let copy = || {
        let report = CopyReport {
            left_direct: true,
            ..CopyReport::default()
        };
        let trial = Trial::write().direct().all_written().flushed("sda", 2);
        trial.with(|t| t.0.detail = Some(Box::new(StepDetail::Copy(report))))
    };
    copy().writes_are("device");
    let cut = copy().with(|t| t.0.outcome = Outcome::Interrupted);
    cut.writes_are("device-unflushed");
}

#[test]
fn a_volatile_overlay_ignores_flushes() {
    for option in ["volatile", "fsync=volatile"] {
        let overlay = |trial: Trial| {
            trial.mount_option(option).with(|t| {
                t.evidence().storage.mount.as_mut().unwrap().fs_type = "overlay".to_owned();
                t.moment(true).memory = Some(MemoryCounters {
                    dirty_bytes: JOB,
                    ..MemoryCounters::default()
                });
            })
        };
        overlay(Trial::write().fdatasync_at_end().own_writes(JOB)).writes_are("page-cache");
        let direct = || Trial::write().direct().all_written().flushed("sda", 512);
        overlay(direct().fdatasync_at_end()).writes_are("device-unflushed");
        overlay(direct().sync(OpenSync::Dsync)).writes_are("device");
    }
}

#[test]
fn btrfs_merges_flushes() {
    let flushed = |fs_type: &str, times| {
        let trial = Trial::write().all_written().flushed("sda", times);
        trial
            .job(|job| job.flush.at_end = Some(FlushCall::Fsync))
            .with(|t| {
                t.measured().flush.count = 8;
                t.evidence().storage.mount.as_mut().unwrap().fs_type = fs_type.to_owned();
            })
    };
    flushed("ext4", 2).writes_are("device-unflushed");
    flushed("btrfs", 2).writes_are("device");
    flushed("btrfs", 0).writes_are("device-unflushed");
}

#[test]
fn what_changes_while_the_clock_runs_is_not_judged() {
    use assay_model::evidence::FileChange;
    for (change, word) in [
        (FileChange::Shortened, "shorter"),
        (FileChange::Punched, "hole"),
    ] {
        let trial = Trial::write()
            .fdatasync_at_end()
            .all_written()
            .flushed("sda", 1);
        let trial = trial.with(|t| t.moment(true).file_change = Some(change));
        trial.writes_are("unknown");
        assert!(trial.written().because.contains(word));
    }
    let switched = |change: fn(&mut QueueSettings)| {
        let trial = Trial::write().direct().all_written().write_through();
        trial.with(|t| {
            let mut queues = t.evidence().queues.clone();
            queues.iter_mut().for_each(change);
            t.moment(false).queues = queues;
        })
    };
    switched(|_| {}).writes_are("device");
    let cache = switched(|queue| queue.write_cache = Some(WriteCache::Back));
    cache.writes_are("unknown");
    let because = cache.written().because;
    assert!(
        because.contains("queue/write_cache of sda was changed"),
        "{because}"
    );
    switched(|queue| queue.iostats = Some(false)).writes_are("unknown");
}
