//! `cargo xtask test`: all tests that this machine can run, in one command. The stage of `cargo
//! test` runs all test programs, even after a failure, and collects their results.

use crate::run::{announce, build_folder, cargo, run as run_command};
use crate::{agents, board, measure, prerequisites};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};
use std::io::{BufRead, BufReader, Write, pipe};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use std::{fmt, fs, thread};

/// Stages in order. A failed stage does not prevent the others.
const STAGES: [TestStage; 11] = [
    TestStage {
        name: "programs",
        stages: Stages::All,
        failure: StageFailure::Skips("tests that need these programs"),
        run: |_| prerequisites::provide(),
    },
    TestStage {
        name: "Python packages",
        stages: Stages::All,
        failure: StageFailure::Skips("tests that need Python packages"),
        run: |_| prerequisites::provide_python(),
    },
    TestStage {
        name: "emulated board",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests on an emulated board"),
        run: |_| board::prepare(),
    },
    TestStage {
        name: "servers of adb and ssh",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests over adb and real links of ssh"),
        run: |_| prerequisites::prepare_servers(),
    },
    TestStage {
        name: "labgrid",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests with a lab of boards"),
        run: |_| prerequisites::prepare_labgrid(),
    },
    TestStage {
        name: "agents",
        stages: Stages::Workspace,
        failure: StageFailure::Skips("tests of agents that are missing"),
        run: |asked| agents::provide(&agents::of_tests(asked.full)),
    },
    TestStage {
        name: "tests",
        stages: Stages::All,
        failure: StageFailure::Fails,
        run: run_programs,
    },
    TestStage {
        name: "labels against the kernel",
        stages: Stages::Workspace,
        failure: StageFailure::Fails,
        run: |_| measure(&["truth", "--subset"]),
    },
    TestStage {
        name: "calibration of verdicts",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate"]),
    },
    TestStage {
        name: "calibration of traits",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate", "--traits"]),
    },
    TestStage {
        name: "calibration of change points",
        stages: Stages::Full,
        failure: StageFailure::Fails,
        run: |_| measure(&["calibrate", "--changes"]),
    },
];

/// Command-line arguments.
#[derive(Debug, PartialEq, Eq)]
struct TestArgs<'a> {
    /// Set to include agents of all machines, long simulations and calibrations.
    full: bool,
    /// Arguments for cargo: packages, names of tests, and after `--` options of the test
    /// programs.
    words: Vec<&'a str>,
}

impl<'a> TestArgs<'a> {
    fn read(words: &[&'a str]) -> Self {
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| **word == "--full");
        Self {
            full: !ours.is_empty(),
            words: theirs,
        }
    }

    /// Returns true if a package is named: `--workspace` would make cargo ignore it.
    fn names_a_package(&self) -> bool {
        let words = self.words.iter().take_while(|word| **word != "--");
        let mut words = words.copied();
        words.any(|word| word.starts_with("-p") || word.starts_with("--package"))
    }

    /// Returns true if packages or tests are named, or options of the test programs given.
    fn names_tests(&self) -> bool {
        let is_option = |word: &&str| word.starts_with('-') && *word != "--";
        self.names_a_package() || !self.words.iter().all(is_option)
    }

    fn has(&self, stages: Stages) -> bool {
        match stages {
            Stages::All => true,
            Stages::Workspace => !self.names_a_package(),
            Stages::Full => self.full && !self.names_a_package(),
        }
    }
}

/// Runs the requested stages and prints a line with the time of each. The error names those
/// that failed.
pub fn run(words: &[&str]) -> Result<()> {
    let asked = TestArgs::read(words);
    let mut report = Report::default();
    for stage in STAGES.iter().filter(|stage| asked.has(stage.stages)) {
        report.run(stage, &asked);
    }
    println!("{report}");
    if let Some(closing) = closing() {
        println!("{closing}");
    }
    match report.failed() {
        [] => Ok(()),
        failed => bail!("failed: {}", failed.join(", ")),
    }
}

