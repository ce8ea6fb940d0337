use super::*;
use crate::{Observer, StepOutcome};
use assay_model::act::ActProgress;
use assay_model::act::iozone::Test;
use assay_model::trial::Outcome;
use assay_model::wire::NoteWeight;
use std::fs;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Keeps what it is told.
#[derive(Default)]
struct Recorder {
    calls: Vec<&'static str>,
    names: Vec<String>,
    ended: Vec<(Outcome, StepOutcome)>,
    /// A file that somebody cuts when the clock starts, and to which length.
    cuts: Option<(PathBuf, u64)>,
}

impl Observer for Recorder {
    fn begins(&mut self, step: crate::ObservedStep<'_>) {
        self.names.push(step.job.name.clone());
    }

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

    fn progress(&mut self, _progress: &ActProgress) {}

    fn interim_report(&mut self, _report: ActReport) {}

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

fn carry_out(work: &Iozone, observer: &mut Recorder) -> Result<ActReport, ActError> {
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
fn steps_before_a_failure_are_reported() {
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
fn the_steps_are_known_beforehand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let other = folder.path().join("other");
    fs::write(&other, vec![7; 64 << 10]).unwrap();
    let mut several = work(&path, &[Test::Read, Test::RandomRead]);
    several.rows.push(IozoneRow {
        file_kib: 64,
        record_kib: 16,
    });
    let single = several.clone();
    several.files.push(other);
    several.children = vec![2, 1];
    for work in [single, several] {
        let mut recorder = Recorder::default();
        carry_out(&work, &mut recorder).unwrap();
        let steps = work.steps();
        let planned: Vec<String> = steps.iter().map(|job| job.name.clone()).collect();
        assert_eq!(recorder.names, planned);
        assert!(planned.len() >= 4);
    }
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

#[test]
fn lines_of_mounts_are_read_with_their_blanks() {
    let mount = Mount::parse(r"/dev/loop0 /mnt/a\040b ext4 rw,relatime 0 0").unwrap();
    assert_eq!(mount.source, "/dev/loop0");
    assert_eq!(mount.target, "/mnt/a b");
    assert_eq!(
        (mount.kind.as_str(), mount.options.as_str()),
        ("ext4", "rw,relatime")
    );
    assert_eq!(Mount::parse("one two"), None);
}
/// Mounts with a fake that accepts the options for which `takes` is true. Returns the
/// attempts, and the final error.
fn tried(options: &str, takes: fn(&str) -> bool) -> (Vec<String>, Option<String>) {
    let line = format!("/dev/loop0 /mnt ext4 {options} 0 0");
    let mount = Mount::parse(&line).unwrap();
    let tried = std::cell::RefCell::new(Vec::new());
    let call = |command: &mut Command| {
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        tried.borrow_mut().push(words.join(" "));
        match takes(&words[3]) {
            true => Ok(()),
            false => Err(ActError::failed("mount: bad option")),
        }
    };
    let came = mount_again(&mount, call);
    (
        tried.into_inner(),
        came.err().map(|error| error.to_string()),
    )
}

#[test]
fn a_mount_that_fails_is_tried_again_and_told() {
    let (calls, error) = tried("rw,odd", |_| true);
    assert_eq!(calls, ["-t ext4 -o rw,odd /dev/loop0 /mnt"]);
    assert_eq!(error, None);
    let (calls, error) = tried("ro,odd", |options| options == "ro");
    assert_eq!(calls[1], "-t ext4 -o ro /dev/loop0 /mnt");
    let error = error.unwrap();
    assert!(error.contains("remount,ro,odd /mnt"), "{error}");
    let (_, error) = tried("rw,odd", |_| false);
    let error = error.unwrap();
    let words = "/mnt is now unmounted: mount it with mount -t ext4 -o rw,odd /dev/loop0 /mnt";
    assert!(error.contains(words), "{error}");
}

fn first(test: Test, records: u64, stride: u64) -> Vec<u64> {
    let order = RecordOrder::of(test, records, stride, false);
    let mut walk = order.records();
    (0..records).map(|_| walk.next()).collect()
}

/// Observed with strace on iozone 3.489 (`-s 128 -r 8 -i 2`).
#[test]
fn random_records_come_in_the_order_of_iozone() {
    let seen = [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15];
    assert_eq!(first(Test::RandomRead, 16, 17), seen);
    assert_eq!(first(Test::RandomWrite, 4, 17), [1, 2, 0, 3]);
    let mut all = first(Test::RandomRead, 10_000, 17);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..10_000));
}

/// Observed with strace on iozone 3.489 (`-i 5`, `-j 3`).
#[test]
fn strides_turn_back_where_those_of_iozone_do() {
    let from_22 = [
        0, 17, 1, 18, 2, 19, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
    ];
    assert_eq!(first(Test::StrideRead, 22, 17), from_22);
    assert_eq!(first(Test::StrideRead, 9, 3), [0, 3, 6, 1, 4, 2, 5, 3, 6]);
    assert_eq!(first(Test::StrideRead, 16, 17), [0; 16]);
}

#[test]
fn backward_ends_with_the_first_record() {
    assert_eq!(first(Test::BackwardRead, 4, 17), [3, 2, 1, 0]);
    assert_eq!(first(Test::RecordRewrite, 3, 17), [0; 3]);
    assert_eq!(first(Test::Read, 3, 17), [0, 1, 2]);
}
