//! fio's JSON: one or several documents, each a trial. Text between them, from fio or a shell, is
//! left out. Members that are not used, above all bins, are skipped without being stored.

use super::collect::{Collector, Key};
use super::fio_text::{Copies, UNLABELLED, deciding_rate, ended_with, interim};
use super::{Headings, ImportError, NumberedLine};
use assay_model::figures::Results;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// fio's names of the directions.
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("fio");
    let unquoted = unquoted(text);
    let text = unquoted.as_deref().unwrap_or(text);
    let (documents, headings) = documents(text, &mut all)?;
    for (line, document) in &documents {
        take_document(document, *line, headings.above(*line), &mut all)?;
    }
    Ok(all.finish())
}

/// Returns the text without the quote marks of an e-mail; `None` if there are none.
fn unquoted(text: &str) -> Option<String> {
    let is_quoted = |line: &str| line.starts_with('>') && line.contains('{');
    text.lines().any(is_quoted).then(|| {
        let lines: Vec<&str> = super::unquoted(text).map(|line| line.text).collect();
        lines.join("\n")
    })
}

/// Document with the number of its first line.
type NumberedDocument = (usize, FioJson);

/// Splits the text into documents, and finds the headings above them.
fn documents(
    text: &str,
    all: &mut Collector,
) -> Result<(Vec<NumberedDocument>, Headings), ImportError> {
    let mut found = Vec::new();
    let mut marked = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        if !rest.trim_start().starts_with('{') {
            let (text, after) = rest.split_once('\n').unwrap_or((rest, ""));
            marked.push((NumberedLine { number: line, text }, None));
            (rest, line) = (after, line + 1);
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<FioJson>();
        match stream.next() {
            Some(Ok(document)) => {
                let text = "{";
                marked.push((NumberedLine { number: line, text }, Some("")));
                found.push((line, document));
            }
            Some(Err(error)) => return Err(broken(&error, rest, line)),
            None => break,
        }
        let length = stream.byte_offset();
        let taken = rest.get(..length).unwrap_or(rest);
        line += taken.matches('\n').count();
        rest = rest.get(length..).unwrap_or_default();
    }
    let found = without_interim(found, all);
    let lines = found.iter().map(|(line, _)| *line);
    let others = marked.iter().filter(|(_, own)| own.is_none());
    let others = others.map(|(line, _)| line.text.trim());
    let others: Vec<&str> = others.filter(|line| !line.is_empty()).collect();
    let headings = Headings::find(marked).of_results(lines);
    if let Some(first) = others.first().filter(|_| headings.is_empty()) {
        all.note(format!(
            "Left out {} that are not JSON, the first of which is '{}'.",
            lines_of(others.len()),
            assay_model::text::shorten(first, 60)
        ));
    }
    Ok((found, headings))
}

fn lines_of(count: usize) -> String {
    match count {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    }
}

fn broken(error: &serde_json::Error, text: &str, first: usize) -> ImportError {
    let line = first + error.line().saturating_sub(1);
    let here = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let value = value_at(here, error.column());
    let odd = value.trim_start_matches(['-', '+']);
    let problem = match error.classify() {
        Category::Eof => "the JSON ends in the middle: fio may have been killed, or be running \
             still; take its whole output"
            .to_owned(),
        _ if odd.starts_with("nan") || odd.starts_with("inf") => {
            format!("'{}' is not a number", value)
        }
        _ => format!(
            "this is not JSON ({}): a message may stand within fio's output; --output=FILE keeps \
             them apart",
            without_place(&error.to_string())
        ),
    };
    ImportError::at(Some(line), problem)
}

/// Returns the value of `"key" : value,` at a column.
fn value_at(line: &str, column: usize) -> &str {
    let before = line.get(..column.saturating_sub(1)).unwrap_or(line);
    let start = before.rfind(':').map_or(0, |colon| colon + 1);
    let value = line[start..].split([',', '}']).next();
    value.unwrap_or_default().trim()
}

/// Removes the position from serde's message; its line counts from the document's start.
fn without_place(error: &str) -> &str {
    error.split(" at line ").next().unwrap_or(error)
}

