//! Detectors on series that are made up.

use super::series::{Answers, Series, SeriesPoint};
use super::*;

/// Three trials around each value, one of a thousand apart.
fn series(points: &[(f64, f64)]) -> Series {
    let point = |(x, us): &(f64, f64)| SeriesPoint {
        x: *x,
        us: [0.999, 1.0, 1.001].map(|factor| us * factor).into(),
    };
    Series(points.iter().map(point).collect())
}

fn powers(from: i32, to: i32, us: impl Fn(f64) -> f64) -> Series {
    let points: Vec<(f64, f64)> = (from..=to)
        .map(|power| 2.0_f64.powi(power))
        .map(|x| (x, us(x)))
        .collect();
    series(&points)
}

#[test]
fn costs_of_a_line_with_a_ramp_are_found() {
    let found = find_costs(&powers(9, 19, |bytes| {
        let blocks = bytes / 512.0;
        150.0 + 1.41 * blocks + 2.0 * blocks.min(32.0)
    }));
    let Ok(TraitFinding::Costs {
        command_us,
        block_us,
        ramp,
        ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert!((command_us.0 - 150.0).abs() < 2.0, "{command_us:?}");
    assert!((block_us.0 - 1.41).abs() < 0.02, "{block_us:?}");
    assert_eq!(ramp.map(|(_, blocks)| blocks), Some(32));
}

#[test]
fn trials_that_were_disturbed_do_not_change_the_costs() {
    let mut all = powers(9, 19, |bytes| 400.0 + 90.0 * bytes / 512.0);
    for (number, point) in all.0.iter_mut().enumerate() {
        let us = point.mean();
        // Each fourth trial took up to six times as long, elsewhere at each size.
        let factor = |trial: usize| match (trial + number).is_multiple_of(4) {
            true => 2.0 + number as f64 / 3.0,
            false => 1.0 + trial as f64 * 0.002,
        };
        point.us = (0..12).map(|trial| us * factor(trial)).collect();
    }
    let found = find_costs(&all);
    let Ok(TraitFinding::Costs {
        command_us,
        block_us,
        ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert!((command_us.0 - 400.0).abs() < 8.0, "{command_us:?}");
    assert!((block_us.0 - 90.0).abs() < 2.0, "{block_us:?}");
}

#[test]
fn costs_that_are_no_line_are_not_stated() {
    let found = find_costs(&powers(9, 19, |bytes| 100.0 + (bytes / 512.0).powf(1.7)));
    assert_eq!(found, Err(Why::Unclear));
    let few = find_costs(&powers(9, 12, |bytes| bytes));
    assert_eq!(few, Err(Why::TooFew));
}

/// What a read across costs more: each of these has a size and a cost.
fn across(of: &[(f64, f64)]) -> (Series, Series) {
    let extra = |unit: f64| -> f64 {
        let each = of.iter().map(|(size, us)| us * (unit / size).min(1.0));
        each.sum()
    };
    (
        powers(13, 26, |unit| 300.0 + extra(unit)),
        powers(13, 26, |_| 300.0),
    )
}

#[test]
fn boundaries_are_told_apart_and_none_is_made_up() {
    let (page, unit) = (16384.0, 4_194_304.0);
    for of in [
        &[][..],
        &[(page, 30.0)],
        &[(unit, 80.0)],
        &[(page, 30.0), (unit, 80.0)],
    ] {
        let (across, beside) = across(of);
        let found = find_boundaries(&across, &beside);
        let expected: Vec<f64> = of.iter().map(|(size, _)| *size).collect();
        let sizes = match &found {
            Ok(TraitFinding::Boundaries(found)) => {
                found.iter().map(|(unit, _)| unit.0 as f64).collect()
            }
            Err(Why::Flat) => Vec::new(),
            other => panic!("{other:?}"),
        };
        assert_eq!(sizes, expected, "{found:?}");
    }
    // Larger than all that was asked for: where it is cannot be told.
    let (across, beside) = across(&[(1e9, 500.0)]);
    assert_eq!(find_boundaries(&across, &beside), Err(Why::Unclear));
}

#[test]
fn a_mapping_unit_is_the_smallest_shift_that_costs_nothing() {
    let shifts = |unit: f64| {
        let shifts = [0.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];
        let us = |shift: f64| if shift % unit == 0.0 { 500.0 } else { 900.0 };
        series(&shifts.map(|shift| (shift, us(shift))))
    };
    for unit in [1024.0, 4096.0, 8192.0] {
        let found = find_map_unit(&shifts(unit));
        let Ok(TraitFinding::MapUnit { unit: found, .. }) = found else {
            panic!("{found:?}");
        };
        assert_eq!(found.0 as f64, unit);
    }
    assert_eq!(find_map_unit(&shifts(512.0)), Err(Why::Flat));
    assert_eq!(find_map_unit(&shifts(32768.0)), Err(Why::Unclear));
}

#[test]
fn open_units_end_where_writes_slow_down_and_reads_do_not() {
    let counts = [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let writes = series(&counts.map(|k| (k, if k <= 6.0 { 400.0 } else { 3000.0 })));
    let reads = series(&counts.map(|k| (k, 200.0)));
    let found = find_open_units(&writes, &reads);
    let expected = |least, most| matches!(found, Ok(TraitFinding::OpenUnits { least: l, most: m, .. }) if (l, m) == (least, most));
    assert!(expected(6, 7), "{found:?}");
    // What reads of the same places take too is not the units' doing.
    assert_eq!(find_open_units(&writes, &writes), Err(Why::Flat));
}

#[test]
fn a_flush_is_told_with_its_buffer_and_without() {
    let filled = |burst: f64| 400.0 + (burst / 1024.0).min(300.0) * 20.0;
    let Ok(TraitFinding::Flush {
        buffer: Some((each, least, Some(most))),
        ..
    }) = series::flush(&powers(14, 22, filled))
    else {
        panic!("{:?}", series::flush(&powers(14, 22, filled)));
    };
    assert!((each - 20.0).abs() < 0.2, "{each}");
    assert!(least.0 <= 300 << 10 && most.0 >= 300 << 10);
    let flat = series::flush(&powers(14, 22, |_| 700.0));
    assert!(
        matches!(flat, Ok(TraitFinding::Flush { buffer: None, .. })),
        "{flat:?}"
    );
    assert_eq!(series::flush(&powers(14, 22, |_| 0.0)), Err(Why::Flat));
}

#[test]
fn a_difference_is_told_only_when_noise_lets_it_be_told_how_much() {
    let reads = |spread: f64, behind: f64| {
        let point = |x: f64, us: f64| SeriesPoint {
            x,
            us: [1.0 - spread, 1.0, 1.0 + spread]
                .map(|share| us * share)
                .into(),
        };
        let alone = Series([0.0, 1.0].map(|x| point(x, 700.0)).into());
        let paired = [
            (0.0, behind),
            (10.0, behind),
            (160.0, 700.0),
            (500.0, 700.0),
        ];
        let paired = Series(paired.map(|(x, us)| point(x, us)).into());
        find_deferred(&paired, &alone)
    };
    // 60 us of 760 with standard errors of 8 us: there, but between 40 and 80.
    assert_eq!(reads(0.01, 760.0), Err(Why::Unclear));
    assert!(matches!(
        reads(0.003, 760.0),
        Ok(TraitFinding::Deferred { .. })
    ));
    assert!(matches!(
        reads(0.01, 960.0),
        Ok(TraitFinding::Deferred { .. })
    ));
}

/// Bursts whose flush rises from 120 ms by an eighth, as far as the buffer goes.
fn slight_rise(burst: f64) -> f64 {
    120_000.0 + (burst / 1024.0).min(1024.0) * 16.0
}

#[test]
fn a_slight_rise_of_flushes_above_the_noise_is_one() {
    let found = series::flush(&powers(14, 24, slight_rise));
    let Ok(TraitFinding::Flush {
        flush_us,
        buffer: Some((each, least, _)),
    }) = found
    else {
        panic!("{found:?}");
    };
    assert!((flush_us / 120_000.0 - 1.0).abs() < 0.01, "{flush_us}");
    assert!((each / 16.0 - 1.0).abs() < 0.05, "{each}");
    assert_eq!(least, Bytes::mib(1));
    // A tenth more from 1 MiB on is no line, and not alike either.
    let step = |burst: f64| if burst < 1e6 { 700.0 } else { 770.0 };
    assert_eq!(series::flush(&powers(14, 24, step)), Err(Why::Unclear));
    // Nor is what falls.
    let falling = |burst: f64| 770.0 - 70.0 * (burst / 16e6);
    assert_eq!(series::flush(&powers(14, 24, falling)), Err(Why::Unclear));
}

#[test]
fn flushes_that_noise_may_hide_are_not_called_alike() {
    // Each flush takes between 60 and 140 % of its mean.
    let mut noisy = powers(14, 24, slight_rise);
    for (number, point) in noisy.0.iter_mut().enumerate() {
        let mean = slight_rise(point.x);
        let share = |trial: usize| 0.6 + 0.4 * ((trial + number) % 3) as f64;
        point.us = (0..4).map(|trial| mean * share(trial)).collect();
    }
    assert_eq!(series::flush(&noisy), Err(Why::Unclear));
}

#[test]
fn where_a_rise_ends_is_told_only_when_the_noise_lets_it() {
    let goes_on = |burst: f64| 120_000.0 + burst / 1024.0 * 4.0;
    let found = series::flush(&powers(14, 24, goes_on));
    let Ok(TraitFinding::Flush {
        buffer: Some((_, least, None)),
        ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert_eq!(least, Bytes::mib(16));
    // A card whose buffer is full somewhere between 4 and 8 MiB, with noise.
    let ms = [
        [121.1, 120.2, 116.9],
        [120.5, 117.6, 119.3],
        [117.9, 120.6, 122.5],
        [120.4, 119.9, 119.1],
        [119.8, 121.7, 118.1],
        [122.0, 121.0, 122.6],
        [120.4, 123.4, 121.5],
        [122.2, 119.3, 123.0],
        [120.4, 123.3, 125.4],
        [124.4, 124.8, 121.5],
        [129.6, 127.3, 128.8],
    ];
    let point = |(power, ms): (i32, &[f64; 3])| SeriesPoint {
        x: 2.0_f64.powi(power),
        us: ms.map(|ms| ms * 1e3).into(),
    };
    let noisy = Series((14..).zip(&ms).map(point).collect());
    assert_eq!(series::flush(&noisy), Err(Why::Unclear));
}

/// The first trials of each point alone.
fn cut(series: &mut Series, trials: usize) {
    for point in &mut series.0 {
        point.us.truncate(trials);
    }
}

fn answers(what: Trait, part: &'static str, mut series: Series, trials: usize) -> Answers {
    cut(&mut series, trials);
    Answers::of_series([(what, part, series)])
}

#[test]
fn one_trial_of_each_point_states_nothing() {
    let order = || series(&[(0.0, 100.0), (1.0, 200.0)]);
    let broken = |trials| find(Trait::Break, &answers(Trait::Break, "", order(), trials));
    assert_eq!(broken(1), TraitFinding::NotVisible(Why::TooFew));
    // Two points that were measured twice each tell too little of the noise, too.
    assert_eq!(broken(2), TraitFinding::NotVisible(Why::TooFew));
    assert!(matches!(broken(3), TraitFinding::Break { .. }));
    let depths = || powers(0, 5, |depth| 100.0 / depth.min(8.0));
    let queue = |trials| find(Trait::Queue, &answers(Trait::Queue, "", depths(), trials));
    assert_eq!(queue(1), TraitFinding::NotVisible(Why::TooFew));
    assert!(matches!(queue(2), TraitFinding::Queue { .. }));
}

#[test]
fn points_that_were_measured_once_count_with_others() {
    // A round was cut short: four of six points have a second trial, then a third.
    let mut depths = powers(0, 5, |depth| 100.0 / depth.min(8.0));
    for (trials, is_repeated) in [(2, false), (3, true)] {
        let mut some = depths.clone();
        cut(&mut some, trials);
        for point in &mut some.0[4..] {
            point.us.truncate(1);
        }
        assert_eq!(some.is_repeated(), is_repeated, "{trials}");
    }
    depths.0.truncate(1);
    assert!(!depths.is_repeated());
}

#[test]
fn errors_that_few_trials_tell_are_widened() {
    let of = |points: usize| {
        let point = |x: usize| SeriesPoint {
            x: x as f64,
            us: vec![98.0, 100.0, 102.0],
        };
        let series = Series((0..points).map(point).collect());
        series.error(&series.0[0]) / (2.0 / 3.0_f64.sqrt())
    };
    // With 4 degrees of freedom t(0.999) is 7.173, and 3.09 with very many.
    assert!((of(2) - 7.173 / 3.090).abs() < 1e-3, "{}", of(2));
    assert!(of(5) < of(3) && of(100) > 1.0 && of(100) < 1.05);
}

#[test]
fn names_of_jobs_lead_back_to_their_points() {
    let scope = ask::Scope {
        size: Bytes::gib(4),
        sector: Bytes(512),
        trial: Nanos::millis(100),
        fill: Nanos::secs(10),
        writes: true,
        engine: assay_model::job::EngineKind::Psync,
        deep: Some(assay_model::job::EngineKind::IoUring),
    };
    let all = scope.jobs();
    assert!(
        Trait::ALL
            .iter()
            .all(|what| all.iter().any(|one| one.what == *what))
    );
    for asked in all {
        assert_eq!(ask::TraitJob::of(&asked.job), Some(asked));
    }
}
