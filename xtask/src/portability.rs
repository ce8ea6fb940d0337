//! Checks with other compilers and other architectures.
//!
//! - `cargo xtask msrv`: a compiler of the lowest version in Cargo.toml (`rust-version`) accepts
//!   the shipped programs.
//! - `cargo xtask digests`: the same seed gives the same simulated run on another architecture. The
//!   digests are in a test of `assay-flash`, which runs here for aarch64, under user-mode emulation
//!   on other machines.

use crate::run::{build_folder, cargo, output, run};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Cargo arguments that select each shipped program: assay, the agent as distributions build it,
/// and both flavours of the agent for boards.
const PROGRAMS: [&[&str]; 4] = [
    &["--package", "assay-cli"],
    &["--package", "assay-agent"],
    &["--package", "assay-agent", "--no-default-features"],
    &["--package", "assay-agent", "--features", "sqlite"],
];

/// Checks the programs with a rustup toolchain, or with the compiler that `words` name.
pub fn check_msrv(words: &[&str]) -> Result<()> {
    match words {
        [] => {
            let version = promised()?;
            match provide(&version) {
                Ok(()) => check_all(|| of_rustup(&version, "cargo")),
                Err(error) => {
                    println!("skipped: Rust {version} cannot be had: {error:#}; see --rustc PATH");
                    Ok(())
                }
            }
        }
        ["--rustc", rustc] => check_all(|| beside(Path::new(rustc))),
        _ => bail!("usage: cargo xtask msrv [--rustc PATH]"),
    }
}

fn check_all(with: impl Fn() -> Command) -> Result<()> {
    // A separate folder, because later builds cannot use results of another compiler.
    let folder = build_folder()?.join("msrv");
    for program in PROGRAMS {
        let mut check = with();
        check.args(["check", "--quiet", "--locked", "--target-dir"]);
        run(check.arg(&folder).args(program))?;
    }
    Ok(())
}

/// Returns the version that Cargo.toml promises.
fn promised() -> Result<String> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&output(&mut metadata)?)?;
    let version = metadata["packages"][0]["rust_version"].as_str();
    Ok(version.context("no rust-version")?.to_owned())
}

/// Installs the toolchain unless it exists.
fn provide(version: &str) -> Result<()> {
    if output(of_rustup(version, "rustc").arg("--version")).is_ok() {
        return Ok(());
    }
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", version]);
    run(install.args(["--profile", "minimal", "--no-self-update"]))
}

fn of_rustup(version: &str, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", version, program]);
    command
}

/// Returns the cargo installed beside a compiler, or else the one that started this program.
fn beside(rustc: &Path) -> Command {
    let own = rustc.with_file_name("cargo");
    let mut command = match own.exists() {
        true => Command::new(own),
        false => cargo(),
    };
    command.env("RUSTC", rustc);
    command
}

const TARGET: &str = "aarch64-unknown-linux-musl";
/// Test of `assay-flash` with the digests.
const TEST: &str = "the_same_seed_gives_the_same_run_bit_for_bit";
const EMULATOR: &str = "qemu-aarch64-static";

/// Runs the test. Returns an error if a digest differs or the test cannot run.
pub fn check_digests() -> Result<()> {
    // Downloads nothing if the target is installed.
    run(Command::new("rustup").args(["--quiet", "target", "add", TARGET]))?;
    let mut command = cargo();
    command
        .args(["test", "--package", "assay-flash", "--lib"])
        .args(["--target", TARGET, "--", "--exact"])
        .arg(format!("device::tests::{TEST}"))
        // Rust ships musl and this linker.
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    if !cfg!(target_arch = "aarch64") {
        if Command::new(EMULATOR).arg("--version").output().is_err() {
            bail!("{EMULATOR} is not installed: apt-get install qemu-user-static");
        }
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", EMULATOR);
    }
    run(&mut command)
}
