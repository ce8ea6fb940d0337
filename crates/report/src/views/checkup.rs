//! Causes that would spoil a measurement; in English, like the command's other output.

use super::devices::machine;
use crate::document::{Block, Document, Section};
use crate::results::checkup::words;
use crate::words::{Tone, clean, labels};
use assay_lang::{counted, in_english};
use assay_model::checkup::{Checkup, Finding, Severity};

/// Returns the answer, then the findings, the worst first, each with its effect and its remedy.
pub fn document(checkup: &Checkup, findings: &[Finding], target: Option<&str>) -> Document {
    in_english(|| {
        let mut document = Document::new(machine(&checkup.system, target));
        let mut answer = Section::new("summary", "");
        answer.say(summary(findings), Some(Tone::Strong));
        let place = checkup.place.as_deref().map(|place| {
            let name = labels::name(&place.storage);
            format!("{}: {name}", clean(&place.path.to_string_lossy()))
        });
        let alone = "the machine alone: give a path to look at its storage too";
        answer.say(place.unwrap_or(alone.to_owned()), None);
        document.push(answer);
        for (severity, title) in [
            (Severity::Spoils, "Spoils figures"),
            (Severity::Disturbs, "Disturbs figures"),
            (Severity::Note, "To be noted"),
        ] {
            let mut section = Section::new(severity.name(), title);
            let these = findings.iter().filter(|one| one.severity() == severity);
            section.blocks.extend(these.map(block));
            document.push(section);
        }
        document
    })
}

fn block(finding: &Finding) -> Block {
    let words = words(finding);
    Block::Warning {
        message: clean(&words.what),
        remedy: Some(format!("{}; {}", words.why, clean(&words.remedy))),
        severe: finding.severity() == Severity::Spoils,
    }
}

/// Counts the findings: `2 findings spoil figures, 1 finding disturbs figures`.
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
            let count = |n: u64, verb: &str| {
                (n > 0).then(|| {
                    format!(
                        "{} {verb} figures",
                        counted!(n, "{n} finding", "{n} findings")
                    )
                })
            };
            let spoils = count(spoils, verb(spoils, "spoils", "spoil"));
            let disturbs = count(disturbs, verb(disturbs, "disturbs", "disturb"));
            let parts: Vec<String> = [spoils, disturbs].into_iter().flatten().collect();
            parts.join(", ")
        }
    }
}
