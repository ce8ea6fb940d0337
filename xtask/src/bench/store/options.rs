//! Command-line arguments.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Size of the store, and the server and the program that are measured.
#[derive(Debug, PartialEq, Eq)]
pub struct FillOptions {
    /// Runs in the store.
    pub runs: u64,
    /// Runs that are pushed into it.
    pub pushed: u64,
    /// URL of an empty database; `None`: starts a private server.
    pub server: Option<String>,
    /// Path of the program; `None`: builds it.
    pub assay: Option<PathBuf>,
}

impl FillOptions {
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            runs: 100_000,
            pushed: 1_000,
            server: None,
            assay: None,
        };
        for pair in words.chunks(2) {
            let [name, value] = *pair else {
                bail!("{} takes a value", pair.join(" "));
            };
            let number = || value.parse().with_context(|| format!("{name} {value}"));
            match name {
                "--runs" => options.runs = number()?,
                "--push" => options.pushed = number()?,
                "--server" => options.server = Some(value.to_owned()),
                "--assay" => options.assay = Some(value.into()),
                _ => bail!("bench store knows no {name}: see cargo xtask help"),
            }
        }
        Ok(options)
    }
}
