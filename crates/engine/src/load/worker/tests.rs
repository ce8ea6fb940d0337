//! The loop against a scripted engine in virtual time: what no real device
//! does on demand, and every figure exact.

mod scripted;

use crate::recorder::SharedGaps;
use assay_model::job::{Direction, Flush, FlushCall, Job, RateLimit, Rw};
use assay_model::load::Ddir;
use assay_model::units::{Bytes, Nanos};
use assay_stats::histogram::Percentile;
use assay_stats::latency::Distribution;
use rustix::io::Errno;
use scripted::{Act, FLUSH_NS, Play};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// When the clock starts; anything but 0.
const START: u64 = 5 * SECOND;
const BLOCK: u64 = 4096;

/// Moves all of the block after this time.
fn after(latency_ns: u64) -> Act {
    Act {
        latency_ns,
        result: Ok(u32::MAX),
    }
}

fn fails(errno: i32) -> Act {
    Act {
        latency_ns: MS,
        result: Err(errno),
    }
}

/// One pass of that many blocks, in order.
fn writes(blocks: u64) -> Job {
    Job::new("t", Rw::Write, Bytes(BLOCK), Bytes(BLOCK * blocks))
}

/// Blocks for as long as it takes.
fn endless(blocks: u64) -> Job {
    let mut job = writes(blocks);
    job.time_based = true;
    job
}

#[test]
fn a_stall_of_a_minute_is_shown_as_a_minute() {
    let script = |n| after(if n == 100 { 60 * SECOND } else { MS });
    let played = Play::new(writes(200), &script).synchronous();
    let write = &played.measured.write;
    assert_eq!((write.ios, write.bytes), (200, 200 * BLOCK));
    assert_eq!(write.latency.max_ns, 60 * SECOND);
    assert_eq!(write.latency.min_ns, MS);
    assert_eq!(write.latency.sum_ns, 60 * SECOND + 199 * MS);
    let gap = played.measured.longest_gap.unwrap();
    assert_eq!((gap.start_ns, gap.length_ns), (100 * MS, 60 * SECOND));
    // One interval at full speed, a minute of empty ones, another one.
    let series = &played.measured.series;
    let ios: Vec<u64> = series.points.iter().map(|p| p.write_ios).collect();
    assert_eq!(ios.len(), 602);
    assert_eq!(ios.iter().sum::<u64>(), 200);
    assert_eq!(ios.iter().filter(|&&ios| ios == 0).count(), 599);
    assert_eq!(played.measured.elapsed_ns, 60 * SECOND + 199 * MS);
}

#[test]
fn the_clock_stops_at_the_first_completion_after_the_deadline() {
    let script = |_| after(3 * MS);
    let mut job = endless(10);
    job.runtime = Some(Nanos(100 * MS));
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.measured.write.ios, 34);
    assert_eq!(played.measured.elapsed_ns, 102 * MS);
    // Those in flight are waited for and counted.
    job.iodepth = 4;
    let played = Play::new(job, &script).asynchronous();
    assert_eq!(played.measured.write.ios, 4 * 34);
    assert_eq!(played.measured.elapsed_ns, 102 * MS);
}

/// As fio does by default: the queue is full again before the next one is taken.
#[test]
fn each_completion_is_followed_by_the_next_io() {
    let script = |_| after(MS);
    let mut job = writes(100);
    job.iodepth = 8;
    let log = Play::new(job.clone(), &script).asynchronous().log;
    let (filled, drained) = log.left.split_at(100 - 7);
    assert!(filled.iter().all(|&left| left == 7), "{filled:?}");
    assert_eq!(drained, [6, 5, 4, 3, 2, 1, 0]);
    // Unless the job wants more at a time.
    let mut play = Play::new(job, &script);
    play.takes_back = 4;
    let left = play.asynchronous().log.left;
    assert_eq!((left.len(), &left[..3]), (25, &[4; 3][..]));
}

#[test]
fn a_thread_that_begins_late_has_the_whole_runtime() {
    let script = |_| after(10 * MS);
    let mut job = endless(10);
    job.runtime = Some(Nanos(100 * MS));
    let mut play = Play::new(job, &script);
    play.late_ns = 30 * MS;
    let report = play.synchronous().report;
    let writes = &report.directions[Ddir::Write];
    assert_eq!((writes.ios, writes.runtime_ns), (7, 100 * MS));
}

