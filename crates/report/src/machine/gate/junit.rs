//! JUnit XML, as Jenkins, GitLab and others read it. It has no field for a figure, which is in the
//! text of its case instead.
//!
//! `quick-junit` writes a different form: a time zone after each timestamp, which schemas refuse,
//! sums in `testsuites`, an indent of four and the name of a case before its class.

use super::{Case, Status, Suite};
use crate::machine::json::rfc3339;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use std::io::{self, Write};

type Xml<'a> = Writer<&'a mut dyn Write>;

/// Writes a document with one suite.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
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
    let figure = figure.map(|figure| crate::words::format::value(&figure.unit, figure.value));
    let measured = case
        .measured
        .as_ref()
        .map(|what| format!("measured: {what}"));
    let reason = matches!(case.status, Status::Pass | Status::Done);
    let lines = [reason.then(|| case.reason.clone()), figure, measured];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}
