//! Trims, against what the device says that it discarded.

use super::*;

fn trimmed(discarded: Option<u64>) -> Wave {
    let mut wave = Wave::new();
    wave.stream("t", Ddir::Trim, MOVED);
    let evidence = &mut wave.report.evidence[0].evidence;
    evidence.before.devices[0].discard_bytes = discarded.map(|_| 0);
    evidence.after.devices[0].discard_bytes = discarded;
    wave
}

#[test]
fn all_discarded_is_the_device() {
    let wave = trimmed(Some(MOVED));
    assert_eq!(wave.labels(Ddir::Trim), ["device"]);
    let because = wave.because(Ddir::Trim);
    assert_eq!(because, "100 % of the bytes were discarded on sda");
    let trim = wave.judged().remove(0).unwrap().trim.unwrap();
    assert_eq!((trim.job_bytes, trim.device_share), (MOVED, Some(1.0)));
    assert_eq!(trim.layers, [("sda".to_owned(), MOVED)]);
}

#[test]
fn what_was_kept_or_not_counted_is_unknown() {
    for discarded in [None, Some(0), Some(MOVED / 2), Some(2 * MOVED)] {
        let wave = trimmed(discarded);
        assert_eq!(wave.labels(Ddir::Trim), ["unknown"], "{discarded:?}");
    }
    let mut failed = trimmed(Some(MOVED));
    failed.last(|_, came| came.directions.trim.dropped_ios = 1);
    assert_eq!(failed.labels(Ddir::Trim), ["unknown"]);
}

#[test]
fn memory_has_no_device_to_trim() {
    let mut wave = trimmed(Some(MOVED));
    wave.report.evidence[0].evidence.storage.backing = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    assert_eq!(wave.labels(Ddir::Trim), ["page-cache"]);
}

#[test]
fn a_small_job_does_not_hide_behind_a_large_one() {
    let mut wave = trimmed(Some(MOVED));
    wave.stream("small", Ddir::Trim, 4 * MIB);
    assert_eq!(wave.labels(Ddir::Trim), ["device", "unknown"]);
}
