//! Figures held to their limits, a line each.

use crate::run::{cargo, run};
use anyhow::{Result, bail};

/// Results of the checks so far.
#[derive(Debug, Default)]
pub struct Limits {
    missed: Vec<String>,
}

impl Limits {
    /// Prints what was checked, with its figure, and whether it holds.
    pub fn check(&mut self, what: &str, figure: &str, holds: bool) {
        let word = if holds { "ok    " } else { "MISSED" };
        println!("{word} {what}: {figure}");
        if !holds {
            self.missed.push(what.to_owned());
        }
    }

    /// An error that names what was missed.
    pub fn end(self) -> Result<()> {
        if self.missed.is_empty() {
            return Ok(());
        }
        bail!("missed: {}", self.missed.join(", "))
    }
}

/// Runs a task of this program again, optimized: of a debug build no figure means
/// anything.
pub fn in_release(task: &[&str]) -> Result<()> {
    let itself = ["run", "--quiet", "--release", "--package", "xtask", "--"];
    run(cargo().args(itself).args(task))
}
