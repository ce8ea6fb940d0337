//! A ranking and a comparison of the same trials never contradict each other.

use crate::verdict::compare::compare_figures;
use crate::verdict::line::Options;
use crate::verdict::ranking::{Ranking, rank_figures};
use crate::verdict::simulate::Normal;
use assay_model::figures::Figure;
use assay_model::plan::rounds;
use assay_model::verdict::Verdict;

const METRICS: [&str; 3] = ["x", "y", "z"];

/// Figures of so many conditions in rounds of `n` trials, on something that drifts by 10 %; each
/// condition is better than the one before by `step`, and now and then a trial is far off.
fn session(conditions: usize, n: u32, metrics: usize, step: f64, seed: u64) -> Vec<Figure> {
    let mut normal = Normal::new(seed);
    let order = rounds(1, conditions, n, seed);
    let mut figures = Vec::new();
    for metric in &METRICS[..metrics] {
        let mut trials = vec![(Vec::new(), Vec::new()); conditions];
        for (place, slot) in order.iter().enumerate().filter(|(_, slot)| slot.trial > 0) {
            let condition = slot.condition.expect("one of them");
            let t = place as f64;
            let drift = 0.1 * t / order.len() as f64;
            let noise = normal.next();
            let far = if noise > 2.2 { 0.5 } else { 0.0 };
            let y = drift + step * condition as f64 + 0.04 * noise + far;
            trials[condition].0.push(100.0 * y.exp());
            trials[condition].1.push(t);
        }
        for (number, (values, positions)) in trials.iter().enumerate() {
            figures.push(Figure {
                condition: format!("c{number}"),
                metric: (*metric).to_owned(),
                ..super::ordered(values, positions)
            });
        }
    }
    figures
}

fn ranked(figures: &[Figure], baseline: Option<&str>) -> Ranking {
    rank_figures(figures, baseline, &Options::default()).expect("several conditions")
}

/// Each pair's word in the ranking and in the comparison of the two.
fn words(figures: &[Figure], found: &Ranking) -> Vec<[&'static str; 2]> {
    let side = |name: &str| -> Vec<Figure> {
        let own = figures.iter().filter(|figure| figure.condition == name);
        own.cloned().collect()
    };
    let mut words = Vec::new();
    for metric in &found.metrics {
        for pair in &metric.pairs {
            let compared = compare_figures(&side(&pair.a), &side(&pair.b), &Options::default());
            let mut lines = compared.lines.iter();
            let line = lines.find(|line| line.metric == metric.metric);
            let line = line.expect("both have it");
            words.push([pair.verdict.word(), line.verdict.word()]);
        }
    }
    words
}

#[test]
fn of_two_conditions_a_ranking_says_what_a_comparison_says() {
    let mut different = 0;
    for seed in 0..150 {
        for (n, metrics, step) in [(4, 1, 0.0), (4, 1, 0.08), (6, 3, 0.08)] {
            let figures = session(2, n, metrics, step, seed);
            for [ranked, compared] in words(&figures, &ranked(&figures, None)) {
                assert_eq!(ranked, compared, "{seed}: {n} trials");
                different += u32::from(compared == "faster");
            }
        }
    }
    assert!(different > 50, "{different}");
}

#[test]
fn of_more_conditions_a_ranking_says_that_or_nothing() {
    let mut kept = 0;
    for seed in 0..60 {
        for baseline in [None, Some("c1")] {
            let figures = session(4, 6, 2, 0.06, seed);
            for [ranked, compared] in words(&figures, &ranked(&figures, baseline)) {
                assert!(
                    [compared, "no conclusion"].contains(&ranked),
                    "{seed}: {ranked} {compared}"
                );
                kept += u32::from(ranked == "faster");
            }
        }
    }
    assert!(kept > 50, "{kept}");
}

/// Of alike conditions at most 6 %, and three standard errors of so few tables.
#[test]
fn a_ranking_of_alike_conditions_finds_a_difference_as_seldom_as_a_comparison() {
    let differs = |verdict: &Verdict| matches!(verdict, Verdict::Faster(_) | Verdict::Slower(_));
    for (conditions, n, metrics, tables) in [(2, 4, 1, 600), (2, 4, 3, 400), (4, 4, 3, 60)] {
        let is_false = |seed: &u32| {
            let figures = session(conditions, n, metrics, 0.0, u64::from(*seed));
            let found = ranked(&figures, None);
            let mut pairs = found.metrics.iter().flat_map(|metric| &metric.pairs);
            pairs.any(|pair| differs(&pair.verdict))
        };
        let called = (0..tables).filter(is_false).count();
        let percent = 100.0 * called as f64 / f64::from(tables);
        let limit = 6.0 + 3.0 * (100.0 * 6.0 * 0.94 / f64::from(tables)).sqrt();
        assert!(
            percent <= limit,
            "{conditions} conditions, {n} trials, {metrics} metrics: {percent} %"
        );
    }
}
