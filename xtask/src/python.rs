//! Python packages that tests check documents and pages with, installed into a folder of the build
//! folder, so that the system stays unchanged.

use crate::run::{build_folder, run};
use anyhow::Result;
use assay_testkit::Otava;
use std::path::Path;
use std::process::Command;

/// Modules and their packages, at the versions for which the tests were written.
const PACKAGES: [(&str, &str); 6] = [
    ("axe_core_python", "axe-core-python==0.1.0"),
    ("check_jsonschema", "check-jsonschema==0.39.0"),
    ("kcidb_io", "kcidb-io==141"),
    ("nbformat", "nbformat==5.11.1"),
    ("polars", "polars==2.1.0"),
    ("prometheus_client", "prometheus-client==0.26.0"),
];

/// Installs all packages if one is missing.
pub fn provide() -> Result<()> {
    provide_otava()?;
    let folder = build_folder()?.join("python");
    if PACKAGES
        .iter()
        .all(|(module, _)| folder.join(module).exists())
    {
        return Ok(());
    }
    install(&folder, &PACKAGES.map(|(_, package)| package))
}

/// Installs packages into a folder.
pub fn install(folder: &Path, packages: &[&str]) -> Result<()> {
    let mut pip = Command::new("/usr/bin/python3");
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--target"]);
    run(pip.arg(folder).args(packages))
}

/// Installs Apache Otava, an oracle for change points, with the packages that its analysis
/// imports.
pub fn provide_otava() -> Result<()> {
    let folder = build_folder()?.join(Otava::FOLDER);
    if folder.join("otava").exists() {
        return Ok(());
    }
    let packages = [
        "--no-deps",
        "apache-otava==0.8.0",
        "numpy==2.2.0",
        "scipy==1.16.3",
    ];
    install(&folder, &packages)
}
