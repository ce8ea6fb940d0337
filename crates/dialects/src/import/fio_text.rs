//! fio's normal output of version 2 or 3, also as quoted in e-mails: with quote marks and wrapped
//! lines.

use super::collect::{Collector, Key};
use super::{Headings, ImportError, after, leading, starts_with_one, with_suffix};
use assay_model::figures::Results;
use assay_stats::derive::BANDWIDTH_FROM_BYTES;
use assay_stats::unit::factor;
use std::collections::HashMap;

/// Returns true if a line is the first one of a job's results.
pub(super) fn is_job(line: &str) -> bool {
    line.contains(": (groupid=")
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("fio");
    let mut reader = FioTextReader::default();
    let (whole, headings) = whole_lines(text);
    for line in whole {
        reader.line(&line, &mut all)?;
    }
    reader.end_job();
    let headings = headings.of_results(reader.jobs.iter().map(|job| job.line));
    let mut copies: HashMap<&str, Copies> = HashMap::new();
    for job in &reader.jobs {
        let condition = headings.above(job.line);
        let name = copies.entry(condition).or_default().name(&job.name);
        job.take(condition, &name, &mut all)?;
    }
    if reader.interim > 0 {
        all.note(interim(reader.interim));
    }
    all.note(
        "fio rounds in this output; its stdev is that within a run, not between trials, and was \
         left out.",
    );
    Ok(all.finish())
}

/// Line as fio wrote it, before any wrapping.
#[derive(Debug)]
struct Whole {
    number: usize,
    text: String,
}

/// Joins wrapped lines: a line that does not begin like one of fio's continues the line before it.
/// A line that is neither may be a heading.
fn whole_lines(text: &str) -> (Vec<Whole>, Headings) {
    let mut whole: Vec<Whole> = Vec::new();
    let mut marked = Vec::new();
    let mut open = false;
    for line in super::unquoted(text) {
        let (number, trimmed) = (line.number, line.text.trim());
        let begins = begins(trimmed);
        marked.push((line, (begins || open).then_some("")));
        match whole.last_mut() {
            Some(last) if open && !begins && !trimmed.is_empty() => {
                last.text.push(' ');
                last.text.push_str(trimmed);
            }
            _ if begins => whole.push(Whole {
                number,
                text: trimmed.to_owned(),
            }),
            _ => {}
        }
        open = !trimmed.is_empty() && (begins || open);
    }
    (whole, Headings::find(marked))
}

/// Prefixes of fio's result lines, and of its lines without figures.
const BEGINNINGS: &str = "read:,read :,write:,write :,trim:,trim :,mixed:,mixed :,slat (,clat (,lat (,sync (,\
     clat percentiles,lat percentiles,sync percentiles,slat percentiles,|,bw (,iops,cpu ,IO depths,\
     submit,complete,issued,latency,Run status,fsync/fdatasync,evidence,Disk stats,\
     fio-,Starting,Jobs:,READ:,WRITE:,TRIM:,fio:,READ ,WRITE ,$ ,# ,...";

fn begins(line: &str) -> bool {
    is_job(line) || line.contains(": (g=") || starts_with_one(line, BEGINNINGS)
}

/// Figure of a job.
#[derive(Debug)]
struct FioTextFigure {
    direction: String,
    name: String,
    unit: String,
    value: f64,
    line: usize,
}

/// Results of a job.
#[derive(Debug, Default)]
struct FioTextJob {
    line: usize,
    name: String,
    /// Number of the run in the text, and the job's process: reports of the same job have both in
    /// common.
    run: usize,
    pid: Option<f64>,
    error: f64,
    figures: Vec<FioTextFigure>,
    /// Label of each direction, from assay's line.
    labels: HashMap<String, String>,
}

impl FioTextJob {
    fn take(&self, condition: &str, name: &str, all: &mut Collector) -> Result<(), ImportError> {
        if self.error != 0.0 {
            all.note(ended_with(name, self.error));
        }
        if self.figures.is_empty() {
            all.note(format!("{name} has no figures: the text may be cut off."));
        } else if self.labels.is_empty() {
            all.note(UNLABELLED);
        }
        for figure in &self.figures {
            let rate = |name: &str| {
                let mut all = self.figures.iter();
                all.find(|other| other.direction == figure.direction && other.name == name)
            };
            // fio's KB have 1024 bytes.
            let bytes = rate("bw").and_then(|bw| {
                let unit = bw.unit.replace("KB/s", "KiB/s");
                Some(bw.value * factor(&unit, "B/s")?)
            });
            let deciding = deciding_rate(bytes, rate("iops").map(|iops| iops.value));
            let key = Key {
                condition: condition.to_owned(),
                metric: format!("{name}: {}_{}", figure.direction, figure.name),
                unit: figure.unit.clone(),
                primary: figure.name == deciding,
                measured: self.labels.get(&figure.direction).cloned(),
            };
            all.value(key, figure.value, None, Some(figure.line))?;
        }
        Ok(())
    }
}

