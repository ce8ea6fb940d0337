//! What filling, checking or probing found.

use super::Page;
use super::style::Tone;
use crate::capacity::findings;
use crate::summary::Summary;
use crate::text::clean;
use assay_lang::tr;
use std::io;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let findings = findings(summary);
    if findings.is_empty() {
        return Ok(());
    }
    page.title(tr!("Capacity"))?;
    for (trial, finding) in &findings {
        let (name, number) = (clean(&trial.record.job.name), trial.record.trial);
        let name = format!("  {:<11}", format!("{name} #{number}"));
        let mut before = name.as_str();
        let tone = if finding.bad { Tone::Bad } else { Tone::Good };
        for (index, line) in finding.lines.iter().enumerate() {
            let tone = (index == 0).then_some(tone);
            page.paragraph(before.into(), line, tone)?;
            before = "             ";
        }
    }
    Ok(())
}
