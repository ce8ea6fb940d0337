//! Development tasks of assay: `cargo xtask help`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool for developers"
)]

mod agents;
#[cfg(feature = "measure")]
mod bench;
mod board;
#[cfg(feature = "measure")]
mod calibrate;
mod dist;
mod fio_tests;
mod house;
mod packages;
mod portability;
mod prerequisites;
mod quick;
mod run;
mod same_outputs;
mod test;
#[cfg(feature = "measure")]
mod truth;

use anyhow::{Context, Result, bail};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask COMMAND

  quick [CRATE]...     format, lints and unit tests of the crates that a change can affect:
                       of CRATEs, or of uncommitted changes, or of the last commit; without
                       root, agents and boards
  test [--full] [WORD]...
                       install or name what the tests need, then run them all; --full: also
                       agents of all machines, long simulations and calibrations; WORDs are
                       for cargo test
  bench overhead       cost per I/O against a bare pread loop and against fio
  bench depth          I/Os in flight, latencies and rates of assay fio beside fio's, on zram, a
                       loop device and a throttled one, as ratios (root; 6 minutes)
  bench dialects       assay dd and iozone against GNU dd and iozone, as ratios
  bench report         the page of a run of a million intervals: time, size, browser
  bench memory         assay mem against a loop in C (gcc) and mbw, as ratios
  bench model          simulated I/Os of cards per second
  bench store [--runs N] [--push N] [--server URL] [--assay PROGRAM]
                       a PostgreSQL store with N runs (100000) of two years: runs pushed per
                       second, answers, sizes; in an empty database of URL, or on a server of
                       its own; minutes
  bench traits         rates of the emulated board's card against those that the costs
                       of assay model traits predict; minutes
  calibrate            simulated comparisons against the limits of verdicts
  calibrate --traits [--seed N] [--cards N] [--misses]
                       the detectors of assay model traits on cards whose traits are known: 200,
                       or N, from seed 0 or N on; with what was not seen
  calibrate --changes [--annotated FOLDER]
                       change points of simulated series beside those of Apache Otava, and of
                       series in the format of the Turing Change Point Dataset
  calibrate --devices  the same with real sweeps, on this disk, a loop device and a
                       device with a known difference (root; minutes)
  truth [--subset] [--only TEXT] [--assay PROGRAM] [--json FILE] [--against FILE] [--write]
                       labels on real topologies against the kernel's tracepoints (root;
                       minutes); --against: labels of an earlier FILE; --write: the table
                       of docs/evidence.md
  stacks [--kernel 6.1|6.12] [--only TEXT] [--assay PROGRAM]
                       labels on stacks of devices (LVM, md, multipath, bcache, ...) in a guest
                       of QEMU with Debian's kernels; an hour, without KVM
  stacks --media yes [--kernel 6.1|6.12] [--only TEXT] [--assay PROGRAM]
                       in the same guest: disks that are unplugged under each command, and
                       swapped before it is resumed; half an hour
  digests              simulated runs on aarch64, bit for bit those of this machine
  fio-tests SOURCE     fio's own test programs against assay; see its --help
  agents [NAME]...     build the static agents, or only some: aarch64, and
                       aarch64-sqlite with databases
  dist [--out DIR] [--profile PROFILE] [--packages] [MACHINE]...
                       archives of the static program with the agents of all machines, for
                       all, or only some (armv7l); a quarter of an hour for each; --packages:
                       also packages of Debian and RPM
  board [PROGRAM]      prepare the emulated board that tests reach by ssh; fio or ssh of Debian
                       for it, for a test that compares rates
  servers              prepare the servers of adb and ssh that tests reach
  labgrid              prepare the labgrid that tests run a lab with
  house [--check] [--commit REV] [CRATE]...
                       lines, import cycles, long functions, words of doc comments, shared
                       names; --check: against the limits; --commit: files that a commit
                       touched; CRATE: imports that make its cycles
  same-outputs PROGRAM [STORE]...
                       whether an earlier assay writes the same for programs about the same
                       runs: reports, comparisons and tables of stores of every format, or of
                       STOREs; each difference with its first line
  words                write the template of translations and merge it into the catalogues
  msrv [--rustc PATH]  check the shipped programs by a compiler of the lowest version that
                       Cargo.toml promises: of rustup, or that at PATH
  agent-size           build static agents and check their sizes and crates
  help                 this text";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        ["quick", rest @ ..] => quick::run_checks(rest),
        ["bench" | "calibrate" | "stacks" | "truth", ..] => measure(&words),
        ["digests"] => portability::check_digests(),
        ["fio-tests", rest @ ..] => fio_tests::run(rest),
        ["dist", rest @ ..] => dist::run_builds(rest),
        ["agents", names @ ..] => agents::provide(names),
        ["board"] => board::prepare(),
        ["board", program] => board::prepare_program(program),
        ["servers"] => prerequisites::prepare_servers(),
        ["labgrid"] => prerequisites::prepare_labgrid(),
        ["house", rest @ ..] => house::run(rest),
        ["words"] => update_catalogues(),
        ["same-outputs", rest @ ..] => same_outputs::compare(rest),
        ["msrv", rest @ ..] => portability::check_msrv(rest),
        ["agent-size"] => agents::run_checks(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => no_such_task(&words),
    }
}

