//! `zonemode=strided`, with what fio's `t/strided.py` checks.

use super::*;
use assay_model::load::blocks::{Generator, StridedZones};

/// Blocks of a case: of the zone, done in it, of the offset, of the region.
const CASES: [(u64, u64, u64, u64); 9] = [
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

fn check(stream: &Stream, (zone, done, offset, blocks): (u64, u64, u64, u64), once: bool) {
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
    for case in CASES {
        let mut stream = zoned(case.0, case.1, 0);
        check(&stream, case, true);
        stream.blocks.no_map = true;
        check(&stream, case, false);
        stream.blocks.generator = Generator::Lfsr;
        check(&stream, case, true);
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
