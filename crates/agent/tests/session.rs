//! A session as a host sees it, over sockets: a worker of the engine has a
//! table of open files of its own, in which an end of a pipe that the test closed
//! would stay open. A socket is shut down for all.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in a test a panic is a failure"
)]

use assay_agent::frame::{FrameError, receive, send};
use assay_model::act::{Act, ActOrder};
use assay_model::condition::Restore;
use assay_model::job::{FileState, Job, Rw};
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::load::{Extent, Load, Stream};
use assay_model::plan::{Place, Plan, PlannedJob, interleave};
use assay_model::trial::Outcome;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, FromAgent, Greeting, NEWEST, RunEnd, ToAgent};
use assay_testkit::{LoopDevice, Scratch, Undo, needs, or_skip};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The host's ends of a session.
struct Host {
    requests: UnixStream,
    answers: UnixStream,
    agent: JoinHandle<Result<(), FrameError>>,
}

impl Host {
    fn start() -> Self {
        let (reader, requests) = UnixStream::pair().unwrap();
        let (answers, writer) = UnixStream::pair().unwrap();
        Self {
            requests,
            answers,
            agent: std::thread::spawn(|| assay_agent::serve(reader, writer)),
        }
    }

    fn ask(&mut self, request: &ToAgent) {
        send(&mut self.requests, request).unwrap();
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.requests.write_all(bytes).unwrap();
    }

    fn receive(&mut self) -> Option<FromAgent> {
        receive(&mut self.answers).unwrap()
    }

    fn say(&mut self, message: &serde_json::Value) {
        send(&mut self.requests, message).unwrap();
    }

    /// Hears the answer to a greeting.
    fn greeting(&mut self) -> Greeting {
        match self.receive() {
            Some(FromAgent::Hello(agent)) => agent,
            other => panic!("no greeting: {other:?}"),
        }
    }

    /// Hears until a trial runs.
    fn await_trial(&mut self) {
        while !matches!(self.receive(), Some(FromAgent::Progress { .. })) {}
    }

    /// Stores what comes, and says how the run ended and what the trials were.
    fn follow(&mut self) -> (RunEnd, Vec<Outcome>) {
        let mut outcomes = Vec::new();
        loop {
            match self.receive().expect("the agent goes on") {
                FromAgent::TrialDone(record) => outcomes.push(record.outcome),
                FromAgent::KeepTrials { position, .. } => self.ask(&ToAgent::Stored { position }),
                FromAgent::LoadNote(note) => panic!("{}", note.text),
                FromAgent::Done { end } => return (end, outcomes),
                FromAgent::Refused(refusal) => panic!("refused: {}", refusal.message),
                _ => {}
            }
        }
    }

    /// Hears a whole report of a load; notes and progress are passed over.
    fn report(&mut self) -> LoadReport {
        let mut streams = Vec::new();
        loop {
            match self.receive().expect("the agent goes on") {
                FromAgent::LoadStream(stream) => streams.push(*stream),
                FromAgent::LoadReport(rest) => return LoadReport { streams, ..*rest },
                FromAgent::Refused(refusal) => panic!("refused: {}", refusal.message),
                _ => {}
            }
        }
    }

    /// Hears until a load does I/O.
    fn await_load(&mut self) {
        let runs = |progress: &LoadProgress| progress.streams.iter().any(|s| s.ios.read > 0);
        while !matches!(self.receive(), Some(FromAgent::LoadProgress(p)) if runs(&p)) {}
    }

    fn close(mut self) -> Result<(), FrameError> {
        self.requests.shutdown(Shutdown::Both).unwrap();
        while let Ok(Some(_)) = receive::<FromAgent>(&mut self.answers) {}
        self.agent.join().unwrap()
    }
}

/// Trials of one small job.
fn plan(directory: &Path, trials: u32, job: Job) -> Plan {
    Plan {
        run_id: "session".to_owned(),
        seed: 1,
        place: Place::Directory {
            path: directory.to_owned(),
        },
        file_size: Bytes::mib(1),
        jobs: vec![PlannedJob { job, trials }],
        conditions: Vec::new(),
        restore: Restore::default(),
        order: interleave(&[trials], 1),
    }
}

fn short() -> Job {
    Job::new("short", Rw::Read, Bytes::kib(64), Bytes::mib(1))
}

