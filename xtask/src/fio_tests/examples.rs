//! Tests which of fio's example jobs assay accepts.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Result of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) name: String,
    /// Refused option; `None`: assay accepts the file.
    pub(super) refusal: Option<Refusal>,
}

/// Refused option, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Refusal {
    /// Option with its value; empty if the error is not about an option.
    pub(super) option: String,
    pub(super) why: String,
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

/// Splits an error without its position: `assay: job.fio:3: [a] zonemode=zbd:
/// why` into option and reason.
fn reason(said: &str) -> Refusal {
    let line = said.lines().next().unwrap_or("it says nothing");
    let problem = match line.split_once(".fio:") {
        Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, problem)| problem),
        None => line,
    };
    let problem = match problem.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map_or(problem, |(_, rest)| rest),
        None => problem,
    };
    let (option, why) = problem.split_once(": ").unwrap_or(("", problem));
    let why = why.rsplit_once("is not supported: ");
    Refusal {
        option: option.to_owned(),
        why: why
            .map_or_else(
                || problem[option.len()..].trim_start_matches(": "),
                |(_, why)| why,
            )
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_an_option_and_why() {
        for (said, option, why) in [
            (
                "assay: /tmp/examples/a.fio:3: [a] zonemode=zbd: no\nmore",
                "zonemode=zbd",
                "no",
            ),
            (
                "assay: a.fio:1: [global] ioengine=x: fio's engine 'x' is not supported: old",
                "ioengine=x",
                "old",
            ),
            ("stopped", "", "stopped"),
        ] {
            let refusal = reason(said);
            assert_eq!((&*refusal.option, &*refusal.why), (option, why));
        }
    }
}
