//! The command under test, and what it says.

use crate::machine::{self, Share};
use assay_testkit::{Process, Scratch, signal_to};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// A command that takes longer hangs. Far above what any test needs.
const HANG: Duration = Duration::from_secs(180);
/// What a killed test left is no other's business.
const JOURNALS: &str = "ASSAY_JOURNAL_DIR";
const POLL: Duration = Duration::from_millis(5);

/// A folder with a store, and the command with that store.
pub struct Bed {
    scratch: Scratch,
    _share: Share,
}

impl Bed {
    pub fn new() -> Self {
        let _share = machine::share();
        let scratch = Scratch::new().expect("a folder");
        Self { scratch, _share }
    }

    pub fn store(&self) -> PathBuf {
        self.scratch.join("runs.sqlite")
    }

    /// A new folder to work in.
    pub fn folder(&self) -> PathBuf {
        self.folder_named("work")
    }

    /// The same under another name.
    pub fn folder_named(&self, name: &str) -> PathBuf {
        let folder = self.scratch.join(name);
        fs::create_dir(&folder).expect("a folder");
        folder
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// `assay WORDS`, with the store of this bed. Behind `--` are the words of
    /// another command.
    pub fn command(&self, words: &[&str]) -> Command {
        let own = words.iter().position(|word| *word == "--");
        let (own, others) = words.split_at(own.unwrap_or(words.len()));
        let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
        command.args(own).arg("--store").arg(self.store());
        command.args(others);
        command.env(JOURNALS, self.join("journals"));
        command
    }

    /// `assay WORDS` of a command that has no store.
    pub fn command_without_store(&self, words: &[&str]) -> Command {
        let mut command = assay_testkit::command(env!("CARGO_BIN_EXE_assay"));
        command.args(words);
        command.env(JOURNALS, self.join("journals"));
        command
    }

    /// The same as a user who may do nothing special. The bed becomes theirs.
    pub fn command_of_nobody(&self, words: &[&str]) -> Command {
        let mut command = self.command_of_nobody_without_store(words);
        command.arg("--store").arg(self.store());
        command
    }

    /// The same of a command that has no store.
    pub fn command_of_nobody_without_store(&self, words: &[&str]) -> Command {
        const NOBODY: u32 = 65534;
        let program = self.join("assay");
        if !program.exists() {
            assay_testkit::copy_program(env!("CARGO_BIN_EXE_assay"), &program)
                .expect("a copy they may run");
        }
        for path in [self.scratch.path(), &program] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("as root");
        }
        let id = NOBODY.to_string();
        let mut command = assay_testkit::command("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        command.arg(program).args(words);
        command.env(JOURNALS, self.join("journals"));
        command
    }

    pub fn start(&self, words: &[&str]) -> Running {
        Running::start(&mut self.command(words))
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        self.start(words).end()
    }

    /// `assay qualify PATH --quick WORDS`, under way.
    pub fn qualify(&self, path: &Path, words: &[&str]) -> Running {
        let mut all = vec!["qualify", text(path), "--quick"];
        all.extend_from_slice(words);
        self.start(&all)
    }

    /// The shortest run there is, in that folder.
    pub fn short_run(&self, folder: &Path) -> Ended {
        let words = ["--size", "1M", "--trials", "1", "--only", "read-cached"];
        let ended = self.qualify(folder, &words).end();
        ended.assert_code(0);
        ended
    }

    /// The run of those jobs, once each, as JSON.
    pub fn measure(&self, path: &Path, size: &str, jobs: &str, words: &[&str]) -> Value {
        let mut all = vec!["--size", size, "--trials", "1", "--only", jobs, "--json"];
        all.extend_from_slice(words);
        let ended = self.qualify(path, &all).end();
        ended.assert_code(0);
        ended.json()
    }

    /// A stored run.
    pub fn stored(&self, run: &str) -> Value {
        let ended = self.run(&["report", run, "--json"]);
        ended.assert_code(0);
        ended.json()
    }

    /// The one line of a command that cannot be carried out as given.
    pub fn refused(&self, words: &[&str]) -> String {
        self.run(words).refusal()
    }
}

/// `assay WORDS` with another store than that of the bed, under way.
pub fn start_with_store(bed: &Bed, store: &str, words: &[&str]) -> Running {
    let words = [words, &["--store", store]].concat();
    Running::start(&mut bed.command_without_store(&words))
}

/// The same, to its end.
pub fn with_store(bed: &Bed, store: &str, words: &[&str]) -> Ended {
    start_with_store(bed, store, words).end()
}

/// A path as a word of a command.
pub fn text(path: &Path) -> &str {
    assay_testkit::text(path)
}

/// The command under way.
pub struct Running {
    process: Process,
    /// Lines of standard error.
    lines: Receiver<String>,
    received: Vec<String>,
    out: JoinHandle<String>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::start(command).expect("it can be started");
        let mut out = process.child().stdout.take().expect("a pipe");
        let err = process.child().stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let out = spawn(move || {
            let mut text = Vec::new();
            out.read_to_end(&mut text).expect("it can be read");
            String::from_utf8(text).expect("it is text")
        });
        Self {
            process,
            lines,
            received: Vec::new(),
            out,
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has told of that many finished trials.
    pub fn await_trials(&mut self, count: usize) {
        self.await_lines("finished trials", count, is_trial);
    }

    /// Waits for a line that has these words.
    pub fn await_words(&mut self, words: &str) {
        self.await_lines(words, 1, |line| line.contains(words));
    }

    /// Waits for so many lines that fit.
    pub fn await_lines(&mut self, what: &str, count: usize, fits: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + HANG;
        while self.received.iter().filter(|line| fits(line)).count() < count {
            if !self.receive(deadline) {
                panic!("it ended before {what}: {:#?}", self.received);
            }
        }
    }

    /// Takes the next line; false when there are no more.
    fn receive(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) if left > Duration::ZERO => self.received.push(line),
            Err(RecvTimeoutError::Disconnected) => return false,
            Ok(_) | Err(RecvTimeoutError::Timeout) => panic!("it hangs: {:#?}", self.received),
        }
        true
    }