#[test]
fn io_size_ends_the_job_in_whichever_pass() {
    let script = |_| after(MS);
    for blocks in [3, 10, 25] {
        let mut job = writes(10);
        job.io_size = Some(Bytes(blocks * BLOCK));
        let played = Play::new(job.clone(), &script).synchronous();
        assert_eq!(played.measured.write.ios, blocks);
        job.iodepth = 8;
        let played = Play::new(job, &script).asynchronous();
        assert_eq!(played.measured.write.ios, blocks);
    }
}

#[test]
fn nothing_of_the_ramp_is_counted_and_it_consumes_nothing() {
    // Slow and stalling in the ramp, then fast.
    let script = |n| after(if n < 5 { 200 * MS } else { MS });
    let mut job = endless(10);
    job.ramp_time = Nanos(SECOND);
    job.io_size = Some(Bytes(50 * BLOCK));
    let played = Play::new(job.clone(), &script).synchronous();
    let write = &played.measured.write;
    // The one that ends with the ramp is the first that is counted.
    assert_eq!((write.ios, write.bytes), (50, 50 * BLOCK));
    assert_eq!(played.log.attempts.len(), 54);
    assert_eq!(played.measured.elapsed_ns, 49 * MS);
    assert_eq!(played.measured.longest_gap.unwrap().length_ns, MS);
    assert_eq!(played.measured.series.points.len(), 1);
    assert!(!played.still_ramping);

    // Neither do those in flight when it ends come on top.
    job.iodepth = 8;
    let slow = |n| after(if n < 40 { 210 * MS } else { MS });
    let played = Play::new(job.clone(), &slow).asynchronous();
    assert_eq!(played.measured.write.ios, 50);
    assert_eq!(played.log.attempts.len(), 32 + 50);
    assert!(!played.still_ramping);
    job.iodepth = 1;

    // The measured time is as long as asked for.
    job.io_size = None;
    job.runtime = Some(Nanos(300 * MS));
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.measured.elapsed_ns, 300 * MS);

    job.ramp_time = Nanos(60 * SECOND);
    job.time_based = false;
    assert!(Play::new(job, &script).synchronous().still_ramping);
}

#[test]
fn each_nth_write_is_followed_by_its_flush() {
    let script = |n| after(MS + n * 17 % 5);
    for depth in [1, 8] {
        // Whether the pass ends the job or its io_size does.
        for by_size in [false, true] {
            for blocks in 1..20 {
                let mut job = writes(if by_size { 100 } else { blocks });
                job.io_size = by_size.then_some(Bytes(blocks * BLOCK));
                job.iodepth = depth;
                job.flush.every = Some((3, FlushCall::Fsync));
                let played = Play::new(job, &script).run();
                assert_eq!(played.measured.write.ios, blocks);
                let flushes = played.measured.flush.count;
                assert_eq!(flushes, blocks / 3, "{blocks} writes, depth {depth}");
            }
        }
    }
}

#[test]
fn reads_are_not_flushed() {
    let script = |_| after(MS);
    let mut job = endless(10);
    job.rw = Rw::RandRw;
    job.io_size = Some(Bytes(500 * BLOCK));
    job.flush.every = Some((1, FlushCall::Fdatasync));
    let played = Play::new(job, &script).synchronous();
    assert_eq!(played.measured.flush.count, played.measured.write.ios);
    assert!(played.measured.read.ios > 100);
}

#[test]
fn a_flush_waits_for_the_writes_that_it_must_cover() {
    // The second of four takes longest.
    let script = |n| after(if n == 1 { 70 * MS } else { 5 * MS });
    let mut job = endless(100);
    job.iodepth = 8;
    job.flush.every = Some((4, FlushCall::Fdatasync));
    job.io_size = Some(Bytes(8 * BLOCK));
    let played = Play::new(job, &script).asynchronous();
    let first = START + 70 * MS;
    assert_eq!(played.log.flushes, [first, first + FLUSH_NS + 5 * MS]);
    assert_eq!(played.measured.flush.sum_ns, 2 * FLUSH_NS);
}

#[test]
fn a_write_is_durable_when_the_flush_after_it_has_ended() {
    let script = |_| after(2 * MS);
    let mut job = writes(10);
    job.flush.every = Some((1, FlushCall::Fdatasync));
    let durable = |job: &Job| {
        let played = Play::new(job.clone(), &script).synchronous();
        played.measured.durable
    };
    let each = durable(&job).unwrap();
    assert_eq!(
        (each.count, each.min_ns, each.max_ns),
        (10, 2 * MS + FLUSH_NS, 2 * MS + FLUSH_NS)
    );
    // The last two writes are no group of four.
    job.flush = Flush {
        every: Some((4, FlushCall::Fsync)),
        at_end: Some(FlushCall::Fsync),
    };
    let groups = durable(&job).unwrap();
    assert_eq!((groups.count, groups.min_ns), (2, 4 * 2 * MS + FLUSH_NS));
    job.flush.every = None;
    assert_eq!(durable(&job), None);
}

