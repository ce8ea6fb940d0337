//! `cargo xtask fio-tests`: runs fio's own numbered test programs (`t/run-fio-tests.py`) and its
//! example jobs with assay in place of fio, and writes the results as text for the documentation.

use crate::run;
use crate::run::{build_folder, cargo, shipped};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::{env, fs};

const HELP: &str = "\
cargo xtask fio-tests SOURCE [--only N,N...] [--write]

Runs the test programs of fio's source tree and reads its example jobs, with
assay under the name of fio.

  SOURCE    the tree: `apt-get source fio` gives one
  --only    only these numbers of t/run-fio-tests.py, and no examples
  --write   update the results in docs/compat/fio.md

As root, all parts of the programs run. What fails leaves its output in the
folder fio-tests beside the build.";

/// Command-line request.
#[derive(Debug, PartialEq, Eq)]
struct FioTestArgs {
    source: PathBuf,
    only: Vec<u32>,
    write: bool,
}

/// Runs the programs and the examples. Returns an error if a program failed.
pub fn run(words: &[&str]) -> Result<()> {
    if words.iter().any(|word| ["--help", "-h"].contains(word)) {
        println!("{HELP}");
        return Ok(());
    }
    let request = request(words)?;
    let scratch = scratch()?;
    let fio = fio(&scratch)?;
    let results = run_programs(&request, &fio, &scratch)?;
    println!("\n{}", describe_programs(&results));
    if request.only.is_empty() {
        let examples = run_examples(&request.source, &fio, &scratch)?;
        println!("{}", describe_examples(&examples));
        if request.write {
            let version = fio_version(&request.source)?;
            write_document(&version, &results, &examples)?;
        }
    }
    let failed = results.iter().filter(|result| result.failed()).count();
    if failed > 0 {
        bail!("{failed} failed; see {}", scratch.display());
    }
    Ok(())
}

fn request(words: &[&str]) -> Result<FioTestArgs> {
    let (mut source, mut only, mut write) = (None, Vec::new(), false);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--write" => write = true,
            "--only" => only = numbers(words.next().copied())?,
            word if word.starts_with('-') => bail!("no such option: {word}\n\n{HELP}"),
            word => source = Some(PathBuf::from(word)),
        }
    }
    let source = source.with_context(|| format!("fio's source tree is not named\n\n{HELP}"))?;
    if write && !only.is_empty() {
        bail!("--write needs the results of all programs: leave out --only");
    }
    let source = source
        .canonicalize()
        .with_context(|| format!("{} is not there", source.display()))?;
    Ok(FioTestArgs {
        source,
        only,
        write,
    })
}

fn numbers(list: Option<&str>) -> Result<Vec<u32>> {
    let list = list.context("--only needs numbers, as in --only 1,1010")?;
    list.split(',')
        .map(|number| {
            number
                .trim()
                .parse()
                .with_context(|| format!("--only: '{number}' is not a number"))
        })
        .collect()
}

