//! The few lines for someone who has ten seconds. They come last: after a run
//! that is what stands on the screen.

use super::style::Tone;
use super::{Mark, Page};
use crate::digest::{Belief, Digest};
use std::io;

const BELIEF: &str = "Believe it?";

pub(super) fn write(digest: &Digest, page: &mut Page<'_>) -> io::Result<()> {
    page.title("In short")?;
    let subjects = digest.lines.iter().map(|line| line.subject.chars().count());
    let width = subjects.chain([BELIEF.len()]).max().unwrap_or_default();
    for line in &digest.lines {
        let subject = format!("  {:<width$}  ", line.subject);
        page.paragraph(subject.as_str().into(), &line.text, None)?;
    }
    let tone = match digest.belief {
        Belief::Yes => Tone::Good,
        Belief::WithCare | Belief::InPart => Tone::Care,
        Belief::No => Tone::Bad,
    };
    let subject = format!("  {BELIEF:<width$}  ");
    let mark = Mark {
        text: &subject,
        tone: Some(Tone::Strong),
    };
    page.paragraph(mark, &digest.because, Some(tone))
}
