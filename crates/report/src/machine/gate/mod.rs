//! Output for gates and test farms: a list of cases, each with a status. A status is derived from
//! an existing verdict, never determined here.
//!
//! | | comparison | with `--replace` | run |
//! |---|---|---|---|
//! | pass | faster, equivalent | pass | |
//! | fail | slower | fail | |
//! | skip | no conclusion | inconclusive | the job was skipped |
//! | done | | | a figure was measured |
//! | fail | | | data was not kept |
//! | error | no metric that decides was judged | the same | trials failed or are missing |
//!
//! A single run judges nothing as good or bad, except lost data: its cases are its figures, and the
//! jobs without one.
//!
//! To add a format: add a function here that writes a [`Suite`].
//!
//! JUnit XML, as Jenkins, GitLab and others read it, is written here. It has no field for a figure,
//! which is in the text of its case instead. `quick-junit` writes a different form: a time zone
//! after each timestamp, which schemas refuse, sums in `testsuites`, an indent of four and the name
//! of a case before its class.

use crate::machine::json::rfc3339;
use crate::results::comparison::{Compared, RequirementRow};
use crate::results::findings::losses;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::results::warnings::NAMES;
use crate::results::{describe, warnings};
use crate::words::{NameValue, clean, labels, quantity};
use assay_lang::{counted, in_english};
use assay_model::figures::Verdict;
use assay_model::run::Run;
use assay_model::trial::Outcome;
use assay_stats::verdict::VerdictRow;
use assay_stats::verdict::judge::Qualification;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::io::{self, Write};

/// Status of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Judged, and good.
    Pass,
    /// Judged, and worse.
    Fail,
    /// Not measurable, or a comparison without any judged metric.
    Error,
    /// Not judged: it permits no conclusion.
    Skip,
    /// Measured, but not judged.
    Done,
}

/// Test case with its result. All texts are safe to display.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the job, such as `rand-read-4k`; the metric for imported figures.
    pub job: String,
    /// Condition of a sweep; empty otherwise.
    pub condition: String,
    /// Metric, such as `read_iops`; empty if the case is about the whole job.
    pub metric: String,
    /// Status of the case.
    pub status: Status,
    /// Result in one word: a verdict, a qualification or an outcome.
    pub word: &'static str,
    /// The word with its reasons.
    pub reason: String,
    /// Figure of side B in a comparison, median in a run.
    pub measurement: Option<Measurement>,
    /// Label of the measurement, as in the evidence.
    pub measured: Option<String>,
    /// Further values, with the names of `docs/json.md`.
    pub detail: Map<String, Value>,
}

/// Figure with the unit of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Value in the unit.
    pub value: f64,
    /// Unit, for example `B/s`.
    pub unit: String,
}

/// Cases of a comparison or a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Name, for example `assay compare abc def`.
    pub name: String,
    /// Identifier of the suite: ids of runs.
    pub id: String,
    /// Cases in the order of the report; never empty.
    pub cases: Vec<Case>,
    /// Facts that a reader of the figures needs, such as device and kernel.
    pub facts: Vec<NameValue>,
    /// Warnings about the whole suite, one sentence each.
    pub warnings: Vec<String>,
    /// Kernel of the measured system; `None` for imported results.
    pub kernel: Option<Kernel>,
    /// Start of the measurement, milliseconds since 1970 (UTC).
    pub started_unix_ms: Option<u64>,
    /// Duration in seconds.
    pub took_s: Option<f64>,
}

/// Kernel of the measured system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Release as in `uname -r`.
    pub release: String,
    /// Machine as in `uname -m`.
    pub machine: String,
}

impl Case {
    /// Returns the name: `rand-read-4k: read_iops`, in a sweep `rand-read-4k under bfq: read_iops`.
    pub fn name(&self) -> String {
        let job = match self.condition.as_str() {
            "" => self.job.clone(),
            condition => format!("{} under {condition}", self.job),
        };
        match self.metric.as_str() {
            "" => job,
            metric => format!("{job}: {metric}"),
        }
    }

    /// Returns job, condition and metric. Names consist only of these: labels and trial numbers
    /// change between runs, and the name identifies the history of a case.
    fn names(&self) -> [&str; 3] {
        [&self.job, &self.condition, &self.metric]
    }
}

