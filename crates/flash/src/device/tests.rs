use super::*;
use crate::experiment::{SimulatedJob, disks, run};
use assay_model::job::Direction;
use proptest::prelude::*;

fn part(name: &str) -> DeviceModel {
    DeviceModel::find(name).unwrap_or_else(|| panic!("{name} is not known"))
}

fn sd() -> DeviceModel {
    part("rtsx-sd-pro-plus-128")
}

fn job(read_percent: u8, random: bool, blocks: u64) -> SimulatedJob {
    SimulatedJob {
        read_percent,
        random,
        blocks,
        span: 1 << 24,
        warm: 4,
        ios: 200,
        seed: 7,
    }
}

fn mean_us(part: &DeviceModel, policy: Policy, job: &SimulatedJob) -> f64 {
    let mut device = Device::new(part, policy).expect("it can be simulated");
    run(&mut device, job).mean_us()
}

/// Within a picosecond for each block.
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
}

/// The formulas of the reference, against what the events add up to.
#[test]
fn single_requests_cost_what_the_formulas_say() {
    let part = sd();
    let wire = 512e6
        / assay_model::device::find_ceiling("sdr104")
            .expect("a bus")
            .read;
    let read = |n: f64| 298.0 + 6.3 * n.min(32.0) + wire * n;
    let write = |n: f64| 298.0 + 1158.0 + 18.68 * n.min(128.0) + 8.83 * n;
    for (blocks, n) in [(16, 16.0), (32, 32.0), (1024, 1024.0)] {
        assert_near(
            mean_us(&part, Policy::Closed, &job(100, true, blocks)),
            read(n),
        );
        assert_near(
            mean_us(&part, Policy::OPEN, &job(100, true, blocks)),
            read(n) + 138.9,
        );
        assert_near(
            mean_us(&part, Policy::Closed, &job(0, true, blocks)),
            write(n),
        );
        assert_near(
            mean_us(&part, Policy::OPEN, &job(0, true, blocks)),
            write(n) + 49.8,
        );
    }
    let going_on = 321.0 + wire * 64.0;
    assert_near(mean_us(&part, Policy::OPEN, &job(100, false, 64)), going_on);
}

/// The same run on every architecture: all is whole numbers.
#[test]
fn the_same_seed_gives_the_same_run_bit_for_bit() {
    let digest = |name, policy, seed| {
        let mut device = Device::new(&part(name), policy).expect("it can be simulated");
        let job = SimulatedJob {
            seed,
            ..job(70, true, 8)
        };
        run(&mut device, &job).digest
    };
    let runs = [
        ("rtsx-sd-pro-plus-128", Policy::OPEN),
        ("emmc-8gb-hs400", Policy::SetCount),
        ("emmc-8gb-hs400", Policy::Queued),
        ("ufs-128gb-g3x2", Policy::Queued),
    ];
    let found = runs.map(|(name, policy)| format!("{:016x}", digest(name, policy, 1)));
    assert_eq!(found, GOLDEN);
    let others = runs.map(|(name, policy)| format!("{:016x}", digest(name, policy, 2)));
    assert!(
        found.iter().zip(&others).all(|(a, b)| a != b),
        "the seed decides"
    );
}

/// Digests of these runs, the same everywhere.
const GOLDEN: [&str; 4] = [
    "b253a172e1d705fd",
    "1f8ba05f70ceb295",
    "c4dc691027923b95",
    "40354f9c128e1015",
];

#[test]
fn the_board_is_as_fast_as_it_was_measured() {
    let part = part("emmc-8gb-hs400");
    for (read_percent, published) in [(100, 275.0), (0, 54.3)] {
        // The SLC area is full by then, as it was after a minute on the board.
        let job = SimulatedJob {
            warm: 1000,
            ..job(read_percent, false, 2048)
        };
        let us = mean_us(&part, Policy::SetCount, &job);
        let rate = 1e6 / us;
        assert!(
            (rate / published - 1.0).abs() < 0.02,
            "{rate} MiB/s, not {published}"
        );
    }
}

/// Figures that a part's source states, with their unit's bytes per second or I/Os per second.
struct Stated {
    part: &'static str,
    words: &'static str,
    job: SimulatedJob,
    policy: Policy,
    per_s: f64,
    /// Of an I/O, in that unit.
    each: f64,
}

