use super::*;
use assay_model::units::Nanos;
use proptest::prelude::*;

fn share(size: Option<u32>, percent: u8, class: u8) -> PriorityShare {
    PriorityShare {
        size,
        percent,
        priority: IoPriority::new(class, 0),
    }
}

#[test]
fn without_shares_there_is_nothing_to_draw() {
    assert!(Priorities::new(&Stream::new("a"), 1).is_none());
}

#[test]
fn each_size_has_its_shares() {
    let mut stream = Stream::new("a");
    stream.process.io_priority = Some(4);
    stream.engine.priorities.read = vec![
        share(Some(4096), 25, 1),
        share(Some(4096), 75, 3),
        share(Some(8192), 10, 1),
    ];
    let mut priorities = Priorities::new(&stream, 7).unwrap();
    let mut count = |ddir, length, class| {
        let drawn = (0..10_000).map(|_| priorities.draw(ddir, length));
        drawn.filter(|priority| priority.class() == class).count()
    };
    // Standard deviations are below 44.
    assert!((2_300..2_700).contains(&count(Ddir::Read, 4096, 1)));
    assert_eq!(count(Ddir::Read, 4096, 0), 0);
    assert!((8_800..9_200).contains(&count(Ddir::Read, 8192, 0)));
    assert_eq!(count(Ddir::Read, 512, 0), 10_000);
    assert_eq!(count(Ddir::Write, 4096, 0), 10_000);
    let own = priorities.in_force(IoPriority::NONE);
    assert_eq!((own.class(), own.level()), (2, 4));
}

#[test]
fn depths_fall_into_the_classes_of_fio() {
    let classes = [1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 500].map(level_class);
    assert_eq!(classes, [0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6]);
    let classes = [0, 1, 4, 5, 8, 9, 16, 17, 33, 64, 65].map(batch_class);
    assert_eq!(classes, [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6]);
}

#[test]
fn a_direction_counts_only_the_phases_it_works_in() {
    let mut times = RunTimes::new(100);
    let ios = |read, write| PerDirection {
        read,
        write,
        trim: 0,
    };
    times.end_phase(400, ios(0, 10));
    times.end_phase(500, ios(10, 10));
    assert_eq!(times.until(700, ios(10, 10)), ios(100, 300));
    assert_eq!(times.until(700, ios(11, 10)), ios(300, 300));
}

fn asked(criterion: SteadyCriterion, limit: f64, percent: bool) -> SteadyState {
    SteadyState {
        criterion,
        limit,
        percent,
        duration: Nanos::secs(5),
        ramp: Nanos(0),
        interval: Nanos::secs(1),
    }
}

/// After which sample of IOPS the state was attained.
fn attained_after(asked: &SteadyState, iops: &[u64]) -> Option<usize> {
    let mut watch = SteadyWatch::new(asked);
    iops.iter()
        .position(|&iops| watch.sample(iops, 4096 * iops, 1_000))
}

#[test]
fn the_slope_of_a_line_is_its_own_and_falls_are_negative() {
    let judged = judge(&[10.0, 13.0, 16.0, 19.0]);
    assert!((judged.slope - 3.0).abs() < 1e-12);
    assert!((judged.mean - 14.5).abs() < 1e-12);
    assert!((judged.deviation - 4.5).abs() < 1e-12);
    assert!((judge(&[19.0, 16.0, 13.0]).slope + 3.0).abs() < 1e-12);
    assert!(judge(&[7.0]).slope.abs() < 1e-12);
}

/// Worked by hand: x = 0..4, y = 3, 1, 4, 1, 5; slope = 4 / 10.
#[test]
fn the_slope_of_scattered_values_is_that_of_least_squares() {
    assert!((judge(&[3.0, 1.0, 4.0, 1.0, 5.0]).slope - 0.4).abs() < 1e-12);
}

#[test]
fn nothing_is_attained_before_the_window_is_full() {
    let asked = asked(SteadyCriterion::Iops, 10.0, true);
    assert_eq!(attained_after(&asked, &[100; 4]), None);
    assert_eq!(attained_after(&asked, &[100; 9]), Some(4));
}