/// Stage of the command.
struct TestStage {
    pub name: &'static str,
    pub stages: Stages,
    pub failure: StageFailure,
    pub run: fn(&TestArgs<'_>) -> Result<()>,
}

/// Commands that include a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stages {
    /// Every command.
    All,
    /// Commands that name no package.
    Workspace,
    /// Commands with `--full` that name no package.
    Full,
}

/// Effect of a failed stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StageFailure {
    /// The named tests skip, with the reason.
    Skips(&'static str),
    /// The command fails.
    Fails,
}

/// Results of the completed stages.
#[derive(Debug, Default)]
struct Report {
    times: Vec<(&'static str, Times)>,
    failed: Vec<&'static str>,
}

impl Report {
    /// Runs a stage and prints its time.
    pub fn run(&mut self, stage: &TestStage, asked: &TestArgs<'_>) {
        eprintln!("\n== {}", stage.name);
        let (began, used) = (Instant::now(), used_by_children());
        let ended = (stage.run)(asked);
        let times = Times {
            took: began.elapsed(),
            processor: used_by_children().saturating_sub(used),
        };
        if let Err(error) = ended {
            eprintln!("xtask: {error:#}");
            match stage.failure {
                StageFailure::Skips(tests) => eprintln!("xtask: {tests} are skipped"),
                StageFailure::Fails => self.failed.push(stage.name),
            }
        }
        eprintln!("== {}: {times}", stage.name);
        self.times.push((stage.name, times));
    }

    /// Returns the stages that make the command fail.
    pub fn failed(&self) -> &[&'static str] {
        &self.failed
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut all = Times::default();
        for (name, times) in &self.times {
            all.took += times.took;
            all.processor += times.processor;
            writeln!(f, "{name:30} {times}")?;
        }
        write!(f, "{:30} {all}", "all")
    }
}

/// Times of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    took: Duration,
    /// CPU time of programs that the stage ran.
    processor: Duration,
}

impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (took, processor) = (self.took.as_secs(), self.processor.as_secs());
        write!(f, "{took:5} s, {processor:5} s of processor time")
    }
}

/// Returns the CPU time of this process's ended children.
fn used_by_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks_of_children(&stat).map_or(Duration::ZERO, |ticks| {
        Duration::from_secs_f64(ticks / rustix::param::clock_ticks_per_second() as f64)
    })
}

/// Returns `cutime` plus `cstime` of `proc_pid_stat(5)`, fields 16 and 17. Field 2 is a name
/// in brackets, which may contain spaces.
fn ticks_of_children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(f64::from(user) + f64::from(system))
}

/// Results of all test programs so far.
#[derive(Debug, Default)]
struct TestTally {
    passed: usize,
    /// Tests that failed, as `PROGRAM: TEST`, and programs that ended without a result.
    failed: Vec<String>,
    /// Output lines of the failed tests.
    why: Vec<String>,
    /// Number of tests skipped for each reason.
    skipped: BTreeMap<String, usize>,
    /// Name of the running test program.
    program: String,
    /// Set until the running program has printed its result.
    is_open: bool,
    /// Number of tests that the running program announced.
    announced: usize,
    /// Names in the latest list of failures.
    names: Vec<String>,
    /// First output lines of failed tests, by name.
    said: BTreeMap<String, Vec<String>>,
    /// Failed test whose output is being read.
    speaker: Option<String>,
}

/// Number of output lines of a failed test that the summary repeats.
const SHOWN: usize = 8;

impl TestTally {
    /// Reads the next line of `cargo test`, with both outputs in one stream.
    pub fn read(&mut self, line: &str) {
        let line = line.trim_end();
        self.listen(line);
        if let Some(program) = program(line) {
            self.close();
            (self.program, self.is_open) = (program, true);
            self.announced = 0;
        } else if let Some(count) = announced(line) {
            // A failed test that runs its own program repeats such lines.
            self.announced = self.announced.max(count);
        } else if line == "failures:" {
            self.names.clear();
        } else if let Some(name) = line.strip_prefix("    ") {
            self.names.push(name.to_owned());
        } else if let Some(why) = ignored(line) {
            self.skip(why);
        } else if let Some(counts) = ResultCounts::read(line)
            && counts.all() == self.announced
        {
            self.add(&counts);
        }
    }

