//! Warnings with their remedies.

use super::style::Tone;
use super::{Mark, Page};
use crate::results::warnings::{NAMES, Warning};
use assay_lang::tr;
use std::io;

pub(super) fn write(warnings: &[Warning], page: &mut Page<'_>) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    page.title(tr!("Warnings"))?;
    for warning in warnings {
        let tone = if warning.is_severe() {
            Tone::Bad
        } else {
            Tone::Care
        };
        let mark = Mark {
            text: "  ! ",
            tone: Some(tone),
        };
        page.paragraph(mark, &warning.message(NAMES), None)?;
        let arrow = Mark {
            text: "    -> ",
            tone: Some(Tone::Soft),
        };
        page.paragraph(arrow, &warning.remedy(), Some(Tone::Soft))?;
    }
    Ok(())
}
