//! What trials found that is no figure.

use super::Page;
use super::style::Tone;
use crate::found::sections;
use crate::summary::Summary;
use std::io;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for section in sections(summary) {
        if !section.items.is_empty() {
            page.title(section.title)?;
        }
        for (name, finding) in &section.items {
            let name = format!("  {name:<11}");
            let mut before = name.as_str();
            let tone = if finding.bad { Tone::Bad } else { Tone::Good };
            for (index, line) in finding.lines.iter().enumerate() {
                let tone = (index == 0).then_some(tone);
                page.paragraph(before.into(), line, tone)?;
                before = "             ";
            }
        }
    }
    Ok(())
}