impl Suite {
    /// Returns the number of cases with that status.
    pub fn count(&self, status: Status) -> usize {
        let cases = self.cases.iter();
        cases.filter(|case| case.status == status).count()
    }
}

/// Returns a unique id for each case: job, condition and metric as segments of letters, digits, `_`
/// and `-`, joined by a full stop.
fn ids(suite: &Suite) -> Vec<String> {
    let mut taken = HashSet::new();
    let ids = suite.cases.iter().map(|case: &Case| {
        let id = path(&case.names());
        let numbered = |n: u32| match n {
            1 => id.clone(),
            n => format!("{id}-{n}"),
        };
        let free = (1..).map(numbered).find(|id| taken.insert(id.clone()));
        free.unwrap_or_default()
    });
    ids.collect()
}

fn path(names: &[&str]) -> String {
    let segments = names.iter().filter(|name| !name.is_empty());
    let segments: Vec<String> = segments.map(|name| segment(name)).collect();
    segments.join(".")
}

/// Replaces each run of disallowed characters by one `-`.
fn segment(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.split(|c| !allowed(c)).filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>().join("-") {
        empty if empty.is_empty() => "unnamed".to_owned(),
        segment => segment,
    }
}

/// Returns the status of a metric's case. With `qualify`, the question is whether B may replace A.
pub const fn status(line: &VerdictRow, qualify: bool) -> Status {
    match (qualify, line.qualification, &line.verdict) {
        (true, Qualification::Pass, _)
        | (false, _, Verdict::Faster(_) | Verdict::Equivalent(_)) => Status::Pass,
        (true, Qualification::Fail, _) | (false, _, Verdict::Slower(_)) => Status::Fail,
        (true, Qualification::Inconclusive, _) | (false, _, Verdict::NoConclusion { .. }) => {
            Status::Skip
        }
    }
}

impl Suite {
    /// Makes the cases of a comparison. A metric that decides but exists only on one side is a
    /// skipped case.
    pub fn of_comparison(compared: &Compared<'_>) -> Self {
        in_english(|| Self::judged(&compared.in_letters()))
    }

    fn judged(compared: &Compared<'_>) -> Self {
        let lines = compared.comparison.lines.iter();
        let lines = lines.filter(|line| line.primary);
        let groups = compared.jobs().grouped(lines, |line| &line.metric);
        let lines = groups.into_iter().flat_map(|(_, group)| group);
        let mut cases: Vec<Case> = lines.map(|line| judged_case(line, compared)).collect();
        cases.extend(missing(compared));
        cases.extend(requirement_cases(&compared.requirements));
        cases.extend(compared.qualify.then(|| answer_case(compared)));
        let runs = compared.b_sources.iter().filter_map(|source| source.run);
        cases.extend(runs.flat_map(|run| lost(&Summary::of(run)).collect::<Vec<_>>()));
        if let Some(why) = compared.unjudged() {
            cases.push(Case {
                status: Status::Error,
                word: "not judged",
                ..without_figure("comparison", &why)
            });
        } else if cases.is_empty() {
            let why = "no metric that decides is there on either side";
            cases.push(skipped("comparison", why));
        }
        let [a, b] = compared.known_by();
        let newer = compared.b_sources.iter().find_map(|source| source.run);
        Self {
            name: format!("assay compare {a} {b}"),
            id: format!("{a}-{b}").replace(", ", "-"),
            cases,
            facts: facts(compared),
            warnings: compared.all_warnings(),
            kernel: newer.map(Kernel::of),
            started_unix_ms: newer.map(|run| run.header.started_unix_ms),
            took_s: newer.and_then(took_s),
        }
    }
}

/// Returns the case of the answer whether B may replace A. An open one is an error unless that is
/// allowed: a skipped case would pass in most CI servers.
fn answer_case(compared: &Compared<'_>) -> Case {
    let decision = compared.replaces();
    Case {
        status: match decision {
            Qualification::Pass => Status::Pass,
            Qualification::Fail => Status::Fail,
            Qualification::Inconclusive if compared.allow_unjudged => Status::Skip,
            Qualification::Inconclusive => Status::Error,
        },
        word: decision.word(),
        ..without_figure("answer", &clean(&compared.answer()))
    }
}

