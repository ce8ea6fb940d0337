//! `cargo xtask calibrate`: checks that simulated comparisons with a known truth keep the error
//! rates that verdicts promise.

pub mod changes;
pub mod devices;
pub mod traits;

use crate::run::{Limits, in_release};
use anyhow::{Result, bail};
use assay_model::figures::{Better, Figure, LEVEL, Sample};
use assay_model::rng::SplitMix64;
use assay_stats::distributions::MannWhitney;
use assay_stats::verdict::Options;
use assay_stats::verdict::compare::compare_figures;
use assay_stats::verdict::power::{POWER as POWER_OF_VERDICTS, table};
use assay_stats::verdict::simulate::{
    Apart, Baseline, Design, Noise, Ordered, Scene, Tally, Way, promise_kept, promised_of_runs,
    simulate,
};
use assay_stats::verdict::units::PLANS;
use std::thread;
use std::time::{Duration, Instant};

const REPLICATES: u32 = 20_000;
const SEED: u64 = 20_220_805;

/// Limits, in percent.
const MAX_FALSE: f64 = 6.0;
const MAX_EQUIVALENT_AT_MARGIN: f64 = 6.0;
const MAX_WRONG_SIGN: f64 = 1.0;
const MIN_COVERAGE: f64 = 94.0;
const MAX_OFF_POWER: f64 = 2.0;
const MAX_OFF_PROMISE: f64 = 3.0;
const MAX_OFF_PROMISE_OF_RUNS: f64 = 5.0;
/// Comparisons for each promise of power. Sampling error at 4,000 is 0.6 %.
const PROMISES: u32 = 4_000;

/// Comparisons of sides with unequal spreads. Sampling error at 6,000 is 0.3 %.
const UNEQUAL: u32 = 6_000;
/// Four trials, or ranks of eight, do not detect unequal spreads reliably.
const MAX_FALSE_UNEQUAL: f64 = 7.0;

/// Tables of several conditions. Sampling error at 2,000 is 0.5 %.
const TABLES: u32 = 2_000;

const MAX_MANY_METRICS: Duration = Duration::from_millis(200);

/// Scene with two conditions in rounds of independent trials, under a drift of 10 %.
const SCENE: Scene = Scene {
    cv: 0.05,
    truth: 0.0,
    noise: Noise::Independent,
    drift: 0.1,
    n: 4,
    design: Design::Rounds(2),
    method: Way::Verdict,
    margin: 0.05,
};

/// Runs all simulations. Returns an error if one misses its limit.
pub fn run() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["calibrate"]);
    }
    let mut limits = Limits::default();
    one_look(&mut limits)?;
    dependent_trials(&mut limits)?;
    several_looks(&mut limits)?;
    table_of_power(&mut limits)?;
    promises_of_power(&mut limits);
    order_of_tables(&mut limits);
    unequal_sides(&mut limits);
    against_a_baseline(&mut limits);
    runs_made_apart(&mut limits);
    one_after_another(&mut limits)?;
    rank_tests_of_three(&mut limits);
    many_metrics(&mut limits);
    limits.end()
}

/// Checks the regular comparison, with and without a drift of 10 %.
fn one_look(limits: &mut Limits) -> Result<()> {
    for (cv, drift) in [(0.02, 0.0), (0.02, 0.1), (0.05, 0.1), (0.10, 0.1)] {
        for n in [4, 6, 8, 10, 20] {
            let scene = |truth| Scene {
                cv,
                truth,
                drift,
                n,
                ..SCENE
            };
            let name = format!(
                "CV {:.0} %, drift {:.0} %, n={n}",
                100.0 * cv,
                100.0 * drift
            );
            at_all_truths(&name, scene, limits)?;
        }
    }
    Ok(())
}

/// Checks comparisons under dependent noise, as storage shows it, for two conditions and for two
/// of four.
fn dependent_trials(limits: &mut Limits) -> Result<()> {
    for noise in [
        Noise::Neighbours(0.3),
        Noise::Neighbours(0.6),
        Noise::Neighbours(0.9),
        Noise::Walk,
        Noise::Step,
        Noise::FirstOfTwo(2.0),
        Noise::Owed(0.5),
        Noise::Owed(1.0),
    ] {
        for design in [Design::Rounds(2), Design::Rounds(4)] {
            for n in [4, 6, 10, 20] {
                let tally = simulated(&Scene {
                    noise,
                    n,
                    design,
                    ..SCENE
                })?;
                let name = format!("{noise:?}, {design:?}, n={n}");
                false_verdicts(&name, tally, limits);
            }
        }
    }
    Ok(())
}

