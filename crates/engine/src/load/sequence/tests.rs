//! What a pass of each kind consists of.

mod against_fio;
mod anything;
#[cfg(feature = "patterns")]
mod patterned;
mod random;

use super::*;
use assay_model::load::PerDirection;
use assay_model::load::blocks::{BlockSizes, Generator, StridedZones};
use assay_model::rng::SplitMix64;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A stream after a change.
fn stream(change: impl FnOnce(&mut Stream)) -> Stream {
    let mut stream = Stream::new("t");
    change(&mut stream);
    stream
}

/// Sets the pattern by fio's name of it.
fn rw(stream: &mut Stream, name: &str) {
    let rw = &mut stream.blocks.rw;
    rw.random = name.starts_with("rand");
    let plain = name.trim_start_matches("rand");
    rw.read = matches!(plain, "read" | "rw");
    rw.write = matches!(plain, "write" | "rw" | "trimwrite");
    rw.trim = matches!(plain, "trim" | "trimwrite");
    rw.trim_then_write = plain == "trimwrite";
}

/// Sets the sizes of all directions.
fn sizes(stream: &mut Stream, min: u32, max: u32, split: &[(u32, u8)]) {
    stream.blocks.sizes = PerDirection::all(BlockSizes {
        min,
        max,
        split: split.to_vec(),
        align: 0,
    });
}

fn span(length: u64) -> FilePart {
    FilePart { offset: 0, length }
}

fn sequence(stream: &Stream, spans: &[FilePart], seed: u64) -> Sequence {
    Sequence::new(stream, spans, seed).unwrap()
}

/// A whole pass over one region.
fn pass(stream: &Stream, region: FilePart, seed: u64) -> Vec<Step> {
    let mut sequence = sequence(stream, &[region], seed);
    let steps: Vec<Step> = std::iter::from_fn(|| sequence.next())
        .take(2_000_000)
        .collect();
    assert!(steps.len() < 2_000_000, "the pass does not end");
    for step in &steps {
        assert!(step.offset >= region.offset, "{step:?}");
        let end = step.offset + u64::from(step.length);
        assert!(
            step.length > 0 && end <= region.offset + region.length,
            "{step:?}"
        );
    }
    steps
}

fn offsets(steps: &[Step]) -> Vec<u64> {
    steps.iter().map(|step| step.offset).collect()
}

/// Pieces of that size that the steps cover, in their order.
fn pieces(steps: &[Step], piece: u64) -> Vec<u64> {
    steps
        .iter()
        .flat_map(|step| {
            let pieces = u64::from(step.length) / piece;
            (0..pieces).map(move |number| step.offset / piece + number)
        })
        .collect()
}

/// The numbers are those from 0 to `count`, each once.
fn each_once(mut numbers: Vec<u64>, count: u64) -> bool {
    numbers.sort_unstable();
    numbers.into_iter().eq(0..count)
}

#[test]
fn a_region_below_one_block_is_refused() {
    let error = Sequence::new(&Stream::new("tiny"), &[span(4095)], 1).unwrap_err();
    assert!(error.to_string().contains("'tiny'"), "{error}");
    assert!(error.to_string().contains("4095"), "{error}");
}

#[test]
fn files_too_small_for_a_block_are_left_out() {
    let stream = stream(|stream| stream.files.paths = vec!["a".into(), "b".into()]);
    let mut sequence = sequence(&stream, &[span(100), span(8192)], 1);
    let files: Vec<u32> = std::iter::from_fn(|| sequence.next())
        .map(|step| step.file)
        .collect();
    assert_eq!(files, [1, 1]);
}

#[test]
fn all_files_are_done_in_turn() {
    for name in ["read", "randread"] {
        let stream = stream(|stream| rw(stream, name));
        let mut sequence = sequence(&stream, &[span(40_960); 3], 1);
        let steps: Vec<Step> = std::iter::from_fn(|| sequence.next()).collect();
        let files: Vec<u32> = steps.iter().take(6).map(|step| step.file).collect();
        assert_eq!(files, [0, 1, 2, 0, 1, 2]);
        for file in 0..3 {
            let own: Vec<Step> = steps
                .iter()
                .copied()
                .filter(|step| step.file == file)
                .collect();
            assert!(each_once(pieces(&own, 4096), 10), "{name}");
        }
    }
}