#[test]
fn what_is_in_flight_when_a_flush_begins_is_durable_with_the_next_one() {
    let script = |_| after(MS);
    let mut job = writes(20);
    job.iodepth = 4;
    job.flush.every = Some((4, FlushCall::Fdatasync));
    let played = Play::new(job, &script).asynchronous();
    let durable = played.measured.durable.unwrap();
    assert_eq!(durable.count, 5, "drained: each flush covers its group");
    assert_eq!(durable.sum_ns, 5 * (MS + FLUSH_NS));
}

#[test]
fn a_group_with_a_failed_write_has_no_figure() {
    let script = |n| if n == 5 { fails(libc::EIO) } else { after(MS) };
    let mut job = writes(12);
    job.flush.every = Some((4, FlushCall::Fdatasync));
    let played = Play::new(job, &script).synchronous();
    assert_eq!(played.measured.errors.count, 1);
    assert_eq!(played.measured.durable.unwrap().count, 2);
}

#[test]
fn a_flush_that_fails_is_an_error_without_a_direction() {
    let script = |_| after(MS);
    let mut job = endless(100);
    job.flush.every = Some((4, FlushCall::Fdatasync));
    let mut play = Play::new(job, &script);
    play.flush = Err(Errno::IO);
    let played = play.synchronous();
    let error = &played.measured.errors.first[0];
    assert_eq!((error.direction, error.errno), (None, Some(libc::EIO)));
    assert_eq!(error.at_ns, 4 * MS + FLUSH_NS);
    assert_eq!(played.measured.write.ios, 4);
    let problem = played.report.problem.unwrap();
    assert!(problem.starts_with("flush of "), "{problem}");
}

#[test]
fn the_last_flush_is_time_but_no_stall() {
    let script = |_| after(100 * MS);
    let mut job = writes(3);
    job.interval = Nanos(MS / 3);
    job.flush.at_end = Some(FlushCall::Fsync);
    let played = Play::new(job, &script).synchronous();
    assert_eq!(played.measured.elapsed_ns, 300 * MS + FLUSH_NS);
    assert_eq!(played.measured.series.points.len(), 901);
    let gap = played.measured.longest_gap.unwrap();
    assert_eq!(gap.length_ns, 100 * MS);
}

#[test]
fn the_last_flush_comes_once_after_everything() {
    let script = |_| after(MS);
    let mut job = writes(9);
    job.flush = Flush {
        every: Some((3, FlushCall::Fsync)),
        at_end: Some(FlushCall::Fdatasync),
    };
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.measured.flush.count, 3 + 1);
    job.io_size = Some(Bytes(6 * BLOCK));
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.measured.flush.count, 2 + 1);
    job.io_size = None;
    job.flush.every = None;
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.measured.flush.count, 1);
    // At a deadline too.
    job.time_based = true;
    job.runtime = Some(Nanos(500 * MS));
    job.iodepth = 8;
    let played = Play::new(job.clone(), &script).asynchronous();
    assert_eq!(played.measured.flush.count, 1);
    // Not when stopped from outside.
    let play = Play::new(job, &script);
    play.shared.abandon();
    assert_eq!(play.asynchronous().measured.flush.count, 0);
}

#[test]
fn the_pace_is_kept_at_any_depth() {
    for depth in [1, 8] {
        let script = |_| after(3 * MS);
        let mut job = endless(10);
        job.iodepth = depth;
        job.rate = Some(RateLimit::Iops(100));
        job.runtime = Some(Nanos(10 * SECOND));
        let played = Play::new(job, &script).run();
        let attempts = &played.log.attempts;
        assert!((1000..=1001).contains(&attempts.len()), "{depth}");
        for (n, &(at, ..)) in (0..).zip(attempts) {
            assert_eq!(at, START + n * 10 * MS, "depth {depth}, I/O {n}");
        }
    }
}