    /// The agent that the host has started.
    pub fn agent(&self) -> u32 {
        await_some("an agent", || child_of(self.id()))
    }

    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    pub fn has_ended(&mut self) -> bool {
        let status = self.process.child().try_wait();
        status.expect("it can be waited for").is_some()
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + HANG;
        while self.receive(deadline) {}
        let status = self.process.wait().expect("it can be waited for");
        let err = self.received;
        assert!(
            !err.iter().any(|line| line.contains("panicked")),
            "{err:#?}"
        );
        Ended {
            code: status.code(),
            out: self.out.join().expect("it was read"),
            err,
        }
    }

    /// Kills the host, or host and agent, without warning.
    pub fn kill(mut self, agent_too: bool) -> Ended {
        if agent_too && let Some(agent) = child_of(self.id()) {
            // The host must not note that it lost its agent.
            self.signal(Signal::STOP);
            signal_to(agent, Signal::KILL);
        }
        self.process.signal(Signal::KILL);
        self.process.wait().expect("it can be waited for");
        self.end()
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// `None`: by a signal.
    pub code: Option<i32>,
    pub out: String,
    /// Lines of standard error.
    pub err: Vec<String>,
}

impl Ended {
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{:#?}\n{}", self.err, self.out);
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The one line that refuses.
    pub fn refusal(&self) -> String {
        self.assert_code(2);
        assert_eq!(self.out, "", "a refusal has no data");
        assert_eq!(self.err.len(), 1, "one line: {:#?}", self.err);
        self.err[0].clone()
    }

    /// Whether a line of standard error has all of these.
    pub fn says(&self, words: &[&str]) -> bool {
        let has_all = |line: &String| words.iter().all(|word| line.contains(word));
        self.err.iter().any(has_all)
    }

    /// Panics unless a line of standard error has all of these.
    pub fn assert_says(&self, words: &[&str]) {
        assert!(self.says(words), "no line with {words:?}: {:#?}", self.err);
    }

    /// The run's id, if it came so far as to announce it.
    pub fn run_id(&self) -> Option<&str> {
        let keeps = self.err.iter().find(|line| line.starts_with("Keeps "))?;
        let (_, rest) = keeps.split_once(" run ")?;
        rest.split(' ').next()
    }

    /// Trials that it said had ended.
    pub fn trials_told(&self) -> usize {
        self.err.iter().filter(|line| is_trial(line)).count()
    }
}

/// Whether a line tells of a finished trial: `[3/18] ...`.
fn is_trial(line: &str) -> bool {
    line.starts_with('[')
}

/// Trials of a job in a run.
pub fn trials<'a>(run: &'a Value, job: &str) -> Vec<&'a Value> {
    let all = run["trials"].as_array().expect("a list of trials").iter();
    all.filter(|trial| trial["job"]["name"] == job).collect()
}

