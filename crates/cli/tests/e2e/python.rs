//! Python with the packages that `cargo xtask test` installs.

use std::path::{Path, PathBuf};

/// Python that finds them.
pub struct Python {
    packages: PathBuf,
}

/// Finds Python, if a package is there.
pub fn with(package: &str) -> Result<Python, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let packages = program.ancestors().nth(2).map(|build| build.join("python"));
    match packages {
        Some(packages) if packages.join(package).exists() => Ok(Python { packages }),
        _ => Err(format!(
            "Python has no {package}: cargo xtask test installs it"
        )),
    }
}

impl Python {
    /// Output of a script, which must succeed.
    pub fn run(&self, script: &str, words: &[&str]) -> String {
        let mut python = assay_testkit::command("/usr/bin/python3");
        python.env("PYTHONPATH", &self.packages);
        let ended = python.args(["-c", script]).args(words).output();
        let ended = ended.expect("python");
        let failed = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{failed}");
        String::from_utf8(ended.stdout).expect("text")
    }
}