/// Runs until somebody stops it.
fn endless() -> Job {
    Job {
        time_based: true,
        runtime: Some(Nanos::secs(3_600)),
        ..short()
    }
}

fn run(plan: &Plan) -> ToAgent {
    ToAgent::Run {
        plan: Box::new(plan.clone()),
    }
}

/// Reads of a file of 1 MiB, and the same once more in a second wave.
fn load(directory: &Path) -> Load {
    let stream = |number: u32| {
        let mut stream = Stream::new("reader");
        stream.number = number;
        stream.wave = number - 1;
        stream.report = number - 1;
        stream.files.paths = vec![directory.join("file")];
        stream.region.size = Some(Extent::Bytes(1 << 20));
        stream
    };
    Load {
        streams: vec![stream(1), stream(2)],
        ..Load::default()
    }
}

fn endless_load(directory: &Path) -> Load {
    let mut load = load(directory);
    for stream in &mut load.streams {
        stream.length.time_based = true;
        stream.length.runtime = Some(Nanos::secs(3_600));
    }
    load
}

fn run_load(load: Load) -> ToAgent {
    ToAgent::RunActs {
        order: Box::new(ActOrder {
            plan: Plan::once("loadrun1".to_owned(), Place::Memory),
            seeds: vec![load.entropy],
            acts: vec![Act::Streams(Box::new(load))],
            destroy_data: true,
        }),
    }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn a_run_from_the_greeting_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&ToAgent::Hello(Greeting::of_host()));
    let agent = host.greeting();
    assert_eq!(agent.common(&Greeting::of_host()), Some(NEWEST));
    assert!(agent.has(Feature::Works) && agent.has(Feature::Loads));
    host.ask(&run(&plan(folder.path(), 3, short())));
    let (end, outcomes) = host.follow();
    assert_eq!(end, RunEnd::Finished);
    assert_eq!(outcomes, vec![Outcome::Completed; 3]);
    assert!(is_empty(folder.path()), "test files stayed");
    host.close().unwrap();
}

/// Commit 19e031c1 and those before it: a host refuses a version that is not its own.
#[test]
fn a_host_from_before_protocol_1_sees_a_version_that_is_higher_than_its_own() {
    #[derive(serde::Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum FromAgentBefore {
        Hello { version: u32 },
    }
    let mut host = Host::start();
    host.say(&json!({"hello": {"version": 11}}));
    let FromAgentBefore::Hello { version } = receive(&mut host.answers).unwrap().unwrap();
    assert!(version > 11, "the older side is the host");
    host.close().unwrap();
}

#[test]
fn a_newer_host_is_understood_as_far_as_both_know() {
    let mut host = Host::start();
    host.say(&json!({"hello": {
        "version": 12, "oldest": 2, "newest": 3, "build": "9.0.0",
        "features": ["works", "of_tomorrow"], "of_tomorrow": {"more": [1]},
    }}));
    assert_eq!(host.greeting().newest, NEWEST);
    host.say(&json!({"inspect": {"path": "/", "of_tomorrow": true}}));
    assert!(matches!(host.receive(), Some(FromAgent::Inspected(_))));
    host.say(&json!({"tomorrow": {}}));
    match host.receive() {
        Some(FromAgent::Refused(refusal)) => {
            assert!(refusal.message.contains("unknown variant `tomorrow`"));
        }
        other => panic!("not a refusal: {other:?}"),
    }
    assert!(host.close().is_err());
}

#[test]
fn a_signal_that_asks_for_a_report_ends_no_agent() {
    let mut host = Host::start();
    host.ask(&ToAgent::Hello(Greeting::of_host()));
    host.greeting();
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::USR1).unwrap();
    host.close().unwrap();
}

#[test]
fn a_load_is_reported_with_evidence_of_each_wave() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run_load(load(folder.path())));
    let report = host.report();
    assert!(!report.interim);
    assert_eq!(report.streams.len(), 2);
    for stream in &report.streams {
        assert_eq!(stream.problem, None);
        assert_eq!(stream.directions.read.bytes, 1 << 20);
    }
    let waves = report.evidence.iter();
    let seen: Vec<_> = waves
        .map(|wave| (wave.wave, wave.streams.clone()))
        .collect();
    assert_eq!(seen, [(0, vec![0]), (1, vec![1])]);
    for wave in &report.evidence {
        assert!(wave.evidence.after.at_ns > wave.evidence.before.at_ns);
    }
    assert!(folder.path().join("file").exists(), "files of a load stay");
    host.close().unwrap();
}

