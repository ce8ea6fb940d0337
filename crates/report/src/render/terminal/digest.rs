//! The few lines for someone who has ten seconds. They come last: after a run
//! that is what stands on the screen.

use super::style::Tone;
use super::{Mark, Page};
use crate::results::key_figures::{Belief, Digest};
use crate::words::text::{pad, width};
use assay_lang::tr;
use std::io;

pub(super) fn write(digest: &Digest, page: &mut Page<'_>) -> io::Result<()> {
    page.title(tr!("In short"))?;
    let question = tr!("Believe it?");
    let subjects = digest.lines.iter().map(|line| line.subject.as_str());
    let widths = subjects.chain([question]).map(width);
    let columns = widths.max().unwrap_or_default();
    for line in &digest.lines {
        let subject = format!("  {}  ", pad(&line.subject, columns));
        page.paragraph(subject.as_str().into(), &line.text, None)?;
    }
    let tone = match digest.belief {
        Belief::Yes => Tone::Good,
        Belief::WithCare | Belief::InPart => Tone::Care,
        Belief::No => Tone::Bad,
    };
    let subject = format!("  {}  ", pad(question, columns));
    let mark = Mark {
        text: &subject,
        tone: Some(Tone::Strong),
    };
    page.paragraph(mark, &digest.because, Some(tone))
}
