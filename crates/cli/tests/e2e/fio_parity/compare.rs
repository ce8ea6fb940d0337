//! Differences between what fio and assay said of the same jobs.

use super::both::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// What of a job may differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Chance {
    /// Nothing.
    None,
    /// A random choice decides how the bytes are shared among requests and
    /// directions; their sum is given.
    Shares,
    /// How much is done in the time that there is.
    Amount,
}

/// All differences that matter.
pub fn differences([fio, assay]: &[Outcome; 2], chance: impl Fn(&str) -> Chance) -> Vec<String> {
    let mut found = Vec::new();
    if fio.code != assay.code {
        found.push(format!("exit code: {:?} and {:?}", fio.code, assay.code));
    }
    shape("", &fio.json, &assay.json, &mut found);
    if fio.jobs().len() != assay.jobs().len() {
        found.push(format!(
            "jobs: {} and {}",
            fio.jobs().len(),
            assay.jobs().len()
        ));
    }
    for (fio, assay) in fio.jobs().iter().zip(assay.jobs()) {
        let name = fio["jobname"].as_str().unwrap_or_default();
        let mut of_job = Vec::new();
        job(fio, assay, chance(name), &mut of_job);
        found.extend(of_job.into_iter().map(|line| format!("{name}: {line}")));
    }
    list("terse fields", &terse(fio), &terse(assay), &mut found);
    list("line", &skeleton(fio), &skeleton(assay), &mut found);
    found
}

/// Differences of files that both left behind: names, and sizes or content.
pub fn file_differences([fio, assay]: &[Outcome; 2], content: bool) -> Vec<String> {
    let mut found = Vec::new();
    let (mut ours, mut theirs) = (files(&assay.folder), files(&fio.folder));
    for own in ["job.fio", "out"] {
        ours.remove(own);
        theirs.remove(own);
    }
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    list("file", &names(&theirs), &names(&ours), &mut found);
    for (name, theirs) in &theirs {
        let Some(ours) = ours.get(name) else { continue };
        if ours.len() != theirs.len() {
            found.push(format!("{name}: {} and {} bytes", theirs.len(), ours.len()));
        } else if content && ours != theirs {
            found.push(format!("{name}: other content"));
        }
    }
    found
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().expect("a kind").is_dir() {
            let within = files(&entry.path()).into_iter();
            found.extend(within.map(|(inner, data)| (format!("{name}/{inner}"), data)));
        } else {
            found.insert(name, fs::read(entry.path()).expect("it can be read"));
        }
    }
    found
}

fn job(fio: &Value, assay: &Value, chance: Chance, found: &mut Vec<String>) {
    let mut same = |what: &str, [a, b]: [Value; 2]| {
        if a != b {
            found.push(format!("{what}: {a} and {b}"));
        }
    };
    for pointer in ["/jobname", "/groupid", "/error", "/job options"] {
        same(pointer, [fio, assay].map(|job| at(job, pointer)));
    }
    match chance {
        Chance::Amount => return,
        Chance::Shares => {
            let sum = |job: &Value| {
                let bytes = |direction| job[direction]["io_bytes"].as_u64();
                Value::from(DIRECTIONS.iter().filter_map(bytes).sum::<u64>())
            };
            same("bytes", [sum(fio), sum(assay)]);
        }
        Chance::None => {
            for direction in DIRECTIONS {
                for key in [
                    "io_bytes",
                    "io_kbytes",
                    "total_ios",
                    "short_ios",
                    "drop_ios",
                ] {
                    let pointer = format!("/{direction}/{key}");
                    same(&pointer, [fio, assay].map(|job| at(job, &pointer)));
                }
            }
        }
    }
    for pointer in ["/sync/total_ios", "/sync/lat_ns/N"] {
        same(pointer, [fio, assay].map(|job| at(job, pointer)));
    }
}

fn at(value: &Value, pointer: &str) -> Value {
    value.pointer(pointer).cloned().unwrap_or_default()
}

/// All keys of fio are there, with values of the same type.
fn shape(path: &str, fio: &Value, assay: &Value, found: &mut Vec<String>) {
    match (fio, assay) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, theirs) in theirs {
                match ours.get(key) {
                    Some(ours) => shape(&format!("{path}/{key}"), theirs, ours, found),
                    None => found.push(format!("no key {path}/{key}")),
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                shape(&format!("{path}/{index}"), theirs, ours, found);
            }
        }
        (Value::Number(theirs), Value::Number(ours)) if theirs.is_f64() == ours.is_f64() => {}
        (Value::String(_), Value::String(_)) => {}
        (theirs, ours) => found.push(format!("type of {path}: {theirs} and {ours}")),
    }
}

fn terse(outcome: &Outcome) -> Vec<String> {
    let fields = |line: &String| line.split(';').count().to_string();
    outcome.terse.iter().map(fields).collect()
}

fn list(what: &str, fio: &[String], assay: &[String], found: &mut Vec<String>) {
    let first = fio
        .iter()
        .zip(assay)
        .position(|(theirs, ours)| theirs != ours);
    if let Some(index) = first {
        let (theirs, ours) = (&fio[index], &assay[index]);
        found.push(format!("{what} {index}: '{theirs}' and '{ours}'"));
    } else if fio.len() != assay.len() {
        let index = fio.len().min(assay.len());
        let more = fio.get(index).or(assay.get(index));
        let (theirs, ours) = (fio.len(), assay.len());
        found.push(format!("{what}: {theirs} and {ours}, from {more:?} on"));
    }
}

/// The lines of the normal output without their figures. Not those that come
/// and go with the figures (which latencies there were, samples in time), nor
/// those that assay adds.
fn skeleton(outcome: &Outcome) -> Vec<String> {
    let comes_and_goes = |line: &str| {
        let starts = [
            "     |",
            "  lat (",
            "   bw (",
            "   iops ",
            "  evidence",
            "note:",
        ];
        starts.iter().any(|start| line.starts_with(start))
    };
    let lines = outcome.normal.iter();
    lines
        .filter(|line| !comes_and_goes(line))
        .map(|line| bones(line))
        .collect()
}

/// What a line is about, and the names of its figures.
fn bones(line: &str) -> String {
    // The opening line of a job has no figures that are measured.
    if line.contains(": (g=") {
        return line.to_owned();
    }
    let heading = line.split([':', '(']).next().unwrap_or_default();
    let heading: String = heading.chars().filter(|c| !c.is_ascii_digit()).collect();
    let names = line.split('=').rev().skip(1).map(|before| {
        let word = before.rsplit([' ', ',', ':', '(', ';']).next();
        word.unwrap_or_default().to_owned()
    });
    let names: Vec<String> = names.collect();
    format!("{heading}: {}", names.join(" "))
}
