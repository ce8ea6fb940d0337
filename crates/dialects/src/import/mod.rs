//! Imports results of other programs as comparable figures.
//!
//! Missing information stays unknown; units and digits are kept. Each file is a
//! trial of its figures. In a table, in dd's lines, and in texts with several
//! outputs of iozone or of fio's JSON, a repeated figure is another trial.
//!
//! To add a format: add a variant of `Format`, a module that passes its figures to a `Collector`,
//! text in `detect` that only that program writes, an example in the fuzz test
//! (`ASSAY_FUZZ_SECONDS=600` runs it longer), and a part of `docs/import.md`. Missing information
//! becomes a note.

mod collect;
mod dd;
mod error;
mod fio_json;
mod fio_text;
mod fio_words;
mod fragment;
mod iozone;
mod lines;
mod number;
mod table;
mod unit;
mod vmstat;

#[cfg(test)]
mod tests;

pub use collect::together;
pub use error::ImportError;

use assay_model::figures::Results;

assay_model::named! {
    /// Program that wrote a text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Format {
        /// fio's JSON, with or without its bins.
        FioJson = "fio-json",
        /// fio's normal output, also quoted in an e-mail.
        FioText = "fio-text",
        /// iozone's text: tables, blocks of `-R`, throughput.
        Iozone = "iozone",
        /// Final lines of dd.
        Dd = "dd",
        /// A table with separators.
        Table = "table",
        /// `vmstat` with an interval.
        Vmstat = "vmstat",
    }
}

impl Format {
    /// Returns the name of the format, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::FioJson => "fio's JSON",
            Self::FioText => "fio's normal output",
            Self::Iozone => "iozone's text",
            Self::Dd => "dd's lines",
            Self::Table => "a table with separators (CSV)",
            Self::Vmstat => "vmstat's lines",
        }
    }
}

/// Results of a text and its format.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Program that wrote the text.
    pub format: Format,
    /// Results of the text.
    pub results: Results,
}

/// Reads a text. `format`: `None` detects the format.
///
/// # Errors
/// When the text is empty, has an unknown format, is incomplete, or has an
/// impossible figure. The error gives the figure and its line.
pub fn read(text: &str, format: Option<Format>) -> Result<Taken, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let plain = lines::without_prefixes(text);
    let had_prefixes = plain != text;
    let text = plain.as_ref();
    let format = match format {
        Some(format) => format,
        None => detect(text).ok_or_else(|| match fragment::of(text) {
            Some(problem) => ImportError::at(None, problem),
            None if table::is_separated(text) => ImportError::at(None, error::COLUMNS),
            None => ImportError::Unknown,
        })?,
    };
    let mut results = match format {
        Format::FioJson => fio_json::read(text),
        Format::FioText => fio_text::read(text),
        Format::Iozone => iozone::read(text),
        Format::Dd => dd::read(text),
        Format::Table => table::read(text),
        Format::Vmstat => vmstat::read(text),
    }?;
    if results.figures.is_empty() {
        return Err(ImportError::Nothing { format });
    }
    if had_prefixes {
        let note = "Prefixes of a log (time stamps, levels, colours) were left out.";
        results.notes.push(note.to_owned());
    }
    Ok(Taken { format, results })
}

/// Detects the format of a text; `None` if it is unknown.
pub fn detect(text: &str) -> Option<Format> {
    if text.contains('\0') {
        return None;
    }
    if text.contains("\"fio version\"") {
        return Some(Format::FioJson);
    }
    let mut seen = None;
    for line in lines::unquoted(text) {
        let line = line.text;
        if fio_text::is_job(line) {
            return Some(Format::FioText);
        }
        if is_iozone(line) {
            return Some(Format::Iozone);
        }
        // Such lines may also occur within outputs of the other programs.
        if seen.is_none() {
            seen = weak(line);
        }
    }
    if seen.is_some() {
        return seen;
    }
    table::has_columns(text).then_some(Format::Table)
}

fn weak(line: &str) -> Option<Format> {
    if line.split('\r').any(dd::is_copied) {
        return Some(Format::Dd);
    }
    vmstat::is_head(line).then_some(Format::Vmstat)
}

fn is_iozone(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with("Iozone: Performance Test")
        || start.starts_with("Children see throughput for")
        || start.starts_with("\"Writer report\"")
        || start.starts_with("\"Reader report\"")
        || iozone::is_columns(&line.split_whitespace().take(2).collect::<Vec<_>>())
}