#[test]
fn files_of_a_skewed_service_begin_again_until_the_bytes_are_done() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        stream.files.service = assay_model::load::blocks::FileService::Zipf(1.5);
    });
    let mut sequence = sequence(&stream, &[span(40_960); 10], 1);
    let steps: Vec<Step> = std::iter::from_fn(|| sequence.next()).collect();
    assert_eq!(steps.len(), 100);
    assert!(steps.iter().filter(|step| step.file == 0).count() > 30);
}

/// Without a limit of their bytes, the first files would never be done.
#[test]
fn all_files_take_turns_where_few_are_open_and_the_order_has_no_end() {
    use assay_model::load::blocks::FileService::{Random, RoundRobin, Sequential};
    for name in ["read", "randread", "rw", "randrw", "trimwrite"] {
        for (service, open_at_once) in [(RoundRobin, 2), (Random, 1), (Sequential, 0)] {
            for (time_based, no_map, skip) in [
                (true, false, 0),
                (true, true, 0),
                (false, true, 0),
                (true, false, 4096),
            ] {
                let stream = stream(|stream| {
                    rw(stream, name);
                    (stream.files.service, stream.files.open_at_once) = (service, open_at_once);
                    stream.length.time_based = time_based;
                    (stream.blocks.no_map, stream.blocks.rw.skip_bytes) = (no_map, skip);
                });
                let mut sequence = sequence(&stream, &[span(40_960); 4], 1);
                let steps: Vec<Step> = std::iter::from_fn(|| sequence.next()).take(400).collect();
                for file in 0..4 {
                    let share = steps.iter().filter(|step| step.file == file).count() * 4;
                    let fair = steps.len() * 3 / 4..steps.len() * 3 / 2;
                    assert!(fair.contains(&share), "{name} {service:?} {file}: {share}");
                }
                assert_eq!(time_based, steps.len() == 400, "{name} {service:?}");
            }
        }
    }
}

#[test]
fn passes_repeat_only_when_asked() {
    for repeat in [true, false] {
        for name in ["randread", "randrw"] {
            let stream = stream(|stream| {
                rw(stream, name);
                stream.blocks.repeat = repeat;
            });
            let mut sequence = sequence(&stream, &[span(1 << 20)], 5);
            let first: Vec<Step> = std::iter::from_fn(|| sequence.next()).collect();
            sequence.begin_again();
            let second: Vec<Step> = std::iter::from_fn(|| sequence.next()).collect();
            assert_eq!(first == second, repeat, "{name}");
            assert!(each_once(pieces(&second, 4096), 256), "{name}");
        }
    }
}

#[test]
fn a_stream_limited_by_time_goes_on_in_other_orders() {
    for name in ["read", "randread", "rw", "randrw"] {
        let stream = stream(|stream| {
            rw(stream, name);
            stream.length.time_based = true;
        });
        let mut sequence = sequence(&stream, &[span(40_960)], 5);
        let steps: Vec<Step> = (0..1000).map_while(|_| sequence.next()).collect();
        assert_eq!(steps.len(), 1000, "{name}");
        assert_eq!(steps[..10] == steps[10..20], name == "read", "{name}");
        for ddir in [Ddir::Read, Ddir::Write] {
            let own: Vec<u64> = steps
                .iter()
                .filter(|s| s.ddir == ddir)
                .map(|s| s.offset)
                .collect();
            assert!(
                own.is_empty() || own.contains(&36_864),
                "{name}: not all of the file"
            );
        }
    }
}

#[test]
fn a_stream_with_checks_ends_its_pass_even_if_time_limits_it() {
    let stream = stream(|stream| {
        rw(stream, "randwrite");
        stream.length.time_based = true;
        stream.verify = Some(assay_model::load::blocks::Verify::new(
            assay_model::load::blocks::VerifyKind::Crc32c,
        ));
    });
    assert_eq!(pass(&stream, span(40_960), 1).len(), 10);
}