/// Returns a case for each requirement. An open one is a skipped case.
fn requirement_cases(rows: &[RequirementRow]) -> impl Iterator<Item = Case> {
    rows.iter().map(|row| Case {
        job: clean(&row.requirement),
        condition: String::new(),
        metric: String::new(),
        status: match row.decision {
            Qualification::Pass => Status::Pass,
            Qualification::Fail => Status::Fail,
            Qualification::Inconclusive => Status::Skip,
        },
        word: row.word(),
        reason: {
            let [measured, bounds] = row.in_words();
            let why = row.why.as_deref().map(clean).unwrap_or_default();
            let parts = [row.word().to_owned(), measured, bounds, why];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(", ")
        },
        measurement: None,
        measured: None,
        detail: Map::new(),
    })
}

impl Suite {
    /// Returns the requirements as cases of a suite.
    pub fn of_requirements(run: Option<&Run>, name: &str, rows: &[RequirementRow]) -> Self {
        in_english(|| Self {
            name: format!("assay require {}", clean(name)),
            cases: requirement_cases(rows).collect(),
            ..Self::about(run, name)
        })
    }
}

fn judged_case(line: &VerdictRow, compared: &Compared<'_>) -> Case {
    let (job, metric) = line.metric.split_once(": ").unwrap_or((&line.metric, ""));
    let centre = line.b.map(|side| side.centre);
    let finite = centre.filter(|value| value.is_finite());
    Case {
        job: clean(job),
        condition: String::new(),
        metric: clean(metric),
        status: status(line, compared.qualify),
        word: compared.word(line),
        reason: compared.reason(line),
        measurement: finite.map(|value| Measurement {
            value,
            unit: line.unit.clone(),
        }),
        measured: compared.measured(&line.metric),
        detail: known(crate::machine::json::line(line, compared)),
    }
}

/// Returns cases for metrics that would decide, but one side lacks them or has another label.
fn missing(compared: &Compared<'_>) -> Vec<Case> {
    let uncompared = compared.uncompared().into_iter();
    uncompared
        .map(|(metric, why)| skipped(&metric, &why))
        .collect()
}

fn skipped(name: &str, why: &str) -> Case {
    let (job, metric) = name.split_once(": ").unwrap_or((name, ""));
    Case {
        metric: clean(metric),
        status: Status::Skip,
        word: "no conclusion",
        ..without_figure(job, &format!("no conclusion: {why}"))
    }
}

/// Removes unknown values, because the schemas of farms have no null.
fn known(detail: Value) -> Map<String, Value> {
    match detail {
        Value::Object(fields) => fields.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        _ => Map::new(),
    }
}

fn facts(compared: &Compared<'_>) -> Vec<NameValue> {
    let [a, b] = compared.known_by();
    let mut facts = vec![
        ("A", a),
        ("B", b),
        ("question", compared.question()),
        ("holds for", compared.comparison.scope.to_string()),
    ];
    if let Some(run) = compared.b_sources.iter().find_map(|source| source.run) {
        facts.extend(place_facts(run));
    }
    facts
}

impl Suite {
    /// Makes the cases of a run: one for each figure that represents a job, and one for each job
    /// with trials that did not complete.
    pub fn of_run(run: &Run) -> Self {
        in_english(|| Self::build(run))
    }

    fn build(run: &Run) -> Self {
        let summary = Summary::of(run);
        let jobs = summary.jobs.iter();
        let mut cases: Vec<Case> = jobs.flat_map(|job| under_each(job, run)).collect();
        cases.extend(lost(&summary));
        if cases.is_empty() {
            cases.push(without_figure("run", "no job was run"));
        }
        let warnings = warnings::collect(&summary);
        let warnings = warnings.iter().map(|warning| warning.message(NAMES));
        let mut facts = place_facts(run);
        facts.extend(describe::run_facts(&summary));
        Self {
            name: format!("assay {}", clean(&run.header.id)),
            id: clean(&run.header.id),
            cases,
            facts,
            warnings: warnings.collect(),
            kernel: Some(Kernel::of(run)),
            started_unix_ms: Some(run.header.started_unix_ms),
            took_s: took_s(run),
        }
    }
}

