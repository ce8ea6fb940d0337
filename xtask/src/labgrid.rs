//! `cargo xtask labgrid`: labgrid, with its coordinator and exporter, in an environment
//! of its own in the build folder, for tests.
//!
//! `assay_testkit::Lab` starts them.

use crate::packages;
use crate::run::run;
use anyhow::{Context, Result};
use assay_testkit::lab::LABGRID;
use std::path::Path;
use std::process::Command;

/// The version that the tests were written with; a change of it prepares anew.
const PACKAGE: &str = "labgrid==26.0.1";
const PYTHON: &str = "/usr/bin/python3";

/// Makes the folder unless it is there already.
pub fn prepare() -> Result<()> {
    packages::prepare(LABGRID, PACKAGE, make).context("cannot prepare labgrid")
}

/// Debian's Python has no pip to put into an environment; that of the system does it.
fn make(folder: &Path) -> Result<()> {
    let mut venv = Command::new(PYTHON);
    run(venv.args(["-m", "venv", "--without-pip"]).arg(folder))?;
    let mut pip = Command::new(PYTHON);
    pip.args(["-m", "pip", "--python"])
        .arg(folder.join("bin/python3"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check", PACKAGE]))
}
