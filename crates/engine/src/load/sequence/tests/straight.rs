//! Sequential orders.

use super::*;
use proptest::prelude::*;

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