#[test]
fn each_known_part_reaches_the_figures_that_it_states() {
    let (mib, mb) = (1.0, 1.048_576);
    let all = |part, words, job, policy, per_s, each| Stated {
        part,
        words,
        job,
        policy,
        per_s,
        each,
    };
    let fresh = |read_percent| SimulatedJob {
        warm: 4,
        ios: 50,
        ..job(read_percent, false, 2048)
    };
    let full = |warm| SimulatedJob { warm, ..fresh(0) };
    let random = SimulatedJob {
        warm: 1000,
        ios: 10_000,
        ..job(100, true, 8)
    };
    let (emmc, ufs) = ("emmc-8gb-hs400", "ufs-128gb-g3x2");
    let (one, queued) = (Policy::SetCount, Policy::Queued);
    for stated in [
        all(emmc, "275 MiB/s", fresh(100), one, 275.0, mib),
        all(emmc, "61 MiB/s", fresh(0), one, 61.0, mib),
        all(emmc, "54.3 MiB/s", full(1000), one, 54.3, mib),
        all(ufs, "860 MB/s", fresh(100), one, 860.0, mb),
        all(ufs, "510 MB/s", fresh(0), one, 510.0, mb),
        all(ufs, "250 MB/s", full(8000), one, 250.0, mb),
        all(ufs, "50 k IOPS", random, queued, 50_000.0, 1.0),
    ] {
        let part = part(stated.part);
        let source = part.source.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(source.contains(stated.words), "{source}");
        let found = stated.each * 1e6 / mean_us(&part, stated.policy, &stated.job);
        let off = found / stated.per_s - 1.0;
        assert!(
            off.abs() < 0.1,
            "{}: {found}, not {}",
            stated.part,
            stated.words
        );
    }
}

#[test]
fn a_queue_gains_where_the_card_has_units() {
    let part = part("ufs-128gb-g3x2");
    let random = job(100, true, 8);
    let one_by_one = mean_us(&part, Policy::SetCount, &random);
    let queued = mean_us(&part, Policy::Queued, &random);
    assert!(queued < one_by_one / 4.0, "{queued} {one_by_one}");
}

#[test]
fn what_a_policy_needs_must_be_there() {
    for policy in [Policy::SetCount, Policy::Queued] {
        let error = Device::new(&sd(), policy).expect_err("the host has neither");
        assert!(
            error.to_string().contains("rtsx-sd-pro-plus-128"),
            "{error}"
        );
    }
}

fn write(block: u64) -> BlockRequest {
    BlockRequest {
        direction: Direction::Write,
        block,
        blocks: 64,
    }
}

#[test]
fn an_open_transfer_ends_when_its_timer_runs_out_and_the_next_one_finds_the_card_ready() {
    let mut device = Device::new(&sd(), Policy::OPEN).expect("it can be simulated");
    let first = device.request(Picos::ZERO, &write(0));
    assert!(device.unfinished(first.end) > Picos::ZERO);
    let later = first.end + Picos::from_ms(200);
    let second = device.request(later, &write(64));
    assert_eq!(second.spent.of(RequestPhase::Break), Picos::ZERO);
    assert_eq!(second.spent.of(RequestPhase::Program), Picos::ZERO);
    assert!(
        second.spent.of(RequestPhase::Command) > Picos::ZERO,
        "it was opened anew"
    );
    // Just before that moment it goes on.
    let mut device = Device::new(&sd(), Policy::OPEN).expect("it can be simulated");
    let first = device.request(Picos::ZERO, &write(0));
    let soon = first.end + Picos::from_ms(150) - Picos(1);
    assert_eq!(
        device
            .request(soon, &write(64))
            .spent
            .of(RequestPhase::Command),
        Picos::ZERO
    );
}

#[test]
fn only_the_published_policy_sends_commands_to_a_busy_card() {
    for (policy, expected) in [(Policy::OPEN, true), (Policy::OPEN_SAFE, false)] {
        let mut device = Device::new(&sd(), policy).expect("it can be simulated");
        let _ = disks(&mut device, 2, 1 << 24);
        assert_eq!(device.sent_while_busy() > 0, expected, "{policy}");
    }
}

#[test]
fn a_cache_hides_programming_until_it_is_full_or_flushed() {
    let mut part = part("emmc-8gb-hs400");
    (part.gc, part.slc, part.map) = (None, None, None);
    let mut device = Device::new(&part, Policy::SetCount).expect("it can be simulated");
    let first = device.request(Picos::ZERO, &write(0));
    assert_eq!(first.spent.of(RequestPhase::Program), Picos::ZERO);
    let flush = device.flush(first.end);
    assert!(
        flush.spent.of(RequestPhase::Program) > Picos::from_us(400.0),
        "{flush:?}"
    );
    let full = mean_us(&part, Policy::SetCount, &job(0, false, 64));
    assert_near(
        full,
        8.5 * 64.0 + 0.0_f64.max(200.0 + 7.4 * 64.0 - 8.5 * 64.0),
    );
}

