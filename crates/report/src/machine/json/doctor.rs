//! Doctor findings as JSON: `docs/devices.md` describes it.

use super::{SystemPart, text};
use crate::results::checkup::words;
use assay_lang::in_english;
use assay_model::checkup::{Checkup, Finding};
use serde::Serialize;
use serde_json::Value;

/// Version of the document: rises when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct DoctorDocument<'a> {
    schema: u32,
    target: Option<&'a str>,
    path: Option<String>,
    system: SystemPart<'a>,
    findings: Vec<FindingPart<'a>>,
}

#[derive(Serialize)]
struct FindingPart<'a> {
    severity: &'static str,
    what: String,
    why: &'static str,
    remedy: String,
    #[serde(flatten)]
    data: &'a Finding,
}

/// The document.
#[must_use]
pub fn doctor(checkup: &Checkup, findings: &[Finding], target: Option<&str>) -> Value {
    in_english(|| whole(checkup, findings, target))
}

fn whole(checkup: &Checkup, findings: &[Finding], target: Option<&str>) -> Value {
    let findings = findings.iter().map(|finding| {
        let words = words(finding);
        FindingPart {
            severity: finding.severity().name(),
            what: words.what,
            why: words.why,
            remedy: words.remedy,
            data: finding,
        }
    });
    let document = DoctorDocument {
        schema: SCHEMA,
        target,
        path: checkup.place.as_ref().map(|place| text(&place.path)),
        system: SystemPart::of(&checkup.system),
        findings: findings.collect(),
    };
    serde_json::to_value(document)
        .expect("the document has only text keys and no serializer that can fail")
}
