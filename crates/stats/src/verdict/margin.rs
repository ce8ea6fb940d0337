//! Differences without practical relevance.

use assay_model::figures::Better;

/// Limits of the differences without practical relevance, on the scale of comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Limit of a difference that makes B worse, below 0.
    pub low: f64,
    /// Limit of a difference that makes B better, above 0.
    pub high: f64,
}

impl Margin {
    /// Returns the limits for a change of the quantity by `share` either way: ln(1 - share) and
    /// ln(1 + share), with the signs inverted where less is better.
    ///
    /// ```
    /// use assay_model::figures::Better;
    /// use assay_stats::verdict::margin::Margin;
    /// let rate = Margin::of(0.2, Better::Higher);
    /// assert!(rate.holds(0.81_f64.ln()) && !rate.holds(0.79_f64.ln()));
    /// assert!(rate.holds(1.19_f64.ln()) && !rate.holds(1.21_f64.ln()));
    /// let time = Margin::of(0.2, Better::Lower);
    /// assert!(time.holds(-1.19_f64.ln()) && !time.holds(-1.21_f64.ln()));
    /// ```
    pub fn of(share: f64, better: Better) -> Self {
        let (low, high) = ((-share.min(1.0)).ln_1p(), share.ln_1p());
        match better {
            Better::Higher => Self { low, high },
            Better::Lower => Self {
                low: -high,
                high: -low,
            },
        }
    }

    /// `true` if a difference has no practical relevance.
    pub fn holds(&self, d: f64) -> bool {
        self.low <= d && d <= self.high
    }
}
