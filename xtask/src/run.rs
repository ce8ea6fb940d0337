//! Starts other programs, and checks figures against limits.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a command for the cargo that started this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Root of the workspace that this program was built in.
pub fn workspace() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Runs a command to its end. Returns an error if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", words(command));
    }
    Ok(())
}

/// Runs a command and returns its output.
pub fn output(command: &mut Command) -> Result<String> {
    let out = command
        .output()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !out.status.success() {
        bail!(
            "{} failed: {}\n{}",
            words(command),
            out.status,
            String::from_utf8_lossy(&out.stderr)
        );
    }
    String::from_utf8(out.stdout).context("the output is not UTF-8")
}

/// Returns cargo's target folder.
pub fn build_folder() -> Result<PathBuf> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&output(&mut metadata)?)?;
    let folder = metadata["target_directory"].as_str();
    folder
        .map(PathBuf::from)
        .context("cargo metadata names no target_directory")
}

/// Builds the program as it is shipped and returns its path.
pub fn shipped() -> Result<PathBuf> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "assay-cli"]))?;
    Ok(build_folder()?.join("release/assay"))
}

/// Prints a command before it runs.
pub fn announce(command: &Command) {
    eprintln!("+ {}", words(command));
}

fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|a| a.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Checks of figures against limits, one line each.
#[cfg(feature = "measure")]
#[derive(Debug, Default)]
pub struct Limits {
    missed: Vec<String>,
}

#[cfg(feature = "measure")]
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
#[cfg(feature = "measure")]
pub fn in_release(task: &[&str]) -> Result<()> {
    let itself = ["run", "--quiet", "--release", "--package", "xtask", "--"];
    run(cargo().args(itself).args(task))
}
