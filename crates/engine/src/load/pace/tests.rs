use super::*;
use assay_model::load::ThinkTime;
use assay_model::units::Nanos;

const SECOND: u64 = 1_000_000_000;

/// A pace after a change.
fn pacing(change: impl FnOnce(&mut PaceLimits)) -> Pacing {
    let mut pace = PaceLimits::default();
    change(&mut pace);
    Pacing::new(&pace, 0, 1).unwrap()
}

#[test]
fn no_limits_no_pacing() {
    assert!(Pacing::new(&PaceLimits::default(), 0, 1).is_none());
}

#[test]
fn each_direction_has_its_own_rate() {
    let mut pacing = pacing(|pace| {
        pace.rate.read = 4096 * 1000;
        pace.rate_iops.write = 10;
    });
    for ddir in Ddir::ALL {
        pacing.issued(ddir, 4096, 0);
    }
    assert_eq!(pacing.delay_ns(Ddir::Read, 0), SECOND / 1000);
    assert_eq!(pacing.delay_ns(Ddir::Write, 0), SECOND / 10);
    assert_eq!(pacing.delay_ns(Ddir::Trim, 0), 0);
}

#[test]
fn a_direction_held_back_lets_the_other_go() {
    let mut pacing = pacing(|pace| {
        pace.rate_iops.read = 1;
        pace.rate_iops.write = 100;
    });
    let turn = |ddir, delay_ns| Turn { ddir, delay_ns };
    pacing.issued(Ddir::Read, 4096, 0);
    assert_eq!(pacing.steer(Ddir::Read, true, 0), turn(Ddir::Write, 0));
    assert_eq!(pacing.steer(Ddir::Read, false, 0), turn(Ddir::Read, SECOND));
    pacing.issued(Ddir::Write, 4096, 0);
    let next = turn(Ddir::Write, SECOND / 100);
    assert_eq!(pacing.steer(Ddir::Read, true, 0), next);
    assert_eq!(pacing.steer(Ddir::Write, true, 0), next);
    assert_eq!(pacing.steer(Ddir::Read, true, SECOND), turn(Ddir::Read, 0));
}

#[test]
fn both_rates_of_a_mix_are_kept_whatever_is_drawn() {
    let mut pacing = pacing(|pace| {
        pace.rate_iops.read = 300;
        pace.rate_iops.write = 100;
    });
    let (mut now, mut counts, mut rng) = (0, [0_u32, 0], SplitMix64::new(1));
    while now < 10 * SECOND {
        let drawn = if rng.below(2) == 0 {
            Ddir::Read
        } else {
            Ddir::Write
        };
        let turn = pacing.steer(drawn, true, now);
        now += turn.delay_ns;
        pacing.issued(turn.ddir, 4096, now);
        counts[usize::from(turn.ddir == Ddir::Write)] += 1;
    }
    assert!(
        counts[0].abs_diff(3000) <= 2 && counts[1].abs_diff(1000) <= 2,
        "{counts:?}"
    );
}

fn thinking(ignore: bool) -> Pacing {
    pacing(|pace| {
        pace.rate_iops.read = 10;
        pace.ignore_think_time = ignore;
        pace.think = Some(ThinkTime {
            pause: Nanos(SECOND),
            spin: Nanos(0),
            blocks: 1,
            count_issued: true,
            io_time: Nanos(0),
        });
    })
}

#[test]
fn thinking_is_made_up_for_unless_it_is_to_be_ignored() {
    for (ignore, delay) in [(false, 0), (true, SECOND / 10)] {
        let mut pacing = thinking(ignore);
        pacing.issued(Ddir::Read, 4096, 0);
        assert!(pacing.pause_due(0).is_some());
        pacing.paused(0, SECOND);
        assert!(pacing.pause_due(SECOND).is_none());
        assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), delay);
    }
}

