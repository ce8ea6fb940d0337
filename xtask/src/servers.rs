//! `cargo xtask servers`: adb and ssh servers for tests that reach this machine like
//! a board. All files come from Debian's packages and stay in the build folder, as
//! for the board.
//!
//! `assay_testkit::Neighbour` starts them.

use crate::packages::{self, Packages, launcher, unpack};
use anyhow::{Context, Result};
use assay_testkit::neighbour::SERVERS;
use std::fs;
use std::path::Path;

/// Version of the prepared files. Raise it with every change to them.
const RECIPE: &str = "1";

const PACKAGES: [&str; 3] = ["adb", "adbd", "dropbear-bin"];

const PROGRAMS: [&str; 4] = [
    "usr/bin/dropbearkey",
    "usr/lib/android-sdk/platform-tools/adb",
    "usr/lib/android-sdk/platform-tools/adbd",
    "usr/sbin/dropbear",
];

/// Makes the folder unless it exists.
pub fn prepare() -> Result<()> {
    packages::prepare(SERVERS, RECIPE, make).context("cannot prepare the servers of adb and ssh")
}

fn make(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    let host = folder.join("host");
    for package in Packages::update(&work)?.to_run(&PACKAGES)? {
        unpack(&package, &host)?;
    }
    for program in PROGRAMS {
        launcher(folder, &host, program, "")?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}