/// State of the reader: its place in the text, and the results so far.
#[derive(Debug, Default)]
struct FioTextReader {
    job: Option<FioTextJob>,
    jobs: Vec<FioTextJob>,
    direction: String,
    /// Name and unit of the percentiles in the next lines.
    percentiles: Option<(String, String)>,
    run: usize,
    /// Number of interim reports, which a later one of the same job replaced.
    interim: usize,
}

impl FioTextReader {
    fn line(&mut self, line: &Whole, all: &mut Collector) -> Result<(), ImportError> {
        let text = line.text.as_str();
        if let Some((name, rest)) = text.split_once(": (groupid=") {
            self.end_job();
            let number = |key| {
                rest.split_once(key)
                    .and_then(|(_, rest)| Some(leading(rest)?.0))
            };
            self.job = Some(FioTextJob {
                line: line.number,
                name: name.to_owned(),
                run: self.run,
                pid: number("pid="),
                error: number("err=").unwrap_or(0.0),
                ..FioTextJob::default()
            });
            return Ok(());
        }
        self.run += usize::from(text.starts_with("Starting"));
        if text.starts_with("fio-") {
            all.tool(text.split_whitespace().next().unwrap_or("fio"));
        } else if text.contains(": (g=") {
            all.circumstance(text);
        }
        if self.job.is_none() {
            return Ok(());
        }
        if text.starts_with("Run status") || text.starts_with("Disk stats") {
            self.end_job();
        } else if text.starts_with('|') {
            self.percentiles(line);
        } else {
            self.percentiles = None;
            self.figures(line)?;
        }
        Ok(())
    }

    /// Adds a job's report and replaces an earlier one: `--status-interval` and SIGUSR1 make fio
    /// report a job several times.
    fn end_job(&mut self) {
        let Some(job) = self.job.take() else {
            return;
        };
        self.direction.clear();
        self.percentiles = None;
        let is_same = |other: &FioTextJob| {
            job.pid.is_some()
                && (&job.name, job.run, job.pid) == (&other.name, other.run, other.pid)
        };
        match self.jobs.iter_mut().find(|other| is_same(other)) {
            Some(earlier) => {
                self.interim += 1;
                *earlier = job;
            }
            None => self.jobs.push(job),
        }
    }

    fn figures(&mut self, line: &Whole) -> Result<(), ImportError> {
        let text = line.text.as_str();
        if let Some(direction) = direction(text) {
            self.direction = direction.to_owned();
            self.headline(line)
        } else if text.starts_with("fsync/fdatasync") {
            self.direction = "sync".to_owned();
            Ok(())
        } else if let Some(labels) = text.strip_prefix("evidence") {
            if let Some(job) = &mut self.job {
                job.labels = read_labels(labels);
            }
            Ok(())
        } else {
            self.latency(line)
        }
    }

    /// Parses `read: IOPS=275, BW=275MiB/s (289MB/s)(...)`, or fio 2's `read : io=1034.6MB,
    /// bw=105936KB/s, iops=26483, runt= 10001msec`.
    fn headline(&mut self, line: &Whole) -> Result<(), ImportError> {
        let text = line.text.as_str();
        let is_old = after(text, "BW").is_none();
        if let Some(rest) = after(text, "BW").or_else(|| after(text, "bw")) {
            let (value, rest) = number(rest, line)?;
            let unit: String = rest
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphabetic() || *c == '/')
                .collect();
            // fio before version 3 writes powers of 1024 with prefixes that mean powers of 1000
            // elsewhere.
            match unit.as_str() {
                "B/s" if is_old => self.found("bw", "KB/s", value / 1024.0, line),
                "MB/s" if is_old => self.found("bw", "KB/s", 1024.0 * value, line),
                "GB/s" if is_old => self.found("bw", "KB/s", 1_048_576.0 * value, line),
                unit => self.found("bw", unit, value, line),
            }
        }
        if let Some(rest) = after(text, "IOPS").or_else(|| after(text, "iops")) {
            let (value, _) = number(rest, line)?;
            self.found("iops", "IOPS", value, line);
        }
        Ok(())
    }

    /// Parses `clat (usec): min=3189, max=9462, avg=3625.88, stdev=355.59`, and the heading of
    /// percentiles.
    fn latency(&mut self, line: &Whole) -> Result<(), ImportError> {
        let Some((name, unit)) = name_and_unit(&line.text) else {
            return Ok(());
        };
        // fio calls an fsync's latency `sync`, which is already the prefix of its figures.
        let name = if name == "sync" { "lat" } else { name };
        if line.text.contains("percentiles") {
            self.percentiles = Some((name.to_owned(), unit.to_owned()));
            return Ok(());
        }
        if let Some(rest) = after(&line.text, "avg") {
            let (value, _) = number(rest, line)?;
            self.found(&format!("{name}_mean"), unit, value, line);
        }
        Ok(())
    }

    /// Parses `| 99.00th=[ 4555], 99.50th=[ 4621],`.
    fn percentiles(&mut self, line: &Whole) {
        let Some((name, unit)) = self.percentiles.clone() else {
            return;
        };
        for part in line.text.split("th=[").collect::<Vec<_>>().windows(2) {
            let [before, behind] = part else { continue };
            let percent = before
                .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
                .next()
                .unwrap_or_default();
            let percent = match percent.split_once('.') {
                Some(_) => percent.trim_end_matches('0').trim_end_matches('.'),
                None => percent,
            };
            if let (false, Some((value, _))) = (percent.is_empty(), with_suffix(behind)) {
                self.found(&format!("{name}_p{percent}"), &unit, value, line);
            }
        }
    }

    fn found(&mut self, name: &str, unit: &str, value: f64, line: &Whole) {
        let Some(job) = self.job.as_mut().filter(|_| !self.direction.is_empty()) else {
            return;
        };
        job.figures.push(FioTextFigure {
            direction: self.direction.clone(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            value,
            line: line.number,
        });
    }
}