/// The trim alone would leave the block without its data.
#[test]
fn no_limit_and_no_signal_ends_a_stream_between_a_trim_and_its_write() {
    for (depth, rate, stops) in [
        (1, None, false),
        (1, None, true),
        (1, Some(RateLimit::Iops(100)), false),
        (1, Some(RateLimit::Iops(100)), true),
        (8, None, true),
        (8, Some(RateLimit::Iops(100)), false),
    ] {
        for at in 2..5 {
            let shared = Arc::<crate::load::StreamShared>::default();
            let script = |n| {
                if stops && n == at {
                    shared.stop();
                }
                after(MS)
            };
            let mut job = endless(10);
            (job.iodepth, job.rate) = (depth, rate);
            job.runtime = Some(Nanos(if rate.is_some() { 10 } else { 1 } * at * MS));
            let mut play = Play::new(job, &script);
            (play.trims, play.shared) = (true, Arc::clone(&shared));
            let attempts = play.run().log.attempts;
            let of = |ddir| attempts.iter().filter(move |io| io.2 == ddir).count();
            let counts = (of(Ddir::Trim), of(Ddir::Write));
            assert_eq!(
                counts.0, counts.1,
                "{depth} {rate:?} {stops} {at}: {attempts:?}"
            );
        }
    }
}

/// fio 3.33 trims three blocks and writes them with `number_ios=3`.
#[test]
fn a_trim_and_its_write_are_one_of_number_ios() {
    for (trims, ios) in [(false, 3), (true, 6)] {
        let script = |_| after(MS);
        let mut play = Play::new(writes(10), &script);
        (play.trims, play.number_ios) = (trims, Some(3));
        assert_eq!(play.synchronous().log.attempts.len(), ios);
    }
}

#[test]
fn a_slow_device_does_not_delay_the_next_paced_io() {
    // Each takes 35 ms, one is due every 10: up to four are under way.
    let script = |_| after(35 * MS);
    let mut job = endless(10);
    job.iodepth = 8;
    job.rate = Some(RateLimit::Iops(100));
    job.runtime = Some(Nanos(10 * SECOND));
    let played = Play::new(job, &script).asynchronous();
    for (n, &(at, ..)) in (0..).zip(&played.log.attempts) {
        assert_eq!(at, START + n * 10 * MS);
    }
    assert_eq!(played.log.deepest, 4);
}

#[test]
fn a_stall_is_not_followed_by_a_flood() {
    for depth in [1, 8] {
        // All stall once, for a minute.
        let script = |n| {
            after(if (500..500 + depth).contains(&n) {
                60 * SECOND
            } else {
                MS
            })
        };
        let mut job = endless(10);
        job.iodepth = u32::try_from(depth).unwrap();
        job.rate = Some(RateLimit::Iops(100));
        job.runtime = Some(Nanos(120 * SECOND));
        let played = Play::new(job, &script).run();
        let attempts = played.log.attempts.iter();
        let over = attempts.clone().map(|&(at, ..)| at).nth(500).unwrap() + 60 * SECOND;
        let (from, to) = (over, over + SECOND);
        let burst = attempts.filter(|&&(at, ..)| at >= from && at < to).count();
        // A second's worth is made up for, besides that second's own.
        assert!(burst <= 210, "depth {depth}: {burst} in a second");
    }
}

#[test]
fn short_transfers_are_continued_where_they_ended() {
    let script = |n| Act {
        latency_ns: MS,
        result: Ok(if n == 1 || n == 2 { 1000 } else { u32::MAX }),
    };
    for depth in [1, 2] {
        let mut job = writes(3);
        job.iodepth = depth;
        let played = Play::new(job, &script).run();
        let write = &played.measured.write;
        assert_eq!((write.ios, write.bytes), (3, 3 * BLOCK));
        assert_eq!(write.short_ios, 2);
        let mut offsets: Vec<u64> = played.log.attempts.iter().map(|a| a.1).collect();
        if depth == 1 {
            assert_eq!(offsets, [0, 4096, 5096, 6096, 8192]);
            // From the first attempt on.
            assert_eq!(write.latency.max_ns, 3 * MS);
        }
        offsets.sort_unstable();
        assert_eq!(offsets.len(), 5);
        assert_eq!(played.measured.errors.count, 0);
    }
}

