//! Describes findings about a machine that would spoil a measurement.

mod machine;
mod place;
mod words;

pub use words::{Words, words};

use assay_model::checkup::{Checkup, Finding};
use std::cmp::Reverse;

/// Returns all findings, the most important first.
pub fn findings(checkup: &Checkup) -> Vec<Finding> {
    let mut all = place::all(checkup);
    all.extend(machine::all(checkup));
    all.sort_by_key(|finding| Reverse(finding.severity()));
    all
}

#[cfg(test)]
mod tests;
