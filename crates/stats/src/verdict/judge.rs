//! Conversion of a tested difference to a verdict, and checks of the trials behind it. Outliers are
//! reported, never dropped.

use super::Margin;
use super::arm::Arm;
use super::estimate::Difference;
use crate::distributions;
use crate::summary::{mean, median};
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

/// Distance from the median beyond which a value is an outlier, in robust standard deviations.
const FAR: f64 = 5.0;

/// Fewest values for the detection of an outlier.
const MIN_VALUES: usize = 5;

/// Ratios of a normal standard deviation to the median absolute deviation, and to the mean one,
/// which is used if the median one is 0.
const FROM_MEDIAN: f64 = 1.4826;
const FROM_MEAN: f64 = 1.2533;

/// Returns the indices of values with |x - median| > 5 * 1.4826 * MAD; none below five values.
pub fn flagged(values: &[f64]) -> Vec<usize> {
    if values.len() < MIN_VALUES {
        return Vec::new();
    }
    let centre = median(values).unwrap_or(f64::NAN);
    let off: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    let mut scale = FROM_MEDIAN * median(&off).unwrap_or(f64::NAN);
    if scale == 0.0 {
        scale = FROM_MEAN * off.iter().sum::<f64>() / off.len() as f64;
    }
    (0..values.len())
        .filter(|&i| off[i] > FAR * scale)
        .collect()
}

/// Share above which the order cannot be separated from the condition. The share is 0 for
/// interleaved arms, and 3/4 and more if one arm followed the other.
const CONFOUNDED: f64 = 0.3;

/// Share above which the result of the ranks requires the agreement of least squares, which include
/// the uncertainty of the drift. Found by simulation.
const SLIGHTLY: f64 = 0.1;

/// `true` if the arms ran so much one after the other that drift and difference cannot be
/// separated: all trials, or most of them if the others were run long before or after. `false` if
/// the order of an arm is unknown.
pub fn is_confounded(a: &[f64], b: &[f64]) -> bool {
    let is_far = |a: &[f64], b: &[f64]| confounding(a, b).is_some_and(|share| share > CONFOUNDED);
    let Some((first, last)) = without_distant(a, b) else {
        return is_far(a, b);
    };
    let near = |arm: &[f64]| -> Vec<f64> {
        let near = arm.iter().filter(|place| (first..=last).contains(*place));
        near.copied().collect()
    };
    is_far(a, b) || is_far(&near(a), &near(b))
}

/// Returns the first and last position of the majority of the trials, if gaps longer than their
/// whole span separate them from the others; `None` if there is no such majority.
fn without_distant(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    if all.iter().any(|place| !place.is_finite()) {
        return None;
    }
    all.sort_unstable_by(f64::total_cmp);
    let most = all.len() / 2 + 1;
    let mut near = all.as_slice();
    loop {
        let gap = |at: &usize| near[*at] - near[at - 1];
        let at = (1..near.len()).max_by(|x, y| gap(x).total_cmp(&gap(y)))?;
        let part = match 2 * at > near.len() {
            true => &near[..at],
            false => &near[at..],
        };
        let ends = |part: &[f64]| Some((*part.first()?, *part.last()?));
        let (first, last) = ends(part)?;
        if part.len() < most || gap(&at) <= last - first {
            return ends(near).filter(|_| near.len() < all.len());
        }
        near = part;
    }
}

/// Replaces positions by places in the common order of all trials, since the drift during a gap is
/// not known.
pub(crate) fn rank(arms: &mut [&mut Arm]) {
    let mut all: Vec<f64> = Vec::new();
    all.extend(arms.iter().flat_map(|arm| &arm.positions));
    all.sort_unstable_by(f64::total_cmp);
    for place in arms.iter_mut().flat_map(|arm| &mut arm.positions) {
        *place = all.partition_point(|other| other < place) as f64;
    }
}

/// `true` if the arms are spread so unevenly over the session that the drift matters.
pub(crate) fn is_uneven(a: &Arm, b: &Arm) -> bool {
    confounding(&a.positions, &b.positions).is_some_and(|share| share > SLIGHTLY)
}

/// Returns the share of the positions' variance that the arms explain: the larger one for positions
/// and for their ranks, so that neither a gap nor a single distant trial hides it. Equal positions
/// have the mean of their ranks.
fn confounding(a: &[f64], b: &[f64]) -> Option<f64> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    if a.is_empty() || b.is_empty() || all.iter().any(|place| !place.is_finite()) {
        return None;
    }
    let mut sorted = all.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |place: &f64| {
        let before = sorted.partition_point(|other| other < place);
        let until = sorted.partition_point(|other| other <= place);
        (before + until) as f64
    };
    let ranks: Vec<f64> = all.iter().map(rank).collect();
    let shares = [&all, &ranks].map(|places| between(places, a.len()));
    shares.into_iter().flatten().max_by(f64::total_cmp)
}

/// Returns the variance between the first `n_a` positions and the others, divided by the total
/// variance.
fn between(places: &[f64], n_a: usize) -> Option<f64> {
    // Extremely large or small spans would overflow or underflow when squared.
    let low = places.iter().copied().fold(f64::INFINITY, f64::min);
    let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scaled: Vec<f64> = places.iter().map(|t| (t - low) / (high - low)).collect();
    let middle = mean(&scaled);
    let all: f64 = scaled.iter().map(|t| (t - middle).powi(2)).sum();
    let (a, b) = scaled.split_at(n_a);
    let of = |arm: &[f64]| arm.len() as f64 * (mean(arm) - middle).powi(2);
    let share = (of(a) + of(b)) / all;
    share.is_finite().then_some(share)
}

