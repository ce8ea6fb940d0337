//! `cargo xtask same-outputs`: what two programs write for other programs about the same runs.

use crate::run::{shipped, workspace};
use anyhow::{Context, Result, bail};
use assay_testkit::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Formats of a run that programs read.
const OF_A_RUN: [&str; 8] = [
    "json",
    "csv",
    "junit",
    "tap",
    "lava",
    "kcidb",
    "openmetrics",
    "markdown",
];

/// Formats of a comparison that programs read.
const OF_A_PAIR: [&str; 6] = ["json", "junit", "tap", "lava", "kcidb", "markdown"];

/// Differences shown, at most.
const SHOWN: usize = 40;

/// Compares the outputs of the program `before` with those of the shipped one, for the runs of
/// stores; without any, for those of every format that the tests of `store` keep.
pub fn compare(words: &[&str]) -> Result<()> {
    let [before, stores @ ..] = words else {
        bail!("same-outputs needs the program before: cargo xtask same-outputs PROGRAM [STORE]...");
    };
    let mut stores: Vec<PathBuf> = stores.iter().map(PathBuf::from).collect();
    if stores.is_empty() {
        for entry in fs::read_dir(workspace().join("crates/store/tests/stored"))? {
            stores.push(entry?.path());
        }
        stores.sort();
    }
    let programs = [PathBuf::from(before), shipped()?];
    let (mut compared, mut differences) = (0, Vec::new());
    for store in &stores {
        let mut answers = Vec::new();
        for program in &programs {
            let place = Scratch::new()?;
            answers.push(outputs(program, store, &place.join("."))?);
        }
        let (before, after) = (&answers[0], &answers[1]);
        println!("{}: {} outputs", store.display(), before.len());
        compared += before.len();
        let names = before
            .keys()
            .chain(after.keys().filter(|name| !before.contains_key(*name)));
        for name in names {
            let texts = [before.get(name), after.get(name)];
            if let Some(difference) = difference(texts.map(|text| text.map_or("", String::as_str)))
            {
                differences.push(format!("{}: {name}: {difference}", store.display()));
            }
        }
    }
    for difference in differences.iter().take(SHOWN) {
        println!("{difference}");
    }
    if compared == 0 {
        bail!("no output was compared");
    }
    println!(
        "{compared} outputs of {} stores, {} differ",
        stores.len(),
        differences.len()
    );
    match differences.is_empty() {
        true => Ok(()),
        false => bail!("outputs for programs differ"),
    }
}

/// Returns the outputs of a program by the words that ask for them, from a copy of a store: opening
/// it may bring it to the newest format.
fn outputs(program: &Path, store: &Path, place: &Path) -> Result<BTreeMap<String, String>> {
    let copy = place.join("runs.sqlite");
    fs::copy(store, &copy).with_context(|| store.display().to_string())?;
    let mut found = BTreeMap::new();
    let mut ask = |words: &[&str]| -> Result<String> {
        let mut command = Command::new(program);
        command.args(words).arg("--store").arg(&copy);
        // One time zone and one language, whoever starts this.
        command.env("TZ", "UTC").env("LC_ALL", "C");
        let ended = command.output()?;
        let text = format!(
            "{}exit code {:?}\n",
            String::from_utf8_lossy(&ended.stdout),
            ended.status.code()
        );
        found.insert(words.join(" "), text.clone());
        Ok(text)
    };
    let list = ask(&["list", "--json"])?;
    let runs = ids(&list)?;
    for run in &runs {
        for format in OF_A_RUN {
            ask(&["report", run, "--format", format])?;
        }
    }
    for pair in runs.windows(2) {
        for format in OF_A_PAIR {
            ask(&["compare", &pair[0], &pair[1], "--gate", "--format", format])?;
        }
    }
    let tables = place.join("tables");
    fs::create_dir(&tables)?;
    let tidy = ["--tidy", tables.to_str().context("a path of UTF-8")?];
    // Older programs have no `assay store export`.
    for export in [&["store", "export"][..], &["export"]] {
        ask(&[export, &tidy].concat())?;
    }
    found.retain(|words, _| !words.contains("export --tidy"));
    for entry in fs::read_dir(&tables)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        found.insert(format!("export {name}"), fs::read_to_string(&path)?);
    }
    Ok(found)
}

/// Returns the identifiers of the runs that `list --json` printed.
fn ids(list: &str) -> Result<Vec<String>> {
    let json = list.rsplit_once("exit code").map_or(list, |(json, _)| json);
    let list: Value = serde_json::from_str(json).context("list --json")?;
    let runs = list["runs"].as_array().or_else(|| list.as_array());
    let ids = runs
        .into_iter()
        .flatten()
        .filter_map(|run| run["id"].as_str());
    Ok(ids.map(str::to_owned).collect())
}

/// Returns the first line that differs; `None` if the texts are equal.
fn difference([before, after]: [&str; 2]) -> Option<String> {
    if before == after {
        return None;
    }
    let (mut before, mut after) = (before.lines(), after.lines());
    for number in 1.. {
        let (a, b) = (before.next(), after.next());
        if a != b || a.is_none() {
            let shown = |line: Option<&str>| line.unwrap_or("(no such line)").trim().to_owned();
            return Some(format!("line {number}: {} | {}", shown(a), shown(b)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference(["a\nb", "a\nb"]), None);
        let differ = difference(["a\nb\n", "a\nc\n"]).unwrap();
        assert_eq!(differ, "line 2: b | c");
        assert!(difference(["a\n", ""]).unwrap().contains("no such line"));
        assert!(difference(["a\n", "a"]).is_some(), "bytes, not only lines");
    }
}