/// Keeps the last of each run's documents: `--status-interval` and SIGUSR1 make fio write interim
/// ones.
fn without_interim(documents: Vec<NumberedDocument>, all: &mut Collector) -> Vec<NumberedDocument> {
    let mut kept: Vec<NumberedDocument> = Vec::new();
    let mut left_out = 0;
    for (line, document) in documents {
        let same = kept
            .last()
            .is_some_and(|(_, last)| document.goes_on_from(last));
        if same {
            kept.pop();
            left_out += 1;
        }
        kept.push((line, document));
    }
    if left_out > 0 {
        all.note(interim(left_out));
    }
    kept
}

fn take_document(
    document: &FioJson,
    line: usize,
    condition: &str,
    all: &mut Collector,
) -> Result<(), ImportError> {
    if let Some(version) = &document.version {
        all.tool(version.as_str());
    }
    if let Some(time) = &document.time {
        all.circumstance(format!("run at {time}"));
    }
    if let Some(words) = document.global.as_ref().and_then(words) {
        all.circumstance(format!("all jobs: {words}"));
    }
    if !document.disks.is_empty() {
        let names: Vec<&str> = document
            .disks
            .iter()
            .map(|disk| disk.name.as_str())
            .collect();
        all.circumstance(format!("disks: {}", names.join(", ")));
    }
    let mut copies = Copies::default();
    for job in document.all_jobs() {
        let name = copies.name(&job.name);
        take_job(document, job, &name, condition, all).map_err(|error| within(error, line))?;
    }
    Ok(())
}

/// Sets the document's line as that of an error; a figure's own line is unknown.
fn within(error: ImportError, line: usize) -> ImportError {
    match error {
        ImportError::Text { problem } => ImportError::at(
            Some(line),
            format!("in the JSON that begins here, {problem}"),
        ),
        other => other,
    }
}

