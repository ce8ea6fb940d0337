//! Runs the numbered test programs of `t/run-fio-tests.py`.

use super::FioTestArgs;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

/// Test programs that use fio as a user does, of all versions. fio 3.33 has those up to 26, and
/// 1003 to 1012.
const BLACK_BOX: [u32; 44] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 33, 34, 35, 36, 37, 1003, 1004, 1006, 1010, 1011, 1012, 1013, 1017,
];
/// Program that runs the tests, in fio's source tree.
const PROGRAM: &str = "t/run-fio-tests.py";
/// Test program that needs SciPy.
const STEADY_STATE: u32 = 1004;

/// Test program whose job names four processors.
const FOUR_PROCESSORS: u32 = 9;

/// Programs that test fio's internals or features that assay refuses, with the reason for leaving
/// each out.
const INTERNAL: [(u32, &str, &str); 11] = [
    (1000, "t/axmap", "a unit test of fio's own bitmap"),
    (1001, "t/ieee754", "a unit test of fio's own float format"),
    (1002, "t/lfsr-test", "a unit test of fio's own generator"),
    (1005, "t/stest", "a unit test of fio's own allocator"),
    (
        1007,
        "t/zbd/run-tests-against-nullb",
        "zonemode=zbd is not supported",
    ),
    (
        1008,
        "t/zbd/run-tests-against-nullb",
        "zonemode=zbd is not supported",
    ),
    (1009, "unittests/unittest", "unit tests of fio's own code"),
    (1014, "t/nvmept.py", "it needs the engine io_uring_cmd"),
    (1015, "t/nvmept_trim.py", "it needs the engine io_uring_cmd"),
    (
        1016,
        "t/client_server.py",
        "fio's network protocol is not supported",
    ),
    (
        1018,
        "t/verify-trim.py",
        "it needs a device that discards: run it with --dut",
    ),
];

/// Outcome of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramResult {
    pub(super) number: u32,
    /// Name of the job file or the program.
    pub(super) name: String,
    pub(super) verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed(String),
    LeftOut(String),
}

impl ProgramResult {
    pub(super) fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    fn left_out(number: u32, name: &str, why: &str) -> Self {
        Self {
            number,
            name: name.to_owned(),
            verdict: Verdict::LeftOut(why.to_owned()),
        }
    }
}

/// Checks that all requested numbers are programs of this version.
fn check_numbers(only: &[u32], there: &[u32]) -> Result<()> {
    let internal = INTERNAL.map(|(number, ..)| number);
    let known = |number: &u32| BLACK_BOX.contains(number) || internal.contains(number);
    let unknown = |number: &&u32| !there.contains(number) || !known(number);
    match only.iter().find(unknown) {
        Some(number) => bail!("--only: there is no program {number}"),
        None => Ok(()),
    }
}

/// Returns the numbers of this version's programs.
fn numbers_of(source: &Path) -> Result<Vec<u32>> {
    let path = source.join(PROGRAM);
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "{} cannot be read: is this fio's source tree? `apt-get source fio` gives one",
            path.display()
        )
    })?;
    Ok(text.lines().filter_map(number_of).collect())
}

/// Parses a line such as `'test_id':          1003,`.
fn number_of(line: &str) -> Option<u32> {
    let value = line.trim().strip_prefix("'test_id':")?;
    value.trim().trim_end_matches(',').parse().ok()
}

