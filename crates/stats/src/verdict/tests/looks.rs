//! Comparisons that go on until they are settled must not err more often than those
//! that are looked at once. A small part of what `cargo xtask calibrate` checks, by the
//! way that a run goes: until every comparison has a verdict.

use super::figure;
use crate::verdict::Options;
use crate::verdict::compare::compare_figures;
use crate::verdict::ranking::{Ranking, rank_figures};
use crate::verdict::simulate::Normal;
use crate::verdict::units::{Plan, Standing};
use assay_model::figures::{Figure, Sample, Side, Verdict};
use assay_model::plan::{rounds, turns};
use assay_model::rng::SplitMix64;

/// How often alike sides are compared.
const COMPARISONS: u32 = 300;
/// 6 %, and three standard errors of so few comparisons.
const MAX_FALSE: u32 = 30;
const DRIFT: f64 = 0.1;
/// Leaves most to the last look.
const CV: f64 = 0.08;

/// Figures of one metric, each with the place of its trial.
type Trials = Vec<(f64, f64)>;

fn sampled(condition: &str, metric: &str, trials: &[(f64, f64)]) -> Figure {
    let (values, positions) = trials.iter().copied().unzip();
    figure(
        condition,
        metric,
        "MB/s",
        Sample::Values { values, positions },
    )
}

/// A trial at a place of `of`, on something that drifts.
fn trial(place: usize, of: usize, normal: &mut Normal) -> (f64, f64) {
    let place = place as f64;
    let drift = DRIFT * place / of as f64;
    (100.0 * (drift + CV * normal.next()).exp(), place)
}

/// The word on two alike sides at the look that settles it, or at the last.
fn compared(looks: &[u32], options: &Options, seed: u64) -> Vec<Verdict> {
    let mut normal = Normal::new(seed);
    let most = *looks.last().expect("a look");
    let order = turns(most, &mut SplitMix64::new(seed));
    let mut sides = [Trials::new(), Trials::new()];
    for (place, side) in order.iter().enumerate() {
        sides[*side as usize].push(trial(place, order.len(), &mut normal));
    }
    let mut words = Vec::new();
    for n in looks.iter().map(|n| *n as usize) {
        let figures = |side: Side| vec![sampled("", "bw", &sides[side as usize][..n])];
        let found = compare_figures(&figures(Side::A), &figures(Side::B), options);
        let is_settled = Standing::of_comparison(&found).is_settled();
        words = found.lines.into_iter().map(|line| line.verdict).collect();
        if is_settled {
            break;
        }
    }
    words
}

/// The words on all pairs of three alike conditions.
fn ranked(looks: &[u32], options: &Options, seed: u64) -> Vec<Verdict> {
    let mut normal = Normal::new(seed);
    let most = *looks.last().expect("a look");
    let order = rounds(1, 3, most, seed);
    let mut conditions = [Trials::new(), Trials::new(), Trials::new()];
    for (place, slot) in order.iter().enumerate().filter(|(_, slot)| slot.trial > 0) {
        let condition = slot.condition.expect("one of them");
        conditions[condition].push(trial(place, order.len(), &mut normal));
    }
    let pairs = |ranking: &Ranking| -> Vec<Verdict> {
        let pairs = ranking.metrics.iter().flat_map(|metric| &metric.pairs);
        pairs.map(|pair| pair.verdict.clone()).collect()
    };
    let mut words = Vec::new();
    for n in looks.iter().map(|n| *n as usize) {
        let named = ["x", "y", "z"].into_iter().zip(&conditions);
        let figures = named.map(|(name, trials)| sampled(name, "bw", &trials[..n]));
        let figures: Vec<Figure> = figures.collect();
        let found = rank_figures(&figures, None, options).expect("three conditions");
        words = pairs(&found);
        if Standing::of_ranking(&found).is_settled() {
            break;
        }
    }
    words
}

type Judged = fn(&[u32], &Options, u64) -> Vec<Verdict>;

/// Of so many comparisons those that find a difference.
fn false_ones(judged: Judged, looks: &[u32], alpha: f64) -> u32 {
    let options = Options::default().at_level(alpha);
    let differs = |word: &Verdict| matches!(word, Verdict::Faster(_) | Verdict::Slower(_));
    let is_false = |seed: &u64| judged(looks, &options, *seed).iter().any(differs);
    let seeds = 0..u64::from(COMPARISONS);
    u32::try_from(seeds.filter(is_false).count()).expect("few")
}

#[test]
fn looking_more_than_once_is_not_rewarded() {
    assay_testkit::needs!(full);
    for most in [12, 20] {
        let plan = Plan::within(most).expect("a plan");
        for judged in [compared as Judged, ranked] {
            let found = false_ones(judged, plan.looks, plan.alpha);
            assert!(
                found <= MAX_FALSE,
                "{:?}: {found} of {COMPARISONS}",
                plan.looks
            );
        }
    }
}

/// What the plans are for: peeking after every second trial at the usual level.
#[test]
fn peeking_at_the_usual_level_would_be() {
    let every: Vec<u32> = (4..=20).step_by(2).collect();
    let found = false_ones(compared, &every, 0.05);
    assert!(found > MAX_FALSE, "{found} of {COMPARISONS}");
}

#[test]
fn what_is_settled_ends_at_the_first_look() {
    let plan = Plan::within(20).expect("a plan");
    let looks = plan.looks(0.05);
    assert_eq!((looks.at.as_slice(), looks.alpha), (plan.looks, plan.alpha));
    let side = |centre: f64| {
        let trials: Trials = (0..6)
            .map(|at| (centre * (1.0 + 0.001 * f64::from(at % 3)), f64::from(at)))
            .collect();
        vec![sampled("", "x", &trials)]
    };
    let options = Options::default().at_level(looks.alpha);
    let standing =
        |a: &[Figure], b: &[Figure]| Standing::of_comparison(&compare_figures(a, b, &options));
    assert!(standing(&side(100.0), &side(150.0)).is_settled());
    assert!(
        standing(&side(100.0), &side(100.1)).is_settled(),
        "equivalent"
    );
    assert!(
        !standing(&side(100.0), &[]).is_settled(),
        "nothing was asked"
    );
}