#[test]
fn nothing_is_left_over_from_the_ramp() {
    let mut pacing = pacing(|pace| {
        pace.rate_iops.read = 10;
        pace.rate_iops_min.read = 5;
    });
    for _ in 0..50 {
        pacing.issued(Ddir::Read, 4096, 0);
    }
    pacing.restart(SECOND);
    assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), 0);
    assert_eq!(pacing.too_slow(SECOND), None);
}

#[test]
fn a_least_rate_not_kept_names_its_direction() {
    let mut pacing = pacing(|pace| pace.rate_iops_min.write = 100);
    assert_eq!(pacing.too_slow(2 * SECOND), None);
    pacing.completed(Ddir::Write, 4096);
    let problem = pacing.too_slow(4 * SECOND).unwrap();
    assert!(problem.starts_with("write: rate_iops_min=100"), "{problem}");
}

fn join(table: &FlowTable, id: i64, weight: u32) -> FlowShare {
    let flow = Flow {
        id,
        weight,
        sleep: Nanos(100_000),
    };
    FlowShare::join(table, &flow)
}

/// Lets all streams try in turn, later ones faster, and returns the I/Os of each.
fn run(streams: &mut [FlowShare], rounds: u32) -> Vec<u64> {
    let before: Vec<u64> = streams.iter().map(|stream| stream.ios).collect();
    for _ in 0..rounds {
        for (speed, stream) in (1..).zip(streams.iter_mut()) {
            for _ in 0..speed * 20 {
                if stream.may_go() {
                    stream.issued();
                }
            }
        }
    }
    streams
        .iter()
        .zip(before)
        .map(|(stream, before)| stream.ios - before)
        .collect()
}

#[test]
fn io_counts_keep_to_the_weights() {
    let table = FlowTable::default();
    let mut streams = [1, 5, 10].map(|weight| join(&table, 1, weight));
    let ios = run(&mut streams, 1000);
    assert!(ios[0] > 100, "{ios:?}");
    assert!(
        ios[1].abs_diff(5 * ios[0]) <= 10 && ios[2].abs_diff(10 * ios[0]) <= 20,
        "{ios:?}"
    );
}

#[test]
fn the_others_go_on_in_their_own_proportion() {
    let table = FlowTable::default();
    let mut streams: Vec<FlowShare> = [1, 2, 3]
        .map(|weight| join(&table, 1, weight))
        .into_iter()
        .collect();
    run(&mut streams, 500);
    streams.pop();
    let ios = run(&mut streams, 500);
    assert!(ios[0] > 100 && ios[1].abs_diff(2 * ios[0]) <= 10, "{ios:?}");
}

#[test]
fn one_alone_and_other_ids_are_not_held_back() {
    let table = FlowTable::default();
    let mut streams = [join(&table, 1, 7), join(&table, 2, 1)];
    assert_eq!(run(&mut streams, 10), [200, 400]);
    assert_eq!(streams[0].sleep_ns(), 100_000);
}

const MS: u64 = 1_000_000;

/// The first problem when an I/O of 1000 bytes is done every `gap_ms`, up
/// to ten seconds, and after five seconds every `then_ms`.
fn problem(mut least: LeastRate, gap_ms: u64, then_ms: u64) -> Option<(u64, String)> {
    let mut now = 0;
    while now < 10_000 {
        now += if now < 5000 { gap_ms } else { then_ms };
        least.completed(1000);
        if let Some(problem) = least.not_kept(now * MS) {
            return Some((now, problem));
        }
    }
    None
}

fn least(bytes: u64, ios: u64) -> LeastRate {
    LeastRate::new(bytes, ios, 1000 * MS, 0).unwrap()
}

#[test]
fn a_direction_without_io_is_not_judged() {
    assert_eq!(least(200_000, 0).not_kept(10_000 * MS), None);
}

#[test]
fn what_is_kept_is_no_problem() {
    assert_eq!(problem(least(99_000, 0), 10, 10), None);
    assert_eq!(problem(least(0, 99), 10, 10), None);
}

