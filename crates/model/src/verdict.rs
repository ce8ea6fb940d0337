//! The two sides of a comparison, and its conclusion.

use assay_lang::key;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Level of the tests behind a verdict, for a single look at the figures.
pub const LEVEL: f64 = 0.05;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Baseline of the comparison.
    A,
    /// Side that is judged.
    B,
}

impl Side {
    /// Both sides, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the side that it is compared with.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// Change of a quantity from A to B, in percent of A. The verdict shows whether it is an
/// improvement: more is better for a rate, and worse for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Estimated change, in percent.
    pub percent: f64,
    /// Interval that decided the verdict: it excludes 0 for *faster* and *slower*, lies within the
    /// margin for *equivalent*; for *no conclusion* it includes 0 and reaches beyond the margin.
    /// `None` where the error of the change is unknown, or where another reason forbids a verdict.
    pub interval: Option<(f64, f64)>,
    /// Confidence of `interval`, as a share.
    pub confidence: f64,
    /// Confidence interval of 95 % of this change, without correction for other metrics; `None`
    /// where the error of the change is unknown.
    pub ci95: Option<(f64, f64)>,
}

impl Change {
    /// Returns the change on the scale of logarithms.
    pub fn log(&self) -> f64 {
        (self.percent / 100.0).ln_1p()
    }
}

/// The four verdicts.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// B is better.
    Faster(Change),
    /// B is worse.
    Slower(Change),
    /// The difference is smaller than the margin.
    Equivalent(Change),
    /// No conclusion is possible.
    NoConclusion {
        /// Apparent change; `None` when it is unknown.
        change: Option<Change>,
        /// Additional trials per side that would settle it; `None` when unknown or out of reach.
        trials_needed: Option<u32>,
    },
}

impl Verdict {
    /// Returns the name of the verdict, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Faster(_) => key!("faster"),
            Self::Slower(_) => key!("slower"),
            Self::Equivalent(_) => key!("equivalent"),
            Self::NoConclusion { .. } => key!("no conclusion"),
        }
    }
}
