//! What was found that is no figure.

use super::Page;
use super::style::Tone;
use crate::results::findings::{Item, sections};
use crate::results::summary::Summary;
use std::io;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for section in sections(summary) {
        page.title(section.title)?;
        for item in &section.items {
            write_item(item, page)?;
        }
    }
    Ok(())
}

/// Of a trial, the conclusion stands behind its name.
fn write_item(item: &Item, page: &mut Page<'_>) -> io::Result<()> {
    let (name, indent) = match &item.of {
        Some(of) => (format!("  {of:<11}"), "             "),
        None => ("  ".to_owned(), "  "),
    };
    let mut before = name.as_str();
    for (index, line) in item.lines.iter().enumerate() {
        let concludes = index == 0 && item.of.is_some();
        let tone = match line.bad {
            true => Some(Tone::Bad),
            false => concludes.then_some(Tone::Good),
        };
        page.paragraph(before.into(), &line.text, tone)?;
        before = indent;
    }
    Ok(())
}
