//! One self-contained page: no script, no font, no request to anywhere.
//!
//! Each section is a module that turns the summary into markup; `page` puts
//! them in order. maud escapes all text; control characters are spelled out
//! by [`crate::text::clean`] before.

mod capacity;
mod charts;
mod conditions;
mod course;
mod evidence;
mod extent;
mod ladder;
mod latency;
mod matrices;
mod method;
mod overview;
mod page;
mod parts;
mod results;
mod storage;
mod unfinished;

use crate::summary::Summary;
use assay_model::run::Run;
use std::io::{self, Write};

/// Writes the page of a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let summary = Summary::of(run);
    let page = page::markup(&summary);
    out.write_all(page.into_string().as_bytes())
}

#[cfg(test)]
mod tests;
