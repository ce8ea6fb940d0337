//! Formats for readers.

mod columns;
pub mod html;
pub mod markdown;
pub mod terminal;
pub mod text;
pub mod xlsx;

#[cfg(test)]
mod tests;

use crate::document::Document;
use std::io::{self, Write};

/// Format of a text within the columns of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text for mailing lists.
    Text,
    /// Markdown for issue trackers.
    Markdown,
}

/// Writes a document as text for a mail.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_mail(document: &Document, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => text::write(document, out),
        Form::Markdown => markdown::write(document, out),
    }
}