/// Makes an empty folder beside the build, on a real disk: some programs use
/// direct I/O, which a file system in memory may not support.
fn scratch() -> Result<PathBuf> {
    let folder = build_folder()?.join("fio-tests");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds the released assay and links it under the name fio.
fn fio(scratch: &Path) -> Result<PathBuf> {
    let link = scratch.join("fio");
    symlink(shipped()?, &link).with_context(|| format!("cannot make {}", link.display()))?;
    Ok(link)
}

/// Returns a search path whose first Python has SciPy, six and statsmodels; `None` if the
/// system's Python has them.
fn with_modules() -> Result<Option<OsString>> {
    let has_modules = |python: &mut Command| {
        python
            .args(["-c", "import scipy, six, statsmodels"])
            .stderr(Stdio::null());
        python.status().is_ok_and(|status| status.success())
    };
    if has_modules(&mut Command::new("python3")) {
        return Ok(None);
    }
    let folder = build_folder()?.join("fio-tests-python");
    let programs = folder.join("bin");
    if !has_modules(&mut Command::new(programs.join("python3"))) {
        run::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(programs.join("pip"));
        run::run(install.args(["install", "--quiet", "scipy", "six", "statsmodels"]))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let all = [programs].into_iter().chain(env::split_paths(&path));
    env::join_paths(all)
        .map(Some)
        .context("the build's folder cannot be part of PATH")
}

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
struct ProgramResult {
    number: u32,
    /// Name of the job file or the program.
    name: String,
    verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed(String),
    LeftOut(String),
}

impl ProgramResult {
    fn failed(&self) -> bool {
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
fn run_programs(request: &FioTestArgs, fio: &Path, scratch: &Path) -> Result<Vec<ProgramResult>> {
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
    let python = with_modules().unwrap_or_else(|error| {
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

/// Result of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Example {
    name: String,
    /// Refused option; `None`: assay accepts the file.
    refusal: Option<Refusal>,
}

/// Refused option, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refusal {
    /// Option with its value; empty if the error is not about an option.
    option: String,
    why: String,
}

/// Reads every example without running it.
fn run_examples(source: &Path, fio: &Path, scratch: &Path) -> Result<Vec<Example>> {
    files(&source.join("examples"))?
        .iter()
        .map(|path| {
            let mut command = Command::new(fio);
            command.arg("--parse-only").arg(path).current_dir(scratch);
            let out = command
                .output()
                .with_context(|| format!("cannot start {}", fio.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let said = String::from_utf8_lossy(&out.stderr);
            Ok(Example {
                name: name.into_owned(),
                refusal: (!out.status.success()).then(|| reason(&said)),
            })
        })
        .collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    files.sort();
    Ok(files)
}

/// Splits an error without its position: `assay: job.fio:3: [a] zonemode=zbd:
/// why` into option and reason.
fn reason(said: &str) -> Refusal {
    let line = said.lines().next().unwrap_or("it says nothing");
    let problem = match line.split_once(".fio:") {
        Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, problem)| problem),
        None => line,
    };
    let problem = match problem.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map_or(problem, |(_, rest)| rest),
        None => problem,
    };
    let (option, why) = problem.split_once(": ").unwrap_or(("", problem));
    let why = why.rsplit_once("is not supported: ");
    Refusal {
        option: option.to_owned(),
        why: why
            .map_or_else(
                || problem[option.len()..].trim_start_matches(": "),
                |(_, why)| why,
            )
            .to_owned(),
    }
}

/// Source of the results in `docs/compat/fio.md`.
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/dialects/src/fio/compat_tests.md"
);

/// Formats counts and a table of the test programs.
fn describe_programs(outcomes: &[ProgramResult]) -> String {
    let count = |verdict: fn(&Verdict) -> bool| {
        let of_kind = outcomes.iter().filter(|outcome| verdict(&outcome.verdict));
        of_kind.count()
    };
    let passed = count(|verdict| matches!(verdict, Verdict::Passed));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let left_out = outcomes.len() - passed - failed;
    let mut text = format!(
        "{passed} of {} test programs pass, {failed} fail; {left_out} are left out.\n\n\
         | number | program | result |\n|---|---|---|\n",
        passed + failed
    );
    for ProgramResult {
        number,
        name,
        verdict,
    } in outcomes
    {
        let result = match verdict {
            Verdict::Passed => "passes".to_owned(),
            Verdict::Failed(why) => format!("fails: {}", cell(why)),
            Verdict::LeftOut(why) => format!("left out: {}", cell(why)),
        };
        let _ = writeln!(text, "| {number} | `{name}` | {result} |");
    }
    text
}

/// Formats counts of the example jobs, and the refused options with the jobs
/// that use them.
fn describe_examples(examples: &[Example]) -> String {
    let mut refused: BTreeMap<&Refusal, Vec<String>> = BTreeMap::new();
    for Example { name, refusal } in examples {
        if let Some(refusal) = refusal {
            let names = refused.entry(refusal).or_default();
            names.push(format!("`{name}`"));
        }
    }
    let count: usize = refused.values().map(Vec::len).sum();
    let mut text = format!(
        "{} of {} example jobs are read, {count} are refused.\n\n\
         | refused | reason | in |\n|---|---|---|\n",
        examples.len() - count,
        examples.len()
    );
    for (Refusal { option, why }, names) in refused {
        let option = match option.as_str() {
            "" => String::new(),
            option => format!("`{}`", cell(option)),
        };
        let why = cell(why);
        let _ = writeln!(text, "| {option} | {why} | {} |", names.join(", "));
    }
    text
}

/// Returns the version of a source tree, for example `fio-3.33`.
fn fio_version(source: &Path) -> Result<String> {
    let path = source.join("FIO-VERSION-GEN");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("DEF_VER="));
    line.map(str::to_owned)
        .with_context(|| format!("{} names no version", path.display()))
}

/// Writes the results into the documentation.
fn write_document(
    version: &str,
    outcomes: &[ProgramResult],
    of_examples: &[Example],
) -> Result<()> {
    let text = format!(
        "\n## Results of fio's own test programs\n\n\
         Of `t/run-fio-tests.py` and `examples/` of {version}, by\n\
         `cargo xtask fio-tests SOURCE --write`.\n\n{}\n{}",
        describe_programs(outcomes),
        describe_examples(of_examples)
    );
    fs::write(FILE, text).with_context(|| format!("cannot write {FILE}"))?;
    let mut update = cargo();
    update.args(["test", "--quiet", "--package", "assay-dialects"]);
    update.arg("the_document_is_what_the_table_says");
    run::run(update.env("UPDATE_COMPAT", "1"))
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_order() {
        let expected = FioTestArgs {
            source: "/".into(),
            only: vec![1, 1010],
            write: false,
        };
        assert_eq!(request(&["/", "--only", "1,1010"]).unwrap(), expected);
        assert_eq!(request(&["--only", "1,1010", "/"]).unwrap(), expected);
        for wrong in [
            &["--only", "1"][..],
            &["/", "--only", "x"],
            &["/", "--write", "--only", "1"],
            &["/", "--rite"],
        ] {
            assert!(request(wrong).is_err(), "{wrong:?}");
        }
    }

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

    #[test]
    fn a_reason_is_an_option_and_why() {
        for (said, option, why) in [
            (
                "assay: /tmp/examples/a.fio:3: [a] zonemode=zbd: no\nmore",
                "zonemode=zbd",
                "no",
            ),
            (
                "assay: a.fio:1: [global] ioengine=x: fio's engine 'x' is not supported: old",
                "ioengine=x",
                "old",
            ),
            ("stopped", "", "stopped"),
        ] {
            let refusal = reason(said);
            assert_eq!((&*refusal.option, &*refusal.why), (option, why));
        }
    }

    #[test]
    fn failed_programs_are_counted_and_listed() {
        let outcome = |number, verdict| ProgramResult {
            number,
            name: "t.fio".to_owned(),
            verdict,
        };
        let text = describe_programs(&[
            outcome(1, Verdict::Passed),
            outcome(2, Verdict::Failed("a | b".to_owned())),
            outcome(3, Verdict::LeftOut("no".to_owned())),
        ]);
        assert!(text.starts_with("1 of 2 test programs pass, 1 fail; 1 are left out."));
        assert!(text.contains("| 2 | `t.fio` | fails: a \\| b |"), "{text}");
    }

    #[test]
    fn only_refused_examples_are_listed() {
        let example = |name: &str, refused: bool| Example {
            name: name.to_owned(),
            refusal: refused.then(|| Refusal {
                option: "a=b".to_owned(),
                why: "no".to_owned(),
            }),
        };
        let all = [example("a", false), example("b", true), example("c", true)];
        let text = describe_examples(&all);
        assert!(text.starts_with("1 of 3 example jobs are read, 2 are refused."));
        assert!(text.ends_with("|\n| `a=b` | no | `b`, `c` |\n"), "{text}");
    }
}
