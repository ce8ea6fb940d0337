//! KCIDB JSON, version 5.3, for KernelCI's database
//! (<https://docs.kernelci.org/kcidb/>).

use super::{Case, Measurement, Status, Suite, ids};
use crate::machine::json::rfc3339;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Submitter and build of a submission.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Name of the CI system: lower-case letters, digits and `_`.
    pub origin: &'a str,
    /// Id of a build in the database; `None` creates one from the kernel, with a checkout that
    /// contains nothing else.
    pub build: Option<&'a str>,
}

/// Converts the suite to one JSON object.
pub fn document(suite: &Suite, submission: &Submission<'_>) -> Value {
    let origin = submission.origin;
    let kernel = suite.kernel.as_ref();
    let release = kernel.map_or("unknown", |kernel| kernel.release.as_str());
    let made_up = format!("{origin}:{release}");
    let build = submission.build.unwrap_or(&made_up);
    let tests = suite.cases.iter().zip(ids(suite));
    let tests = tests.map(|(case, path)| {
        let path = format!("assay.{path}");
        test(case, &path, suite, (origin, build))
    });
    let mut document = json!({
        "version": { "major": 5, "minor": 3 },
        "tests": tests.collect::<Vec<_>>(),
    });
    if submission.build.is_none() {
        document["checkouts"] = json!([{ "id": made_up, "origin": origin, "comment": release }]);
        let mut made = json!({ "id": made_up, "checkout_id": made_up, "origin": origin });
        let machine = kernel.map(|kernel| kernel.machine.as_str());
        if let Some(machine) = machine.filter(|machine| is_word(machine)) {
            made["architecture"] = json!(machine);
        }
        document["builds"] = json!([made]);
    }
    document
}

/// Writes the suite as one indented JSON object.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(suite: &Suite, submission: &Submission<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:#}", document(suite, submission))
}

/// Returns true if the text may be the name of an origin or an architecture.
pub fn is_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(allowed)
}

fn test(case: &Case, path: &str, suite: &Suite, (origin, build): (&str, &str)) -> Value {
    let mut test = json!({
        "id": format!("{origin}:{}.{path}", suite.id),
        "origin": origin,
        "build_id": build,
        "path": path,
        "status": status(case.status),
        "comment": case.reason,
        "environment": environment(suite),
        "misc": misc(case, suite),
    });
    // "Should only be considered when the test has actually executed."
    let judged = case.status != Status::Skip;
    if let Some(figure) = case.measurement.as_ref().filter(|_| judged) {
        test["number"] = number(figure);
    }
    if let Some(started) = suite.started_unix_ms {
        test["start_time"] = json!(rfc3339(started));
    }
    test
}

const fn status(status: Status) -> &'static str {
    match status {
        Status::Pass => "PASS",
        Status::Fail => "FAIL",
        Status::Error => "ERROR",
        Status::Skip => "SKIP",
        Status::Done => "DONE",
    }
}

/// Returns the figure in a unit without a prefix; times are in seconds.
fn number(figure: &Measurement) -> Value {
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

fn environment(suite: &Suite) -> Value {
    let fact = |wanted| suite.facts.iter().find(|(name, _)| *name == wanted);
    let words = ["host", "board", "device"].into_iter().filter_map(fact);
    let words: Vec<&str> = words.map(|(_, value)| value.as_str()).collect();
    let facts = suite.facts.iter();
    let facts = facts.map(|(name, value)| ((*name).to_owned(), json!(value)));
    json!({ "comment": words.join(", "), "misc": facts.collect::<Map<_, _>>() })
}

fn misc(case: &Case, suite: &Suite) -> Value {
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