/// Checks plans with interim looks, at a spread for which most reach the last look.
fn several_looks(limits: &mut Limits) -> Result<()> {
    for plan in PLANS {
        for cv in [0.02, 0.05] {
            let scene = |truth| Scene {
                cv,
                truth,
                n: plan.last(),
                design: Design::Looks(plan),
                ..SCENE
            };
            let name = format!("CV {:.0} %, looks {:?}", 100.0 * cv, plan.looks);
            let tally = simulated(&scene(0.0))?;
            false_verdicts(&name, tally, limits);
            at_the_margin(&name, scene, limits)?;
        }
    }
    Ok(())
}

fn at_all_truths(name: &str, scene: impl Fn(f64) -> Scene, limits: &mut Limits) -> Result<()> {
    let same = simulated(&scene(0.0))?;
    false_verdicts(name, same, limits);
    let coverage = same.percent(same.covered);
    limits.check(
        &format!("{name}: coverage"),
        &format!("{coverage:.1} %"),
        coverage >= MIN_COVERAGE,
    );
    at_the_margin(name, scene, limits)
}

fn false_verdicts(name: &str, tally: Tally, limits: &mut Limits) {
    let share = tally.percent(tally.faster + tally.slower);
    limits.check(
        &format!("{name}: false verdicts of A/A"),
        &format!("{share:.1} %"),
        share <= MAX_FALSE,
    );
}

/// Checks a true difference equal to the margin, in both directions.
fn at_the_margin(name: &str, scene: impl Fn(f64) -> Scene, limits: &mut Limits) -> Result<()> {
    for truth in [SCENE.margin, -SCENE.margin] {
        let tally = simulated(&scene(truth))?;
        let name = format!("{name}, true {:+.0} %", 100.0 * truth);
        let equivalent = tally.percent(tally.equivalent);
        limits.check(
            &format!("{name}: equivalent at the margin"),
            &format!("{equivalent:.1} %"),
            equivalent <= MAX_EQUIVALENT_AT_MARGIN,
        );
        let wrong = tally.percent(if truth > 0.0 {
            tally.slower
        } else {
            tally.faster
        });
        limits.check(
            &format!("{name}: wrong sign"),
            &format!("{wrong:.2} %"),
            wrong <= MAX_WRONG_SIGN,
        );
    }
    Ok(())
}

/// Percentages of the verdicts faster, slower, equivalent and no conclusion.
type Shares = [f64; 4];

/// CV, trials a side, true difference and expected shares, by least squares with position under a
/// drift of 10 %. The shares for a margin of 5 % in both directions come from a simulation of this
/// method.
const POWER: [(f64, u32, f64, Shares); 15] = [
    (0.02, 4, 0.00, [0.9, 1.0, 80.0, 18.0]),
    (0.02, 4, 0.05, [73.0, 0.0, 5.0, 22.0]),
    (0.02, 4, 0.10, [100.0, 0.0, 0.0, 0.0]),
    (0.02, 6, 0.00, [0.5, 0.3, 97.0, 1.7]),
    (0.02, 6, 0.05, [93.0, 0.0, 4.9, 2.7]),
    (0.02, 6, 0.10, [100.0, 0.0, 0.0, 0.0]),
    (0.05, 6, 0.00, [2.6, 2.6, 9.6, 85.0]),
    (0.05, 6, 0.05, [33.0, 0.0, 2.5, 64.0]),
    (0.05, 6, 0.10, [84.0, 0.0, 0.1, 16.0]),
    (0.05, 10, 0.00, [2.3, 2.5, 39.0, 56.0]),
    (0.05, 10, 0.05, [54.0, 0.0, 4.6, 41.0]),
    (0.05, 10, 0.10, [98.0, 0.0, 0.0, 2.0]),
    (0.05, 20, 0.00, [2.1, 2.3, 86.0, 10.0]),
    (0.05, 20, 0.05, [85.0, 0.0, 5.1, 10.0]),
    (0.05, 20, 0.10, [100.0, 0.0, 0.0, 0.0]),
];

fn table_of_power(limits: &mut Limits) -> Result<()> {
    for (cv, n, truth, expected) in POWER {
        let tally = simulated(&Scene {
            cv,
            truth,
            n,
            method: Way::Means,
            ..SCENE
        })?;
        let counts = [tally.faster, tally.slower, tally.equivalent, tally.none];
        let found = counts.map(|count| tally.percent(count));
        let mut off = found
            .iter()
            .zip(expected)
            .map(|(found, expected)| (found - expected).abs());
        let shown = found.map(|share| format!("{share:.1}")).join("/");
        let name = format!("CV {:.0} %, n={n}, true {:.0} %", 100.0 * cv, 100.0 * truth);
        limits.check(
            &format!("{name}: faster/slower/equivalent/none"),
            &format!("{shown} (table {expected:?})"),
            off.all(|off| off <= MAX_OFF_POWER),
        );
    }
    Ok(())
}

