//! Why a text cannot be taken in, each in one line.

use super::Format;
use assay_model::text::{clean, shorten};
use thiserror::Error;

/// Characters of a problem: a cell may be as long as a file.
const LONGEST: usize = 400;

/// Columns that a table must have, with a line of each kind.
pub(super) const COLUMNS: &str = "these columns are not known: a table has the columns metric and \
     value, as in 'condition,metric,unit,value' with 'bfq,seq_read,MB/s,166'; or metric and mean; or \
     unit and a column for each condition; or a column for each metric, as in 'condition,read (MB/s)'";

/// Why a text cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// There is nothing.
    #[error("it is empty: the program may have written to another file, or have failed")]
    Empty,
    /// No importer knows it.
    #[error(
        "not known what wrote this; understood are {}: --format {} says which it is",
        known(Format::words),
        known(Format::name)
    )]
    Unknown,
    /// It was read, and no figure was found.
    #[error("no figures found, read as {}: is it the whole output? --format names another of {}", .format.words(), known(Format::name))]
    Nothing {
        /// As what it was read.
        format: Format,
    },
    /// A line is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// Description of the error, and the remedy.
        problem: String,
    },
    /// Something is wrong that is in no single line.
    #[error("{problem}")]
    Text {
        /// Description of the error, and the remedy.
        problem: String,
    },
}

impl ImportError {
    /// With the line, where it is known.
    pub(super) fn at(line: Option<usize>, problem: impl Into<String>) -> Self {
        // It quotes what the text has, which may be anything.
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
