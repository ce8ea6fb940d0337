//! Random orders.

use super::*;
use assay_model::load::blocks::{Distribution, Generator, Sequencer};
use proptest::prelude::*;

/// Directions differ in size, sizes vary, or neither.
fn any_sizes() -> impl Strategy<Value = (u32, u32, Vec<(u32, u8)>)> {
    prop_oneof![
        (1_u32..9).prop_map(|n| (n * 512, n * 512, vec![])),
        (1_u32..5, 1_u32..9).prop_map(|(n, times)| (n * 512, n * 512 * times, vec![])),
        (1_u32..5, 1_u8..99).prop_map(|(n, share)| {
            (
                n * 512,
                n * 2048,
                vec![(n * 512, share), (n * 2048, 100 - share)],
            )
        }),
    ]
}

proptest! {
    #[test]
    fn with_a_map_each_smallest_block_comes_once(
        (min, max, split) in any_sizes(),
        name in prop::sample::select(vec!["randread", "randrw", "randtrim"]),
        offset in 0_u64..10,
        length in 5000_u64..300_000,
        seed: u64,
    ) {
        let stream = stream(|stream| {
            rw(stream, name);
            sizes(stream, min, max, &split);
        });
        let piece = u64::from(min);
        let region = FilePart { offset: offset * piece, length };
        let covered = pieces(&pass(&stream, region, seed), piece);
        let covered = covered.iter().map(|number| number - offset).collect();
        prop_assert!(each_once(covered, length / piece));
    }

    #[test]
    fn directions_of_different_sizes_share_the_map(
        read in 1_u32..5,
        write in 1_u32..5,
        length in 50_000_u64..300_000,
        seed: u64,
    ) {
        let stream = stream(|stream| {
            rw(stream, "randrw");
            sizes(stream, 1024 << read, 1024 << read, &[]);
            stream.blocks.sizes.write.min = 1024 << write;
            stream.blocks.sizes.write.max = 1024 << write;
        });
        let piece = 1024 << read.min(write);
        let covered = pieces(&pass(&stream, span(length), seed), piece);
        prop_assert!(each_once(covered, length / piece));
    }
}

#[test]
fn odd_sizes_end_at_the_last_whole_block() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        sizes(stream, 1024, 4096, &[]);
    });
    let steps = pass(&stream, span(20_000), 1);
    assert_eq!(
        steps.iter().map(|step| u64::from(step.length)).sum::<u64>(),
        19 * 1024
    );
}

#[test]
fn without_a_map_offsets_come_twice_but_as_many_bytes() {
    let plain = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.no_map = true;
    });
    let mut mixed = plain.clone();
    rw(&mut mixed, "randrw");
    for stream in [plain, mixed] {
        let mut offsets = offsets(&pass(&stream, span(1 << 20), 1));
        assert_eq!(offsets.len(), 256);
        offsets.sort_unstable();
        offsets.dedup();
        // Of 256 draws, 1 - 1/e of all blocks: 162, standard deviation 6.
        assert!((130..195).contains(&offsets.len()), "{}", offsets.len());
    }
}

#[test]
fn the_lfsr_promise_is_kept_without_a_map() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.no_map = true;
        stream.blocks.generator = Generator::Lfsr;
    });
    let steps = pass(&stream, span(1 << 20), 1);
    assert!(each_once(pieces(&steps, 4096), 256));
    assert_ne!(offsets(&steps)[..3], [0, 4096, 8192]);
}

#[test]
fn a_huge_region_needs_no_map() {
    for (no_map, name) in [(false, "randread"), (true, "randrw"), (true, "randread")] {
        let stream = stream(|stream| {
            rw(stream, name);
            stream.blocks.no_map = no_map;
        });
        let mut sequence = sequence(&stream, &[span(20_000_000_000_000)], 1);
        let largest = (0..1000)
            .map_while(|_| sequence.next())
            .map(|step| step.offset)
            .max();
        assert!(largest.unwrap() > 19_000_000_000_000);
    }
}

#[test]
fn blocks_may_start_at_other_multiples() {
    for (size, align) in [(4096, 8192), (8192, 4096), (4096, 512)] {
        let stream = stream(|stream| {
            rw(stream, "randread");
            sizes(stream, size, size, &[]);
            for ddir in Ddir::ALL {
                stream.blocks.sizes[ddir].align = align;
            }
        });
        let steps = pass(&stream, span(65_536), 1);
        assert_eq!(steps.len(), 65_536 / size as usize);
        assert!(steps.iter().all(|step| step.offset % u64::from(align) == 0));
        let unit = u64::from(align);
        assert!(
            offsets(&steps)
                .iter()
                .any(|offset| (offset / unit) % 2 == 1),
            "{size} {align}"
        );
    }
}