/// Checks the promises of `assay model power` against the judge that compares.
fn promises_of_power(limits: &mut Limits) {
    for n in [3, 4, 5, 6, 8, 10, 20] {
        for cv in [0.01, 0.02, 0.05, 0.10] {
            let rows = table(cv, LEVEL, 0.05, &[n]);
            let Some(percent) = rows.first().and_then(|row| row.difference_percent) else {
                limits.check(&format!("power at n={n}"), "none", false);
                continue;
            };
            let reached = promise_kept(cv, n, percent / 100.0, PROMISES, SEED);
            let promised = 100.0 * POWER_OF_VERDICTS;
            limits.check(
                &format!(
                    "CV {:.0} %, n={n}: power promises {promised:.0} % at a true {percent:.1} %",
                    100.0 * cv
                ),
                &format!("{PROMISES} simulations reach {reached:.1} %"),
                (reached - promised).abs() <= MAX_OFF_PROMISE,
            );
        }
    }
}

/// Checks how often a difference is found under a drift of 10 %, with the order of trials that a
/// table gives.
fn order_of_tables(limits: &mut Limits) {
    for (order, truth, fewest, most) in [
        ("AAAAAABBBBBB", 0.0, 0, 6),
        ("ABBABAABABBA", 0.0, 0, 6),
        ("AABBAABBAABB", 0.0, 0, 6),
        ("ABBABAABABBA", 0.1, 80, 100),
    ] {
        let table = Ordered {
            order,
            positions: &(0..order.len())
                .map(|place| place as f64)
                .collect::<Vec<_>>(),
            truth,
            cv: [0.02; 2],
            drift: 0.1,
        };
        let found = table.found(1_000, SEED) / 10;
        limits.check(
            &format!(
                "{order}, drift 10 %, true {:.0} %: verdicts of 100",
                100.0 * truth
            ),
            &found.to_string(),
            (fewest..=most).contains(&found),
        );
    }
}

/// Checks sides of unequal sizes and spreads, interleaved under a drift of 10 % and in an unknown
/// order.
fn unequal_sides(limits: &mut Limits) {
    for (n_a, n_b) in [
        (4, 4),
        (6, 6),
        (8, 8),
        (10, 10),
        (20, 20),
        (4, 8),
        (4, 20),
        (6, 8),
        (6, 20),
        (10, 20),
    ] {
        let order = spread(n_a, n_b);
        for (drift, told) in [(0.1, true), (0.0, false)] {
            let places = (0..order.len()).filter(|_| told).map(|place| place as f64);
            let positions: Vec<f64> = places.collect();
            for cv in [[0.5, 0.5], [0.5, 0.25], [0.25, 0.5], [0.5, 0.1], [0.1, 0.5]] {
                let table = Ordered {
                    order: &order,
                    positions: &positions,
                    truth: 0.0,
                    cv,
                    drift,
                };
                let share = 100.0 * table.found(UNEQUAL, SEED) as f64 / f64::from(UNEQUAL);
                let order = if told { "in turn" } else { "order unknown" };
                limits.check(
                    &format!("{n_a} and {n_b} trials, CV {cv:?}, {order}: false verdicts of A/A"),
                    &format!("{share:.1} %"),
                    share <= MAX_FALSE_UNEQUAL,
                );
            }
        }
    }
}

/// Checks tables of equal conditions, and the share of true differences of 8 % at a CV of 2 % that
/// is found.
fn against_a_baseline(limits: &mut Limits) {
    for (conditions, metrics, n, fewest) in [
        (4, 7, 3, 20.0),
        (4, 7, 4, 60.0),
        (4, 7, 5, 85.0),
        // From six trials on, rank tests are used, whose smallest p value is only just below
        // Holm's level.
        (4, 7, 6, 80.0),
        (9, 7, 3, 20.0),
        (2, 7, 4, 85.0),
    ] {
        let name = format!("{conditions} conditions, {metrics} metrics, n={n}");
        let scene = Baseline {
            conditions,
            metrics,
            n,
            cv: 0.1,
            truth: 0.0,
            noisy: None,
        };
        for noisy in [None, Some(0), Some(1)] {
            let [wrong, _] = Baseline { noisy, ..scene }.found(TABLES, SEED);
            limits.check(
                &format!(
                    "{name}, noisy {noisy:?}: tables of A/A with a difference from the baseline"
                ),
                &format!("{wrong:.1} %"),
                wrong <= MAX_FALSE_UNEQUAL,
            );
        }
        let (cv, truth) = (0.02, 0.08);
        let [_, right] = Baseline { cv, truth, ..scene }.found(TABLES / 4, SEED);
        limits.check(
            &format!("{name}: found of a true 8 % at CV 2 %"),
            &format!("{right:.0} %"),
            right >= fewest,
        );
    }
}

