//! Writes and flushes that failed. The device's counters do not know them from
//! the others.

use super::*;
use assay_model::job::Direction;
use assay_model::trial::{IoErrorRecord, IoErrors};

fn error(direction: Option<Direction>) -> IoErrors {
    IoErrors {
        count: 1,
        first: vec![IoErrorRecord {
            direction,
            offset: 0,
            length: 4096,
            errno: Some(5),
            message: "Input/output error at 0".to_owned(),
            at_ns: 0,
        }],
    }
}

/// Direct writes, all of which the device counted, with a flush at the end.
fn written() -> Wave {
    let mut wave = Wave::new();
    wave.stream("w", Ddir::Write, MOVED)
        .direct()
        .wrote(MOVED, MOVED);
    wave.last(|stream, came| {
        stream.durability.at_end = Some(FlushCall::Fsync);
        came.flushed_at_end = true;
        came.sync.count = 1;
    });
    wave.after().devices[0].flush_ios = Some(1);
    wave
}

#[test]
fn a_failed_write_leaves_nothing_proven() {
    assert_eq!(written().labels(Ddir::Write), ["device"]);
    let mut wave = written();
    wave.last(|_, came| {
        came.total_errors = 1;
        came.errors = error(Some(Direction::Write));
        came.directions.write.dropped_ios = 1;
    });
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    let because = wave.because(Ddir::Write);
    assert!(because.contains("job w: Input/output error"), "{because}");
}

#[test]
fn an_ignored_error_is_one_nevertheless() {
    let mut wave = written();
    wave.last(|_, came| came.directions.write.dropped_ios = 1);
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    // The write that found the device full is how such a job ends.
    wave.last(|stream, _| stream.length.fill_device = true);
    assert_eq!(wave.labels(Ddir::Write), ["device"]);
}

#[test]
fn a_failed_flush_leaves_nothing_proven() {
    let mut wave = written();
    wave.last(|_, came| {
        came.errno = 5;
        came.total_errors = 1;
        came.problem = Some("flush of f: Input/output error".to_owned());
    });
    assert_eq!(wave.labels(Ddir::Write), ["unknown"]);
    assert!(wave.because(Ddir::Write).contains("flush of f"));
}

#[test]
fn a_failure_of_one_job_is_in_the_counters_of_all() {
    let mut wave = written();
    wave.stream("bad", Ddir::Write, MIB).direct();
    wave.last(|_, came| came.directions.write.dropped_ios = 3);
    wave.stream("r", Ddir::Read, MOVED).read(MOVED);
    wave.wrote(MOVED + MIB, MOVED + MIB);
    assert_eq!(wave.labels(Ddir::Write), ["unknown", "unknown", "none"]);
    assert_eq!(wave.labels(Ddir::Read), ["none", "none", "device"]);
}

#[test]
fn a_failed_read_is_no_failed_write() {
    let mut wave = written();
    wave.last(|_, came| {
        came.total_errors = 1;
        came.errors = error(Some(Direction::Read));
        came.directions.read.dropped_ios = 1;
    });
    // It did not come to its end: the flush is not taken for granted.
    assert_eq!(wave.labels(Ddir::Write), ["device-unflushed"]);
}