/// Returns the drift of an arm from its first trial to its last on the scale of logarithms, by
/// least squares, if its two-sided p value is at most `alpha`.
pub(crate) fn drift_within(arm: &Arm, alpha: f64) -> Option<f64> {
    let n = arm.y.len();
    if n < 4 || arm.positions.len() != n {
        return None;
    }
    let middle = mean(&arm.positions);
    let off = || arm.positions.iter().map(|t| t - middle);
    let tt: f64 = off().map(|t| t * t).sum();
    let slope = off().zip(&arm.y).map(|(t, y)| t * y).sum::<f64>() / tt;
    let residuals = off().zip(&arm.y);
    let residuals = residuals.map(|(t, y)| (y - arm.mean - slope * t).powi(2));
    let df = (n - 2) as f64;
    let se = (residuals.sum::<f64>() / df / tt).sqrt();
    let ends = arm.positions.iter().copied();
    let span = ends.clone().fold(f64::NEG_INFINITY, f64::max) - ends.fold(f64::INFINITY, f64::min);
    let shows = distributions::student_two_sided(slope / se, df) <= alpha;
    let drift = slope * span;
    (shows && drift.is_finite()).then_some(drift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::estimate::Linear;
    use assay_model::figures::Better;

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

    #[test]
    fn what_is_far_off_is_found() {
        assert_eq!(flagged(&[1.0, 1.1, 0.9, 1.05, 0.95]), Vec::<usize>::new());
        assert_eq!(flagged(&[1.0, 1.1, 0.9, 3.0, 0.95]), [3]);
        assert_eq!(flagged(&[1.0, 9.0, 1.0, 1.1]), Vec::<usize>::new());
        assert_eq!(flagged(&[1.0; 6]), Vec::<usize>::new());
        let mut rounded = [10.0; 12];
        rounded[4] = 12.0;
        assert_eq!(flagged(&rounded), [4]);
    }

    /// Places of the letters, from 1 on.
    fn places(order: &str) -> [Vec<f64>; 2] {
        ['A', 'B'].map(|arm| {
            let places = (1_u32..).zip(order.chars());
            let own = places.filter(|(_, of)| *of == arm);
            own.map(|(place, _)| f64::from(place)).collect()
        })
    }

    #[test]
    fn blocks_are_told_from_turns() {
        for (order, expected) in [
            ("AAAAAABBBBBB", true),
            ("AAAABBBB", true),
            ("AAAAABABBBBB", true),
            ("ABBABAABABBA", false),
            ("ABABABABAB", false),
            ("AABBAABB", false),
            ("AAABBBAAABBB", false),
            ("ABBA", false),
        ] {
            let [a, b] = places(order);
            assert_eq!(is_confounded(&a, &b), expected, "{order}");
            assert_eq!(is_confounded(&b, &a), expected, "{order} swapped");
        }
    }

    #[test]
    fn gaps_and_far_places_hide_no_blocks() {
        let first = [1.0, 2.0, 3.0, 4.0];
        assert!(is_confounded(
            &first,
            &[1e9, 1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]
        ));
        assert!(is_confounded(&first, &[1e300, 1.1e300, 1.2e300, 1.3e300]));
        assert!(is_confounded(
            &[1.0, 2.0, 3.0, 4.0, 5.0, 1e9],
            &[6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
        ));
        for last in [1e9, 20.0] {
            assert!(is_confounded(&[1.0, 2.0, 3.0, last], &[4.0, 5.0, 6.0, 7.0]));
            assert!(is_confounded(
                &[-last, 3.0, 4.0, 5.0, last],
                &[6.0, 7.0, 8.0, 9.0, 10.0]
            ));
        }
        // Sessions that each have both sides.
        assert!(!is_confounded(
            &[1.0, 4.0, 102.0, 103.0],
            &[2.0, 3.0, 101.0, 104.0]
        ));
        assert!(!is_confounded(
            &[1.0, 102.0, 201.0, 302.0],
            &[2.0, 101.0, 202.0, 301.0]
        ));
        // One place was taken twice.
        assert!(is_confounded(&first, &[4.0, 5.0, 6.0, 7.0]));
        // Positions of the sides are counted separately, or not counted.
        assert!(!is_confounded(&first, &first));
        assert!(!is_confounded(&first, &[]));
        assert!(!is_confounded(&[5.0; 4], &[5.0; 4]));
        assert!(!is_confounded(&first, &[f64::NAN, 5.0, 6.0, 7.0]));
    }

    #[test]
    fn a_drift_within_an_arm_shows_when_it_is_clear() {
        let arm = |y: &[f64]| {
            let positions = (0_u32..).map(f64::from).take(y.len()).collect();
            Arm::of_logs(y.to_vec(), positions, Better::Higher).unwrap()
        };
        let falls = arm(&[1.0, 0.981, 0.959, 0.941, 0.92, 0.9]);
        let drift = drift_within(&falls, 0.05).unwrap();
        assert!((drift + 0.1).abs() < 0.005, "{drift}");
        assert_eq!(
            drift_within(&arm(&[1.0, 0.9, 1.1, 0.95, 1.05, 1.0]), 0.05),
            None
        );
        assert_eq!(drift_within(&arm(&[1.0, 0.9, 0.8]), 0.05), None, "too few");
    }
}
