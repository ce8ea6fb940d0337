//! Sentences below headings: what runs found that have more to say than figures.

use crate::summary::Summary;
use crate::{memory, soak};

/// A line of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Something does not hold what was written to it.
    pub bad: bool,
    /// In words.
    pub text: String,
}

/// Sentences below a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The sentences.
    pub lines: Vec<Line>,
}

/// All that a run has.
#[must_use]
pub fn all(summary: &Summary<'_>) -> Vec<Section> {
    let mut all = memory::sections(summary);
    all.extend(soak::sections(summary));
    all
}