#[test]
fn the_read_share_is_kept() {
    for name in ["rw", "randrw"] {
        let stream = stream(|stream| {
            rw(stream, name);
            stream.blocks.read_percent = 70;
        });
        let steps = pass(&stream, span(4096 * 100_000), 7);
        let reads = steps.iter().filter(|step| step.ddir == Ddir::Read).count();
        // Binomial with p = .7: standard deviation 145.
        assert!((69_300..70_700).contains(&reads), "{reads} reads");
        assert_eq!(steps.len(), 100_000);
    }
}

#[test]
fn a_direction_may_be_changed_before_its_block_is_taken() {
    let stream = stream(|stream| rw(stream, "rw"));
    let mut sequence = sequence(&stream, &[span(40_960)], 1);
    assert!(sequence.is_mixed());
    for block in 0..10 {
        sequence.draw();
        let step = sequence.next_of(Ddir::Write).unwrap();
        assert_eq!((step.ddir, step.offset), (Ddir::Write, block * 4096));
    }
}

#[test]
fn each_trim_is_followed_by_a_write_of_the_same_block() {
    for (name, bytes) in [("trimwrite", 1 << 20), ("randtrimwrite", 1 << 20)] {
        for (min, max, split) in [
            (4096, 4096, vec![]),
            (8192, 8192, vec![]),
            (512, 4096, vec![]),
            (
                512,
                4096,
                vec![(512, 25), (1024, 25), (2048, 25), (4096, 25)],
            ),
        ] {
            for no_map in [false, true] {
                let stream = stream(|stream| {
                    rw(stream, name);
                    sizes(stream, min, max, &split);
                    stream.blocks.no_map = no_map;
                });
                let steps = pass(&stream, span(bytes), 3);
                for pair in steps.chunks(2) {
                    assert_eq!((pair[0].ddir, pair[1].ddir), (Ddir::Trim, Ddir::Write));
                    assert_eq!(
                        (pair[0].offset, pair[0].length),
                        (pair[1].offset, pair[1].length)
                    );
                }
                let trims: Vec<Step> = steps.iter().copied().step_by(2).collect();
                if !no_map || name == "trimwrite" {
                    let piece = u64::from(min);
                    assert!(
                        each_once(pieces(&trims, piece), bytes / piece),
                        "{name} {min}"
                    );
                }
            }
        }
    }
}

proptest! {
    /// Against the plainest map there is.
    #[test]
    fn it_finds_and_takes_what_a_plain_map_would(len in 1_u64..10_000, seed: u64) {
        let mut map = FreeMap::new(len, "t").unwrap();
        let mut plain = vec![true; usize::try_from(len).unwrap()];
        let mut rng = SplitMix64::new(seed);
        loop {
            let from = rng.below(len);
            let at = usize::try_from(from).unwrap();
            let wanted = (at..plain.len()).chain(0..at).find(|&i| plain[i]);
            prop_assert_eq!(map.next_free(from), wanted.map(|i| i as u64));
            let Some(first) = wanted else { break };
            let most = 1 + rng.below(200);
            let run = plain[first..].iter().take_while(|free| **free).count() as u64;
            prop_assert_eq!(map.take(first as u64, most), run.min(most));
            let end = first + usize::try_from(run.min(most)).unwrap();
            plain[first..end].fill(false);
        }
    }
}

#[test]
fn freed_again_it_is_as_new_or_shorter() {
    let mut map = FreeMap::new(5000, "t").unwrap();
    assert_eq!(map.take(0, u64::MAX), 5000);
    assert_eq!(map.next_free(17), None);
    map.free_first(70);
    assert_eq!(map.next_free(69), Some(69));
    assert_eq!(map.take(0, 100), 70);
    assert_eq!(map.next_free(0), None);
}

