use super::*;
use proptest::prelude::*;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Records of so many workers, and their gaps.
fn recorders<const N: usize>() -> ([Recorder; N], Arc<SharedGaps>) {
    let shared = SharedGaps::new(u32::try_from(N).unwrap());
    let recorders = std::array::from_fn(|number| {
        let gaps = shared.of_worker(number);
        let mut recorder = Recorder::new(1000 * MS, 100 * MS, false, gaps);
        recorder.begin_gaps();
        recorder
    });
    (recorders, shared)
}

/// The longest gap of workers that end at these times: its start (ms after
/// the clock's) and length, in ms.
fn longest_gap<const N: usize>(recorders: [(Recorder, u64); N], shared: &SharedGaps) -> (u64, u64) {
    for (mut recorder, end_ms) in recorders {
        recorder.end((1000 + end_ms) * MS);
    }
    let gap = shared.longest().unwrap();
    (gap.from_ns / MS - 1000, gap.length_ns() / MS)
}

/// Completes a 4 KiB write at each of these times (ms after start).
fn complete_at(recorder: &mut Recorder, times_ms: &[u64]) {
    for &ms in times_ms {
        let now = (1000 + ms) * MS;
        if now >= recorder.interval_end_ns() {
            recorder.roll(now);
        }
        recorder.completed(now, Ddir::Write, 4096, MS);
    }
}

#[test]
fn empty_intervals_stay_in_the_series() {
    let ([mut recorder], shared) = recorders();
    complete_at(&mut recorder, &[10, 20, 450]);
    recorder.end_series(1460 * MS);
    // The flush that follows is not part of the series.
    recorder.roll(1900 * MS);
    recorder.end_series(1900 * MS);
    let points = &recorder.series().points;
    let ios: Vec<u64> = points.iter().map(|p| p.write_ios).collect();
    assert_eq!(ios, [2, 0, 0, 0, 1]);
    assert_eq!(longest_gap([(recorder, 900)], &shared), (20, 430));
}

#[test]
fn a_gap_counts_only_where_all_workers_were_idle() {
    let ([mut a, mut b], shared) = recorders();
    complete_at(&mut a, &[10, 500, 510]);
    complete_at(&mut b, &[300, 305, 900]);
    // a idles 10..500 and after 510, b 0..300 and 305..900.
    assert_eq!(longest_gap([(a, 510), (b, 900)], &shared), (510, 390));
}

#[test]
fn a_flush_is_not_a_gap() {
    let ([mut recorder], shared) = recorders();
    complete_at(&mut recorder, &[10]);
    recorder.flushed(1800 * MS, 790 * MS);
    complete_at(&mut recorder, &[810]);
    assert_eq!(recorder.flushes().count, 1);
    assert_eq!(longest_gap([(recorder, 810)], &shared).1, 10);
}

#[test]
fn a_restart_forgets_the_ramp() {
    let ([mut recorder], shared) = recorders();
    complete_at(&mut recorder, &[10, 20]);
    recorder.restart(2000 * MS);
    recorder.begin_gaps();
    complete_at(&mut recorder, &[1050]);
    assert_eq!(recorder.ios().write, 1);
    assert_eq!(longest_gap([(recorder, 1050)], &shared).1, 50);
}

#[test]
fn long_series_get_wider_intervals_and_lose_nothing() {
    let gaps = SharedGaps::new(1).of_worker(0);
    let mut recorder = Recorder::new(0, MS, false, gaps);
    let mut now = 0;
    for _ in 0..200_000 {
        now += MS;
        recorder.roll(now);
        recorder.completed(now, Ddir::Read, 512, 1);
    }
    recorder.end_series(now + MS / 2);
    let series = &recorder.series;
    assert!(series.points.len() < MAX_INTERVALS);
    assert_eq!(series.interval_ns, 4 * MS);
    let ios: u64 = series.points.iter().map(|p| p.read_ios).sum();
    assert_eq!(ios, 200_000);
    // All whole intervals but the first carry the same load.
    assert!(
        series.points[1..series.points.len() - 1]
            .iter()
            .all(|p| p.read_ios == 4)
    );
}