#[test]
fn bad_spots_are_located_and_passed() {
    let script = |n| {
        if n % 10 == 3 {
            fails(libc::EIO)
        } else {
            after(MS)
        }
    };
    let played = Play::new(writes(100), &script).synchronous();
    assert_eq!(played.measured.write.ios, 90);
    let errors = &played.measured.errors;
    assert_eq!(errors.count, 10);
    let second = &errors.first[1];
    assert_eq!((second.offset, second.length), (13 * BLOCK, BLOCK));
    assert_eq!(second.direction, Some(Direction::Write));
    assert_eq!(second.errno, Some(libc::EIO));
    assert_eq!(second.at_ns, 14 * MS);
    assert_eq!(played.report.errno, 0);
}

#[test]
fn a_dead_device_is_given_up() {
    let played = Play::new(endless(100), &|_| fails(libc::EIO)).synchronous();
    assert_eq!(played.measured.errors.count, 64);
    assert_eq!(played.log.attempts.len() as u64, 64);
    assert_ne!(played.report.errno, 0);
    assert_eq!(played.measured.write.bytes, 0);
}

#[test]
fn a_full_file_system_ends_the_job_at_once() {
    let script = |n| {
        if n == 7 {
            fails(libc::ENOSPC)
        } else {
            after(MS)
        }
    };
    let mut job = writes(100);
    job.flush.at_end = Some(FlushCall::Fdatasync);
    let played = Play::new(job.clone(), &script).synchronous();
    assert_eq!(played.log.attempts.len(), 8);
    assert_eq!(played.measured.errors.first[0].offset, 7 * BLOCK);
    assert_eq!(played.measured.flush.count, 0);
    assert_ne!(played.report.errno, 0);
    // Those already under way are waited for and counted.
    job.iodepth = 4;
    let played = Play::new(job, &script).asynchronous();
    assert_eq!(played.measured.errors.count, 1);
    assert_eq!(played.measured.write.ios, 4 + 3 + 3);
}

#[test]
fn the_end_of_the_file_is_an_error_with_its_place() {
    let script = |n| Act {
        latency_ns: MS,
        result: Ok(match n {
            5 => 100,
            6 => 0,
            _ => u32::MAX,
        }),
    };
    let mut job = writes(100);
    job.rw = Rw::Read;
    let played = Play::new(job, &script).synchronous();
    let error = &played.measured.errors.first[0];
    assert_eq!((error.offset, error.length), (5 * BLOCK + 100, BLOCK - 100));
    assert_eq!(error.errno, None);
    assert_eq!(error.message, "unexpected end of file");
    assert_eq!(played.measured.read.ios, 5);
}

#[test]
fn the_time_before_a_fatal_error_is_a_gap() {
    let script = |n| match n {
        10 => Act {
            latency_ns: 30 * SECOND,
            result: Err(libc::ENODEV),
        },
        _ => after(MS),
    };
    let played = Play::new(writes(100), &script).synchronous();
    let gap = played.measured.longest_gap.unwrap();
    assert_eq!((gap.start_ns, gap.length_ns), (10 * MS, 30 * SECOND));
}

#[test]
fn what_a_full_queue_gives_back_is_not_lost() {
    let script = |_| after(MS);
    let mut job = writes(20);
    job.iodepth = 8;
    let mut play = Play::new(job, &script);
    play.room = 3;
    let played = play.asynchronous();
    assert_eq!(played.log.deepest, 3);
    assert_eq!(played.measured.write.ios, 20);
    let mut offsets: Vec<u64> = played.log.attempts.iter().map(|a| a.1).collect();
    offsets.sort_unstable();
    let expected: Vec<u64> = (0..20).map(|n| n * BLOCK).collect();
    assert_eq!(offsets, expected);
    // Time in assay's own queue is not the device's latency.
    assert_eq!(played.measured.write.latency.max_ns, MS);
}

#[test]
fn a_stop_from_outside_ends_an_endless_job() {
    let shared = Arc::<crate::load::StreamShared>::default();
    let script = |n| {
        if n >= 1000 {
            shared.stop();
        }
        after(MS)
    };
    let mut play = Play::new(endless(10), &script);
    play.shared = Arc::clone(&shared);
    let played = play.synchronous();
    let ios = played.measured.write.ios;
    assert!((1000..=1101).contains(&ios), "{ios}");
    assert_eq!(played.ios_told, ios);
}

#[test]
fn several_workers_stall_only_where_all_of_them_do() {
    let gaps = SharedGaps::new(2);
    let stalling = |number, from: u64, length: u64| {
        let script = move |n| after(if n == from { length } else { MS });
        let mut play = Play::new(writes(500), &script);
        play.gaps = (Arc::clone(&gaps), number);
        play.synchronous().measured
    };
    // One stalls from 100 to 900 ms, the other from 300 to 1300 ms.
    stalling(0, 100, 800 * MS);
    let gap = stalling(1, 300, SECOND).longest_gap.unwrap();
    assert_eq!((gap.start_ns, gap.length_ns), (300 * MS, 600 * MS));
}

