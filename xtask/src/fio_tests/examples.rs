//! fio's example jobs: which of them assay reads.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What became of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) name: String,
    /// Why it is refused; `None`: it is not.
    pub(super) refusal: Option<String>,
}

/// Reads every example without running it.
pub(super) fn run(source: &Path, fio: &Path, scratch: &Path) -> Result<Vec<Example>> {
    files(&source.join("examples"))?
        .iter()
        .map(|path| {
            let mut command = Command::new(fio);
            command.arg("--parse-only").arg(path).current_dir(scratch);
            let out = command
                .output()
                .with_context(|| format!("cannot start {}", fio.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let said = String::from_utf8_lossy(&out.stderr);
            Ok(Example {
                name: name.into_owned(),
                refusal: (!out.status.success()).then(|| reason(&said)),
            })
        })
        .collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    files.sort();
    Ok(files)
}

/// The error without its place: `assay: job.fio:3: [a] zonemode=zbd: …`.
fn reason(said: &str) -> String {
    let line = said.lines().next().unwrap_or("it says nothing");
    match line.split_once(".fio:") {
        Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, problem)| problem),
        None => line,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_place() {
        let said = "assay: /tmp/examples/a.fio:3: [a] zonemode=zbd: no\nmore";
        assert_eq!(reason(said), "[a] zonemode=zbd: no");
        assert_eq!(reason("assay: out of memory"), "assay: out of memory");
    }
}