#[test]
fn a_load_reports_when_asked_and_ends_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run_load(endless_load(folder.path())));
    host.await_load();
    host.ask(&ToAgent::ReportNow);
    let interim = host.report();
    assert!(interim.interim);
    assert!(interim.streams[0].directions.read.ios > 0);
    assert_eq!(interim.evidence.len(), 1, "of the wave under way");
    host.ask(&ToAgent::Cancel);
    let last = host.report();
    assert!(!last.interim);
    assert!(last.streams[0].directions.read.ios >= interim.streams[0].directions.read.ios);
    assert!(!last.streams[1].started, "no wave after the end");

    // A report asked for too late is nobody's.
    host.ask(&ToAgent::ReportNow);
    host.ask(&run_load(load(folder.path())));
    assert!(!host.report().interim);
    host.close().unwrap();
}

#[test]
fn the_end_of_the_stream_ends_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run_load(endless_load(folder.path())));
    host.await_load();
    host.close().unwrap();
}

#[test]
fn a_cancel_ends_its_run_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    let long = plan(folder.path(), 5, endless());
    host.ask(&run(&long));
    host.await_trial();
    host.ask(&ToAgent::Cancel);
    let (end, outcomes) = host.follow();
    assert_eq!(end, RunEnd::Cancelled);
    assert_eq!(outcomes, [Outcome::Interrupted]);

    // One that comes too late for its run is not kept for the next.
    host.ask(&ToAgent::Cancel);
    host.ask(&run(&plan(folder.path(), 2, short())));
    let (end, outcomes) = host.follow();
    assert_eq!(end, RunEnd::Finished);
    assert_eq!(outcomes, vec![Outcome::Completed; 2]);

    // One right behind its run is not lost.
    host.ask(&run(&long));
    host.ask(&ToAgent::Cancel);
    assert_eq!(host.follow().0, RunEnd::Cancelled);
    assert!(is_empty(folder.path()), "test files stayed");
    host.close().unwrap();
}

/// The place of a test file on the medium belongs to a run, so it has to vary within the run.
#[test]
fn trials_get_new_test_files_where_writing_these_takes_little_time() {
    let job = Job {
        time_based: true,
        runtime: Some(Nanos(500_000_000)),
        ..short()
    };
    // Much else may run, so that writing takes long.
    let renewed = (0..20).any(|_| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(".assay-session/data");
        let mut host = Host::start();
        host.ask(&run(&plan(folder.path(), 3, job.clone())));
        let mut files = Vec::new();
        loop {
            match host.receive().expect("the agent goes on") {
                FromAgent::KeepTrials { position, .. } => {
                    let file = fs::metadata(&data).unwrap();
                    assert_eq!(file.len(), 1 << 20);
                    assert!(!data.with_extension("next").exists());
                    files.push(file.ino());
                    host.ask(&ToAgent::Stored { position });
                }
                FromAgent::Done { end } => {
                    assert_eq!(end, RunEnd::Finished);
                    break;
                }
                _ => {}
            }
        }
        host.close().unwrap();
        assert!(is_empty(folder.path()), "test files stayed");
        assert_eq!(files.len(), 3);
        files.dedup();
        files.len() == 3
    });
    assert!(renewed, "it is always the same file");
}

#[test]
fn the_end_of_the_stream_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run(&plan(folder.path(), 5, endless())));
    host.await_trial();
    host.close().unwrap();
    assert!(is_empty(folder.path()), "test files stayed");
}

#[test]
fn a_stream_cut_within_a_message_is_an_error_and_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run(&plan(folder.path(), 5, endless())));
    host.await_trial();
    host.raw(&[200, 0, 0, 0, b'{']);
    let error = host.close().unwrap_err();
    assert!(matches!(error, FrameError::Link(_)), "{error}");
    assert!(is_empty(folder.path()), "test files stayed");
}

#[test]
fn a_malformed_message_ends_the_session_with_a_refusal() {
    let mut host = Host::start();
    host.raw(&[2, 0, 0, 0, b'h', b'i']);
    match host.receive() {
        Some(FromAgent::Refused(refusal)) => {
            assert!(!refusal.usage);
            assert!(
                refusal.message.contains("not a message"),
                "{}",
                refusal.message
            );
        }
        other => panic!("not a refusal: {other:?}"),
    }
    let error = host.close().unwrap_err();
    assert!(matches!(error, FrameError::NotAMessage(_)), "{error}");
}

