use super::*;
use crate::observer::recording::Recording;
use assay_model::trial::Outcome;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const MIB: u64 = 1 << 20;

fn small(path: &Path) -> Extent {
    Extent {
        path: path.to_owned(),
        samples: 5,
        sample_bytes: MIB,
        access_samples: 11,
        file_bytes: 8 * MIB,
        ..Extent::default()
    }
}

fn ran(
    work: &Extent,
    folder: Option<&Path>,
    stop: bool,
    observer: &mut Recording,
) -> Result<ActReport, ActError> {
    run(
        work,
        &mut Context {
            seed: 3,
            folder,
            stop: &AtomicBool::new(stop),
            report_now: &AtomicBool::new(false),
            observer,
        },
    )
}

fn details(observer: &Recording) -> Vec<&ExtentStep> {
    let details = observer.steps.iter().map(|(_, _, came)| &came.detail);
    details
        .filter_map(|detail| match detail {
            Some(StepDetail::Extent(step)) => Some(step),
            _ => None,
        })
        .collect()
}

#[test]
fn a_file_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    fs::write(&path, vec![9; 4 << 20]).unwrap();
    let mut observer = Recording::default();
    ran(&small(&path), None, false, &mut observer).unwrap();
    let [read, access] = details(&observer)[..] else {
        panic!("{:?}", observer.steps);
    };
    let page = rustix::param::page_size() as u64;
    let offsets: Vec<u64> = read.samples.iter().map(|sample| sample.offset).collect();
    assert_eq!(offsets, super::offsets(4 * MIB, 5, page));
    // The last sample is shorter: it ends at the end of the file.
    let bytes: Vec<u64> = read.samples.iter().map(|sample| sample.bytes).collect();
    assert_eq!(bytes[..4], [MIB; 4]);
    assert_eq!(bytes[4], 4 * MIB - offsets[4]);
    // The first access is a warm-up, which is not recorded.
    assert_eq!(access.samples.len(), 10);
    assert_eq!((read.of, access.of), (SampleKind::Read, SampleKind::Access));
    for (job, outcome, came) in &observer.steps {
        assert_eq!(*outcome, Outcome::Completed);
        let measured = came.measured.as_ref().unwrap();
        assert_eq!(measured.read.ios, measured.read.latency.count);
        assert_eq!(
            measured.elapsed_ns, measured.read.latency.sum_ns,
            "{}",
            job.name
        );
    }
}

#[test]
fn a_file_of_the_user_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    fs::write(&path, vec![9; 4 << 20]).unwrap();
    let work = Extent {
        write: true,
        ..small(&path)
    };
    let refused = ran(&work, None, false, &mut Recording::default()).unwrap_err();
    assert!(refused.to_string().contains("only read"), "{refused}");
}

#[test]
fn in_a_folder_a_file_is_made_and_written_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let work = Extent {
        write: true,
        in_folder: true,
        ..small(folder.path())
    };
    let mut observer = Recording::default();
    ran(&work, Some(folder.path()), false, &mut observer).unwrap();
    let after = fs::read(folder.path().join("data")).unwrap();
    assert_eq!(after.len() as u64, 8 * MIB);
    let [_, write, _] = details(&observer)[..] else {
        panic!("{:?}", observer.steps);
    };
    assert_eq!(write.of, SampleKind::Write);
    let measured = observer.steps[1].2.measured.as_ref().unwrap();
    assert_eq!((measured.write.ios, measured.flush.count), (5, 5));
    let again = tempfile::tempdir().unwrap();
    let unwritten = Extent {
        write: false,
        ..work
    };
    ran(
        &unwritten,
        Some(again.path()),
        false,
        &mut Recording::default(),
    )
    .unwrap();
    assert!(after == fs::read(again.path().join("data")).unwrap());
}

#[test]
fn a_file_smaller_than_a_sample_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    fs::write(&path, vec![9; 4_096]).unwrap();
    let refused = ran(&small(&path), None, false, &mut Recording::default()).unwrap_err();
    assert!(refused.to_string().contains("--sample-size"), "{refused}");
}

#[test]
fn a_stop_keeps_the_samples_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    fs::write(&path, vec![9; 4 << 20]).unwrap();
    let mut observer = Recording::default();
    let ended = ran(&small(&path), None, true, &mut observer);
    assert!(matches!(ended, Err(ActError::Stopped)));
    assert_eq!(observer.steps.len(), 1);
    assert_eq!(observer.steps[0].1, Outcome::Interrupted);
}

#[test]
fn an_error_outside_the_timed_part_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    for of in [SampleKind::Read, SampleKind::Write] {
        fs::write(&path, vec![9; 4 << 20]).unwrap();
        let mut observer = Recording::default();
        let mut context = Context {
            seed: 3,
            folder: None,
            stop: &AtomicBool::new(false),
            report_now: &AtomicBool::new(false),
            observer: &mut observer,
        };
        let place = ExtentFile::open(&small(&path), &mut context).unwrap();
        fs::write(&path, []).unwrap();
        let mut sampler = Sampler::new(&place, of, MIB);
        let mut meter = Meter::start(0);
        let ended = sampler.take(&[0, MIB, 2 * MIB], &mut meter, &mut context);
        assert!(ended.is_err());
        assert_eq!(meter.stop().errors.count, 3, "{of:?}");
    }
}

#[test]
fn a_sample_that_memory_may_not_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    File::create(&path).unwrap().set_len(1 << 42).unwrap();
    let work = Extent {
        sample_bytes: 1 << 41,
        ..small(&path)
    };
    let refused = ran(&work, None, false, &mut Recording::default()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("largest --sample-size is 1 GiB"),
        "{refused}"
    );
}

#[test]
fn places_are_even_and_begin_with_a_page() {
    assert_eq!(offsets(1 << 20, 4, 4_096), [0, 262_144, 524_288, 786_432]);
    assert_eq!(offsets(10_000, 3, 4_096), [0, 0, 4_096]);
    // The last offset leaves room for a whole page.
    assert_eq!(offsets(8_200, 500, 4_096)[499], 4_096);
    // 2^63 bytes times 1000 samples needs more than 64 bits.
    let far = offsets(1 << 63, 1_000, 4_096);
    assert_eq!(far[500], 1 << 62);
}

#[test]
fn random_places_are_whole_pages_within_and_follow_from_the_seed() {
    let some = random(100 * 4_096 + 10, 1_000, 4_096, 7);
    assert_eq!(some, random(100 * 4_096 + 10, 1_000, 4_096, 7));
    assert_ne!(some, random(100 * 4_096 + 10, 1_000, 4_096, 8));
    assert!(some.iter().all(|at| at % 4_096 == 0 && *at < 100 * 4_096));
    assert!(some.contains(&0) && some.contains(&(99 * 4_096)));
}
