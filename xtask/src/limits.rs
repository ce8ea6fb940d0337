//! Checks of figures against limits, one line each.

use crate::run::{cargo, run};
use anyhow::{Result, bail};

/// Results of the checks so far.
#[derive(Debug, Default)]
pub struct Limits {
    missed: Vec<String>,
}

impl Limits {
    /// Prints the result of a check with its figure, and notes a miss.
    pub fn check(&mut self, what: &str, figure: &str, holds: bool) {
        let word = if holds { "ok    " } else { "MISSED" };
        println!("{word} {what}: {figure}");
        if !holds {
            self.missed.push(what.to_owned());
        }
    }

    /// Returns an error that names the missed checks.
    pub fn end(self) -> Result<()> {
        if self.missed.is_empty() {
            return Ok(());
        }
        bail!("missed: {}", self.missed.join(", "))
    }
}

/// Runs a task of this program again as an optimized build: figures of a debug
/// build are meaningless.
pub fn in_release(task: &[&str]) -> Result<()> {
    let itself = ["run", "--quiet", "--release", "--package", "xtask", "--"];
    run(cargo().args(itself).args(task))
}
