//! The tables of the method, and agreement of verdicts: that of a ranking with that of a
//! comparison, the interval beside a verdict with its word, and both of a quantity that is there in
//! two units.

mod hard;
mod tables;

use super::*;
use crate::verdict::compare::compare_figures;
use crate::verdict::judge::Qualification;
use crate::verdict::ranking::{Ranking, rank_figures};
use crate::verdict::simulate::Normal;
use crate::verdict::units::{Plan, Standing};
use assay_model::figures::{Better, Change, Figure, Sample, Side, Verdict};
use assay_model::plan::{rounds, turns};
use assay_model::rng::SplitMix64;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A figure of a benchmark that prints mean and deviation, or of trials.
fn figure(condition: &str, metric: &str, unit: &str, sample: Sample) -> Figure {
    Figure {
        condition: condition.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample,
        measured: None,
        waited: None,
    }
}

fn of_values(values: &[f64]) -> Figure {
    ordered(values, &[])
}

fn ordered(values: &[f64], positions: &[f64]) -> Figure {
    let sample = Sample::Values {
        values: values.to_vec(),
        positions: positions.to_vec(),
    };
    figure("", "bw", "MB/s", sample)
}

#[test]
fn what_is_beyond_all_numbers_is_absent() {
    let found = change(0.0, Some((-0.1, 1e4)), Better::Higher).unwrap();
    assert_eq!((found.percent, found.interval), (0.0, None));
    assert_eq!(change(1e4, None, Better::Higher), None);
    let small = change(1.1f64.ln(), Some((0.0, 1.2f64.ln())), Better::Higher).unwrap();
    assert!((small.percent - 10.0).abs() < 1e-9);
    assert!((small.interval.unwrap().1 - 20.0).abs() < 1e-9);
}

/// 201 us to 1.46 ms is +626 %, however bad that is.
#[test]
fn a_change_is_that_of_the_quantity() {
    let d = -(1_460.0f64 / 201.0).ln();
    let interval = Some((d - 0.1, d + 0.2));
    let time = change(d, interval, Better::Lower).unwrap();
    assert!((time.percent - 626.4).abs() < 0.1, "{time:?}");
    let (low, high) = time.interval.unwrap();
    assert!(low < time.percent && time.percent < high, "{time:?}");
    assert!((high / 100.0).ln_1p() - time.log() < 0.100_001);
    let rate = change(d, interval, Better::Higher).unwrap();
    assert!((rate.percent + 86.2).abs() < 0.1, "{rate:?}");
}

fn near(found: &[Adjusted], truth: &[f64]) {
    for (found, truth) in found.iter().zip(truth) {
        assert!((found.p - truth).abs() < 1e-12, "{} {truth}", found.p);
    }
}

/// As R's `p.adjust` gives them.
#[test]
fn corrected_values_are_those_of_r() {
    let p = [0.01, 0.04, 0.03, 0.005, 0.5];
    near(&holm(&p, 0.05), &[0.04, 0.09, 0.09, 0.025, 0.5]);
    near(
        &benjamini_hochberg(&p, 0.1),
        &[0.025, 0.05, 0.05, 0.025, 0.5],
    );
    assert!(holm(&[], 0.05).is_empty() && benjamini_hochberg(&[], 0.1).is_empty());
}

/// The second would pass alone.
#[test]
fn nothing_is_found_after_the_first_that_fails() {
    let found = holm(&[0.03, 0.03], 0.05);
    assert!(
        found
            .iter()
            .all(|adjusted| (adjusted.level - 0.025).abs() < 1e-12)
    );
}

proptest! {
    #[test]
    fn level_and_corrected_value_decide_alike(p in prop::collection::vec(prop_oneof![0.0..0.06, 0.0..1.0], 1..12)) {
        for (adjusted, alpha) in [(holm(&p, 0.05), 0.05), (benjamini_hochberg(&p, 0.1), 0.1)] {
            for (raw, adjusted) in p.iter().zip(&adjusted) {
                prop_assert_eq!(*raw <= adjusted.level, adjusted.p <= alpha);
            }
        }
    }
}

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
                ..ordered(values, positions)
            });
        }
    }
    figures
}

fn ranked(figures: &[Figure], baseline: Option<&str>) -> Ranking {
    rank_figures(figures, baseline, &Options::default()).expect("several conditions")
}

