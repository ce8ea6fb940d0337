//! fio's JSON: one or several documents, each a trial. Text between them, from fio or a shell, is
//! left out.

mod document;

use super::collect::{Collector, Key};
use super::error::ImportError;
use super::fio_words::{Copies, UNLABELLED, deciding_rate, ended_with, interim};
use super::lines::{self, Headings, NumberedLine};
use assay_model::figures::Results;
use document::{Direction, FioJson, FioJsonJob, Latency, Options};
use serde_json::Value;
use serde_json::error::Category;

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
        let lines: Vec<&str> = lines::unquoted(text).map(|line| line.text).collect();
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
