//! Findings about a machine that would spoil a measurement, in words.

mod machine;
mod place;
mod words;

pub use words::{Words, words};

use assay_model::checkup::{Checkup, Finding};
use std::cmp::Reverse;

/// Everything that was found, what matters most first.
pub fn findings(checkup: &Checkup) -> Vec<Finding> {
    let mut all = place::all(checkup);
    all.extend(machine::all(checkup));
    all.sort_by_key(|finding| Reverse(finding.severity()));
    all
}

#[cfg(test)]
mod tests;