    fn listen(&mut self, line: &str) {
        let name = line.strip_prefix("---- ");
        if let Some(name) = name.and_then(|line| line.strip_suffix(" stdout ----")) {
            self.said.insert(name.to_owned(), Vec::new());
            self.speaker = Some(name.to_owned());
        } else if line == "stack backtrace:" || line == "failures:" {
            self.speaker = None;
        } else if let Some(said) = self
            .speaker
            .as_ref()
            .and_then(|name| self.said.get_mut(name))
            && !line.is_empty()
            && said.len() < SHOWN
        {
            said.push(line.to_owned());
        }
    }

    fn add(&mut self, counts: &ResultCounts) {
        self.passed += counts.passed;
        let names = self
            .names
            .split_off(self.names.len().saturating_sub(counts.failed));
        let program = &self.program;
        self.failed
            .extend(names.iter().map(|name| format!("{program}: {name}")));
        self.why.extend(names.iter().filter_map(|name| {
            let said = self.said.get(name)?.join("\n  ");
            Some(format!("{program}: {name}\n  {said}"))
        }));
        self.said.clear();
        self.names.clear();
        self.announced = 0;
        self.is_open = false;
    }

    /// Ends the running program. A program that was killed by a signal prints no result.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.failed
                .push(format!("{}: ended without a result", self.program));
        }
        self.names.clear();
    }

    /// Reads skips that tests have noted, a line of program, test and reason each. The test
    /// program counted each of these tests as passed.
    pub fn note_skips(&mut self, lines: &str) {
        let mut seen = BTreeSet::new();
        for line in lines.lines() {
            let Some((test, why)) = line.rsplit_once('\t') else {
                continue;
            };
            if seen.insert(test) {
                self.passed = self.passed.saturating_sub(1);
                self.skip(why);
            }
        }
    }

    fn skip(&mut self, why: &str) {
        *self.skipped.entry(why.to_owned()).or_default() += 1;
    }

    /// Returns the number of failed tests and of programs that ended without a result.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    /// Returns the summary: the output of each failed test, and a line with the counts of
    /// passed, failed and skipped tests, with the reasons.
    pub fn closing(&self) -> String {
        let reasons: Vec<String> = self
            .skipped
            .iter()
            .map(|(why, count)| format!("{count}: {why}"))
            .collect();
        let skipped: usize = self.skipped.values().sum();
        let mut why = self.why.join("\n");
        if !why.is_empty() {
            why.push('\n');
        }
        let mut line = format!(
            "{why}{} passed, {} failed, {skipped} skipped",
            self.passed,
            self.failed.len()
        );
        if !self.failed.is_empty() {
            line.push_str(&format!("; failed: {}", self.failed.join(", ")));
        }
        if !reasons.is_empty() {
            line.push_str(&format!("; skipped: {}", reasons.join("; ")));
        }
        line
    }
}

/// Counts of one `test result:` line.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResultCounts {
    passed: usize,
    failed: usize,
    ignored: usize,
    measured: usize,
}

impl ResultCounts {
    fn read(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut found = Self::default();
        for part in counts.split("; ") {
            let (count, word) = part.split_once(' ')?;
            let place = match word {
                "passed" => &mut found.passed,
                "failed" => &mut found.failed,
                "ignored" => &mut found.ignored,
                "measured" => &mut found.measured,
                _ => continue,
            };
            *place = count.parse().ok()?;
        }
        Some(found)
    }

    fn all(&self) -> usize {
        self.passed + self.failed + self.ignored + self.measured
    }
}

/// Returns the name of a test program that cargo starts.
fn program(line: &str) -> Option<String> {
    if let Some(package) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("documentation of {package}"));
    }
    let path = line.strip_prefix("     Running ")?.strip_suffix(')')?;
    let file = path.rsplit(['/', '(']).next()?;
    let (name, _) = file.rsplit_once('-')?;
    Some(name.to_owned())
}