#[test]
fn a_new_offset_only_every_few() {
    let mut eight = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.rw.every = 8;
    });
    let region = span(4096 * 8000);
    let steps = offsets(&pass(&eight, region, 1));
    assert_eq!(steps.len(), 8000);
    let following = steps
        .windows(2)
        .filter(|pair| pair[1] == pair[0] + 4096)
        .count();
    assert!((6990..7010).contains(&following), "{following}");
    eight.blocks.rw.sequencer = Sequencer::Identical;
    let steps = offsets(&pass(&eight, region, 1));
    assert!(
        steps
            .chunks(8)
            .all(|run| run.iter().all(|offset| *offset == run[0]))
    );
    let starts: Vec<u64> = steps.chunks(8).map(|run| run[0]).collect();
    assert!(starts.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_share_of_random_offsets() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.percentage_random = PerDirection::all(20);
    });
    let steps = offsets(&pass(&stream, span(4096 * 100_000), 1));
    let following = steps
        .windows(2)
        .filter(|pair| pair[1] == pair[0] + 4096)
        .count();
    // Binomial with p = .8: standard deviation 126.
    assert!((79_300..80_700).contains(&following), "{following}");
}

#[test]
fn sizes_by_order_use_the_write_sizes_for_random_offsets() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        sizes(stream, 4096, 4096, &[]);
        stream.blocks.sizes.write.min = 16_384;
        stream.blocks.sizes.write.max = 16_384;
        stream.blocks.sizes_by_order = true;
        stream.blocks.percentage_random = PerDirection::all(50);
    });
    let steps = pass(&stream, span(1 << 24), 1);
    for pair in steps.windows(2) {
        let follows = pair[1].offset == pair[0].offset + u64::from(pair[0].length);
        assert!(pair[1].length == 16_384 || (follows && pair[1].length == 4096));
    }
    assert!(steps.iter().any(|step| step.length == 4096));
}

#[test]
fn unaligned_sizes_stay_in_the_region() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        sizes(stream, 512, 4096, &[]);
        stream.blocks.unaligned = true;
    });
    let steps = pass(&stream, span(100_000), 1);
    assert!(steps.iter().any(|step| step.length % 512 != 0));
    assert!(steps.iter().all(|step| step.offset % 512 == 0));
}

/// Share of the I/Os that go to the most frequent tenth of the blocks.
fn share_of_top_tenth(distribution: Distribution) -> f64 {
    let stream = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.distribution = PerDirection::all(distribution);
    });
    let steps = pass(&stream, span(4096 * 100_000), 1);
    let mut counts = vec![0_u32; 100_000];
    for step in &steps {
        counts[usize::try_from(step.offset / 4096).unwrap()] += 1;
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    f64::from(counts[..10_000].iter().sum::<u32>()) / steps.len() as f64
}

#[test]
fn skewed_distributions_prefer_few_blocks() {
    let zipf = share_of_top_tenth(Distribution::Zipf {
        theta: 1.1,
        center: None,
    });
    let pareto = share_of_top_tenth(Distribution::Pareto {
        power: 0.1,
        center: None,
    });
    assert!(zipf > 0.9, "{zipf}");
    // 0.9 by the law; the sample's own favourites add a little.
    assert!((0.89..0.96).contains(&pareto), "{pareto}");
}

#[test]
fn zoned_directions_keep_to_their_own_zones() {
    let stream = stream(|stream| {
        rw(stream, "randrw");
        stream.blocks.distribution.read = Distribution::Zoned(vec![(90, 10), (10, 90)]);
        stream.blocks.distribution.write = Distribution::Zoned(vec![(10, 90), (90, 10)]);
    });
    let region = 4096 * 100_000;
    for step in [Ddir::Read, Ddir::Write] {
        let steps = pass(&stream, span(region), 1);
        let own: Vec<u64> = steps
            .iter()
            .filter(|s| s.ddir == step)
            .map(|s| s.offset)
            .collect();
        let first_tenth = own.iter().filter(|&&offset| offset < region / 10).count() as f64;
        let share = first_tenth / own.len() as f64;
        let expected = if step == Ddir::Read { 0.9 } else { 0.1 / 9.0 };
        assert!((share - expected).abs() < 0.01, "{share}");
    }
}