#[test]
fn too_slow_is_said_after_the_settling_time_and_a_cycle() {
    let (when, what) = problem(least(200_000, 0), 10, 10).unwrap();
    assert_eq!(when, 3000);
    assert_eq!(what, "rate_min=200000B/s not met, got 100000B/s");
}

#[test]
fn a_later_slump_is_seen_in_its_own_cycle() {
    let (when, what) = problem(least(0, 90), 10, 20).unwrap();
    assert!((6000..=6020).contains(&when), "{when}");
    assert!(what.contains("rate_iops_min=90"), "{what}");
}

/// When the last of `number` I/Os goes, if each goes as soon as it may.
fn last(mut limit: Limit, number: u32, bytes: u32) -> u64 {
    let mut now = 0;
    for _ in 0..number {
        now += limit.delay_ns(now);
        limit.issued(bytes, now);
    }
    now
}

#[test]
fn rates_are_kept_on_average_without_drift() {
    // The first goes at once, so n take n - 1 gaps.
    let limit = |bytes, iops| Limit::new(bytes, iops, 0, None).unwrap();
    assert_eq!(last(limit(4096 * 1000, 0), 5001, 4096), 5 * SECOND_NS);
    assert_eq!(last(limit(0, 3), 3001, 4096), 1000 * SECOND_NS);
    // 512 bytes at 10 GB/s take 51.2 ns.
    assert_eq!(last(limit(10_000_000_000, 0), 1_000_001, 512), 51_200_000);
}

#[test]
fn poisson_arrivals_have_the_same_mean_and_vary() {
    let limit = Limit::new(0, 1000, 0, Some(SplitMix64::new(1))).unwrap();
    let seconds = last(limit.clone(), 100_001, 4096) as f64 / 1e9;
    // Standard deviation of the sum: sqrt(100 000) ms = 0.32 s.
    assert!((seconds - 100.0).abs() < 1.6, "{seconds}");
    let (mut limit, mut now, mut short) = (limit, 0, 0);
    for _ in 0..10_000 {
        limit.issued(4096, now);
        let gap = limit.delay_ns(now);
        short += u32::from(gap < 500_000);
        now += gap;
    }
    // 1 - e^-0.5 = 39.3 % are below half the mean; standard deviation 49.
    assert!((3680..4190).contains(&short), "{short}");
}

#[test]
fn a_long_stall_is_not_followed_by_a_flood() {
    let mut limit = Limit::new(0, 100, 0, None).unwrap();
    let now = 60 * SECOND_NS;
    let mut at_once = 0;
    while limit.delay_ns(now) == 0 {
        limit.issued(4096, now);
        at_once += 1;
    }
    assert!((100..=102).contains(&at_once), "{at_once} I/Os at once");
}

#[test]
fn extreme_rates_do_not_overflow() {
    let mut fast = Limit::new(u64::MAX, 0, 0, None).unwrap();
    let mut slow = Limit::new(1, 0, 0, None).unwrap();
    for _ in 0..10 {
        fast.issued(u32::MAX, 0);
        slow.issued(u32::MAX, 0);
    }
    assert!(fast.delay_ns(0) < 100);
    assert_eq!(slow.delay_ns(0), u64::MAX);
}

fn think(blocks: u32, count_issued: bool, io_time: u64) -> Thinking {
    let think = ThinkTime {
        pause: Nanos(1000),
        spin: Nanos(300),
        blocks,
        count_issued,
        io_time: Nanos(io_time),
    };
    Thinking::new(think, 0)
}

#[test]
fn blocks_are_counted_where_it_is_asked() {
    for count_issued in [true, false] {
        let mut thinking = think(2, count_issued, 0);
        for _ in 0..2 {
            assert_eq!(thinking.due(0), None);
            if count_issued {
                thinking.issued();
            } else {
                thinking.completed();
            }
        }
        let pause = Pause {
            total_ns: 1000,
            spin_ns: 300,
        };
        assert_eq!(thinking.due(0), Some(pause));
        thinking.paused(0);
        if count_issued {
            (0..9).for_each(|_| thinking.completed());
        } else {
            (0..9).for_each(|_| thinking.issued());
        }
        assert_eq!(thinking.due(0), None);
    }
}