/// Returns the number of tests that a program announces.
fn announced(line: &str) -> Option<usize> {
    let (count, word) = line.strip_prefix("running ")?.split_once(' ')?;
    matches!(word, "test" | "tests")
        .then(|| count.parse().ok())
        .flatten()
}

/// Returns the reason why a test is ignored.
fn ignored(line: &str) -> Option<&str> {
    let (_, end) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    Some(end.strip_prefix(", ").unwrap_or("ignored"))
}

/// File in the build folder to which tests append their skips.
const SKIPS: &str = "skipped-tests";

/// Environment variable with the number of tests that a program runs at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Summary of the test results, once tests have run.
static CLOSING: OnceLock<String> = OnceLock::new();

/// Feature with formats that only archives have.
const ALL_FORMATS: &str = "assay-cli/parquet";

/// Modules of tests on the emulated board. These tests share it, one at a time, for
/// minutes. A separate process keeps them from delaying the others.
const ON_THE_BOARD: [&str; 2] = ["board::", "board_works::"];

/// Runs the tests. Returns an error if one failed, or if they could not be built.
fn run_programs(asked: &TestArgs<'_>) -> Result<()> {
    let skips = build_folder()?.join(SKIPS);
    fs::create_dir_all(skips.with_file_name(""))?;
    fs::write(&skips, "").with_context(|| skips.display().to_string())?;
    let command = |words: &[&str]| {
        let mut command = cargo();
        command.args(["test", "--no-fail-fast"]);
        if !asked.names_a_package() {
            command.args(["--workspace", "--features", ALL_FORMATS]);
        }
        command.args(&asked.words).args(words);
        command.env(assay_testkit::SKIPS, &skips);
        if asked.full {
            command.env(assay_testkit::FULL, "1");
        }
        if std::env::var_os(THREADS).is_none() {
            // Tests wait for devices and other programs most of their time.
            let processors = available_parallelism().map_or(1, usize::from);
            command.env(THREADS, (3 * processors).to_string());
        }
        command
    };
    let mut tally = TestTally::default();
    let succeeded = if asked.names_tests() {
        follow(command(&[]), |line| show(&mut tally, line))?
    } else {
        let [board, works] = ON_THE_BOARD;
        run_command(&mut command(&["--no-run"]))?;
        let on_the_board = command(&["--tests", "--", board, works]);
        let others = command(&["--", "--skip", board, "--skip", works]);
        thread::scope(|scope| -> Result<bool> {
            let on_the_board = scope.spawn(|| {
                let mut lines = Vec::new();
                let succeeded = follow(on_the_board, |line| {
                    lines.push(line.to_vec());
                    Ok(())
                })?;
                Ok::<_, anyhow::Error>((lines, succeeded))
            });
            let others = follow(others, |line| show(&mut tally, line))?;
            tally.close();
            let (lines, succeeded) = on_the_board.join().expect("no panic in it")?;
            for line in &lines {
                show(&mut tally, line)?;
            }
            Ok(others && succeeded)
        })?
    };
    tally.close();
    tally.note_skips(&fs::read_to_string(&skips)?);
    // The stage runs once, so this is set once.
    let _ = CLOSING.set(tally.closing());
    match (tally.failed(), succeeded) {
        (0, true) => Ok(()),
        (0, false) => bail!("cargo test failed"),
        (count, _) => bail!("{count} tests failed"),
    }
}

fn show(tally: &mut TestTally, line: &[u8]) -> Result<()> {
    std::io::stdout().write_all(line)?;
    tally.read(&String::from_utf8_lossy(line));
    Ok(())
}

/// Passes each line of a command's output to `take`. Returns true if the command succeeded.
fn follow(mut command: Command, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
    announce(&command);
    // One pipe for both outputs keeps their order: cargo prints the name of a program to
    // one, before its results on the other.
    let (output, input) = pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().context("cannot start cargo")?;
    // `command` still holds the write ends of the pipe.
    drop(command);
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        take(&line)?;
        line.clear();
    }
    Ok(child.wait()?.success())
}

