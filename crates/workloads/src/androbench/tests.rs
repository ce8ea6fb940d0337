use super::*;
use crate::{ObservedStep, Observer, StepOutcome};
use assay_model::act::androbench::{FilePhase, FileStart, file_names};
use assay_model::job::{Job, OpenSync, Rw};
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps what it is told.
#[derive(Default)]
pub(super) struct Recorder {
    /// Words in the order of the calls.
    pub(super) calls: Vec<String>,
    pub(super) ended: Vec<(Outcome, StepOutcome)>,
    /// Sizes of the step's files when its clock started.
    pub(super) sizes: Vec<Vec<Option<u64>>>,
    /// The same when it stopped.
    pub(super) sizes_after: Vec<Vec<Option<u64>>>,
    paths: Vec<PathBuf>,
    stop_at: Option<&'static str>,
    stop: Option<&'static AtomicBool>,
}

impl Observer for Recorder {
    fn begins(&mut self, step: ObservedStep<'_>) {
        self.calls.push(format!("begins {}", step.job.name));
        if self.stop_at == Some(step.job.name.as_str())
            && let Some(stop) = self.stop
        {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn clock_starts(&mut self, step: ObservedStep<'_>) {
        self.calls.push("starts".to_owned());
        self.paths = step.paths.iter().map(|path| path.to_path_buf()).collect();
        self.sizes.push(sizes(&self.paths));
    }

    fn clock_stopped(&mut self) {
        self.calls.push("stopped".to_owned());
        self.sizes_after.push(sizes(&self.paths));
    }

    fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
        self.calls.push("ended".to_owned());
        self.ended.push((outcome, came));
    }

    fn keep(&mut self) {
        self.calls.push("keep".to_owned());
    }

    fn note(&mut self, _weight: NoteWeight, text: String) {
        self.calls.push(format!("note {text}"));
    }

    fn progress(&mut self, _progress: &ActProgress) {}

    fn interim_report(&mut self, _report: ActReport) {}

    fn ended_together(&mut self, _: Vec<crate::Together>) {
        unreachable!("its steps follow each other");
    }
}

fn sizes(paths: &[PathBuf]) -> Vec<Option<u64>> {
    let size = |path: &PathBuf| fs::metadata(path).ok().map(|meta| meta.len());
    paths.iter().map(size).collect()
}

/// Carries out phases in a new folder, which is still there afterwards.
pub(super) fn carry_out(
    phases: Vec<Phase>,
    recorder: &mut Recorder,
) -> (tempfile::TempDir, Result<ActReport, ActError>) {
    let folder = tempfile::tempdir().unwrap();
    let work = AndroBench {
        folder: folder.path().to_owned(),
        phases,
    };
    let stop = recorder.stop.unwrap_or(Box::leak(Box::default()));
    let came = run(
        &work,
        &mut Context {
            seed: 1,
            folder: Some(folder.path()),
            stop,
            report_now: &AtomicBool::new(false),
            observer: recorder,
        },
    );
    (folder, came)
}

fn files(name: &str, rw: Rw) -> FilePhase {
    FilePhase {
        files: 4,
        ..FilePhase::new(name, rw, Bytes::kib(4), Bytes::kib(64))
    }
}

fn phase_of(phase: FilePhase) -> Vec<Phase> {
    vec![Phase::Files(phase)]
}

#[test]
fn a_step_is_prepared_before_its_clock_starts() {
    let mut recorder = Recorder::default();
    let read = Phase::Files(files("read", Rw::Read));
    let write = Phase::Files(FilePhase {
        start: FileStart::Empty,
        ..files("write", Rw::Write)
    });
    let (_folder, came) = carry_out(vec![read, write], &mut recorder);
    came.unwrap();
    let one = |name: &str| [name, "starts", "stopped", "ended", "keep"].map(str::to_owned);
    assert_eq!(
        recorder.calls,
        [one("begins read"), one("begins write")].concat()
    );
    assert_eq!(recorder.sizes[0], [Some(64 << 10); 4]);
    assert_eq!(recorder.sizes[1], [Some(0); 4]);
    let moved = |at: usize| recorder.ended[at].1.measured.clone().unwrap();
    assert_eq!(moved(0).read.bytes, 256 << 10);
    assert_eq!((moved(1).write.ios, moved(1).write.bytes), (64, 256 << 10));
}

#[test]
fn flushes_and_threads_are_as_the_phase_says() {
    let mut recorder = Recorder::default();
    let mut phase = FilePhase {
        threads: 4,
        ios: Some(5),
        repeats: true,
        sync: OpenSync::Dsync,
        ..files("write", Rw::RandWrite)
    };
    phase.flush.every = Some((1, assay_model::job::FlushCall::Fsync));
    let (_folder, came) = carry_out(phase_of(phase), &mut recorder);
    came.unwrap();
    let measured = recorder.ended[0].1.measured.clone().unwrap();
    assert_eq!((measured.write.ios, measured.flush.count), (20, 20));
    assert_eq!(measured.write.latency.count, 20);
}

#[test]
fn the_first_thread_that_is_done_ends_all() {
    let mut recorder = Recorder::default();
    let phase = FilePhase {
        threads: 4,
        file_size: Bytes::mib(4),
        ios: Some(100),
        first_ends_all: true,
        ..files("read", Rw::RandRead)
    };
    let (_folder, came) = carry_out(phase_of(phase), &mut recorder);
    came.unwrap();
    let (outcome, came) = &recorder.ended[0];
    assert_eq!(*outcome, Outcome::Completed);
    let ios = came.measured.as_ref().unwrap().read.ios;
    assert!((100..=400).contains(&ios), "{ios}");
}

#[test]
fn all_files_have_known_names() {
    let mut recorder = Recorder::default();
    let (folder, came) = carry_out(phase_of(files("read", Rw::Read)), &mut recorder);
    came.unwrap();
    let known: Vec<String> = file_names().collect();
    let mut found = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "{name}");
        found += 1;
    }
    assert_eq!(found, 4);
}