impl Suite {
    /// Returns a suite without cases, with the facts of a run if there is one.
    pub(crate) fn about(run: Option<&Run>, name: &str) -> Self {
        Self {
            name: clean(name),
            id: run.map_or_else(|| clean(name), |run| clean(&run.header.id)),
            cases: Vec::new(),
            facts: run.map_or_else(Vec::new, place_facts),
            warnings: Vec::new(),
            kernel: run.map(Kernel::of),
            started_unix_ms: run.map(|run| run.header.started_unix_ms),
            took_s: run.and_then(took_s),
        }
    }
}

impl Kernel {
    fn of(run: &Run) -> Self {
        Self {
            release: clean(&run.header.system.kernel),
            machine: clean(&run.header.system.machine),
        }
    }
}

/// Returns the duration in seconds.
fn took_s(run: &Run) -> Option<f64> {
    labels::took(run).map(|took| took.0 as f64 / 1e9)
}

/// Returns facts about the machine and the device that a reader of a figure needs.
fn place_facts(run: &Run) -> Vec<NameValue> {
    let system = labels::system_facts(run).into_iter();
    let system = system.filter(|(name, _)| ["host", "board", "kernel"].contains(name));
    let storage = &run.header.storage;
    let path = labels::path_facts(storage).into_iter();
    let path = path.filter(|(name, _)| ["path", "file system", "mount options"].contains(name));
    let device = ("device", labels::name(storage));
    system.chain([device]).chain(path).collect()
}

/// Returns a case for each job that found lost data, even if its rate is good.
fn lost(summary: &Summary<'_>) -> impl Iterator<Item = Case> {
    losses(summary).into_iter().map(|loss| {
        let trials = counted!(loss.trials, "{n} trial", "{n} trials");
        let why = format!("data was not kept in {trials}: {}", loss.first);
        Case {
            metric: "data".to_owned(),
            status: Status::Fail,
            word: "data lost",
            ..without_figure(&loss.job, &why)
        }
    })
}

/// Returns the cases of a job, separately for each condition of a sweep.
fn under_each(job: &JobSummary<'_>, run: &Run) -> Vec<Case> {
    let conditions = &run.header.plan.conditions;
    if conditions.is_empty() {
        return cases(job);
    }
    let under = conditions.iter().flat_map(|condition| {
        let cases = cases(&job.under(&condition.name)).into_iter();
        cases.map(|case| Case {
            condition: clean(&condition.name),
            ..case
        })
    });
    under.collect()
}

fn cases(job: &JobSummary<'_>) -> Vec<Case> {
    let figures = job.headlines();
    let mut cases: Vec<Case> = figures.iter().map(|figure| measured(job, figure)).collect();
    let failed = job
        .trials
        .iter()
        .filter_map(|trial| match &trial.record.outcome {
            Outcome::Failed { error } if !trial.record.lost_data() => Some(error.as_str()),
            _ => None,
        });
    let failed: Vec<&str> = failed.collect();
    if let Some(first) = failed.first() {
        let failed = counted!(failed.len(), "{n} trial", "{n} trials");
        let why = format!("{failed} of {} failed: {first}", job.trials.len());
        cases.push(without_figure(&job.job.name, &why));
    } else if cases.is_empty() && !job.trials.iter().any(|trial| trial.record.lost_data()) {
        cases.push(unmeasured(job));
    }
    cases
}

fn measured(job: &JobSummary<'_>, figure: &Figure) -> Case {
    let median = figure.stats.median;
    let labels = figure.labels.to_string();
    Case {
        job: clean(&job.job.name),
        condition: String::new(),
        metric: clean(&figure.name),
        status: Status::Done,
        word: "measured",
        reason: format!(
            "{}, median of {}; measured: {labels}",
            quantity(figure.unit, median),
            counted!(figure.stats.n, "{n} trial", "{n} trials"),
        ),
        measurement: Some(Measurement {
            value: median,
            unit: figure.unit.name().to_owned(),
        }),
        detail: detail(figure, &labels),
        measured: Some(labels),
    }
}

