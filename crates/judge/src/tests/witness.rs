//! Counters that are switched off, and witnesses that contradict each other.

use super::*;

/// Seen on a real loop device: all reads came from it, none were counted.
#[test]
fn counters_that_are_switched_off_do_not_say_page_cache() {
    let trial = Trial::read().direct().iostats(Some(false));
    let judged = trial.came();
    assert_eq!(judged.measured.label(), "unknown");
    let remedy = "echo 1 > /sys/block/sda/queue/iostats";
    assert!(judged.because.contains(remedy), "{}", judged.because);
    assert_eq!(judged.layers, []);
    assert_eq!(trial.judged().foreign, None);
    // Nor mixed, when they were switched off in between.
    let trial = || Trial::write().own_writes(JOB).iostats(Some(false));
    trial().writes_are("unknown");
    trial().wrote("sda", JOB / 2).writes_are("unknown");
}

#[test]
fn counters_that_moved_although_switched_off_vouch_for_the_device() {
    let trial = |on| {
        Trial::read()
            .own_reads(JOB)
            .read_from("sda", JOB)
            .iostats(on)
    };
    trial(Some(false)).reads_are("device");
    trial(None).reads_are("device");
}

#[test]
fn flushes_that_are_not_counted_are_not_missing_flushes() {
    let trial = Trial::write().fdatasync_at_end().all_written();
    let judged = trial.iostats(Some(false)).written();
    assert_eq!(judged.measured.label(), "unknown");
    assert_eq!(judged.flushes, None);
    assert!(judged.because.contains("iostats"), "{}", judged.because);
}

#[test]
fn a_partition_is_switched_on_at_its_disk() {
    let trial = Trial::read().own_reads(JOB).bare();
    let trial = trial
        .layer("sda1", LayerRole::Top, None, WriteCache::Through)
        .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back);
    let because = trial.iostats(Some(false)).came().because;
    assert!(because.contains("I/O of sda1"), "{because}");
    assert!(because.contains("/sys/block/sda/queue"), "{because}");
}

#[test]
fn direct_bytes_that_the_device_did_not_see_are_a_contradiction() {
    let read = |seen| Trial::read().direct().own_reads(JOB).read_from("sda", seen);
    for (seen, label) in [(0, "unknown"), (JOB / 2, "unknown"), (JOB, "device")] {
        read(seen).reads_are(label);
    }
    let because = read(0).came().because;
    assert!(because.contains("contradicts"), "{because}");
    let write = Trial::write().direct().own_writes(JOB).write_through();
    write.writes_are("unknown");
    // Nor was anything read for the agent: that is none.
    let because = Trial::read().direct().came().because;
    assert!(!because.contains("contradicts"), "{because}");
}

#[test]
fn flushed_bytes_that_the_device_did_not_see_are_a_contradiction_too() {
    let trial = Trial::write().fdatasync_at_end().own_writes(JOB);
    trial.flushed("sda", 2).writes_are("unknown");
}

#[test]
fn counters_read_late_do_not_count_what_was_written_back_after_the_clock() {
    let trial = |slack_ns: u64| {
        let trial = Trial::write().own_writes(JOB).dirty(JOB / 2);
        let trial = trial.wrote("sda", JOB / 2).write_through();
        trial.with(|t| {
            t.measured().elapsed_ns = 1_000_000_000;
            t.moment(false).at_ns = 5_000_000_000;
            t.moment(true).at_ns = 6_000_000_000 + slack_ns;
        })
    };
    trial(20_000_000).writes_are("mixed");
    trial(200_000_000).writes_are("unknown");
    let because = trial(200_000_000).written().because;
    assert!(because.contains("long after the clock"), "{because}");
    // What cannot go on after the clock, or has not begun.
    let flushed = trial(200_000_000).fdatasync_at_end();
    flushed.writes_are("mixed");
    trial(200_000_000).direct().writes_are("mixed");
    let left = trial(200_000_000).dirty(JOB);
    left.writes_are("page-cache");
}
