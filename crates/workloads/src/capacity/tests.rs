use super::device::write_all;
use super::*;
use crate::StepOutcome;
use crate::observer::Meter;
use crate::observer::recording::Recording;
use assay_model::act::StepDetail;
use assay_model::act::capacity::{FILE_BYTES, Tally};
use assay_model::trial::Outcome;
use assay_testkit::{Fake, Lie};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;

const MIB: u64 = 1 << 20;

impl BlockStore for Fake {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_at(offset, into)
    }

    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.write_at(offset, from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn with_context<T>(
    observer: &mut Recording,
    stop: bool,
    work: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    work(&mut Context {
        seed: 1,
        folder: None,
        stop: &AtomicBool::new(stop),
        report_now: &AtomicBool::new(false),
        observer,
    })
}

fn capacity(folder: &Path, fill: Fill) -> Capacity {
    Capacity {
        path: folder.to_owned(),
        task: Task::Fill(fill),
    }
}

fn report_of(work: &Capacity, observer: &mut Recording) -> CapacityReport {
    match with_context(observer, false, |context| run(work, context)).unwrap() {
        ActReport::Capacity(report) => report,
        other => panic!("{other:?}"),
    }
}

fn step_of(came: &StepOutcome) -> &CapacityStep {
    match &came.detail {
        Some(StepDetail::Capacity(step)) => step,
        other => panic!("{other:?}"),
    }
}

fn some(limit: u64) -> Fill {
    Fill {
        limit_bytes: Some(limit),
        ..Fill::default()
    }
}

fn only_verify() -> Fill {
    Fill {
        write: false,
        ..Fill::default()
    }
}

#[test]
fn written_files_are_verified_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut observer = Recording::default();
    let report = report_of(&capacity(folder.path(), some(3 * MIB + 512)), &mut observer);
    assert!(!report.differs);
    assert_eq!(report.kept, ["1.h2w"]);
    let [(write, ..), (verify, outcome, came)] = &observer.steps[..] else {
        panic!("two steps: {:?}", observer.steps);
    };
    assert_eq!(
        (write.name.as_str(), verify.name.as_str()),
        ("write", "verify")
    );
    assert_eq!(*outcome, Outcome::Completed);
    assert_eq!(came.measured.as_ref().unwrap().read.bytes, 3 * MIB + 512);
    let found = step_of(came).total().unwrap();
    assert!(found.all_ok());
    assert_eq!(found.held_bytes(), 3 * MIB + 512);
}

#[test]
fn files_are_removed_when_asked_for_and_all_is_well() {
    let folder = tempfile::tempdir().unwrap();
    let fill = Fill {
        remove: true,
        ..some(MIB)
    };
    let report = report_of(&capacity(folder.path(), fill), &mut Recording::default());
    assert_eq!(report.kept, Vec::<String>::new());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn differences_are_found_in_their_class_and_place() {
    let folder = tempfile::tempdir().unwrap();
    report_of(
        &capacity(folder.path(), some(MIB)),
        &mut Recording::default(),
    );
    let path = folder.path().join("1.h2w");
    let file = fs::OpenOptions::new()
        .write(true)
        .read(true)
        .open(&path)
        .unwrap();
    let mut sector = vec![0; 512];
    file.read_exact_at(&mut sector, 8_192).unwrap();
    file.write_all_at(&sector, 4_096).unwrap();
    file.write_all_at(b"x", 16_384 + 100).unwrap();
    file.write_all_at(&[7; 512], 65_536).unwrap();
    let work = capacity(folder.path(), only_verify());
    let mut observer = Recording::default();
    let report = report_of(&work, &mut observer);
    let found = step_of(&observer.steps[0].2).total().unwrap();
    let sectors = found.sectors;
    assert_eq!(
        (sectors.overwritten, sectors.changed, sectors.corrupted),
        (1, 1, 1)
    );
    assert_eq!(sectors.ok, 2_045);
    assert_eq!(found.first_bad, Some(4_096));
    assert_eq!(
        (found.aliases[0].belongs_to, found.shortest_alias),
        (8_192, Some(4_096))
    );
    assert!(report.differs);
    assert_eq!(observer.steps.len(), 1);
}

/// The sector that was written to this offset.
fn sector(offset: u64) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    assay_model::act::capacity::fill(&mut bytes, offset);
    bytes
}