fn detail(figure: &Figure, labels: &str) -> Map<String, Value> {
    let stats = &figure.stats;
    let values: Vec<f64> = figure.values.iter().map(|(_, value)| *value).collect();
    [
        ("median", json!(stats.median)),
        ("min", json!(stats.min)),
        ("max", json!(stats.max)),
        ("unit", json!(figure.unit.name())),
        ("values", json!(values)),
        ("label", json!(labels)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect()
}

/// Returns the case of a job that was skipped, stopped or never started.
fn unmeasured(job: &JobSummary<'_>) -> Case {
    let skipped = job
        .trials
        .iter()
        .find_map(|trial| match &trial.record.outcome {
            Outcome::Skipped { reasons } => Some(reasons.join("; ")),
            _ => None,
        });
    match skipped {
        Some(why) => Case {
            status: Status::Skip,
            word: "skipped",
            reason: clean(&format!("skipped: {why}")),
            ..without_figure(&job.job.name, "")
        },
        None if job.trials.is_empty() => without_figure(&job.job.name, "not run"),
        None => without_figure(&job.job.name, "no trial came to an end with a figure"),
    }
}

fn without_figure(job: &str, why: &str) -> Case {
    Case {
        job: clean(job),
        condition: String::new(),
        metric: String::new(),
        status: Status::Error,
        word: "error",
        reason: clean(why),
        measurement: None,
        measured: None,
        detail: Map::new(),
    }
}

type Xml<'a> = Writer<&'a mut dyn Write>;

/// Writes JUnit XML with one suite.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_junit(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites")
        .write_inner_content(|xml| write_junit_suite(suite, xml))?;
    writeln!(xml.get_mut())
}

fn write_junit_suite(suite: &Suite, xml: &mut Xml<'_>) -> io::Result<()> {
    let counts = [
        ("tests", suite.cases.len()),
        ("failures", suite.count(Status::Fail)),
        ("errors", suite.count(Status::Error)),
        ("skipped", suite.count(Status::Skip)),
    ]
    .map(|(name, count)| (name, count.to_string()));
    let started = suite.started_unix_ms.map(timestamp);
    let took = suite.took_s.map(|took| format!("{took:.3}"));
    let known = [("timestamp", started), ("time", took)];
    let known = known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let attributes: Vec<(&str, String)> = counts.into_iter().chain(known).collect();
    xml.create_element("testsuite")
        .with_attribute(("name", suite.name.as_str()))
        .with_attributes(
            attributes
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        )
        .write_inner_content(|xml| {
            write_junit_properties(suite, xml)?;
            for case in &suite.cases {
                write_junit_case(case, xml)?;
            }
            if !suite.warnings.is_empty() {
                let text = suite.warnings.join("\n");
                xml.create_element("system-out")
                    .write_text_content(BytesText::new(&text))?;
            }
            Ok(())
        })?;
    Ok(())
}

/// Formats a time in ISO 8601 without a zone, in UTC: schemas refuse other forms.
fn timestamp(unix_ms: u64) -> String {
    rfc3339(unix_ms).chars().take(19).collect()
}

fn write_junit_properties(suite: &Suite, xml: &mut Xml<'_>) -> io::Result<()> {
    xml.create_element("properties")
        .write_inner_content(|xml| {
            for (name, value) in &suite.facts {
                xml.create_element("property")
                    .with_attributes([("name", *name), ("value", value.as_str())])
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

fn write_junit_case(case: &Case, xml: &mut Xml<'_>) -> io::Result<()> {
    // Names are equal in every comparison, because CI servers identify a case's history by them.
    let names = [&case.job, &case.condition].into_iter();
    let names = names.filter(|name| !name.is_empty());
    let class = names.fold("assay".to_owned(), |class, name| {
        format!("{class}.{}", name.replace('.', "-"))
    });
    let name = match case.metric.as_str() {
        "" => &case.job,
        metric => metric,
    };
    xml.create_element("testcase")
        .with_attributes([("classname", class.as_str()), ("name", name)])
        .write_inner_content(|xml| {
            let outcome = match case.status {
                Status::Fail => Some("failure"),
                Status::Error => Some("error"),
                Status::Skip => Some("skipped"),
                Status::Pass | Status::Done => None,
            };
            if let Some(outcome) = outcome {
                let element = xml
                    .create_element(outcome)
                    .with_attribute(("message", case.reason.as_str()));
                match case.status {
                    Status::Skip => element.write_empty()?,
                    _ => element.with_attribute(("type", case.word)).write_empty()?,
                };
            }
            let text = junit_text(case);
            if !text.is_empty() {
                xml.create_element("system-out")
                    .write_text_content(BytesText::new(&text))?;
            }
            Ok(())
        })?;
    Ok(())
}

/// Formats the values for which JUnit has no field.
fn junit_text(case: &Case) -> String {
    let figure = case.measurement.as_ref();
    let figure = figure.map(|figure| crate::words::value(&figure.unit, figure.value));
    let measured = case
        .measured
        .as_ref()
        .map(|what| format!("measured: {what}"));
    let reason = matches!(case.status, Status::Pass | Status::Done);
    let lines = [reason.then(|| case.reason.clone()), figure, measured];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Writes TAP 13 (<https://testanything.org/tap-version-13-specification.html>), with figures in a
/// YAML block. The output is also valid in version 14, but many harnesses refuse a document that
/// declares it.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_tap(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "TAP version 13")?;
    writeln!(out, "1..{}", suite.cases.len())?;
    writeln!(out, "# {}", suite.name)?;
    for (name, value) in &suite.facts {
        writeln!(out, "# {name}: {value}")?;
    }
    for (number, case) in (1..).zip(&suite.cases) {
        write_tap_case(number, case, out)?;
    }
    for warning in &suite.warnings {
        writeln!(out, "# warning: {warning}")?;
    }
    Ok(())
}

fn write_tap_case(number: usize, case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let ok = match case.status {
        Status::Pass | Status::Skip | Status::Done => "ok",
        Status::Fail | Status::Error => "not ok",
    };
    write!(out, "{ok} {number} - {}", escaped(&case.name()))?;
    if case.status == Status::Skip {
        write!(out, " # SKIP {}", escaped(&case.reason))?;
    }
    writeln!(out)?;
    writeln!(out, "  ---")?;
    writeln!(out, "  message: {}", quoted(&case.reason))?;
    writeln!(out, "  outcome: {}", quoted(case.word))?;
    if let Some(figure) = &case.measurement {
        writeln!(out, "  value: {}", figure.value)?;
        writeln!(out, "  unit: {}", quoted(&figure.unit))?;
    }
    if let Some(measured) = &case.measured {
        writeln!(out, "  measured: {}", quoted(measured))?;
    }
    // Texts are already in the message, where they are safe to display.
    let figures = case.detail.iter().filter(|(_, value)| !value.is_string());
    for (name, value) in figures.filter(|(name, _)| *name != "notes") {
        writeln!(out, "  {name}: {value}")?;
    }
    writeln!(out, "  ...")
}

/// Escapes a `#`, which would begin a directive.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}

/// Quotes a text as JSON, which is also valid YAML 1.2.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes signals that LAVA detects in a board's output
/// (<https://docs.lavasoftware.org/lava/actions-test.html>), one for each case. They contain an id,
/// a result and a figure; the reason is in a separate line before.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_lava(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", unsignalled(&suite.name))?;
    for (case, id) in suite.cases.iter().zip(ids(suite)) {
        let result = match case.status {
            Status::Pass | Status::Done => "pass",
            Status::Fail | Status::Error => "fail",
            Status::Skip => "skip",
        };
        writeln!(out, "{id}: {}", unsignalled(&case.reason))?;
        write!(
            out,
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={id} RESULT={result}"
        )?;
        if let Some(figure) = &case.measurement {
            let unit = figure.unit.replace(char::is_whitespace, "_");
            let unit = unsignalled(&unit);
            if !unit.is_empty() {
                write!(out, " UNITS={unit}")?;
            }
            // `Display` of f64 never uses an exponent, which LAVA would not read.
            write!(out, " MEASUREMENT={}", figure.value)?;
        }
        writeln!(out, ">")?;
    }
    for warning in &suite.warnings {
        writeln!(out, "warning: {}", unsignalled(warning))?;
    }
    Ok(())
}

/// Replaces angle brackets, so that foreign text cannot form a signal.
fn unsignalled(text: &str) -> String {
    text.replace(['<', '>'], "_")
}

/// Submitter and build of a submission to KCIDB.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Name of the CI system: lower-case letters, digits and `_`.
    pub origin: &'a str,
    /// Id of a build in the database; `None` creates one from the kernel, with a checkout that
    /// contains nothing else.
    pub build: Option<&'a str>,
}

/// Converts the suite to one JSON object of KCIDB, version 5.3, for KernelCI's database
/// (<https://docs.kernelci.org/kcidb/>).
pub fn kcidb_document(suite: &Suite, submission: &Submission<'_>) -> Value {
    let origin = submission.origin;
    let kernel = suite.kernel.as_ref();
    let release = kernel.map_or("unknown", |kernel| kernel.release.as_str());
    let made_up = format!("{origin}:{release}");
    let build = submission.build.unwrap_or(&made_up);
    let tests = suite.cases.iter().zip(ids(suite));
    let tests = tests.map(|(case, path)| {
        let path = format!("assay.{path}");
        kcidb_test(case, &path, suite, (origin, build))
    });
    let mut document = json!({
        "version": { "major": 5, "minor": 3 },
        "tests": tests.collect::<Vec<_>>(),
    });
    if submission.build.is_none() {
        document["checkouts"] = json!([{ "id": made_up, "origin": origin, "comment": release }]);
        let mut made = json!({ "id": made_up, "checkout_id": made_up, "origin": origin });
        let machine = kernel.map(|kernel| kernel.machine.as_str());
        if let Some(machine) = machine.filter(|machine| is_kcidb_word(machine)) {
            made["architecture"] = json!(machine);
        }
        document["builds"] = json!([made]);
    }
    document
}

/// Writes the suite for KCIDB as one indented JSON object.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_kcidb(
    suite: &Suite,
    submission: &Submission<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{:#}", kcidb_document(suite, submission))
}

/// Returns true if the text may be the name of an origin or an architecture.
pub fn is_kcidb_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(allowed)
}

fn kcidb_test(case: &Case, path: &str, suite: &Suite, (origin, build): (&str, &str)) -> Value {
    let mut test = json!({
        "id": format!("{origin}:{}.{path}", suite.id),
        "origin": origin,
        "build_id": build,
        "path": path,
        "status": kcidb_status(case.status),
        "comment": case.reason,
        "environment": kcidb_environment(suite),
        "misc": kcidb_misc(case, suite),
    });
    // "Should only be considered when the test has actually executed."
    let judged = case.status != Status::Skip;
    if let Some(figure) = case.measurement.as_ref().filter(|_| judged) {
        test["number"] = kcidb_number(figure);
    }
    if let Some(started) = suite.started_unix_ms {
        test["start_time"] = json!(rfc3339(started));
    }
    test
}

const fn kcidb_status(status: Status) -> &'static str {
    match status {
        Status::Pass => "PASS",
        Status::Fail => "FAIL",
        Status::Error => "ERROR",
        Status::Skip => "SKIP",
        Status::Done => "DONE",
    }
}

/// Returns the figure in a unit without a prefix; times are in seconds.
fn kcidb_number(figure: &Measurement) -> Value {
    match figure.unit.as_str() {
        "ns" => json!({ "value": figure.value / 1e9, "unit": "s", "prefix": "metric" }),
        "B" => json!({ "value": figure.value, "unit": "B", "prefix": "binary" }),
        unit @ ("B/s" | "IOPS" | "TPS") => {
            json!({ "value": figure.value, "unit": unit, "prefix": "metric" })
        }
        "" => json!({ "value": figure.value }),
        unit => json!({ "value": figure.value, "unit": unit }),
    }
}

fn kcidb_environment(suite: &Suite) -> Value {
    let fact = |wanted| suite.facts.iter().find(|(name, _)| *name == wanted);
    let words = ["host", "board", "device"].into_iter().filter_map(fact);
    let words: Vec<&str> = words.map(|(_, value)| value.as_str()).collect();
    let facts = suite.facts.iter();
    let facts = facts.map(|(name, value)| ((*name).to_owned(), json!(value)));
    json!({ "comment": words.join(", "), "misc": facts.collect::<Map<_, _>>() })
}

fn kcidb_misc(case: &Case, suite: &Suite) -> Value {
    let mut misc = case.detail.clone();
    misc.insert("outcome".to_owned(), json!(case.word));
    if let Some(measured) = &case.measured {
        misc.insert("measured".to_owned(), json!(measured));
    }
    if !suite.warnings.is_empty() {
        misc.insert("warnings".to_owned(), json!(suite.warnings));
    }
    Value::Object(misc)
}

#[cfg(test)]
mod tests;