/// Returns `read` for `read: IOPS=...` and `read : io=...`.
pub(super) fn direction(line: &str) -> Option<&'static str> {
    let (word, rest) = line.split_once(':')?;
    let known = ["read", "write", "trim", "mixed"];
    let found = known.into_iter().find(|known| *known == word.trim_end())?;
    (rest.contains("IOPS") || rest.contains("iops") || rest.contains("bw=")).then_some(found)
}

/// Returns `clat` and `usec` for `clat (usec): ...` and `clat percentiles (usec):`.
fn name_and_unit(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once('(')?;
    let (unit, _) = rest.split_once(')')?;
    let name = name.trim_end();
    let name = name.strip_suffix("percentiles").unwrap_or(name).trim_end();
    ["slat", "clat", "lat", "sync"]
        .contains(&name)
        .then_some((name, unit.trim()))
}

/// Parses `: write=page-cache (0 % of ...); read=device`.
fn read_labels(text: &str) -> HashMap<String, String> {
    let mut labels = HashMap::new();
    for direction in ["read", "write", "trim"] {
        if let Some(rest) = after(text, direction) {
            let label: String = rest
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '-')
                .collect();
            labels.insert(direction.to_owned(), label);
        }
    }
    labels
}

fn number<'a>(text: &'a str, line: &Whole) -> Result<(f64, &'a str), ImportError> {
    with_suffix_unless_unit(text).ok_or_else(|| {
        let start: String = text.trim_start().chars().take(20).collect();
        ImportError::at(
            Some(line.number),
            format!("'{start}' is not a number where fio has one"),
        )
    })
}

/// Parses a number with a suffix: `19.1k` is 19100, but `9587KiB/s` is 9587.
fn with_suffix_unless_unit(text: &str) -> Option<(f64, &str)> {
    let (value, rest) = leading(text)?;
    let is_unit = rest.chars().nth(1).is_some_and(char::is_alphabetic);
    if is_unit {
        Some((value, rest))
    } else {
        with_suffix(text)
    }
}

pub(super) const UNLABELLED: &str = "What was measured, device or page cache, is not recorded.";

/// Counts of job names, which are equal for copies without `group_reporting`.
#[derive(Debug, Default)]
pub(super) struct Copies(HashMap<String, usize>);

impl Copies {
    /// Returns a unique name for the next job of that name.
    pub(super) fn name(&mut self, name: &str) -> String {
        let count = self.0.entry(name.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            copy => format!("{name} #{copy}"),
        }
    }
}

/// Returns the note on a job that ended with an error.
pub(super) fn ended_with(name: &str, error: impl std::fmt::Display) -> String {
    format!("{name} ended with error {error}: its figures may be those of a part of it.")
}

/// Returns the note on interim reports of a run.
pub(super) fn interim(reports: usize) -> String {
    format!("{reports} interim of the same run left out (--status-interval, SIGUSR1).")
}

/// Returns the name of the deciding rate, as for assay's own jobs: IOPS for small I/Os.
pub(super) fn deciding_rate(bytes_per_s: Option<f64>, iops: Option<f64>) -> &'static str {
    // Rates are rounded and block sizes are powers of two, hence the margin.
    let least = 0.75 * BANDWIDTH_FROM_BYTES as f64;
    let block = bytes_per_s.zip(iops).map(|(rate, iops)| rate / iops);
    if block.is_some_and(|block| block < least) {
        "iops"
    } else {
        "bw"
    }
}
