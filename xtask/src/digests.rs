//! `cargo xtask digests`: checks that the same seed gives the same simulated run on another
//! architecture.
//!
//! The digests are in a test of `assay-flash`. This runs the test for aarch64, under user-mode
//! emulation on other machines.

use crate::run::{cargo, run};
use anyhow::{Result, bail};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-musl";
/// Test of `assay-flash` with the digests.
const TEST: &str = "the_same_seed_gives_the_same_run_bit_for_bit";
const EMULATOR: &str = "qemu-aarch64-static";

/// Runs the test. Returns an error if a digest differs or the test cannot run.
pub fn run_checks() -> Result<()> {
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