fn words(options: &Options) -> Option<String> {
    let words: Vec<String> = options
        .iter()
        .map(|(option, value)| match value {
            Value::String(text) if text.is_empty() => option.clone(),
            Value::String(text) => format!("{option}={text}"),
            other => format!("{option}={other}"),
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn take_job(
    document: &FioJson,
    job: &FioJsonJob,
    name: &str,
    condition: &str,
    all: &mut Collector,
) -> Result<(), ImportError> {
    if let Some(words) = words(&job.options) {
        all.circumstance(format!("{name}: {words}"));
    }
    if job.error != 0 {
        all.note(ended_with(name, job.error));
    }
    let mut moved = false;
    for direction in DIRECTIONS {
        let Some(figures) = job.direction(direction).filter(|figures| figures.moved()) else {
            continue;
        };
        moved = true;
        let mut taker = Taker {
            all,
            condition,
            start: format!("{name}: {direction}_"),
            measured: job.label(direction),
        };
        taker.direction(figures)?;
    }
    if let Some(sync) = &job.sync {
        let mut taker = Taker {
            all,
            condition,
            start: format!("{name}: sync_"),
            measured: None,
        };
        taker.latencies(&sync.latencies())?;
    }
    if moved && !job.is_labelled() {
        all.note(unlabelled(name, document.may_be_direct(job)));
    }
    Ok(())
}

fn unlabelled(name: &str, may_be_direct: bool) -> String {
    if may_be_direct {
        return UNLABELLED.to_owned();
    }
    format!(
        "{name} ran without direct=1, and what it measured is not recorded: it may be the page \
         cache."
    )
}

/// Adds the figures of a direction.
struct Taker<'a> {
    all: &'a mut Collector,
    condition: &'a str,
    /// Prefix of all metric names.
    start: String,
    measured: Option<String>,
}

impl Taker<'_> {
    fn direction(&mut self, figures: &Direction) -> Result<(), ImportError> {
        let deciding = deciding_rate(figures.bw.map(|bw| 1024.0 * bw), figures.iops);
        if let Some(bw) = figures.bw {
            self.figure("bw", "KiB/s", bw, deciding == "bw")?;
        }
        if let Some(iops) = figures.iops {
            self.figure("iops", "IOPS", iops, deciding == "iops")?;
        }
        self.latencies(&figures.latencies())
    }

    fn latencies(&mut self, all: &[(&str, &str, &Latency)]) -> Result<(), ImportError> {
        for (name, unit, latency) in all {
            self.latency(name, unit, latency)?;
        }
        Ok(())
    }

    fn latency(&mut self, name: &str, unit: &str, of: &Latency) -> Result<(), ImportError> {
        if let Some(mean) = of.mean {
            self.figure(&format!("{name}_mean"), unit, mean, false)?;
        }
        for (percentile, value) in of.percentiles() {
            self.figure(&format!("{name}_{percentile}"), unit, value, false)?;
        }
        Ok(())
    }

    fn figure(
        &mut self,
        name: &str,
        unit: &str,
        value: f64,
        primary: bool,
    ) -> Result<(), ImportError> {
        let key = Key {
            condition: self.condition.to_owned(),
            metric: format!("{}{name}", self.start),
            unit: unit.to_owned(),
            primary,
            measured: self.measured.clone(),
        };
        self.all.value(key, value, None, None)
    }
}

/// Options with their values, which fio writes as text.
type Options = Map<String, Value>;

#[derive(Debug, Deserialize)]
struct FioJson {
    #[serde(rename = "fio version")]
    version: Option<String>,
    /// Time of writing, in seconds since the epoch.
    timestamp: Option<f64>,
    timestamp_ms: Option<f64>,
    time: Option<String>,
    /// Global options; `None` before fio 2.2.
    #[serde(rename = "global options")]
    global: Option<Options>,
    #[serde(default)]
    jobs: Vec<FioJsonJob>,
    /// Replaces `jobs` if fio was a client.
    #[serde(default)]
    client_stats: Vec<FioJsonJob>,
    #[serde(rename = "disk_util", default)]
    disks: Vec<Disk>,
}

#[derive(Debug, Deserialize)]
struct Disk {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct FioJsonJob {
    #[serde(rename = "jobname", default)]
    name: String,
    #[serde(default)]
    error: i64,
    /// Run time in seconds, rounded up.
    elapsed: Option<f64>,
    /// Start in milliseconds since the epoch; `None` in older versions.
    job_start: Option<f64>,
    #[serde(rename = "job options", default)]
    options: Options,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    mixed: Option<Direction>,
    sync: Option<Sync>,
    /// Label of each direction, added by assay.
    #[serde(default)]
    assay: BTreeMap<String, Value>,
}

/// Figures of a direction. Without `flatten`, which would buffer all bins and parse them
/// twice.
#[derive(Debug, Deserialize)]
struct Direction {
    bw: Option<f64>,
    iops: Option<f64>,
    io_bytes: Option<f64>,
    /// Run time in milliseconds.
    runtime: Option<f64>,
    total_ios: Option<f64>,
    slat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    /// Latencies before fio 3, in microseconds.
    slat: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
struct Sync {
    lat_ns: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
struct Latency {
    /// Number of samples; `None` if absent. fio writes 0 if nothing was counted.
    #[serde(rename = "N")]
    count: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl FioJson {
    fn all_jobs(&self) -> impl Iterator<Item = &FioJsonJob> {
        self.jobs.iter().chain(&self.client_stats)
    }

    /// Returns true if `earlier` is an interim report of the same run, that is, one with the
    /// same start.
    fn goes_on_from(&self, earlier: &Self) -> bool {
        let (Some(one), Some(other)) = (self.all_jobs().next(), earlier.all_jobs().next()) else {
            return false;
        };
        let names = |document: &'_ Self| document.all_jobs().map(|job| job.name.clone()).collect();
        let (names, other_names): (Vec<_>, Vec<_>) = (names(self), names(earlier));
        if names != other_names {
            return false;
        }
        if let (Some(began), Some(other_began)) = (one.job_start, other.job_start) {
            return began.total_cmp(&other_began).is_eq();
        }
        // Tolerance in seconds: both values are whole seconds, one rounded up and one down.
        const ROUNDING: f64 = 1.0;
        // After a run of this many seconds, the next run's start differs by more than the
        // rounding.
        const TELLING: f64 = 4.0;
        let began = |document: &Self, job: &FioJsonJob| Some(document.timestamp? - job.elapsed?);
        let (Some(began), Some(other_began)) = (began(self, one), began(earlier, other)) else {
            return false;
        };
        let (bytes, runtime) = self.progress();
        let (other_bytes, other_runtime) = earlier.progress();
        let written = |document: &Self| document.timestamp_ms.or(Some(document.timestamp? * 1e3));
        let between = written(self)
            .zip(written(earlier))
            .map(|(now, then)| now - then);
        let grew = bytes > other_bytes && runtime >= other_runtime && between < Some(runtime);
        (began - other_began).abs() <= ROUNDING
            && one.elapsed >= other.elapsed
            && (other.elapsed >= Some(TELLING) || grew)
    }

    /// Returns the bytes of all jobs, and the longest run time.
    fn progress(&self) -> (f64, f64) {
        let directions = self.all_jobs().flat_map(FioJsonJob::directions);
        directions.fold((0.0, 0.0), |(bytes, runtime), direction| {
            let bytes = bytes + direction.io_bytes.unwrap_or(0.0);
            (bytes, direction.runtime.unwrap_or(0.0).max(runtime))
        })
    }

    /// Returns true unless the file rules out direct I/O; a file without options does not.
    fn may_be_direct(&self, job: &FioJsonJob) -> bool {
        let is_on = |options: &Options, name, on: &str| {
            let value = options.get(name).and_then(Value::as_str);
            value.is_some_and(|value| value == on || (value.is_empty() && on == "1"))
        };
        let (Some(global), false) = (&self.global, job.options.is_empty()) else {
            return true;
        };
        [&job.options, global]
            .iter()
            .any(|options| is_on(options, "direct", "1") || is_on(options, "buffered", "0"))
    }
}

impl FioJsonJob {
    fn directions(&self) -> impl Iterator<Item = &Direction> {
        let all = [&self.read, &self.write, &self.trim, &self.mixed];
        all.into_iter().flatten()
    }

    fn direction(&self, name: &str) -> Option<&Direction> {
        match name {
            "read" => self.read.as_ref(),
            "write" => self.write.as_ref(),
            "trim" => self.trim.as_ref(),
            "mixed" => self.mixed.as_ref(),
            _ => None,
        }
    }

    fn label(&self, direction: &str) -> Option<String> {
        let label = self.assay.get(direction)?.get("label")?.as_str()?;
        Some(label.to_owned())
    }

    fn is_labelled(&self) -> bool {
        !self.assay.is_empty()
    }
}

impl Direction {
    /// Returns true if there was any I/O: fio writes all directions in every job.
    fn moved(&self) -> bool {
        let mut told = [self.io_bytes, self.total_ios]
            .into_iter()
            .flatten()
            .peekable();
        told.peek().is_none() || told.any(|count| count != 0.0)
    }

    fn latencies(&self) -> Vec<(&'static str, &'static str, &Latency)> {
        let all = [
            ("slat", "ns", &self.slat_ns),
            ("clat", "ns", &self.clat_ns),
            ("lat", "ns", &self.lat_ns),
            ("slat", "usec", &self.slat),
            ("clat", "usec", &self.clat),
            ("lat", "usec", &self.lat),
        ];
        present(&all)
    }
}

impl Sync {
    fn latencies(&self) -> Vec<(&'static str, &'static str, &Latency)> {
        present(&[("lat", "ns", &self.lat_ns), ("lat", "usec", &self.lat)])
    }
}

fn present<'a>(
    all: &[(&'static str, &'static str, &'a Option<Latency>)],
) -> Vec<(&'static str, &'static str, &'a Latency)> {
    let present = all
        .iter()
        .filter_map(|&(name, unit, latency)| Some((name, unit, latency.as_ref()?)));
    present
        .filter(|(_, _, latency)| !latency.is_empty())
        .collect()
}

impl Latency {
    fn is_empty(&self) -> bool {
        match self.count {
            Some(count) => count == 0.0,
            None => self.max.is_none_or(|max| max == 0.0),
        }
    }

    /// Returns the percentiles, such as `p99.99` for `99.990000`, in fio's order.
    fn percentiles(&self) -> Vec<(String, f64)> {
        let mut all: Vec<(f64, String, f64)> = self
            .percentile
            .iter()
            .filter_map(|(percent, value)| {
                let name = match percent.split_once('.') {
                    Some(_) => percent.trim_end_matches('0').trim_end_matches('.'),
                    None => percent,
                };
                // Before fio 3, unused entries of the list are 0.
                let percent = percent.parse().ok().filter(|percent| *percent > 0.0)?;
                Some((percent, format!("p{name}"), *value))
            })
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all.into_iter()
            .map(|(_, name, value)| (name, value))
            .collect()
    }
}
