//! Python packages that tests check documents and pages with: put into a folder of their own under
//! the build folder, so that nothing of the system changes.

use crate::run::{build_folder, run};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Modules and their packages, at the versions that the tests were written with.
const PACKAGES: [(&str, &str); 3] = [
    ("axe_core_python", "axe-core-python==0.1.0"),
    ("check_jsonschema", "check-jsonschema==0.39.0"),
    ("kcidb_io", "kcidb-io==141"),
];

/// Installs all where one is missing.
pub fn provide() -> Result<()> {
    let folder = build_folder()?.join("python");
    if PACKAGES
        .iter()
        .all(|(module, _)| folder.join(module).exists())
    {
        return Ok(());
    }
    install(&folder, &PACKAGES.map(|(_, package)| package))
}

/// Puts packages into a folder.
pub fn install(folder: &Path, packages: &[&str]) -> Result<()> {
    let mut pip = Command::new("/usr/bin/python3");
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--target"]);
    run(pip.arg(folder).args(packages))
}
