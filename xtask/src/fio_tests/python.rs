//! Python with the modules that fio's test programs import, beside the build.

use crate::run::{build_folder, run};
use anyhow::{Context, Result};
use std::env;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Returns a search path whose first Python has SciPy, six and statsmodels; `None` if the
/// system's Python has them.
pub(super) fn with_modules() -> Result<Option<OsString>> {
    let has_modules = |python: &mut Command| {
        python
            .args(["-c", "import scipy, six, statsmodels"])
            .stderr(Stdio::null());
        python.status().is_ok_and(|status| status.success())
    };
    if has_modules(&mut Command::new("python3")) {
        return Ok(None);
    }
    let folder = build_folder()?.join("fio-tests-python");
    let programs = folder.join("bin");
    if !has_modules(&mut Command::new(programs.join("python3"))) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(programs.join("pip"));
        run(install.args(["install", "--quiet", "scipy", "six", "statsmodels"]))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let all = [programs].into_iter().chain(env::split_paths(&path));
    env::join_paths(all)
        .map(Some)
        .context("the build's folder cannot be part of PATH")
}
