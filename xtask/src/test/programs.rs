//! The stage of `cargo test`: all test programs, whichever fail, and their results.

use super::TestArgs;
use super::tally::TestTally;
use crate::run::{announce, build_folder, cargo};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write, pipe};
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// Within the build folder: skips that tests have noted.
const SKIPS: &str = "skipped-tests";

/// Environment variable that sets how many tests a program runs at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// The end of the command's report, once tests have run.
static CLOSING: OnceLock<String> = OnceLock::new();

/// Runs the tests; an error when one failed, or when they could not be built.
pub fn run(asked: &TestArgs<'_>) -> Result<()> {
    let skips = build_folder()?.join(SKIPS);
    fs::create_dir_all(skips.with_file_name(""))?;
    fs::write(&skips, "").with_context(|| skips.display().to_string())?;
    let mut command = cargo();
    command.args(["test", "--no-fail-fast"]);
    if !asked.names_a_package() {
        command.arg("--workspace");
    }
    command.args(&asked.words).env(assay_testkit::SKIPS, &skips);
    if asked.full {
        command.env(assay_testkit::FULL, "1");
    }
    if std::env::var_os(THREADS).is_none() {
        // Tests wait for devices and other programs most of their time.
        let processors = available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (2 * processors).to_string());
    }
    announce(&command);
    // One stream for both outputs: cargo names each program in the one, before its results
    // in the other.
    let (output, input) = pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().context("cannot start cargo")?;
    // It has the ends of the pipe that are written to.
    drop(command);
    let mut tally = TestTally::default();
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        tally.read(&String::from_utf8_lossy(&line));
        line.clear();
    }
    tally.close();
    let status = child.wait()?;
    tally.note_skips(&fs::read_to_string(&skips)?);
    // Set once: the stage runs once.
    let _ = CLOSING.set(tally.closing());
    match (tally.failed(), status.success()) {
        (0, true) => Ok(()),
        (0, false) => bail!("cargo test failed: {status}"),
        (count, _) => bail!("{count} tests failed"),
    }
}

/// The end of the command's report; `None`: no tests have run.
pub fn closing() -> Option<&'static str> {
    CLOSING.get().map(String::as_str)
}
