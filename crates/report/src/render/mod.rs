//! Formats that people read.

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

/// Form of a text within the columns of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text, as mailing lists take it.
    Text,
    /// Markdown, as trackers show it.
    Markdown,
}

/// Writes any document as such a text.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_mail(document: &Document, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => text::write(document, out),
        Form::Markdown => markdown::write(document, out),
    }
}
