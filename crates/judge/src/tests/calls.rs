//! What single calls waited for, whatever the whole measured.

use super::*;
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
