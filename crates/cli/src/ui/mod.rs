//! Words and progress on the terminal, and parsing of the command line.

pub mod progress;
pub mod values;

use crate::output::style;
use std::io::{self, Write};

/// Writes a paragraph wrapped at the width of standard output, `indent` blanks before each
/// line.
pub fn paragraph(text: &str, indent: usize, out: &mut dyn Write) -> io::Result<()> {
    assay_explain::table::paragraph(text, indent, style().width, out)
}
