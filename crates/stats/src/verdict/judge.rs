//! Conversion of a tested difference to a verdict.

use super::estimate::Difference;
use super::margin::Margin;
use assay_lang::key;

/// Levels and margin of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Level of the test for a difference, after correction for other tests.
    pub alpha_difference: f64,
    /// Level of the test for equivalence.
    pub alpha_equivalence: f64,
    /// Range of differences without practical relevance.
    pub margin: Margin,
}

/// The four verdicts, without figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// B is better.
    Faster,
    /// B is worse.
    Slower,
    /// The difference is within the margin.
    Equivalent,
    /// No conclusion is possible.
    NoConclusion,
}

/// A verdict and its qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub word: Word,
    /// `true` if the sides are equivalent although a difference was found.
    pub tiny_difference: bool,
    /// `true` if the difference is at least the margin.
    pub beyond_margin: bool,
}

/// Judges equivalent if the interval of confidence 1 - 2 alpha lies within the margin; otherwise
/// faster or slower if the interval of 1 - alpha excludes 0.
pub fn judge(difference: &dyn Difference, rule: &Rule) -> Judgement {
    let differs = difference.p_difference() <= rule.alpha_difference;
    let equivalent = difference.p_equivalence(rule.margin) <= rule.alpha_equivalence;
    let word = match (equivalent, differs) {
        (true, _) => Word::Equivalent,
        (false, true) if difference.d() > 0.0 => Word::Faster,
        (false, true) => Word::Slower,
        (false, false) => Word::NoConclusion,
    };
    let beyond = |(low, high)| low > rule.margin.high || high < rule.margin.low;
    let interval = || difference.interval_of_difference(rule.alpha_difference);
    Judgement {
        word,
        tiny_difference: equivalent && differs,
        beyond_margin: differs && !equivalent && interval().is_some_and(beyond),
    }
}

/// Decision whether a part may replace another, by a one-sided test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualification {
    /// B is not worse than A by the margin.
    Pass,
    /// B is worse than A by the margin.
    Fail,
    /// Neither was shown.
    Inconclusive,
}

impl Qualification {
    /// Returns the name of the decision.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => key!("pass"),
            Self::Fail => key!("fail"),
            Self::Inconclusive => key!("inconclusive"),
        }
    }
}

/// Decides one-sided at `alpha`: pass if the lower bound is above that of the margin, fail if the
/// upper bound is below it.
pub fn qualify(difference: &dyn Difference, alpha: f64, margin: Margin) -> Qualification {
    match difference.interval(2.0 * alpha) {
        Some((low, _)) if low > margin.low => Qualification::Pass,
        Some((_, high)) if high < margin.low => Qualification::Fail,
        _ => Qualification::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::estimate::Linear;

    const RULE: Rule = Rule {
        alpha_difference: 0.05,
        alpha_equivalence: 0.05,
        margin: Margin {
            low: -0.05,
            high: 0.05,
        },
    };

    /// With 10 degrees of freedom: t .025 = 2.228, t .05 = 1.812.
    fn linear(d: f64, se: f64) -> Linear {
        Linear {
            d,
            se,
            df: 10.0,
            s: se,
            drift: None,
            unequal: false,
        }
    }

    #[test]
    fn the_interval_decides_the_word() {
        for (d, se, word, tiny, beyond) in [
            (0.0, 0.02, Word::Equivalent, false, false),
            (0.02, 0.005, Word::Equivalent, true, false),
            (0.04, 0.01, Word::Faster, false, false),
            (-0.04, 0.01, Word::Slower, false, false),
            (-0.10, 0.01, Word::Slower, false, true),
            (0.10, 0.01, Word::Faster, false, true),
            (0.10, 0.06, Word::NoConclusion, false, false),
            (0.0, 0.03, Word::NoConclusion, false, false),
        ] {
            let found = judge(&linear(d, se), &RULE);
            let expected = Judgement {
                word,
                tiny_difference: tiny,
                beyond_margin: beyond,
            };
            assert_eq!(found, expected, "{d} {se}");
        }
    }

    #[test]
    fn a_part_passes_when_it_is_not_worse() {
        for (d, se, expected) in [
            (0.2, 0.05, Qualification::Pass),
            (-0.01, 0.01, Qualification::Pass),
            (-0.04, 0.01, Qualification::Inconclusive),
            (-0.10, 0.01, Qualification::Fail),
            (-0.06, 0.01, Qualification::Inconclusive),
        ] {
            assert_eq!(
                qualify(&linear(d, se), 0.05, RULE.margin),
                expected,
                "{d} {se}"
            );
        }
    }
}
