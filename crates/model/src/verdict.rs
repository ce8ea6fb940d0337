//! The conclusion of a comparison.

/// How much better B is than A, in percent of A. Positive is better, also for
/// metrics where less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The estimate.
    pub percent: f64,
    /// 95 % confidence interval of it; `None` where there is none to be had.
    pub interval: Option<(f64, f64)>,
}

/// The four words.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// B is better.
    Faster(Change),
    /// B is worse.
    Slower(Change),
    /// The difference is smaller than the margin.
    Equivalent(Change),
    /// Nothing can be said.
    NoConclusion {
        /// What it looks like; `None` when not even that is known.
        change: Option<Change>,
        /// More trials per side that would settle it; `None` when unknown or
        /// beyond reach.
        trials_needed: Option<u32>,
    },
}

impl Verdict {
    /// The word, as in JSON.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Faster(_) => "faster",
            Self::Slower(_) => "slower",
            Self::Equivalent(_) => "equivalent",
            Self::NoConclusion { .. } => "no conclusion",
        }
    }
}
