//! iozone's tests that do something else between their records.

use super::*;
use assay_model::act::iozone::{Child, Test};

/// A cell of two children, of which one took so long and waited so long.
fn cell(trial: Trial, elapsed_ns: u64, idle_ns: u64) -> Trial {
    let child = Child {
        bytes: JOB / 2,
        elapsed_ns,
        cpu_ns: 0,
        idle_ns,
    };
    let step = IozoneStep {
        test: Test::Write,
        file_kib: JOB / 2048,
        record_kib: 1024,
        children: vec![
            Child {
                idle_ns: 0,
                ..child
            },
            child,
        ],
        parent_ns: None,
        mismatch: false,
    };
    trial.with(|t| t.0.detail = Some(Box::new(StepDetail::Iozone(step))))
}

#[test]
fn what_moved_while_the_clock_stood_still_is_nobodys_figure() {
    let flushed = || Trial::write().fdatasync_at_end().all_written();
    let flushed = || flushed().flushed("sda", 2);
    cell(flushed(), 1_000_000, 0).writes_are("device");
    cell(flushed(), 1_000_000, 1000).writes_are("device");
    cell(flushed(), 1_000_000, 100_000).writes_are("unknown");
    let some = || Trial::write().own_writes(JOB).dirty(JOB / 2);
    let some = || some().wrote("sda", JOB / 2);
    cell(some(), 1_000_000, 0).writes_are("mixed");
    cell(some(), 1_000_000, 100_000).writes_are("unknown");
    let read = || Trial::read().own_reads(JOB).read_from("sda", JOB);
    cell(read(), 1_000_000, 0).reads_are("device");
    cell(read(), 1_000_000, 100_000).reads_are("unknown");
}

#[test]
fn direct_and_synchronous_calls_leave_nothing_for_the_pauses() {
    let direct = Trial::read().direct().own_reads(JOB).read_from("sda", JOB);
    cell(direct, 1_000_000, 100_000).reads_are("device");
    let direct = Trial::write().direct().all_written().write_through();
    cell(direct, 1_000_000, 100_000).writes_are("device");
    let cached = Trial::write().own_writes(JOB).dirty(JOB);
    cell(cached, 1_000_000, 100_000).writes_are("page-cache");
}
