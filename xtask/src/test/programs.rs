//! Stage of `cargo test`: runs all test programs, even after a failure, and collects their
//! results.

use super::{TestArgs, TestTally};
use crate::run::{announce, build_folder, cargo, run as run_command};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write, pipe};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::{self, available_parallelism};

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
pub fn run(asked: &TestArgs<'_>) -> Result<()> {
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
pub fn closing() -> Option<&'static str> {
    CLOSING.get().map(String::as_str)
}
