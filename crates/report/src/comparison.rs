//! A comparison with its names, as every output shows it.

use crate::format::quantity;
use assay_model::metric::Unit;
use assay_model::units::three_digits;
use assay_stats::verdict::compare::Comparison;
use assay_stats::verdict::line::Options;
use assay_stats::verdict::power;
use assay_stats::verdict::ranking::Ranking;

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

/// A ranking and what it is of.
#[derive(Debug)]
pub struct Ranked<'a> {
    /// In the user's words.
    pub source: &'a str,
    /// The condition that the others are judged against; `None`: all pairs.
    pub baseline: Option<&'a str>,
    /// What it was held to.
    pub options: &'a Options,
    /// What came of it.
    pub ranking: &'a Ranking,
    /// What concerns all of it, a sentence each.
    pub warnings: Vec<String>,
}

/// What so many trials of that spread show.
#[derive(Debug)]
pub struct Power {
    /// What varies so much.
    pub name: String,
    /// Its coefficient of variation, as a share.
    pub cv: f64,
    /// A row for each number of trials.
    pub rows: Vec<power::Row>,
}

impl Power {
    /// Numbers of trials that people choose.
    const TRIALS: [u32; 10] = [3, 4, 5, 6, 8, 10, 15, 20, 50, 100];

    /// For trials that vary by `cv` (a share).
    #[must_use]
    pub fn of(name: String, cv: f64) -> Self {
        Self {
            name,
            cv,
            rows: power::table(cv, 0.05, &Self::TRIALS),
        }
    }
}