/// Runs the requested programs in the order of their numbers.
pub(super) fn run(request: &FioTestArgs, fio: &Path, scratch: &Path) -> Result<Vec<ProgramResult>> {
    let there = numbers_of(&request.source)?;
    check_numbers(&request.only, &there)?;
    let wanted = |number: &u32| {
        let asked = request.only.is_empty() || request.only.contains(number);
        asked && there.contains(number)
    };
    let mut numbers: Vec<u32> = BLACK_BOX.into_iter().filter(wanted).collect();
    let mut outcomes: Vec<ProgramResult> = INTERNAL
        .iter()
        .filter(|(number, ..)| wanted(number))
        .map(|(number, name, why)| ProgramResult::left_out(*number, name, why))
        .collect();
    let mut leave_out = |number: u32, name: &str, why: &str| {
        let asked = numbers.contains(&number);
        numbers.retain(|other| *other != number);
        outcomes.extend(asked.then(|| ProgramResult::left_out(number, name, why)));
    };
    if available_parallelism().map_or(1, NonZero::get) < 4 {
        leave_out(
            FOUR_PROCESSORS,
            "t0009-f8b0bd10.fio",
            "it needs 4 processors",
        );
    }
    let python = super::with_modules().unwrap_or_else(|error| {
        let why = format!("SciPy cannot be installed: {error:#}");
        leave_out(STEADY_STATE, "t/steadystate_tests.py", &why);
        None
    });
    if !numbers.is_empty() {
        let mut suite = suite(request, fio, &numbers);
        suite.current_dir(scratch);
        if let Some(path) = python {
            suite.env("PATH", path);
        }
        outcomes.extend(outcomes_of(&mut suite)?);
    }
    outcomes.sort_by_key(|outcome| outcome.number);
    let seen = |number: &&u32| outcomes.iter().any(|outcome| outcome.number == **number);
    if let Some(missing) = numbers.iter().find(|number| !seen(number)) {
        bail!("run-fio-tests.py said nothing of program {missing}");
    }
    Ok(outcomes)
}

/// Returns the command that runs fio's test suite. `-k` skips its checks of the requirements,
/// which assay meets.
fn suite(request: &FioTestArgs, fio: &Path, numbers: &[u32]) -> Command {
    let program = request.source.join(PROGRAM);
    let mut command = Command::new("python3");
    command.arg("-u").arg(program).arg("-k");
    command.arg("--fio").arg(fio);
    command.arg("--fio-root").arg(&request.source);
    command.args(["--artifact-root", "results", "--run-only"]);
    command.args(numbers.iter().map(u32::to_string));
    command
}

fn outcomes_of(suite: &mut Command) -> Result<Vec<ProgramResult>> {
    let mut child = suite
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start python3")?;
    let mut outcomes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.context("run-fio-tests.py's output cannot be read")?;
            if let Some(outcome) = outcome(&line) {
                println!("{line}");
                outcomes.push(outcome);
            }
        }
    }
    child.wait().context("cannot wait for python3")?;
    Ok(outcomes)
}

/// Parses a line such as `Test 8 FAILED:  bytes written mismatch, t0008-32eae1c5.fio`. Skipped
/// programs have no name.
fn outcome(line: &str) -> Option<ProgramResult> {
    let (number, rest) = line.strip_prefix("Test ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    let (what, name) = rest.trim_end().rsplit_once(' ')?;
    let verdict = if what == "PASSED" {
        Verdict::Passed
    } else {
        let why = what.strip_prefix("FAILED:")?;
        Verdict::Failed(why.trim().trim_end_matches(',').to_owned())
    };
    Some(ProgramResult {
        number,
        name: name.to_owned(),
        verdict,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_program_are_read() {
        assert_eq!(number_of("        'test_id':          1003,"), Some(1003));
        assert_eq!(number_of("        'test_class':       FioExeTest,"), None);
    }

    #[test]
    fn lines_of_the_suite_are_read() {
        let passed = outcome("Test 1003 PASSED t/readonly.py").unwrap();
        assert_eq!(passed.verdict, Verdict::Passed);
        assert_eq!((passed.number, &*passed.name), (1003, "t/readonly.py"));
        let failed = outcome("Test 8 FAILED:  bytes written mismatch, t0008.fio").unwrap();
        assert_eq!(
            failed.verdict,
            Verdict::Failed("bytes written mismatch".to_owned())
        );
        assert_eq!(outcome("Test 7 SKIPPED (User request)"), None);
        assert_eq!(outcome("31 test(s) passed, 0 failed, 8 skipped"), None);
    }
}