/// The only trial of a job.
pub fn trial<'a>(run: &'a Value, job: &str) -> &'a Value {
    let trials = trials(run, job);
    assert_eq!(trials.len(), 1, "{job}");
    trials[0]
}

/// A figure of the only trial of a job.
pub fn figure(run: &Value, job: &str, name: &str) -> f64 {
    let metrics = trial(run, job)["metrics"].as_array().expect("a list");
    let found = metrics.iter().find(|metric| metric["name"] == name);
    let value = found.and_then(|metric| metric["value"].as_f64());
    value.unwrap_or_else(|| panic!("{job} has no {name}: {metrics:?}"))
}

/// What the only trial of a job measured in a direction, and why.
pub fn label<'a>(run: &'a Value, job: &str, direction: &str) -> (&'a str, &'a str) {
    let judged = &trial(run, job)["evidence"][direction];
    let word = |name: &str| judged[name].as_str();
    let label = word("label").unwrap_or_else(|| panic!("{job}: {judged}"));
    (label, word("because").expect("a reason"))
}

/// Panics unless the only trial of a job has that label.
pub fn assert_label(run: &Value, job: &str, direction: &str, expected: &str) {
    let (label, because) = label(run, job, direction);
    assert_eq!(label, expected, "{job}: {because}");
}

/// Returns false if the machine disturbed the label of plain writes: a sync(2) of another test writes
/// dirty pages back ("mixed"), and a busy machine reads the counters late ("unknown").
pub fn is_pure(judged: &Value) -> bool {
    judged["label"] != "mixed" && judged["label"] != "unknown"
}

/// Makes a measurement, twice more if others disturbed it: tests run beside each other, and dirty
/// pages, flushes and dropped caches are those of the whole machine.
pub fn undisturbed<T>(measure: impl Fn() -> T, is_undisturbed: impl Fn(&T) -> bool) -> T {
    for _ in 0..2 {
        let measured = measure();
        if is_undisturbed(&measured) {
            return measured;
        }
    }
    measure()
}

/// Data of which no two blocks are the same.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(length).collect()
}

/// Test folders in a folder.
pub fn test_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(".assay-")
        })
        .collect()
}

/// Waits until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    await_some(what, || is_so().then_some(()));
}

/// What comes at last; panics when it does not.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + HANG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        sleep(POLL);
    }
}

/// Whether a process is there and is no zombie.
pub fn lives(pid: u32) -> bool {
    status_of(pid).is_some_and(|(state, _)| state != "Z")
}

fn child_of(parent: u32) -> Option<u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut children = pids.filter(|&pid| status_of(pid).is_some_and(|(_, up)| up == parent));
    children.next()
}

/// State and parent from `/proc/PID/stat`, behind the name in brackets.
fn status_of(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}