fn no_such_task(words: &[&str]) -> Result<()> {
    bail!("no such task: {}\n\n{HELP}", words.join(" "))
}

/// Runs a measuring task.
#[cfg(feature = "measure")]
fn measure(words: &[&str]) -> Result<()> {
    match words {
        ["bench", "overhead"] => bench::overhead(),
        ["bench", "depth"] => bench::depth(),
        ["bench", "dialects"] => bench::dialects(),
        ["bench", "report"] => bench::report(),
        ["bench", "memory"] => bench::memory(),
        ["bench", "model"] => bench::model(),
        ["bench", "store", rest @ ..] => bench::store(rest),
        ["bench", "traits"] => bench::traits(),
        ["bench", "measure", what, path] => bench::measure_child(what, std::path::Path::new(path)),
        ["calibrate"] => calibrate::run(),
        ["calibrate", "--changes", rest @ ..] => calibrate::changes::run(rest),
        ["calibrate", "--devices"] => calibrate::devices::run(),
        ["calibrate", "--traits", rest @ ..] => calibrate::traits::run(rest),
        ["truth", rest @ ..] => truth::check(rest),
        ["stacks", rest @ ..] => truth::stacks::check(rest),
        _ => no_such_task(words),
    }
}

/// Runs a measuring task in a build of this program with the feature that it
/// needs.
#[cfg(not(feature = "measure"))]
fn measure(words: &[&str]) -> Result<()> {
    let itself = ["run", "--quiet", "--package", "xtask", "--"];
    run::run(run::cargo().args(itself).args(words))
}

const TEMPLATE: &str = "crates/lang/po/assay.pot";
const CATALOGUE: &str = "crates/lang/po/zh.po";

/// Writes the template from the sources and merges it into the catalogue. A new text has no
/// translation yet. A changed text keeps its former translation marked as fuzzy, which is
/// not used until a translator removes the mark.
fn update_catalogues() -> Result<()> {
    let test = ["test", "--quiet", "--package", "assay-cli", "--bin=assay"];
    let only = ["write_the_template", "--", "--ignored"];
    run::run(run::cargo().args(test).args(only))?;
    let merge = ["--update", "--backup=none", "--no-wrap", "--quiet"];
    run::run(
        Command::new("msgmerge")
            .args(merge)
            .args([CATALOGUE, TEMPLATE]),
    )
    .context("gettext is needed (apt: gettext)")?;
    let count = ["--statistics", "--output-file=/dev/null"];
    run::run(Command::new("msgfmt").args(count).arg(CATALOGUE))
}