#[test]
fn a_missing_file_between_others_is_a_difference() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("2.h2w"), sector(offset(2))).unwrap();
    let work = capacity(folder.path(), only_verify());
    let mut observer = Recording::default();
    let report = report_of(&work, &mut observer);
    let step = step_of(&observer.steps[0].2);
    assert!(step.total().unwrap().all_ok());
    assert_eq!(step.missing, ["1.h2w"]);
    assert!(report.differs);
}

#[test]
fn files_of_an_earlier_run_are_replaced_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, far] = ["1.h2w", "2.h2w", "5.h2w"].map(|name| folder.path().join(name));
    // The mark of a device that wraps around.
    fs::write(&one, sector(offset(7))).unwrap();
    fs::write(&two, "").unwrap();
    fs::write(&far, sector(offset(5))).unwrap();
    let mut observer = Recording::default();
    let fill = Fill {
        last_file: Some(2),
        verify: false,
        ..some(FILE_BYTES + 512)
    };
    let work = capacity(folder.path(), fill);
    let stopped = with_context(&mut observer, true, |context| run(&work, context));
    stopped.unwrap();
    assert!(!one.exists() && !two.exists());
    let told = "removed what an earlier run left: 1.h2w to 2.h2w";
    assert_eq!(observer.notes, [told]);
    assert!(far.exists());
}

#[test]
fn files_beyond_a_limit_are_left_alone_and_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let far = folder.path().join("5.h2w");
    fs::write(&far, "mine").unwrap();
    let report = report_of(
        &capacity(folder.path(), some(MIB)),
        &mut Recording::default(),
    );
    assert!(!report.differs);
    assert_eq!(fs::read(far).unwrap(), b"mine");
}

#[test]
fn a_file_of_somebody_else_is_refused_and_nothing_removed() {
    for mine in [b"mine".to_vec(), vec![0; 512]] {
        let folder = tempfile::tempdir().unwrap();
        let [one, three] = ["1.h2w", "3.h2w"].map(|name| folder.path().join(name));
        fs::write(&one, sector(0)).unwrap();
        fs::write(&three, &mine).unwrap();
        let work = capacity(folder.path(), some(3 * FILE_BYTES));
        let mut observer = Recording::default();
        let refused = with_context(&mut observer, true, |context| run(&work, context));
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("3.h2w was not written by f3, H2testw or assay"),
            "{refused}"
        );
        assert_eq!(fs::read(&one).unwrap(), sector(0));
        assert_eq!(fs::read(&three).unwrap(), mine);
    }
}

#[test]
fn a_stop_keeps_what_was_written_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let work = capacity(folder.path(), some(MIB));
    let mut observer = Recording::default();
    let report = with_context(&mut observer, true, |context| run(&work, context)).unwrap();
    let ActReport::Capacity(report) = report else {
        panic!("{report:?}");
    };
    assert_eq!(report.kept, Vec::<String>::new());
    assert_eq!(observer.steps[0].1, Outcome::Interrupted);
    assert_eq!(observer.steps.len(), 1);
}

#[test]
fn nothing_to_check_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let work = capacity(folder.path(), only_verify());
    let mut observer = Recording::default();
    let refused = with_context(&mut observer, false, |context| run(&work, context));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("no files to check (1.h2w")
    );
}

#[test]
fn a_fill_that_comes_to_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let backwards = Fill {
        first_file: 5,
        last_file: Some(2),
        ..some(MIB)
    };
    for (fill, word) in [(backwards, "--end"), (some(511), "--limit")] {
        let work = capacity(folder.path(), fill);
        let mut observer = Recording::default();
        let refused = with_context(&mut observer, false, |context| run(&work, context));
        let refused = refused.unwrap_err();
        assert!(
            matches!(&refused, ActError::Refused(text) if text.contains(word)),
            "{refused}"
        );
        assert!(observer.steps.is_empty());
    }
}

