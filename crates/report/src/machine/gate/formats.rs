//! Formats of a suite: JUnit XML, TAP, signals of LAVA, KCIDB JSON.

use super::{Case, Measurement, Status, Suite, ids};
use crate::machine::json::rfc3339;
use crate::words;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

type Xml<'a> = Writer<&'a mut dyn Write>;

/// Writes JUnit XML with one suite.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_junit(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites")
        .write_inner_content(|xml| write_suite(suite, xml))?;
    writeln!(xml.get_mut())
}

fn write_suite(suite: &Suite, xml: &mut Xml<'_>) -> io::Result<()> {
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
            write_properties(suite, xml)?;
            for case in &suite.cases {
                write_case(case, xml)?;
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

fn write_properties(suite: &Suite, xml: &mut Xml<'_>) -> io::Result<()> {
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

fn write_case(case: &Case, xml: &mut Xml<'_>) -> io::Result<()> {
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
            let text = text(case);
            if !text.is_empty() {
                xml.create_element("system-out")
                    .write_text_content(BytesText::new(&text))?;
            }
            Ok(())
        })?;
    Ok(())
}

/// Formats the values for which JUnit has no field.
fn text(case: &Case) -> String {
    let figure = case.measurement.as_ref();
    let figure = figure.map(|figure| words::value(&figure.unit, figure.value));
    let measured = case
        .measured
        .as_ref()
        .map(|what| format!("measured: {what}"));
    let reason = matches!(case.status, Status::Pass | Status::Done);
    let lines = [reason.then(|| case.reason.clone()), figure, measured];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Writes TAP 13 (<https://testanything.org/tap-version-13-specification.html>), with figures in a YAML
/// block. The output is also valid in version 14, but many harnesses refuse a document that
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
/// (<https://docs.lavasoftware.org/lava/actions-test.html>), one for each case. They contain an id, a
/// result and a figure; the reason is in a separate line before.
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