/// Checks runs of one device made at different times: false verdicts of equal sides on any of
/// seven metrics, and how often the difference that `assay model power` promises for one metric is
/// found.
fn runs_made_apart(limits: &mut Limits) {
    for runs in [1, 2, 3, 6] {
        for earlier in [0, 4, 20] {
            for (trials, within, between) in [(4, 0.06, 0.05), (16, 0.06, 0.05), (4, 0.02, 0.041)] {
                let scene = Apart {
                    runs: [runs; 2],
                    trials,
                    within,
                    between,
                    earlier,
                    metrics: 7,
                    truth: 0.0,
                };
                let name = format!(
                    "{runs} runs a side of {trials} trials at CV {within}, {earlier} earlier"
                );
                let [_, wrong] = scene.found(TABLES, SEED);
                limits.check(
                    &format!("{name}: false verdicts of A/A"),
                    &format!("{wrong:.1} %"),
                    wrong <= MAX_FALSE,
                );
                let truth = promised_of_runs(&scene);
                let [right, _] = Apart {
                    metrics: 1,
                    truth,
                    ..scene
                }
                .found(TABLES, SEED);
                limits.check(
                    &format!("{name}: found of the promised {:.1} %", 100.0 * truth),
                    &format!("{right:.0} %"),
                    (right - 100.0 * POWER_OF_VERDICTS).abs() <= MAX_OFF_PROMISE_OF_RUNS,
                );
            }
        }
    }
}

/// Order of trials with those of A spread among those of B as evenly as possible.
fn spread(n_a: usize, n_b: usize) -> String {
    let n = n_a + n_b;
    let is_a = |place: usize| (place + 1) * n_a / n > place * n_a / n;
    match n_a == n_b {
        true => "ABBABAAB".chars().cycle().take(n).collect(),
        false => (0..n)
            .map(|place| if is_a(place) { 'A' } else { 'B' })
            .collect(),
    }
}

/// Checks the benefit of interleaving: without it, nearly every comparison finds a difference.
fn one_after_another(limits: &mut Limits) -> Result<()> {
    for (n, expected) in [(3, 40.0), (5, 88.0), (10, 100.0)] {
        let tally = simulated(&Scene {
            cv: 0.02,
            drift: -0.1,
            n,
            design: Design::OneAfterAnother,
            method: Way::Means,
            ..SCENE
        })?;
        // Counts intervals that miss the truth, regardless of the verdict.
        let wrong = 100.0 - tally.percent(tally.covered);
        limits.check(
            &format!("A...A B...B, n={n}: false differences"),
            &format!("{wrong:.1} % (table {expected} %)"),
            (wrong - expected).abs() <= MAX_OFF_POWER,
        );
    }
    Ok(())
}

fn rank_tests_of_three(limits: &mut Limits) {
    let p = MannWhitney::new(3, 3).smallest_p();
    limits.check(
        "smallest p value of ranks, 3 against 3",
        &format!("{p:.3}"),
        p > 0.05,
    );
}

/// Checks the time to compare two runs with 1000 metrics of 20 trials a side.
fn many_metrics(limits: &mut Limits) {
    let side = |seed| {
        let mut rng = SplitMix64::new(seed);
        (0..1000).map(|i| figure(i, &mut rng)).collect::<Vec<_>>()
    };
    let (a, b) = (side(SEED), side(SEED + 1));
    let start = Instant::now();
    let lines = compare_figures(&a, &b, &Options::default()).lines.len();
    let took = start.elapsed();
    limits.check(
        &format!("comparing {lines} metrics of 20 trials"),
        &format!("{} ms", took.as_millis()),
        took <= MAX_MANY_METRICS,
    );
}

fn figure(number: u32, rng: &mut SplitMix64) -> Figure {
    Figure {
        condition: String::new(),
        metric: format!("metric {number}"),
        unit: "MB/s".to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample: Sample::Values {
            values: (0..20).map(|_| 100.0 + 10.0 * rng.fraction()).collect(),
            positions: Vec::new(),
        },
        measured: None,
        waited: None,
    }
}

/// Simulates a scene, half of the replicates on each of two threads.
fn simulated(scene: &Scene) -> Result<Tally> {
    let half = |seed| simulate(scene, REPLICATES / 2, seed);
    let halves = thread::scope(|scope| {
        let other = scope.spawn(|| half(SEED + 1));
        let own = half(SEED);
        other.join().map(|other| own.plus(other))
    });
    match halves {
        Ok(tally) => Ok(tally),
        Err(_) => bail!("a simulation panicked"),
    }
}
