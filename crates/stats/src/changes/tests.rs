//! Rules for changes, each on a series that shows it.

use super::*;
use assay_model::rng::SplitMix64;

/// A series of runs with three trials each, around these centres.
fn series(centres: &[f64]) -> RunSeries {
    let point = |(index, centre): (usize, &f64)| RunPoint {
        run_id: format!("run{index}"),
        started_unix_ms: 1_000 * index as u64,
        trials: [0.99, 1.0, 1.01].map(|factor| factor * centre).to_vec(),
    };
    RunSeries {
        points: centres.iter().enumerate().map(point).collect(),
        better: Better::Higher,
        tail: false,
        margin: None,
    }
}

/// `count` values around a level, off it by up to 0.5 %.
fn around(level: f64, count: usize) -> Vec<f64> {
    let off = [0.2, -0.4, 0.1, 0.5, -0.2, -0.5, 0.3, 0.0];
    let off = off.iter().cycle().take(count);
    off.map(|off| level * (1.0 + off / 100.0)).collect()
}

fn indices(series: &RunSeries, opinions: &[Opinion]) -> Vec<usize> {
    let found = find(series, opinions, &Rules::default());
    found.iter().map(|change| change.index).collect()
}

#[test]
fn a_step_is_told_with_all_that_a_screen_shows() {
    let series = series(&[around(100.0, 20), around(92.0, 10)].concat());
    let found = find(&series, &[], &Rules::default());
    let [change] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((change.index, change.run_id.as_str()), (20, "run20"));
    assert_eq!(
        (change.before_run_id.as_str(), change.started_unix_ms),
        ("run19", 20_000)
    );
    assert_eq!((change.before.runs, change.after.runs), (20, 10));
    assert!((change.before.centre - 100.0).abs() < 0.2 && (change.after.centre - 92.0).abs() < 0.2);
    let effect = change.effect.unwrap();
    let (low, high) = effect.interval.unwrap();
    assert!(low < -7.9 && -8.1 < high && high < -7.0, "{effect:?}");
    assert!(matches!(change.verdict, Verdict::Slower(_)) && change.p < 0.001);
}

/// A single run that is far off is no change, nor are two.
#[test]
fn outliers_are_no_changes() {
    let mut centres = around(100.0, 40);
    centres[12] = 60.0;
    centres[25] = 140.0;
    centres[39] = 50.0;
    assert_eq!(indices(&series(&centres), &[]), [0; 0]);
    centres[24] = 140.0;
    centres[38] = 50.0;
    assert_eq!(indices(&series(&centres), &[]), [0; 0]);
}

/// Night 9 is slower by 8 %: that is told when night 11 has been measured, not sooner.
#[test]
fn three_runs_show_a_change_at_the_edge_and_two_do_not() {
    let nights = [around(100.0, 8), around(92.0, 3)].concat();
    assert_eq!(indices(&series(&nights), &[]), [8]);
    assert_eq!(indices(&series(&nights[..10]), &[]), [0; 0]);
}

#[test]
fn a_change_within_the_margin_is_none() {
    let mut series = series(&[around(100.0, 20), around(96.0, 20)].concat());
    assert_eq!(indices(&series, &[]), [20]);
    series.margin = Some(0.05);
    assert_eq!(indices(&series, &[]), [0; 0]);
}

#[test]
fn a_drift_is_no_change() {
    let level = |at: usize| 100.0 + 0.2 * at as f64;
    let drift: Vec<f64> = around(1.0, 60)
        .iter()
        .enumerate()
        .map(|(at, off)| off * level(at))
        .collect();
    assert!(!suspects(&drift, &Windows::default()).is_empty());
    assert_eq!(indices(&series(&drift), &[]), [0; 0]);
}

#[test]
fn less_is_better_turns_the_word_and_not_the_effect() {
    let mut series = series(&[around(100.0, 20), around(92.0, 10)].concat());
    series.better = Better::Lower;
    let found = find(&series, &[], &Rules::default());
    assert!(matches!(found[0].verdict, Verdict::Faster(_)));
    assert!(found[0].effect.unwrap().percent < -7.0);
}

fn opinion(at: usize, state: OpinionState) -> Opinion {
    Opinion {
        run_id: format!("run{at}"),
        state,
    }
}

/// A mark holds although the place moves a little.
#[test]
fn a_change_that_is_marked_false_is_not_told_again() {
    let series = series(&[around(100.0, 20), around(92.0, 20), around(80.0, 20)].concat());
    assert_eq!(indices(&series, &[]), [20, 40]);
    for at in [20 - JITTER, 20, 20 + JITTER] {
        assert_eq!(indices(&series, &[opinion(at, OpinionState::False)]), [40]);
    }
    assert_eq!(
        indices(&series, &[opinion(10, OpinionState::False)]),
        [20, 40]
    );
}

/// Accepted where nothing else would be found: runs before it are compared with none after it.
#[test]
fn an_accepted_change_begins_a_new_segment() {
    let series = series(&[around(100.0, 20), around(99.0, 20), around(92.0, 20)].concat());
    assert_eq!(indices(&series, &[]), [40]);
    let found = find(
        &series,
        &[opinion(20, OpinionState::Accepted)],
        &Rules::default(),
    );
    let told: Vec<_> = found.iter().map(|c| (c.index, c.accepted)).collect();
    assert_eq!(told, [(20, true), (40, false)]);
    assert!((found[1].before.centre - 99.0).abs() < 0.2);
}

