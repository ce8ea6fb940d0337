//! Renders plain text for mails and tickets, with at most 72 columns so that quoting does not wrap
//! lines.

use super::terminal::Page;
use crate::document::Document;
use crate::words::{MAIL_COLUMNS, Style};
use std::io::{self, Write};

/// Writes a document.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let style = Style {
        color: false,
        width: MAIL_COLUMNS,
        ascii: false,
    };
    Page::strict(style, out).document(document)
}