#[test]
fn the_file_of_the_highest_number_is_written_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let fill = Fill {
        first_file: u32::MAX,
        last_file: Some(u32::MAX),
        ..some(MIB)
    };
    let report = report_of(&capacity(folder.path(), fill), &mut Recording::default());
    assert!(!report.differs);
    assert_eq!(report.kept, ["4294967295.h2w"]);
}

/// What filling and checking a fake finds.
fn filled(fake: &mut Fake) -> (Tally, assay_model::trial::Measurement) {
    let mut observer = Recording::default();
    with_context(&mut observer, false, |context| {
        let mut meter = Meter::start(0);
        let mut progress = ProgressReporter::new("", 0, None);
        let length = fake.bytes();
        write_all(fake, length, &mut meter, &mut progress, context).unwrap();
        let told = (&mut progress, context);
        let (found, ended) = Checker::new().check(fake, 0, length, &mut meter, told);
        ended.unwrap();
        (found, meter.stop())
    })
}

#[test]
fn a_wrapped_device_holds_what_was_written_last() {
    let (found, _) = filled(&mut Fake::new(8 * MIB, Lie::Wraparound(3 * MIB)));
    assert_eq!(found.held_bytes(), 3 * MIB);
    assert_eq!(found.shortest_alias, Some(3 * MIB));
    assert_eq!(found.first_bad, Some(0));
    assert_eq!(found.sectors.overwritten, 5 * MIB / 512);
}

#[test]
fn a_limbo_loses_what_is_beyond() {
    let (found, _) = filled(&mut Fake::new(8 * MIB, Lie::Limbo(3 * MIB)));
    assert_eq!(found.held_bytes(), 3 * MIB);
    assert_eq!(found.first_bad, Some(3 * MIB));
    assert_eq!(found.sectors.corrupted, 5 * MIB / 512);
    assert_eq!(found.shortest_alias, None);
}

#[test]
fn bad_blocks_are_passed_over_and_told_apart() {
    let mut fake = Fake::new(8 * MIB, Lie::None);
    fake.broken.push(MIB + 8_192..MIB + 12_288);
    let (found, measured) = filled(&mut fake);
    assert_eq!(found.sectors.unreadable, 8);
    assert_eq!(found.sectors.bad(), 8);
    assert_eq!(found.first_bad, Some(MIB + 8_192));
    // The chunk and the block, each way.
    assert_eq!(measured.errors.count, 4);
}

/// Where a device that works up to some offset went away: writing and reading.
#[test]
fn of_a_device_that_went_away_only_what_was_read_is_judged() {
    let mut fake = Fake::new(8 * MIB, Lie::None);
    let mut meter = Meter::start(0);
    let mut progress = ProgressReporter::new("step", 0, None);
    let mut observer = Recording::default();
    with_context(&mut observer, false, |context| {
        write_all(&mut fake, 8 * MIB, &mut meter, &mut progress, context).unwrap();
    });
    fake.broken.push(3 * MIB..8 * MIB);
    observer.gone = true;
    let (tally, read, wrote) = with_context(&mut observer, false, |context| {
        let told = (&mut progress, &mut *context);
        let mut checker = Checker::new();
        let (tally, read) = checker.check(&mut fake, 0, 8 * MIB, &mut meter, told);
        let wrote = write_all(&mut fake, 8 * MIB, &mut meter, &mut progress, context);
        (tally, read.unwrap_err(), wrote.unwrap_err().1)
    });
    assert_eq!((tally.bytes(), tally.sectors.bad()), (3 * MIB, 0));
    for error in [read, wrote] {
        assert_eq!(error.to_string(), "it went away after 3 MiB");
    }
}