#[test]
fn a_tail_changes_only_with_another_metric_of_its_job() {
    let step = |at| series(&[around(100.0, at), around(150.0, 40 - at)].concat());
    let tail = |at| RunSeries {
        tail: true,
        better: Better::Lower,
        ..step(at)
    };
    let found = |all: Vec<RunSeries>| {
        let all: Vec<_> = all.into_iter().map(|series| (series, Vec::new())).collect();
        let found = find_in_job(&all, &Rules::default()).into_iter();
        found.map(|changes| changes.len()).collect::<Vec<_>>()
    };
    assert_eq!(found(vec![tail(20), tail(20)]), [0, 0]);
    assert_eq!(found(vec![step(20), tail(20)]), [1, 1]);
    assert_eq!(found(vec![tail(20 + JITTER), step(20)]), [1, 1]);
    assert_eq!(found(vec![tail(30), step(20)]), [0, 1]);
}

/// Damaged points are passed over; places are those of the given points.
#[test]
fn runs_without_a_figure_are_passed_over() {
    let mut series = series(&[around(100.0, 20), around(92.0, 20)].concat());
    for (at, trials) in [
        (0, vec![]),
        (5, vec![f64::NAN]),
        (9, vec![0.0, 1.0]),
        (30, vec![-1.0]),
    ] {
        series.points[at].trials = trials;
    }
    assert_eq!(indices(&series, &[]), [20]);
    series.points.truncate(1);
    assert_eq!(indices(&series, &[]), [0; 0]);
    series.points.clear();
    assert_eq!(indices(&series, &[]), [0; 0]);
}

/// The example of Otava's documentation, of one figure a run.
#[test]
fn the_example_of_otava_has_its_change() {
    let of = |values: [f64; 10]| {
        let mut series = series(&values);
        for (point, value) in series.points.iter_mut().zip(values) {
            point.trials = vec![value];
        }
        indices(&series, &[])
    };
    let second = [
        10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03,
    ];
    assert_eq!(of(second), [6]);
    let first = [
        154_023.0, 138_455.0, 143_112.0, 149_190.0, 132_098.0, 151_344.0, 155_145.0, 148_889.0,
        149_466.0, 148_209.0,
    ];
    assert_eq!(of(first), [0; 0]);
}

/// The first run of a new level is a little off the next ones, which hardly differ.
#[test]
fn the_first_run_of_a_new_level_is_no_outlier() {
    let mut centres = [vec![100.0; 8], vec![92.0; 8]].concat();
    for (index, centre) in centres.iter_mut().enumerate() {
        *centre *= 1.0 + 0.000_1 * (index % 3) as f64;
    }
    centres[8] = 91.8;
    assert_eq!(indices(&series(&centres), &[]), [8]);
}

/// A change that was told is not taken back because the next nights look the same.
#[test]
fn a_change_stays_as_runs_are_added() {
    for before in [6, 7, 8, 12] {
        for after in 4..=16 {
            let runs = [around(100.0, before), around(78.0, after)].concat();
            assert_eq!(indices(&series(&runs), &[]), [before], "{before}, {after}");
        }
    }
}

/// The definition: means over all pairs, for each cut and each end.
fn by_definition(values: &[f64]) -> Cut {
    let pairs = |part: &[f64]| {
        let mut sum = 0.0;
        for (i, a) in part.iter().enumerate() {
            sum += part[..i].iter().map(|b| (a - b).abs()).sum::<f64>();
        }
        sum * weight(1.0, part.len() as f64, part.len() as f64)
    };
    let mut best = Cut {
        at: 0,
        divergence: f64::NEG_INFINITY,
    };
    for at in 1..values.len() {
        for until in at + 1..=values.len() {
            let (left, right) = (&values[..at], &values[at..until]);
            let (n, m) = (left.len() as f64, right.len() as f64);
            let cross = left
                .iter()
                .flat_map(|a| right.iter().map(move |b| (a - b).abs()));
            let energy = 2.0 * cross.sum::<f64>() / (n * m) - pairs(left) - pairs(right);
            let divergence = n * m / (n + m) * energy;
            if divergence > best.divergence {
                best = Cut { at, divergence };
            }
        }
    }
    best
}

#[test]
fn sums_that_grow_give_what_the_definition_gives() {
    let mut random = SplitMix64::new(7);
    for length in 2..40 {
        let values: Vec<f64> = (0..length)
            .map(|i| random.fraction() + if i > 9 { 0.2 } else { 0.0 })
            .collect();
        let (found, expected) = (best_cut(&values).unwrap(), by_definition(&values));
        assert_eq!(found.at, expected.at, "{values:?}");
        assert!((found.divergence / expected.divergence - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_step_is_cut_where_it_is() {
    let values = [1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9];
    assert_eq!(best_cut(&values).unwrap().at, 4);
    assert_eq!(best_cut(&[1.0]), None);
    assert_eq!(best_cut(&[]), None);
}
