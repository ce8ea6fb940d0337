use super::*;
use crate::{Observer, StepOutcome};
use assay_model::trial::Outcome;
use assay_model::wire::NoteWeight;
use assay_model::work::WorkProgress;
use assay_model::work::iozone::Test;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Keeps what it is told.
#[derive(Default)]
struct Recorder {
    calls: Vec<&'static str>,
    ended: Vec<(Outcome, StepOutcome)>,
    /// A file that somebody cuts when the clock starts, and to which length.
    cuts: Option<(PathBuf, u64)>,
}

impl Observer for Recorder {
    fn begins(&mut self, _step: crate::ObservedStep<'_>) {}

    fn clock_starts(&mut self, _step: crate::ObservedStep<'_>) {
        if let Some((path, length)) = &self.cuts {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(*length).unwrap();
        }
    }

    fn clock_stopped(&mut self) {}

    fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
        self.calls.push("ended");
        self.ended.push((outcome, came));
    }

    fn keep(&mut self) {
        self.calls.push("keep");
    }

    fn note(&mut self, _weight: NoteWeight, _text: String) {}

    fn progress(&mut self, _progress: &WorkProgress) {}

    fn stands(&mut self, _report: WorkReport) {}

    fn ended_together(&mut self, _: Vec<crate::Together>) {
        unreachable!("its steps follow each other");
    }
}

/// Tests on a file of 64 KiB with records of 4 KiB, which is there.
fn work(path: &PathBuf, tests: &[Test]) -> Iozone {
    fs::write(path, vec![7; 64 << 10]).unwrap();
    Iozone {
        files: vec![path.clone()],
        tests: tests.to_vec(),
        rows: vec![IozoneRow {
            file_kib: 64,
            record_kib: 4,
        }],
        stonewall: true,
        stride: 17,
        keep: true,
        ..Iozone::default()
    }
}

fn carry_out(work: &Iozone, observer: &mut Recorder) -> Result<WorkReport, WorkError> {
    let (stop, report_now) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut context = Context {
        seed: 1,
        folder: None,
        stop: &stop,
        report_now: &report_now,
        observer,
    };
    run(work, &mut context)
}

#[test]
fn what_was_measured_before_a_failure_is_told_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let work = work(&path, &[Test::Read]);
    let mut recorder = Recorder {
        cuts: Some((path, 32 << 10)),
        ..Recorder::default()
    };
    let error = carry_out(&work, &mut recorder).unwrap_err().to_string();
    assert!(error.contains("ends before byte 36864"), "{error}");
    let (outcome, came) = &recorder.ended[0];
    assert_eq!(*outcome, Outcome::Failed { error });
    let measured = came.measured.as_ref().unwrap();
    assert_eq!((measured.read.ios, measured.read.bytes), (8, 32 << 10));
    assert_eq!(measured.errors.count, 1);
    let first = &measured.errors.first[0];
    assert_eq!((first.offset, first.length), (32 << 10, 4 << 10));
    assert!(came.detail.is_none());
}

#[test]
fn long_steps_are_kept_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut work = work(&folder.path().join("a"), &[Test::Read, Test::Reread]);
    work.think_ms = 70;
    let mut recorder = Recorder::default();
    carry_out(&work, &mut recorder).unwrap();
    assert_eq!(recorder.calls, ["ended", "keep", "ended", "keep"]);
}
