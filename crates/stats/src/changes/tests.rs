//! Rules for changes, each on a series that shows it.

use super::*;

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