#[test]
fn time_or_blocks_whichever_comes_first() {
    let mut timed = think(0, false, 5000);
    (0..100).for_each(|_| timed.completed());
    assert_eq!(timed.due(4999), None);
    assert!(timed.due(5000).is_some());
    timed.paused(6000);
    assert_eq!(timed.due(10_999), None);
    assert!(timed.due(11_000).is_some());
    let mut both = think(3, false, 5000);
    (0..3).for_each(|_| both.completed());
    assert!(both.due(1).is_some());
}

const WINDOW: u64 = 1_000_000;

fn target(percentile: f64, run: bool) -> LatencyTarget {
    LatencyTarget {
        target: Nanos(1000),
        window: Nanos(WINDOW),
        percentile,
        run,
    }
}

/// Runs a device of which the latency is `latency` of the depth and of the
/// I/O's number, for that many I/Os; the findings but `GoOn`.
fn search_depth(
    search: &mut DepthSearch,
    ios: u64,
    latency: impl Fn(u32, u64) -> u64,
) -> Vec<DepthDecision> {
    let mut findings = Vec::new();
    for number in 0..ios {
        let latency_ns = latency(search.depth(), number);
        let finding = search.completed(latency_ns, number * WINDOW / 100);
        if finding != DepthDecision::GoOn {
            findings.push(finding);
        }
        if matches!(finding, DepthDecision::Done | DepthDecision::Missed) {
            break;
        }
    }
    findings
}

#[test]
fn the_largest_depth_that_keeps_the_latency_is_found() {
    for limit in 1..=40 {
        let mut search = DepthSearch::new(&target(100.0, false), 32, 0);
        let findings = search_depth(&mut search, 100_000, |depth, _| {
            u64::from(depth) * 1000 / limit
        });
        assert_eq!(
            search.reached(),
            u32::try_from(limit).unwrap().min(32),
            "{findings:?}"
        );
        assert_eq!(
            findings[findings.len() - 2..],
            [DepthDecision::Found, DepthDecision::Done]
        );
    }
}

#[test]
fn a_share_of_slow_ios_is_allowed() {
    // One in a hundred is slow at any depth, one in ten from 9 on.
    let latency = |depth, number: u64| {
        let every = if depth >= 9 { 10 } else { 100 };
        if number.is_multiple_of(every) {
            5000
        } else {
            10
        }
    };
    let mut search = DepthSearch::new(&target(95.0, false), 64, 0);
    search_depth(&mut search, 100_000, latency);
    assert_eq!(search.reached(), 8);
    let mut search = DepthSearch::new(&target(100.0, false), 64, 0);
    assert_eq!(
        search_depth(&mut search, 100_000, latency),
        [DepthDecision::Missed]
    );
    assert_eq!(search.reached(), 0);
}

#[test]
fn it_goes_on_and_follows_the_device_where_asked() {
    let mut search = DepthSearch::new(&target(100.0, true), 64, 0);
    let findings = search_depth(&mut search, 10_000, |depth, _| u64::from(depth) * 100);
    assert!((9..=11).contains(&search.depth()), "{}", search.depth());
    assert!(
        findings
            .iter()
            .all(|finding| *finding == DepthDecision::Changed)
    );
    search.restart(0);
    search_depth(&mut search, 20_000, |depth, _| u64::from(depth) * 50);
    assert!((19..=21).contains(&search.depth()), "{}", search.depth());
    search.restart(0);
    search_depth(&mut search, 20_000, |depth, _| u64::from(depth) * 400);
    assert!((2..=3).contains(&search.depth()), "{}", search.depth());
}
