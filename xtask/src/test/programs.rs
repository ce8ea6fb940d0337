//! The stage of `cargo test`: all test programs, whichever fail, and their results.

use super::TestArgs;
use super::tally::TestTally;
use crate::run::{announce, build_folder, cargo, run as run_command};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write, pipe};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::{self, available_parallelism};

/// Within the build folder: skips that tests have noted.
const SKIPS: &str = "skipped-tests";

/// Environment variable that sets how many tests a program runs at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// The end of the command's report, once tests have run.
static CLOSING: OnceLock<String> = OnceLock::new();

/// Formats that only archives have.
const ALL_FORMATS: &str = "assay-cli/parquet";

/// Modules of tests on the emulated board. They take turns on it, for minutes: a process of
/// their own keeps them from holding up all others, which wait most of their time.
const ON_THE_BOARD: [&str; 2] = ["board::", "board_works::"];

/// Runs the tests; an error when one failed, or when they could not be built.
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
    // Set once: the stage runs once.
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

/// Hands each line that a command prints to `take`; true if it succeeded.
fn follow(mut command: Command, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
    announce(&command);
    // One stream for both outputs: cargo names each program in the one, before its results
    // in the other.
    let (output, input) = pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().context("cannot start cargo")?;
    // It has the ends of the pipe that are written to.
    drop(command);
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        take(&line)?;
        line.clear();
    }
    Ok(child.wait()?.success())
}

/// The end of the command's report; `None`: no tests have run.
pub fn closing() -> Option<&'static str> {
    CLOSING.get().map(String::as_str)
}