/// Each pair's word in the ranking and in the comparison of the two.
fn words_of_pairs(figures: &[Figure], found: &Ranking) -> Vec<[&'static str; 2]> {
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
            for [ranked, compared] in words_of_pairs(&figures, &ranked(&figures, None)) {
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
            for [ranked, compared] in words_of_pairs(&figures, &ranked(&figures, baseline)) {
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

/// Four trials each, with variances that are moderated by those of the others.
#[test]
fn against_a_baseline_few_trials_find_differences_and_alike_conditions_none() {
    let called = |step: f64, tables: u64| -> usize {
        let found = (0..tables).map(|seed| ranked(&session(4, 4, 3, step, seed), Some("c0")));
        let of_table = |ranking: Ranking| {
            let pairs = ranking.metrics.iter().flat_map(|metric| &metric.pairs);
            let differ = |verdict: &Verdict| matches!(verdict, Verdict::Faster(_));
            let slower = |verdict: &Verdict| matches!(verdict, Verdict::Slower(_));
            let (mut n, mut any) = (0, 0);
            for pair in pairs {
                n += usize::from(differ(&pair.verdict));
                any |= usize::from(differ(&pair.verdict) || slower(&pair.verdict));
            }
            if step > 0.0 { n } else { any }
        };
        found.map(of_table).sum()
    };
    let (alike, found) = (called(0.0, 300), called(0.08, 40));
    assert!(alike <= 30, "{alike} of 300");
    assert!(found >= 150, "{found} of 360");
}

/// The word that an interval alone gives, within a margin in percent.
fn word_of(interval: (f64, f64), better: Better, margin: f64) -> &'static str {
    let (low, high) = interval;
    match (low, high) {
        _ if -margin <= low && high <= margin => "equivalent",
        _ if (low > 0.0 && better == Better::Higher) || (high < 0.0 && better == Better::Lower) => {
            "faster"
        }
        _ if low > 0.0 || high < 0.0 => "slower",
        _ => "no conclusion",
    }
}

/// The qualification that an interval alone gives.
fn qualification_of((low, high): (f64, f64), better: Better, margin: f64) -> Qualification {
    let [worse, best] = match better {
        Better::Higher => [low, high],
        Better::Lower => [-high, -low],
    };
    match (worse, best) {
        _ if worse > -margin => Qualification::Pass,
        _ if best < -margin => Qualification::Fail,
        _ => Qualification::Inconclusive,
    }
}

/// Returns true if a reason may withhold the verdict, beside which no interval stands then.
fn is_withheld(notes: &[Note]) -> bool {
    let reason = |note: &Note| {
        note.is_on_session()
            || matches!(
                note,
                Note::TooFew(..)
                    | Note::NoEstimate(_)
                    | Note::DependsOnTrial(..)
                    | Note::TradeOff(_)
                    | Note::OnlyTogether(_)
            )
    };
    notes.iter().any(reason)
}

fn check(
    change: Option<Change>,
    word: &str,
    expected: impl Fn((f64, f64)) -> String,
    notes: &[Note],
) {
    match change.and_then(|change| change.interval) {
        Some(interval) => assert_eq!(word, expected(interval), "{change:?} {notes:?}"),
        None => assert!(
            ["no conclusion", "inconclusive"].contains(&word),
            "{word} without an interval: {notes:?}"
        ),
    }
}

/// Sides of random numbers, spreads, orders and differences; each rate is there in two units.
fn sides(normal: &mut Normal, better: Better) -> [Vec<Figure>; 2] {
    let numbers =
        [0, 1].map(|_| usize::try_from(3 + normal.rng.next_u64() % 10).expect("a small number"));
    let mut pick = |least: f64, most: f64| least + (most - least) * normal.rng.fraction();
    let (cv, truth, drift) = (pick(0.002, 0.1), pick(-0.15, 0.15), pick(-0.1, 0.1));
    let in_turn = pick(0.0, 1.0) < 0.5;
    let mut of = |side: usize, metric: &str| {
        let places: Vec<f64> = (0..numbers[side])
            .map(|trial| (2 * trial + side) as f64)
            .collect();
        let values: Vec<f64> = places
            .iter()
            .map(|t| {
                let far = if normal.rng.fraction() < 0.03 {
                    1.0
                } else {
                    0.0
                };
                let y = truth * side as f64 + 0.05 * drift * t + cv * normal.next() + far;
                1e5 * y.exp()
            })
            .collect();
        let rounded = values.iter().map(|iops| (iops * 4.096).round()).collect();
        let figure = |metric: String, values: Vec<f64>, primary: bool| Figure {
            metric,
            primary,
            better: Some(better),
            sample: Sample::Values {
                values,
                positions: if in_turn { places.clone() } else { Vec::new() },
            },
            ..of_values(&[])
        };
        [
            figure(format!("{metric}: kB/s"), rounded, false),
            figure(format!("{metric}: IOPS"), values, true),
        ]
    };
    let mut all = |side: usize| METRICS.iter().flat_map(|metric| of(side, metric)).collect();
    [all(0), all(1)]
}

/// Asked for a verdict or a qualification, of rates and of times, at several margins.
#[test]
fn the_interval_beside_a_verdict_is_the_one_that_decided() {
    let mut normal = Normal::new(3);
    let mut words: BTreeMap<&str, u32> = BTreeMap::new();
    for round in 0..1_500 {
        let better = [Better::Higher, Better::Lower][round % 2];
        let margin = [0.02, 0.05, 0.2][round % 3];
        let [a, b] = sides(&mut normal, better);
        for qualify in [false, true] {
            let options = Options {
                margin,
                qualify,
                ..Options::default()
            };
            let found = compare_figures(&a, &b, &options);
            for row in found.lines.iter().chain(&found.composite) {
                let percent = 100.0 * margin;
                let better = row.better.expect("a direction");
                if qualify {
                    let expected = |i| qualification_of(i, better, percent).word().to_owned();
                    check(row.change, row.qualification.word(), expected, &row.notes);
                } else {
                    let expected = |i| word_of(i, better, percent).to_owned();
                    check(row.change, row.verdict.word(), expected, &row.notes);
                    *words.entry(row.verdict.word()).or_default() += 1;
                }
                if !qualify {
                    let shown = row.change.is_some_and(|change| change.interval.is_some());
                    assert!(shown || is_withheld(&row.notes), "{row:?}");
                }
            }
        }
    }
    assert!(
        words.len() == 4 && words.values().all(|n| *n > 300),
        "{words:?}"
    );
}

/// Also where one of them decides and the other is exploratory.
#[test]
fn a_quantity_in_two_units_has_one_verdict() {
    let mut normal = Normal::new(4);
    let judgement = |row: &VerdictRow| {
        let notes = row.notes.clone();
        (
            row.verdict.clone(),
            row.p_adjusted,
            row.qualification,
            notes,
        )
    };
    for _ in 0..500 {
        let [a, b] = sides(&mut normal, Better::Higher);
        let found = compare_figures(&a, &b, &Options::default());
        for pair in found.lines.chunks(2) {
            assert_eq!(judgement(&pair[0]), judgement(&pair[1]));
            assert!(pair[0].a != pair[1].a && !pair[0].primary && pair[1].primary);
        }
    }
}

/// In tables of all pairs and against a baseline.
#[test]
fn letters_and_intervals_of_a_ranking_agree_with_its_verdicts() {
    let mut different = 0;
    for seed in 0..12 {
        for (n, baseline) in [(4, None), (6, None), (4, Some("c1")), (6, Some("c1"))] {
            let figures = session(4, n, 3, 0.05, seed);
            for metric in ranked(&figures, baseline).metrics {
                for pair in &metric.pairs {
                    let expected = |i| word_of(i, Better::Higher, 5.0).to_owned();
                    check(pair.change, pair.verdict.word(), expected, &pair.notes);
                    let letters = |name: &str| {
                        let mut conditions = metric.conditions.iter();
                        let found = conditions.find(|c| c.condition == name);
                        found.and_then(|c| c.letters.clone()).unwrap_or_default()
                    };
                    let (a, b) = (letters(&pair.a), letters(&pair.b));
                    let differs = matches!(pair.verdict, Verdict::Faster(_) | Verdict::Slower(_));
                    let tiny = pair.notes.contains(&Note::TinyDifference);
                    assert_eq!(
                        differs || tiny,
                        !a.chars().any(|c| b.contains(c)),
                        "{pair:?}"
                    );
                    different += u32::from(differs);
                }
            }
        }
    }
    assert!(different > 50, "{different}");
}

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
fn drifting_trial(place: usize, of: usize, normal: &mut Normal) -> (f64, f64) {
    let place = place as f64;
    let drift = DRIFT * place / of as f64;
    (100.0 * (drift + CV * normal.next()).exp(), place)
}

/// The word on two alike sides at the look that settles it, or at the last.
fn compared_after_looks(looks: &[u32], options: &Options, seed: u64) -> Vec<Verdict> {
    let mut normal = Normal::new(seed);
    let most = *looks.last().expect("a look");
    let order = turns(most, &mut SplitMix64::new(seed));
    let mut sides = [Trials::new(), Trials::new()];
    for (place, side) in order.iter().enumerate() {
        sides[*side as usize].push(drifting_trial(place, order.len(), &mut normal));
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
fn ranked_after_looks(looks: &[u32], options: &Options, seed: u64) -> Vec<Verdict> {
    let mut normal = Normal::new(seed);
    let most = *looks.last().expect("a look");
    let order = rounds(1, 3, most, seed);
    let mut conditions = [Trials::new(), Trials::new(), Trials::new()];
    for (place, slot) in order.iter().enumerate().filter(|(_, slot)| slot.trial > 0) {
        let condition = slot.condition.expect("one of them");
        conditions[condition].push(drifting_trial(place, order.len(), &mut normal));
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
        for judged in [compared_after_looks as Judged, ranked_after_looks] {
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
    let found = false_ones(compared_after_looks, &every, 0.05);
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
