//! Reasons for which a text cannot be imported, each in one line.

use super::Format;
use assay_model::text::{clean, shorten};
use thiserror::Error;

/// Longest problem, in characters: a quoted cell may be as long as a file.
const LONGEST: usize = 400;

/// Message for a table with unknown columns, with an example line of each kind.
pub(super) const COLUMNS: &str = "these columns are not known: a table has the columns metric and \
     value, as in 'condition,metric,unit,value' with 'bfq,seq_read,MB/s,166'; or metric and mean; or \
     unit and a column for each condition; or a column for each metric, as in 'condition,read (MB/s)'";

/// Reason for which a text cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is empty.
    #[error("it is empty: the program may have written to another file, or have failed")]
    Empty,
    /// No importer knows the format.
    #[error(
        "not known what wrote this; understood are {}: --format {} says which it is",
        known(Format::words),
        known(Format::name)
    )]
    Unknown,
    /// The text contains no figures.
    #[error("no figures found, read as {}: is it the whole output? --format names another of {}", .format.words(), known(Format::name))]
    Nothing {
        /// Format in which it was read.
        format: Format,
    },
    /// A line has an error.
    #[error("line {line}: {problem}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description of the error, and the remedy.
        problem: String,
    },
    /// The error belongs to no single line.
    #[error("{problem}")]
    Text {
        /// Description of the error, and the remedy.
        problem: String,
    },
}

impl ImportError {
    /// Makes an error with its line, if known.
    pub(super) fn at(line: Option<usize>, problem: impl Into<String>) -> Self {
        // The problem quotes the text, which may contain any character.
        let problem = shorten(&clean(&problem.into()), LONGEST);
        match line {
            Some(line) => Self::Line { line, problem },
            None => Self::Text { problem },
        }
    }
}

fn known(word: fn(Format) -> &'static str) -> String {
    let words = Format::ALL.map(word);
    match words.split_last() {
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => String::new(),
    }
}