#[test]
fn only_what_the_kernel_took_has_a_submission_time() {
    let script = |_| after(MS);
    let mut job = endless(100);
    job.iodepth = 4;
    job.io_size = Some(Bytes(40 * BLOCK));
    let mut play = Play::new(job.clone(), &script);
    play.takes = 0;
    // A kernel that is out of resources takes them later, with the wait.
    let played = play.asynchronous();
    assert_eq!(played.measured.write.ios, 40);
    assert_eq!(played.report.directions.write.submission.count, 0);
    let played = Play::new(job, &script).asynchronous();
    assert_eq!(played.measured.write.submission.unwrap().count, 40);
}

#[test]
fn a_ramp_takes_nothing_from_a_single_pass() {
    for depth in [1, 8] {
        for rw in [Rw::Write, Rw::RandWrite] {
            let script = |_| after(MS);
            let mut job = writes(100);
            job.rw = rw;
            job.iodepth = depth;
            job.ramp_time = Nanos(5 * MS);
            let played = Play::new(job, &script).run();
            assert_eq!(played.measured.write.ios, 100, "{rw}, depth {depth}");
        }
    }
}

/// One of 2,000 I/Os stalls the device for 200 ms, the others take 0.1 ms. At 1,000 arrivals a second
/// a tenth of them meets a stall: the slowest hundredth, 20 of 2,000, are the stalled one and those of
/// the next 19 ms, which wait for the rest of the stall and for 20 others.
#[test]
fn latencies_of_arrivals_count_from_when_they_were_due() {
    let script = |n| after(if n % 2_000 == 0 { 200 * MS } else { MS / 10 });
    let mut job = endless(100_000);
    job.runtime = Some(Nanos::secs(400));
    let mut p99 = |rate| {
        job.rate = Some(rate);
        let played = Play::new(job.clone(), &script).synchronous();
        let write = &played.measured.write;
        let ios = write.ios as f64 / 400.0;
        assert!((ios - 1_000.0).abs() < 10.0, "{ios} a second");
        let latency = Distribution::of(&write.latency).unwrap();
        latency.percentile_ns(Percentile::P99).unwrap() as f64 / 1e6
    };
    let open = p99(RateLimit::Arrivals(1_000));
    assert!((open - 183.0).abs() < 3.0, "{open} ms");
    let closed = p99(RateLimit::Iops(1_000));
    assert!(closed < 0.2, "{closed} ms");
}

/// A backlog of more than a second is made up: none of it is dropped.
#[test]
fn overdue_arrivals_are_all_issued() {
    let script = |n| after(if n == 10 { 3 * SECOND } else { MS / 10 });
    let mut job = endless(100_000);
    job.runtime = Some(Nanos::secs(10));
    job.rate = Some(RateLimit::Arrivals(1_000));
    for depth in [1, 8] {
        job.iodepth = depth;
        let played = Play::new(job.clone(), &script).run();
        let write = &played.measured.write;
        assert!(write.ios.abs_diff(10_000) < 400, "{depth}: {}", write.ios);
        assert!(write.latency.max_ns >= 3 * SECOND);
    }
}

/// A stall in the last 300 ms: all that was due in the trial is issued, late; of a rate that is never
/// kept, as much as a second suffices for.
#[test]
fn arrivals_that_are_overdue_at_the_end_belong_to_the_trial() {
    let late = |n| after(if n == 1_800 { 600 * MS } else { MS / 10 });
    let mut job = endless(100_000);
    job.runtime = Some(Nanos::secs(2));
    job.rate = Some(RateLimit::Arrivals(1_000));
    let played = Play::new(job.clone(), &late).synchronous();
    let write = &played.measured.write;
    assert!(write.ios.abs_diff(2_000) < 150, "{}", write.ios);
    assert_eq!(write.latency.max_ns / MS / 100, 6);
    let elapsed = played.measured.elapsed_ns;
    assert!((2 * SECOND..3 * SECOND).contains(&elapsed), "{elapsed}");
    let slow = |_| after(10 * MS);
    let played = Play::new(job, &slow).synchronous();
    let elapsed = played.measured.elapsed_ns;
    assert!(elapsed.abs_diff(3 * SECOND) < 20 * MS, "{elapsed}");
}