fn any_part() -> impl Strategy<Value = DeviceModel> {
    let times = (
        0.0..500.0,
        0.0..20.0,
        0.0..200.0,
        0.0..2000.0,
        0.0..20.0,
        0.0..200.0,
    );
    (times, 0..200_u64, 1..1024_u64).prop_map(|(times, ramp, max)| {
        let mut part = sd();
        (
            part.read.command_us,
            part.read.ramp_us,
            part.read.break_us,
            ..,
        ) = times;
        (
            ..,
            part.write.program_us,
            part.write.block_us,
            part.write.break_us,
        ) = times;
        (part.read.ramp_blocks, part.write.ramp_blocks) = (ramp, ramp);
        part.max_request_kib = max;
        part
    })
}

fn any_requests() -> impl Strategy<Value = Vec<(bool, u64, u64, u64)>> {
    prop::collection::vec((any::<bool>(), 0..64_u64, 1..64_u64, 0..200_000_u64), 1..60)
}

proptest! {
    /// Whatever is asked: time goes forward, every picosecond is accounted for, and no
    /// write is forgotten.
    #[test]
    fn time_is_conserved(
        part in any_part(),
        requests in any_requests(),
        safe in any::<bool>(),
        after in 0..4_u32,
    ) {
        let policy = Policy::Open { after, waits: safe };
        let mut device = Device::new(&part, policy).expect("it can be simulated");
        let mut now = Picos::ZERO;
        for (reads, block, blocks, idle_us) in requests {
            now += Picos::from_us(idle_us as f64);
            let direction = if reads { Direction::Read } else { Direction::Write };
            let done = device.request(now, &BlockRequest { direction, block, blocks });
            prop_assert_eq!(done.end - now, done.spent.total());
            prop_assert!(done.end >= now + device.costs(direction).block.times(blocks));
            now = done.end;
        }
        if safe {
            let flushed = device.flush(now);
            prop_assert_eq!(device.unfinished(flushed.end), Picos::ZERO);
        }
    }

    /// Opening never makes the card program less: what a write saves while the transfer is
    /// open is owed, and found again when it is flushed.
    #[test]
    fn an_open_transfer_moves_programming_and_saves_only_commands(
        part in any_part(),
        count in 1..30_u64,
    ) {
        let total = |policy| {
            let mut device = Device::new(&part, policy).expect("it can be simulated");
            let mut now = Picos::ZERO;
            for number in 0..count {
                now = device.request(now, &write(number * 64)).end;
            }
            device.flush(now).end
        };
        let saved = Picos::from_us(part.read.command_us).times(count - 1);
        let ending = Picos::from_us(part.write.break_us);
        prop_assert_eq!(total(Policy::Closed) + ending, total(Policy::OPEN_SAFE) + saved);
    }

    /// No text makes reading a part panic.
    #[test]
    fn any_text_is_a_part_or_refused(text in "[a-z_=0-9.\\[\\]\" \n-]{0,200}") {
        let _ = DeviceModel::parse(&text);
    }
}

#[test]
fn work_waits_only_when_there_is_too_much_of_it() {
    let mut bucket = Bucket::empty(Picos(10), 2);
    let at = |moment| (Picos(moment), Picos(moment));
    let mut add = |(begun, now), blocks| bucket.add(begun, now, blocks, &mut Noise::new(0.0, 0));
    assert_eq!(add(at(0), 2), Picos(0));
    assert_eq!(add(at(0), 1), Picos(10));
    // All is done by then.
    assert_eq!(add(at(100), 2), Picos(0));
    // Work that arrives slowly is done in the meantime.
    assert_eq!(add((Picos(200), Picos(240)), 6), Picos(0));
    let mut full = Bucket::full(Picos(10), 2);
    assert_eq!(
        full.add(Picos(0), Picos(0), 3, &mut Noise::new(0.0, 0)),
        Picos(30)
    );
}

#[test]
fn a_region_is_loaded_once_until_another_takes_its_place() {
    let mut regions = Regions::new(2, 8, Picos(5));
    assert_eq!(regions.touch(0, 16), Picos(10));
    assert_eq!(regions.touch(7, 1), Picos(0));
    assert_eq!(regions.touch(16, 1), Picos(5));
    assert_eq!(regions.touch(0, 1), Picos(5));
}