/// Plays the completion times of each worker, in ascending order.
fn play(shared: &Arc<SharedGaps>, completions: &[Vec<u64>], look_every: usize) {
    let mut sides: Vec<_> = (0..completions.len())
        .map(|number| shared.of_worker(number))
        .collect();
    for side in &mut sides {
        side.begin(0);
    }
    let mut last = vec![0; sides.len()];
    let mut events: Vec<(u64, usize)> = Vec::new();
    for (worker, times) in completions.iter().enumerate() {
        events.extend(times.iter().map(|&at| (at, worker)));
    }
    events.sort_unstable();
    for (number, (at, worker)) in events.into_iter().enumerate() {
        let gap = Span {
            from_ns: last[worker],
            to_ns: at,
        };
        if sides[worker].is_of_interest(gap.length_ns()) {
            sides[worker].add(gap);
        }
        last[worker] = at;
        if number % look_every == 0 {
            sides[worker].confirm_until(at);
            shared.intersect();
        }
    }
    for (side, &end) in sides.iter_mut().zip(&last) {
        side.end(end);
    }
}

/// The longest time between neighbours among all completions.
fn by_brute_force(completions: &[Vec<u64>]) -> u64 {
    let mut all = completions.concat();
    all.push(0);
    all.sort_unstable();
    let steps = all.windows(2).map(|pair| pair[1] - pair[0]);
    steps.max().unwrap_or(0)
}

fn workers() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let steps = prop::collection::vec(prop_oneof![9 => 0..20_u64, 1 => 0..2000_u64], 0..60);
    let times = steps.prop_map(|steps| {
        let sum = |at: &mut u64, step: u64| {
            *at += step;
            Some(*at)
        };
        steps.into_iter().scan(0, sum).collect::<Vec<u64>>()
    });
    prop::collection::vec(times, 1..6)
}

proptest! {
    #[test]
    fn the_longest_shared_gap_is_that_of_the_merged_completions(
        completions in workers(),
        look_every in 1..50_usize,
    ) {
        let shared = SharedGaps::new(u32::try_from(completions.len()).unwrap());
        play(&shared, &completions, look_every);
        let found = shared.longest();
        prop_assert_eq!(found.map_or(0, Span::length_ns), by_brute_force(&completions));
        if let Some(gap) = found {
            let inside = |at: &u64| gap.from_ns < *at && *at < gap.to_ns;
            prop_assert!(!completions.concat().iter().any(inside));
        }
    }
}

/// Sixteen workers in step, 1 ms each, that all stall once for 21 ms: one
/// gap among 5000 of ordinary length.
#[test]
fn a_short_stall_of_many_workers_is_found() {
    const US: u64 = 1000;
    let times = |worker: u64| {
        let at = move |n: u64| (n + if n > 3_000 { 20 } else { 0 }) * 1000 * US;
        (1..5_000).map(move |n| at(n) + worker * US).collect()
    };
    let completions: Vec<Vec<u64>> = (0..16).map(times).collect();
    let shared = SharedGaps::new(16);
    play(&shared, &completions, 500);
    // From the last one of the 16 before to the first one after.
    let gap = shared.longest().unwrap();
    assert_eq!(gap.length_ns(), (21_000 - 15) * US);
    assert_eq!(gap.length_ns(), by_brute_force(&completions));
    assert_eq!(gap.from_ns, 3_000 * 1000 * US + 15 * US);
}

/// One worker is silent while the other hands in more than is kept.
#[test]
fn what_does_not_fit_is_dropped_and_nothing_unproven_is_told() {
    let busy = |long: u64| -> Vec<u64> {
        let at = |n: u64| n * 10 + n % 7 + if n > 100_000 { long } else { 0 };
        (1..=3 * MAX_HANDED_IN as u64).map(at).collect()
    };
    for (long, proven) in [(0, false), (5000, true)] {
        let completions = [busy(long), Vec::new()];
        let end = completions[0].last().copied().unwrap_or(0);
        let shared = SharedGaps::new(2);
        let mut silent = shared.of_worker(1);
        silent.begin(0);
        let mut talker = shared.of_worker(0);
        talker.begin(0);
        let mut last = 0;
        for &at in &completions[0] {
            let (from_ns, to_ns) = (last, at);
            if talker.is_of_interest(at - last) {
                talker.add(Span { from_ns, to_ns });
            }
            last = at;
        }
        assert!(lock(&shared.workers[0]).gaps.len() <= MAX_HANDED_IN);
        talker.end(end);
        silent.add(Span {
            from_ns: 0,
            to_ns: end,
        });
        silent.end(end);
        let found = shared.longest().map(Span::length_ns);
        let truth = by_brute_force(&completions);
        assert_eq!(found, proven.then_some(truth));
    }
}