/// Returns the summary of the test results; `None` if no tests have run.
fn closing() -> Option<&'static str> {
    CLOSING.get().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn a_package_is_named_only_before_the_test_programs_own_options() {
        let names = |words: &[&str]| TestArgs::read(words).names_a_package();
        assert!(names(&["-p", "assay-store"]));
        assert!(names(&["--package=assay-store", "kill"]));
        assert!(!names(&["--release", "--", "-p"]));
        assert!(!names(&[]));
    }

    #[test]
    fn only_the_whole_is_run_in_two_processes() {
        let names = |words: &[&str]| TestArgs::read(words).names_tests();
        assert!(!names(&["--locked", "--release"]) && !names(&[]));
        assert!(names(&["kill"]) && names(&["--", "--ignored"]) && names(&["-p", "xtask"]));
    }

    #[test]
    fn full_is_no_word_for_cargo_and_adds_stages() {
        let asked = TestArgs::read(&["--full", "--locked"]);
        assert_eq!(
            (asked.full, asked.words.as_slice()),
            (true, &["--locked"][..])
        );
        assert!(asked.has(Stages::Full));
        assert!(!TestArgs::read(&["--locked"]).has(Stages::Full));
        let package = TestArgs::read(&["--full", "-p", "xtask"]);
        assert!(package.has(Stages::All) && !package.has(Stages::Full));
    }

    #[test]
    fn a_stage_that_fails_is_named_only_if_nothing_is_skipped_for_it() {
        let mut report = Report::default();
        let mut stage = TestStage {
            name: "one",
            stages: Stages::All,
            failure: StageFailure::Skips("tests"),
            run: |_| bail!("cannot"),
        };
        let asked = TestArgs::read(&[]);
        report.run(&stage, &asked);
        assert!(report.failed().is_empty());
        (stage.name, stage.failure) = ("two", StageFailure::Fails);
        report.run(&stage, &asked);
        assert_eq!(report.failed(), ["two"]);
        assert_eq!(report.to_string().lines().count(), 3);
    }

    #[test]
    fn times_of_children_stand_behind_the_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 300 50 20 0 1";
        assert_eq!(ticks_of_children(stat), Some(350.0));
    }

    fn read(text: &str) -> TestTally {
        let mut tally = TestTally::default();
        text.lines().for_each(|line| tally.read(line));
        tally.close();
        tally
    }

    #[test]
    fn all_programs_count_also_behind_one_that_fails_or_dies() {
        let mut tally = read(
            "     Running unittests src/lib.rs (target/debug/deps/assay_model-0a1b)\n\
             \nrunning 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\
             test a::d ... ignored, takes minutes\n\
             \nfailures:\n\n---- a::c stdout ----\n    left: 1\n\nfailures:\n    a::c\n\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
             \x20    Running tests/dies.rs (target/debug/deps/dies-0a1b)\n\nrunning 2 tests\n\
             error: test failed, to rerun pass `-p x --test dies`\n\
             \x20    Running tests/e2e/main.rs (target/debug/deps/e2e-0a1b)\n\nrunning 2 tests\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 2s\n\
             \x20  Doc-tests assay_model\n\nrunning 1 test\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2s\n",
        );
        tally.note_skips("e2e\tx\tno fio\ne2e\tx\tno fio either\n");
        assert_eq!(tally.failed(), 2);
        assert_eq!(
            tally.closing(),
            "assay_model: a::c\n      left: 1\n3 passed, 2 failed, 2 skipped; failed: assay_model: a::c, dies: ended without a \
             result; skipped: 1: no fio; 1: takes minutes"
        );
    }

    #[test]
    fn test_counts_in_the_output_of_a_failed_test_are_ignored() {
        let tally = read(
            "     Running unittests src/lib.rs (target/debug/deps/kit-0a1b)\n\
             \nrunning 2 tests\ntest a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\n\
             running 1 test\n\nfailures:\n    a\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out\n\
             \nfailures:\n    a\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(
            tally.closing(),
            "kit: a\n  running 1 test\n1 passed, 1 failed, 0 skipped; failed: kit: a"
        );
    }
}
