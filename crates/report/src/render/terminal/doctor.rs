//! What would spoil a measurement, for a person.

use super::devices::heading;
use super::{Page, Style};
use crate::results::checkup::words;
use crate::words::identity;
use crate::words::style::Tone;
use crate::words::text::clean;
use assay_lang::{counted, in_english};
use assay_model::checkup::{Checkup, Finding, Severity};
use std::io::{self, Write};

/// Writes the findings, what matters most first, each with why it matters and what to
/// do.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_checkup(
    checkup: &Checkup,
    findings: &[Finding],
    target: Option<&str>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    in_english(|| show_findings(checkup, findings, target, style, out))
}

fn show_findings(
    checkup: &Checkup,
    findings: &[Finding],
    target: Option<&str>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::to(style, out);
    heading(&checkup.system, target, &mut page)?;
    match checkup.place.as_deref() {
        Some(place) => {
            let name = identity::name(&place.storage);
            let path = clean(&place.path.to_string_lossy());
            page.paragraph("  ".into(), &format!("{path}: {name}"), None)?;
        }
        None => page.paragraph(
            "  ".into(),
            "the machine alone: give a path to look at its storage too",
            None,
        )?,
    }
    page.blank()?;
    for finding in findings {
        one(finding, &mut page)?;
    }
    if !findings.is_empty() {
        page.blank()?;
    }
    page.paragraph("".into(), &summary(findings), None)
}

fn one(finding: &Finding, page: &mut Page<'_>) -> io::Result<()> {
    let words = words(finding);
    let severity = finding.severity();
    let mark = format!("{:<10}", severity.word());
    let tone = match severity {
        Severity::Spoils => Tone::Bad,
        Severity::Disturbs => Tone::Care,
        Severity::Note => Tone::Soft,
    };
    let mark = super::Mark {
        text: &mark,
        tone: Some(tone),
    };
    page.paragraph(mark, &clean(&words.what), None)?;
    let then = format!("{}; {}", words.why, clean(&words.remedy));
    page.paragraph("          ".into(), &then, Some(Tone::Soft))
}

/// `2 findings spoil figures, 1 disturbs them, 3 are to be noted`.
fn summary(findings: &[Finding]) -> String {
    let of = |severity| {
        let fits = findings.iter().filter(|f| f.severity() == severity);
        u64::try_from(fits.count()).unwrap_or(u64::MAX)
    };
    let verb = |n: u64, one: &'static str, many: &'static str| if n == 1 { one } else { many };
    match [Severity::Spoils, Severity::Disturbs, Severity::Note].map(of) {
        [0, 0, 0] => "nothing was found that would spoil a measurement".to_owned(),
        [0, 0, notes] => format!(
            "nothing was found that would spoil a measurement; {} to be noted",
            counted!(notes, "{n} thing", "{n} things")
        ),
        [spoils, disturbs, _] => {
            let spoils = (spoils > 0).then(|| {
                let verb = verb(spoils, "spoils", "spoil");
                format!(
                    "{} {verb} figures",
                    counted!(spoils, "{n} finding", "{n} findings")
                )
            });
            let disturbs = (disturbs > 0).then(|| {
                let verb = verb(disturbs, "disturbs", "disturb");
                format!(
                    "{} {verb} them",
                    counted!(disturbs, "{n} finding", "{n} findings")
                )
            });
            let parts: Vec<String> = [spoils, disturbs].into_iter().flatten().collect();
            parts.join(", ")
        }
    }
}