fn request(block: u64, blocks: u64) -> BlockRequest {
    BlockRequest {
        direction: Direction::Write,
        block,
        blocks,
    }
}

fn layout() -> Layout {
    Layout::new(&Flash {
        page_kib: 16,
        page_us: 1.0,
        unit_kib: 64,
        unit_us: 10.0,
        map_kib: 4,
        rmw_us: 100.0,
        open_units: 2,
        close_us: 1000.0,
    })
}

#[test]
fn what_lies_across_a_boundary_costs_more() {
    let us = |block, blocks| layout().read(&request(block, blocks)).as_us();
    assert_eq!(
        [us(0, 8), us(28, 8), us(124, 8), us(0, 128)],
        [0.0, 1.0, 11.0, 0.0]
    );
}

#[test]
fn what_covers_a_mapping_unit_in_part_is_merged() {
    let us = |block, blocks| layout().merge(&request(block, blocks)).as_us();
    let found = [us(0, 8), us(1, 8), us(1, 4), us(0, 9), us(8, 32)];
    assert_eq!(found, [0.0, 200.0, 100.0, 100.0, 0.0]);
}

#[test]
fn one_unit_too_many_closes_the_one_that_was_used_longest_ago() {
    let mut layout = layout();
    let found = [0, 128, 0, 256, 0, 128].map(|block| layout.touch(&request(block, 8)).as_us());
    assert_eq!(found, [0.0, 0.0, 0.0, 1000.0, 0.0, 1000.0]);
}

const MANY: u64 = 20_000;

/// The mean of many times of a microsecond, and the shortest and longest.
fn of_trial(seed: u64) -> (f64, f64, f64) {
    let mut noise = Noise::new(5.0, seed);
    let times = (0..MANY).map(|_| noise.on(Picos::from_us(1.0)).as_us());
    let times: Vec<f64> = times.collect();
    let mean = times.iter().sum::<f64>() / MANY as f64;
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    let most = times.iter().copied().fold(0.0, f64::max);
    (mean, least, most)
}

#[test]
fn times_vary_by_themselves_and_trials_as_a_whole() {
    let trials: Vec<_> = (0..40).map(of_trial).collect();
    for (mean, least, most) in &trials {
        // All of a trial by up to 1 %, each time by up to 5 % more.
        assert!((0.989..1.011).contains(mean), "{mean}");
        assert!((least / mean - 0.95).abs() < 1e-3, "{least} of {mean}");
        assert!((most / mean - 1.05).abs() < 1e-3, "{most} of {mean}");
    }
    // Independent variation alone would leave hardly 0.05 % between trials.
    let shifted = trials.iter().filter(|(mean, ..)| (mean - 1.0).abs() > 2e-3);
    assert!(shifted.count() > 20);
    assert_eq!(of_trial(7), of_trial(7));
}

#[test]
fn without_noise_nothing_varies() {
    let mut noise = Noise::new(0.0, 3);
    assert_eq!(noise.on(Picos(12_345)), Picos(12_345));
}

fn parse(words: &str) -> Result<Simulation, String> {
    let read = |name: &str| match name {
        "mine.toml" => Ok(DeviceModel::find("ufs-128gb-g3x2").unwrap().to_toml()),
        "bad.toml" => Ok("name = 3".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    Simulation::parse(words, read).map_err(|error| error.to_string())
}

#[test]
fn a_part_is_known_or_in_a_file() {
    let known = parse("emmc-8gb-hs400").unwrap();
    assert_eq!(known.policy, Policy::Queued);
    assert_eq!(
        parse("rtsx-sd-pro-plus-128").unwrap().policy,
        Policy::Closed
    );
    assert_eq!(
        parse("mine.toml").unwrap().part,
        DeviceModel::find("ufs-128gb-g3x2").unwrap()
    );
    assert_eq!(
        parse("emmc-8gb-hs400,policy=open").unwrap().policy,
        Policy::OPEN
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (words, expected) in [
        (
            "nothing",
            "no simulated part is called 'nothing': there are rtsx-sd-pro-plus-128, emmc-8gb-hs400",
        ),
        ("bad.toml", "bad.toml: it is not a valid part"),
        ("emmc-8gb-hs400,speed=2", "'speed=2' is not known"),
        ("emmc-8gb-hs400,policy=no", "no policy is called 'no'"),
        ("emmc-8gb-hs400,noise=90", "noise_percent is 90"),
        ("rtsx-sd-pro-plus-128,policy=queued", "has no queue"),
    ] {
        let error = parse(words).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
