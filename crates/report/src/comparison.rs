//! A comparison with its names, as every output shows it.

use crate::format::quantity;
use assay_model::metric::Unit;
use assay_model::units::three_digits;
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::Options;

/// A comparison and what it is of.
#[derive(Debug)]
pub struct Compared<'a> {
    /// What is compared with, in the user's words.
    pub a: &'a str,
    /// What is judged.
    pub b: &'a str,
    /// What it was held to.
    pub options: &'a Options,
    /// What came of it.
    pub comparison: &'a Comparison,
    /// What else differs between the sides, a sentence each.
    pub warnings: Vec<String>,
}

/// A value in a unit as a source writes it; assay's own units in words that
/// people read.
#[must_use]
pub fn value(unit: &str, value: f64) -> String {
    let own = [
        Unit::BytesPerSec,
        Unit::Iops,
        Unit::Tps,
        Unit::Bytes,
        Unit::Nanos,
    ];
    match own.into_iter().find(|own| own.symbol() == unit) {
        Some(own) => quantity(own, value),
        None => format!("{} {unit}", three_digits(value))
            .trim_end()
            .to_owned(),
    }
}