fn lengths(min: u32, max: u32, split: &[(u32, u8)]) -> BlockSizes {
    BlockSizes {
        min,
        max,
        split: split.to_vec(),
        align: 0,
    }
}

fn counts(lengths: &Lengths, room: u64) -> BTreeMap<u32, u32> {
    let mut rng = SplitMix64::new(3);
    let mut counts = BTreeMap::new();
    for _ in 0..100_000 {
        *counts
            .entry(lengths.draw(&mut rng, room).unwrap())
            .or_default() += 1;
    }
    counts
}

#[test]
fn a_range_gives_each_multiple_alike() {
    let counts = counts(&Lengths::new(&lengths(1024, 4096, &[]), false), u64::MAX);
    assert_eq!(
        counts.keys().copied().collect::<Vec<_>>(),
        [1024, 2048, 3072, 4096]
    );
    // Binomial with p = 1/4: standard deviation 137.
    assert!(
        counts.values().all(|n| (24_300..25_700).contains(n)),
        "{counts:?}"
    );
}

#[test]
fn a_split_keeps_its_shares_and_skips_what_does_not_fit() {
    let split = [(4096, 70), (8192, 20), (65536, 10), (512, 0)];
    let lengths = Lengths::new(&lengths(4096, 65536, &split), false);
    let all = counts(&lengths, u64::MAX);
    assert!((69_300..70_700).contains(&all[&4096]), "{all:?}");
    assert!((19_300..20_700).contains(&all[&8192]), "{all:?}");
    let fitting = counts(&lengths, 10_000);
    assert_eq!(fitting.len(), 2);
    assert!((77_000..78_600).contains(&fitting[&4096]), "{fitting:?}");
}

#[test]
fn unaligned_lengths_are_any_number_of_bytes() {
    let counts = counts(&Lengths::new(&lengths(512, 600, &[]), true), 599);
    assert_eq!(counts.len(), 88);
    assert_eq!(counts.keys().next(), Some(&512));
}

#[test]
fn no_room_no_block() {
    let lengths = Lengths::new(&lengths(512, 600, &[]), true);
    assert_eq!(lengths.draw(&mut SplitMix64::new(1), 511), None);
}

proptest! {
    #[test]
    fn sizes_of_any_kind_follow_each_other_to_the_end(
        min in 1_u32..5,
        times in 1_u32..9,
        length in 5000_u64..300_000,
        seed: u64,
    ) {
        let stream = stream(|stream| sizes(stream, min * 512, min * 512 * times, &[]));
        let steps = pass(&stream, span(length), seed);
        let mut end = 0;
        for step in &steps {
            prop_assert_eq!(step.offset, end);
            end += u64::from(step.length);
        }
        prop_assert!(length - end < u64::from(min) * 512);
    }
}

#[test]
fn holes_end_where_no_block_fits() {
    // fio's own test 7: 85 blocks of 1 MiB, 512 KiB apart, in 128 MiB.
    let stream = stream(|stream| {
        sizes(stream, 1 << 20, 1 << 20, &[]);
        stream.blocks.rw.skip_bytes = 512 << 10;
        stream.blocks.no_map = true;
    });
    let steps = pass(&stream, span(128 << 20), 1);
    assert_eq!(
        steps.iter().map(|step| u64::from(step.length)).sum::<u64>(),
        87_040 << 10
    );
}

#[test]
fn backwards_goes_from_the_end_to_the_beginning() {
    let stream = stream(|stream| stream.blocks.rw.skip_bytes = -8192);
    let region = FilePart {
        offset: 8192,
        length: 65_536,
    };
    let expected: Vec<u64> = (0..15).map(|number| 65_536 - number * 4096).collect();
    assert_eq!(offsets(&pass(&stream, region, 1))[..15], expected);
}

#[test]
fn directions_of_a_mix_each_go_from_the_beginning() {
    let stream = stream(|stream| rw(stream, "rw"));
    let steps = pass(&stream, span(4096 * 100), 1);
    for ddir in [Ddir::Read, Ddir::Write] {
        let own: Vec<u64> = steps
            .iter()
            .filter(|s| s.ddir == ddir)
            .map(|s| s.offset)
            .collect();
        assert!(
            own.iter()
                .copied()
                .eq((0..own.len() as u64).map(|number| number * 4096))
        );
    }
}

