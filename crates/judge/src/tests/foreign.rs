//! Traffic of others.

use super::*;

fn foreign(trial: &Trial) -> (u64, u64) {
    let foreign = trial.judged().foreign.unwrap();
    (foreign.read_bytes, foreign.write_bytes)
}

#[test]
fn what_no_process_is_known_for_counts_beyond_the_overhead() {
    let trial = || Trial::write().all_written();
    assert_eq!(foreign(&trial()), (0, 0));
    assert_eq!(foreign(&trial().wrote("sda", MIB)), (0, 0));
    let (_, written) = foreign(&trial().wrote("sda", JOB));
    assert!((JOB * 9 / 10..JOB).contains(&written), "{written}");
    let (read, _) = foreign(&trial().read_from("sda", 10 * MIB));
    assert_eq!(read, 9 * MIB);
}

#[test]
fn what_processes_did_counts_as_far_as_the_disk_moved_it() {
    let busy = |disk: u64| {
        let trial = Trial::write().all_written();
        foreign(&trial.wrote("sda", disk).other_wrote(512 * KIB)).1
    };
    assert_eq!(busy(512 * KIB), 512 * KIB);
    assert_eq!(busy(MIB), 512 * KIB);
    assert_eq!(busy(100 * KIB), 100 * KIB);
    assert_eq!(busy(0), 0);
}

/// 850 appends of 4 KiB with an fsync each beside a dd, seen on ext4: the disk
/// moved 55 MB, of which commits explain 24 and at most 56.
#[test]
fn a_busy_process_is_not_hidden_behind_the_allowance_for_commits() {
    let flushes = 850;
    let trial = |disk| {
        let trial = Trial::write().own_writes(flushes * 4096).job(|job| {
            job.bs = Bytes(4096);
            job.flush.every = Some((1, FlushCall::Fsync));
        });
        let trial = trial.with(|t| {
            t.measured().write.bytes = flushes * 4096;
            t.measured().flush.count = flushes;
        });
        trial.wrote("sda", disk).flushed("sda", flushes)
    };
    let disturbed = || trial(55_000_000);
    assert_eq!(foreign(&disturbed()), (0, 0));
    let (_, written) = foreign(&disturbed().other_wrote(104_000_000));
    assert!((20_000_000..30_000_000).contains(&written), "{written}");
    assert_eq!(foreign(&disturbed().other_wrote(MIB)), (0, MIB));
    // The usual traffic of the job alone, and a process busy elsewhere.
    let alone = trial(flushes * 28 * KIB).other_wrote(104_000_000);
    assert_eq!(foreign(&alone), (0, 0));
}

#[test]
fn read_ahead_of_a_buffered_job_is_its_own() {
    let trial = |direct| {
        let trial = Trial::read()
            .own_reads(JOB)
            .read_from("sda", JOB + 200 * KIB);
        trial.job(|job| job.direct = direct).with(|t| {
            t.evidence().queues[0].read_ahead_kib = Some(128);
            let process = ProcessIo {
                read_bytes: JOB,
                ..ProcessIo::default()
            };
            t.evidence().other_processes = Some(vec![process]);
        })
    };
    assert_eq!(foreign(&trial(false)).0, 0);
    assert_eq!(foreign(&trial(true)).0, 200 * KIB);
}

#[test]
fn journal_commits_of_the_job_are_its_own() {
    let trial = Trial::write().all_written().job(|job| {
        job.bs = Bytes(4096);
        job.flush.every = Some((1, FlushCall::Fsync));
    });
    let trial = trial.with(|t| t.measured().flush.count = JOB / 4096);
    let trial = trial.wrote("sda", 4 * JOB).flushed("sda", JOB / 4096);
    assert_eq!(foreign(&trial), (0, 0));
    // Even when others were busy, perhaps elsewhere.
    assert_eq!(foreign(&trial.other_wrote(JOB)), (0, 0));
}

#[test]
fn pages_around_small_blocks_are_the_jobs_own() {
    let trial = Trial::write().own_writes(8 * JOB).wrote("sda", 8 * JOB);
    assert_eq!(foreign(&trial), (0, 0));
}

#[test]
fn bytes_of_an_unlabelled_job_are_not_called_foreign() {
    let trial = Trial::write()
        .all_written()
        .no_own_io()
        .other_wrote(JOB / 10);
    trial.writes_are("unknown");
    assert_eq!(foreign(&trial), (0, 0));
}

#[test]
fn a_neighbouring_partition_is_foreign() {
    let trial = Trial::write().own_writes(JOB).dirty(JOB).bare();
    let trial = trial
        .layer("sda1", LayerRole::Top, None, WriteCache::Through)
        .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back)
        .wrote("sda", 100 * MIB)
        .other_wrote(100 * MIB);
    assert_eq!(foreign(&trial).1, 100 * MIB);
}