#[test]
fn the_ramp_is_left_out() {
    let mut asked = asked(SteadyCriterion::Iops, 10.0, true);
    asked.ramp = Nanos::millis(2_500);
    let figures = [1, 1, 1, 100, 100, 100, 100, 100];
    assert_eq!(attained_after(&asked, &figures), Some(7));
}

#[test]
fn a_deviation_leaves_with_its_sample() {
    let asked = asked(SteadyCriterion::Iops, 5.0, false);
    let figures = [100, 150, 100, 100, 100, 100, 100];
    assert_eq!(attained_after(&asked, &figures), Some(6));
}

#[test]
fn the_limit_itself_is_not_below_the_limit() {
    let figures = [90, 110, 100, 100, 100];
    let absolute = |limit| asked(SteadyCriterion::Iops, limit, false);
    assert_eq!(attained_after(&absolute(10.0), &figures), None);
    assert_eq!(attained_after(&absolute(10.1), &figures), Some(4));
    let percent = |limit| asked(SteadyCriterion::Iops, limit, true);
    assert_eq!(attained_after(&percent(10.0), &figures), None);
}

#[test]
fn a_fall_is_as_steep_as_a_rise() {
    let slope = asked(SteadyCriterion::IopsSlope, 5.0, false);
    assert_eq!(attained_after(&slope, &[100, 90, 80, 70, 60]), None);
    assert_eq!(attained_after(&slope, &[100, 96, 92, 88, 84]), Some(4));
}

#[test]
fn a_device_that_stands_still_is_not_steady() {
    let percent = asked(SteadyCriterion::Iops, 10.0, true);
    assert_eq!(attained_after(&percent, &[0; 20]), None);
}

#[test]
fn each_criterion_looks_at_its_own_figure() {
    use SteadyCriterion::{Bw, BwSlope, Iops, IopsSlope, Lat, LatSlope};
    let steady_in = |criterion| {
        let mut watch = SteadyWatch::new(&asked(criterion, 1.0, true));
        let attained: Vec<bool> = (1..=5).map(|n| watch.sample(n, 100, n * n)).collect();
        attained[4]
    };
    for wanders in [Iops, IopsSlope, Lat, LatSlope] {
        assert!(!steady_in(wanders), "{wanders:?}");
    }
    for stays in [Bw, BwSlope] {
        assert!(steady_in(stays), "{stays:?}");
    }
}

#[test]
fn what_was_seen_is_kept_once_attained() {
    let mut watch = SteadyWatch::new(&asked(SteadyCriterion::Iops, 10.0, true));
    assert!(watch.reached().value.abs() < 1e-12);
    for iops in [95, 100, 105, 100, 100] {
        watch.sample(iops, 1, 1);
    }
    assert!(watch.sample(9_999, 1, 1));
    let reached = watch.reached();
    assert!(reached.attained);
    assert_eq!(reached.iops, [95, 100, 105, 100, 100]);
    assert!((reached.value - 5.0).abs() < 1e-9, "{}", reached.value);
    assert!((reached.deviation - 5.0).abs() < 1e-9);
}

proptest! {
    /// The textbook's other form: (sum xy - sum x sum y / n) / (sum x^2 -
    /// (sum x)^2 / n).
    #[test]
    fn the_slope_agrees_with_the_sums(values in prop::collection::vec(0..1_000_000_u32, 2..50)) {
        let y: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let n = y.len() as f64;
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            y.iter().enumerate().map(|(x, &y)| term(x as f64, y)).sum()
        };
        let (x, xx, xy) = (sum(&|x, _| x), sum(&|x, _| x * x), sum(&|x, y| x * y));
        let expected = (xy - x * sum(&|_, y| y) / n) / (xx - x * x / n);
        prop_assert!((judge(&y).slope - expected).abs() <= 1e-6 * (1.0 + expected.abs()));
    }
}