#[test]
fn a_tail_below_one_block_is_left() {
    assert_eq!(
        offsets(&pass(&Stream::new("t"), span(20_000), 1)),
        [0, 4096, 8192, 12_288]
    );
}

/// Cases of `zonemode=strided`, with what fio's `t/strided.py` checks. Blocks of a case: of the
/// zone, done in it, of the offset, of the region.
const ZONES: [(u64, u64, u64, u64); 9] = [
    (1, 1, 8, 8),
    (1, 1, 0, 16),
    (4096, 4096, 0, 65_536),
    (1, 4, 0, 16),
    (4096, 8192, 0, 65_536),
    (2, 1, 0, 16),
    (4096, 2048, 0, 65_536),
    (1024, 1024, 8192, 8192),
    (2048, 1024, 0, 16_384),
];

fn zoned(zone: u64, done: u64, skip: u64) -> Stream {
    stream(|stream| {
        rw(stream, "randread");
        stream.region.zones = Some(StridedZones {
            size: done * 4096,
            range: zone * 4096,
            skip: skip * 4096,
        });
    })
}

fn check_zone(stream: &Stream, (zone, done, offset, blocks): (u64, u64, u64, u64), once: bool) {
    let region = FilePart {
        offset: offset * 4096,
        length: blocks * 4096,
    };
    let steps = pass(stream, region, 11);
    assert_eq!(steps.len() as u64, blocks);
    let mut start = offset;
    for steps in steps.chunks(usize::try_from(done).unwrap()) {
        for round in steps.chunks(usize::try_from(zone).unwrap()) {
            let mut seen: Vec<u64> = round.iter().map(|step| step.offset / 4096).collect();
            assert!(
                seen.iter()
                    .all(|block| (start..start + zone).contains(block))
            );
            seen.sort_unstable();
            seen.dedup();
            assert!(!once || seen.len() == round.len(), "twice in a zone");
        }
        start += zone;
        if start >= offset + blocks {
            start = offset;
        }
    }
}

#[test]
fn random_blocks_stay_in_their_zone_and_come_once_in_it() {
    for case in ZONES {
        let mut stream = zoned(case.0, case.1, 0);
        check_zone(&stream, case, true);
        stream.blocks.no_map = true;
        check_zone(&stream, case, false);
        stream.blocks.generator = Generator::Lfsr;
        check_zone(&stream, case, true);
    }
}

#[test]
fn several_sizes_stay_in_their_zone_too() {
    let mut stream = zoned(16, 16, 0);
    sizes(&mut stream, 1024, 8192, &[]);
    let steps = pass(&stream, span(256 * 4096), 1);
    assert!(each_once(pieces(&steps, 1024), 1024));
    for (zone, pieces) in pieces(&steps, 1024).chunks(64).enumerate() {
        assert!(pieces.iter().all(|piece| piece / 64 == zone as u64));
    }
}

#[test]
fn sequential_blocks_skip_between_zones_and_come_back() {
    let mut stream = zoned(4, 1, 1);
    rw(&mut stream, "read");
    let blocks: Vec<u64> = offsets(&pass(&stream, span(16 * 4096), 1))
        .iter()
        .map(|offset| offset / 4096)
        .collect();
    assert_eq!(
        blocks,
        [0, 5, 10, 15, 0, 5, 10, 15, 0, 5, 10, 15, 0, 5, 10, 15]
    );
}

#[test]
fn a_zone_no_multiple_of_the_block_goes_on() {
    let mut stream = zoned(1, 40, 0);
    stream.region.zones = Some(StridedZones {
        size: 40_000,
        range: 10_000,
        skip: 0,
    });
    for name in ["read", "randread"] {
        rw(&mut stream, name);
        assert_eq!(pass(&stream, span(100_000), 1).len(), 24);
    }
}