#[test]
fn a_stopped_step_is_interrupted_and_the_last() {
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let mut recorder = Recorder {
        stop_at: Some("second"),
        stop: Some(stop),
        ..Recorder::default()
    };
    let phases = ["first", "second", "third"].map(|name| Phase::Files(files(name, Rw::Read)));
    let (_folder, came) = carry_out(phases.to_vec(), &mut recorder);
    assert!(matches!(came, Err(ActError::Stopped)), "{came:?}");
    let outcomes: Vec<&Outcome> = recorder.ended.iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(outcomes, [&Outcome::Completed, &Outcome::Interrupted]);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_written() {
    let refused = |phases: Vec<Phase>| {
        let mut recorder = Recorder::default();
        let (folder, came) = carry_out(phases, &mut recorder);
        assert!(recorder.calls.is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        match came {
            Err(ActError::Refused(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let change = |edit: fn(&mut FilePhase)| {
        let mut phase = files("f", Rw::Read);
        edit(&mut phase);
        refused(phase_of(phase))
    };
    assert!(change(|phase| phase.files = 65).contains("1 to 64 files"));
    assert!(change(|phase| phase.threads = 5).contains("5 threads"));
    assert!(change(|phase| phase.bs = Bytes::mib(1)).contains("does not fit into a file"));
    assert!(change(|phase| phase.file_size = Bytes(1 << 60)).contains("--size"));
    assert!(change(|phase| (phase.direct, phase.bs) = (true, Bytes(100))).contains("512"));
    let twice = Phase::Files(files("f", Rw::Read));
    assert!(refused(vec![twice.clone(), twice]).contains("twice"));
    assert!(refused(Vec::new()).contains("no step"));
}

#[test]
fn jobs_of_phases_are_what_is_run() {
    let phase = files("write", Rw::Write);
    let Job { numjobs, size, .. } = phase.job();
    assert_eq!((numjobs, size), (1, Bytes::kib(256)));
    let paths: Vec<PathBuf> = (0..4).map(|n| PathBuf::from(format!("/{n}"))).collect();
    let load = load_of(
        &FilePhase {
            threads: 2,
            ..phase
        },
        &paths,
        1,
    );
    let of = |at: usize| load.streams[at].files.paths.clone();
    assert_eq!(of(0), [PathBuf::from("/0"), PathBuf::from("/2")]);
    assert_eq!(of(1), [PathBuf::from("/1"), PathBuf::from("/3")]);
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn an_agent_without_sqlite_says_so() {
    use assay_model::act::androbench::{DatabasePhase, Journal, Schema, Statement, Synchronous};
    let database = Phase::Database(DatabasePhase {
        schema: Schema::AndroBench,
        journal: Journal::Wal,
        synchronous: Synchronous::Full,
        transactions: 1,
        statements: vec![Statement::Insert],
        checkpoint: false,
    });
    let mut recorder = Recorder::default();
    let (_folder, came) = carry_out(vec![database], &mut recorder);
    let why = came.unwrap_err().to_string();
    assert!(why.contains("built without SQLite"), "{why}");
    assert!(recorder.calls.is_empty());
}
