//! What runs found that have more to say than figures.

use super::Page;
use super::style::Tone;
use crate::sections::all;
use crate::summary::Summary;
use std::io;

pub(super) fn write(summary: &Summary<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for section in all(summary) {
        page.title(section.title)?;
        for line in &section.lines {
            page.paragraph("  ".into(), &line.text, line.bad.then_some(Tone::Bad))?;
        }
    }
    Ok(())
}
