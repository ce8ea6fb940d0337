//! Processors that do not sleep: to wake one up takes longer than many a command of an emulated
//! device, and how long is chance.

use anyhow::{Context, Result};
use std::process::{Child, Command};

/// Runs as long as this process does, however that ends.
const LOOP: &str = "while kill -0 $PPID 2>/dev/null; do :; done";

/// Until it is dropped, every processor that has nothing to do runs a loop, behind all else.
pub struct Awake(Vec<Child>);

impl Awake {
    /// A loop for each processor.
    pub fn now() -> Result<Self> {
        let processors = std::thread::available_parallelism()?.get();
        let mut awake = Self(Vec::new());
        for _ in 0..processors {
            let words = ["--idle", "0", "sh", "-c", LOOP];
            let child = Command::new("chrt").args(words).spawn();
            awake.0.push(child.context("chrt (util-linux)")?);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