#[test]
fn a_host_that_hears_nothing_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start();
    host.ask(&run(&plan(folder.path(), 5, endless())));
    host.await_trial();
    host.answers.shutdown(Shutdown::Both).unwrap();
    let error = host.agent.join().unwrap().unwrap_err();
    assert!(matches!(error, FrameError::Link(_)), "{error}");
    assert!(is_empty(folder.path()), "test files stayed");
}

/// A full pipe holds up neither the clock nor the evidence around it: with a
/// reader that is stuck, the trial still ends on time and is whole.
#[test]
fn a_slow_reader_does_not_hold_up_a_trial() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, requests) = UnixStream::pair().unwrap();
    let (gate, stuck) = std::sync::mpsc::channel::<()>();
    let (answers, pipe_writer) = UnixStream::pair().unwrap();
    let writer = Stuck {
        gate: stuck,
        open: false,
        inner: pipe_writer,
    };
    let agent = std::thread::spawn(|| assay_agent::serve(reader, writer));
    let mut host = Host {
        requests,
        answers,
        agent,
    };
    let job = Job {
        file_state: FileState::Fresh,
        ..Job::new("fresh", Rw::Write, Bytes::kib(64), Bytes::mib(1))
    };
    host.ask(&run(&plan(folder.path(), 1, job)));
    host.ask(&ToAgent::Stored { position: 0 });
    // What comes next is done although not one byte of the answers was written.
    let elsewhere = tempfile::tempdir().unwrap();
    let left = elsewhere.path().join(".assay-left");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("owner.json"), r#"{"about":"","run_id":"left"}"#).unwrap();
    host.ask(&ToAgent::Sweep {
        directory: elsewhere.path().to_owned(),
    });
    while left.exists() {
        std::thread::sleep(LOOK_AGAIN);
    }
    assert!(is_empty(folder.path()), "the run is not over");
    gate.send(()).unwrap();
    let (end, outcomes) = host.follow();
    assert_eq!(end, RunEnd::Finished);
    assert_eq!(outcomes, [Outcome::Completed]);
    host.close().unwrap();
}

/// Writes nothing until it is let.
struct Stuck {
    gate: std::sync::mpsc::Receiver<()>,
    open: bool,
    inner: UnixStream,
}

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.open {
            self.gate.recv().unwrap();
            self.open = true;
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Between the inspection and the run the stick is exchanged for another one of its size.
#[test]
fn a_device_that_is_not_the_one_that_was_inspected_is_left_alone() {
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let [first, other] = ["first.img", "other.img"].map(|name| scratch.join(name));
    fs::write(&first, vec![1; 2 << 20]).unwrap();
    fs::write(&other, vec![2; 2 << 20]).unwrap();
    let device = or_skip!(LoopDevice::over(&first));
    let node = device.node().to_owned();
    let mut host = Host::start();
    let path = node.clone();
    host.ask(&ToAgent::Inspect { path });
    assert!(matches!(host.receive(), Some(FromAgent::Inspected(_))));
    let name = node.to_str().unwrap();
    device.detach().unwrap();
    let _exchanged = or_skip!(Undo::after(
        &["losetup", name, other.to_str().unwrap()],
        &["losetup", "--detach", name]
    ));

    let mut writer = plan(
        scratch.path(),
        1,
        Job::new("w", Rw::Write, Bytes::kib(64), Bytes::mib(1)),
    );
    writer.place = Place::Device { path: node.clone() };
    let mut writes = load(scratch.path());
    writes.streams[0].blocks.rw.write = true;
    writes.streams[0].files.paths = vec![node];
    for order in [run(&writer), run_load(writes)] {
        host.ask(&order);
        match host.receive() {
            Some(FromAgent::Refused(refusal)) => {
                let words = [
                    "is not the device that was inspected",
                    "file behind the loop device",
                ];
                for words in words {
                    assert!(refusal.message.contains(words), "{}", refusal.message);
                }
            }
            answer => panic!("{answer:?}"),
        }
    }
    assert!(
        fs::read(&other).unwrap() == vec![2; 2 << 20],
        "it was written"
    );
    host.close().unwrap();
}
