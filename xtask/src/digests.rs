//! `cargo xtask digests`: the same seed gives the same simulated run on another architecture.
//!
//! The digests stand in a test of `assay-flash`; this runs it for aarch64, under an emulator of one
//! process where this machine is none.

use crate::run::{cargo, run};
use anyhow::{Result, bail};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-musl";
/// A test of `assay-flash`.
const TEST: &str = "the_same_seed_gives_the_same_run_bit_for_bit";
const EMULATOR: &str = "qemu-aarch64-static";

/// An error when they differ, or when it cannot be tried.
pub fn run_checks() -> Result<()> {
    // Nothing is fetched where it is there.
    run(Command::new("rustup").args(["--quiet", "target", "add", TARGET]))?;
    let mut command = cargo();
    command
        .args(["test", "--package", "assay-flash", "--lib"])
        .args(["--target", TARGET, "--", "--exact"])
        .arg(format!("device::tests::{TEST}"))
        // Rust brings musl and this linker.
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    if !cfg!(target_arch = "aarch64") {
        if Command::new(EMULATOR).arg("--version").output().is_err() {
            bail!("{EMULATOR} is not installed: apt-get install qemu-user-static");
        }
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", EMULATOR);
    }
    run(&mut command)
}
