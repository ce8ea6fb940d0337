//! `cargo xtask labgrid`: installs labgrid with its coordinator and exporter into a
//! virtual environment in the build folder, for tests.
//!
//! `assay_testkit::Lab` starts them.

use crate::packages;
use crate::run::run;
use anyhow::{Context, Result};
use assay_testkit::lab::LABGRID;
use std::path::Path;
use std::process::Command;

/// Version that the tests were written for; a change of it rebuilds the folder.
const PACKAGE: &str = "labgrid==26.0.1";
const PYTHON: &str = "/usr/bin/python3";

/// Makes the folder unless it exists.
pub fn prepare() -> Result<()> {
    packages::prepare(LABGRID, PACKAGE, make).context("cannot prepare labgrid")
}

/// Makes the virtual environment. Debian's Python has no pip that could be put into it,
/// so the system's pip installs the package.
fn make(folder: &Path) -> Result<()> {
    let mut venv = Command::new(PYTHON);
    run(venv.args(["-m", "venv", "--without-pip"]).arg(folder))?;
    let mut pip = Command::new(PYTHON);
    pip.args(["-m", "pip", "--python"])
        .arg(folder.join("bin/python3"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check", PACKAGE]))
}
