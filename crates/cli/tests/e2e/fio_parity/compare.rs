//! Differences between what fio and assay said of the same jobs.

use super::both::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Where the two may differ, and how.
pub struct Allowed<'a> {
    /// Jobs in which a random choice decides how the bytes are shared among
    /// requests and directions; their sum is given.
    pub shares: &'a [&'a str],
    /// Jobs of which chance or the machine decides how much they do.
    pub amounts: &'a [&'a str],
    /// Jobs with how many flushes assay counts: fio leaves the last one out, does
    /// not count those at the end, and counts others as short reads and writes.
    pub flushes: &'a [(&'a str, u64)],
    /// Jobs are reported as groups: fio then shows the options of the last job
    /// of a group under the name of the first.
    pub groups: bool,
    /// Beginnings of lines of the normal output that only one of them has.
    pub lines: &'a [&'a str],
    /// Endings of names of files that differ.
    pub files: &'a [&'a str],
}

/// All differences that matter.
pub fn differences(both: &[Outcome; 2], allowed: &Allowed<'_>) -> Vec<String> {
    let [fio, assay] = both;
    let mut found = Vec::new();
    if fio.code != assay.code {
        found.push(format!("exit code: {:?} and {:?}", fio.code, assay.code));
    }
    shape("", &fio.json, &assay.json, &mut found);
    let (theirs, ours) = (fio.jobs(), assay.jobs());
    if theirs.len() != ours.len() {
        found.push(format!("jobs: {} and {}", theirs.len(), ours.len()));
    }
    for (fio, assay) in theirs.iter().zip(ours) {
        let name = fio["jobname"].as_str().unwrap_or_default();
        let of_job = Pair { name, fio, assay }.differences(allowed);
        found.extend(of_job.into_iter().map(|line| format!("{name}: {line}")));
    }
    list("terse fields", &terse(fio), &terse(assay), &mut found);
    let [theirs, ours] = [fio, assay].map(|outcome| skeleton(outcome, allowed.lines));
    list("line", &theirs, &ours, &mut found);
    found.extend(file_differences(both, allowed.files, false));
    found
}

/// What fio leaves behind for each job that writes and verifies, assay for those
/// that were stopped.
const STATE_OF_VERIFICATION: &str = "-verify.state";

/// Differences of files that both left behind, but for those with such endings:
/// names, and sizes or content.
pub fn file_differences(
    [fio, assay]: &[Outcome; 2],
    ignored: &[&str],
    content: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let [theirs, ours] = [fio, assay].map(|outcome| {
        let mut files = files(&outcome.folder);
        files.retain(|name, _| {
            let mut endings = ignored.iter().chain(&[STATE_OF_VERIFICATION]);
            name != "out" && !endings.any(|ending| name.ends_with(ending))
        });
        files
    });
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

/// A job as both report it.
struct Pair<'a> {
    name: &'a str,
    fio: &'a Value,
    assay: &'a Value,
}

impl Pair<'_> {
    fn differences(&self, allowed: &Allowed<'_>) -> Vec<String> {
        let mut found = Vec::new();
        self.same(&["/jobname", "/groupid", "/error"], &mut found);
        if !allowed.groups {
            self.options(&mut found);
        }
        if allowed.amounts.contains(&self.name) {
            return found;
        }
        if allowed.shares.contains(&self.name) {
            let [theirs, ours] = [self.fio, self.assay].map(|job| {
                let bytes = |direction| job[direction]["io_bytes"].as_u64();
                DIRECTIONS.into_iter().filter_map(bytes).sum::<u64>()
            });
            if theirs != ours {
                found.push(format!("bytes: {theirs} and {ours}"));
            }
        } else {
            for direction in DIRECTIONS {
                let keys = ["io_bytes", "io_kbytes", "total_ios", "drop_ios"];
                let pointers = keys.map(|key| format!("/{direction}/{key}"));
                self.same(&pointers.each_ref().map(String::as_str), &mut found);
            }
        }
        self.flushes(allowed, &mut found);
        found
    }

    fn same(&self, pointers: &[&str], found: &mut Vec<String>) {
        for pointer in pointers {
            let [theirs, ours] = [self.fio, self.assay].map(|job| at(job, pointer));
            if theirs != ours {
                found.push(format!("{pointer}: {theirs} and {ours}"));
            }
        }
    }

    /// fio leaves out options that were given without a value.
    fn options(&self, found: &mut Vec<String>) {
        let [theirs, ours] = [self.fio, self.assay].map(|job| &job["job options"]);
        for (key, value) in theirs.as_object().expect("options") {
            if ours[key] != *value {
                found.push(format!("option {key}: {value} and {}", ours[key]));
            }
        }
    }

    fn flushes(&self, allowed: &Allowed<'_>, found: &mut Vec<String>) {
        let mut known = allowed.flushes.iter();
        let Some((_, count)) = known.find(|(name, _)| *name == self.name) else {
            let short = DIRECTIONS.map(|direction| format!("/{direction}/short_ios"));
            self.same(&short.each_ref().map(String::as_str), found);
            return self.same(&["/sync/total_ios", "/sync/lat_ns/N"], found);
        };
        for pointer in ["/sync/total_ios", "/sync/lat_ns/N"] {
            let ours = at(self.assay, pointer);
            if ours != *count {
                found.push(format!("{pointer}: {ours}, not {count}"));
            }
        }
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
                    // Compared by what was asked for.
                    _ if key == "job options" => {}
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
fn skeleton(outcome: &Outcome, ignored: &[&str]) -> Vec<String> {
    let comes_and_goes = |line: &str| {
        let starts = [
            "     |",
            "  lat (",
            "   bw (",
            "   iops ",
            "fio: ",
            "opendir: ",
            "  evidence ",
            "  durable lat ",
            "  tool limit ",
            "job.fio:",
        ];
        let mut starts = starts.iter().chain(ignored);
        starts.any(|start| line.starts_with(start))
    };
    let lines = outcome.normal.iter();
    lines
        .filter(|line| !comes_and_goes(line))
        .map(|line| bones(line))
        .collect()
}

/// What a line is about, and the names of its figures.
fn bones(line: &str) -> String {
    if line.starts_with("fio-") {
        return "version".to_owned();
    }
    // To assay all jobs are threads.
    if line.starts_with("Starting ") {
        return "Starting".to_owned();
    }
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
