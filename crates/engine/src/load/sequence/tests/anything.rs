//! Whatever is asked, however odd: blocks stay in their files, and passes end.

use super::*;
use assay_model::load::blocks::{Distribution, FileService, Generator, Sequencer, StridedZones};
use proptest::prelude::*;

fn any_sizes() -> impl Strategy<Value = BlockSizes> {
    let split = prop::collection::vec((0_u32..9000, 0_u8..101), 0..4);
    (0_u32..9000, 0_u32..20_000, split, 0_u32..9000).prop_map(|(min, max, split, align)| {
        BlockSizes {
            min,
            max,
            split,
            align,
        }
    })
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    let center = prop::option::of(-0.5..1.5);
    prop_oneof![
        Just(Distribution::Uniform),
        (0.001..5.0, center.clone())
            .prop_map(|(theta, center)| Distribution::Zipf { theta, center }),
        (0.0..1.0, center.clone())
            .prop_map(|(power, center)| Distribution::Pareto { power, center }),
        (0.0..200.0, center)
            .prop_map(|(deviation, center)| Distribution::Normal { deviation, center }),
        prop::collection::vec((0_u8..60, 0_u8..60), 0..4).prop_map(Distribution::Zoned),
        prop::collection::vec((0_u8..60, 0_u64..60_000), 0..4)
            .prop_map(Distribution::ZonedAbsolute),
    ]
}

fn each<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = PerDirection<T>> {
    (value.clone(), value.clone(), value).prop_map(|(read, write, trim)| PerDirection {
        read,
        write,
        trim,
    })
}

prop_compose! {
    fn any_order()(
        name in prop::sample::select(vec![
            "read", "write", "trim", "rw", "trimwrite",
            "randread", "randwrite", "randtrim", "randrw", "randtrimwrite",
        ]),
        every in 0_u32..5,
        skip_bytes in prop_oneof![Just(0), -20_000_i64..20_000, Just(i64::MIN), Just(i64::MAX)],
        identical: bool,
        percentage_random in each(0_u8..120),
        read_percent in 0_u8..120,
    ) -> Stream {
        stream(|stream| {
            rw(stream, name);
            stream.blocks.rw.every = every;
            stream.blocks.rw.skip_bytes = skip_bytes;
            if identical {
                stream.blocks.rw.sequencer = Sequencer::Identical;
            }
            stream.blocks.percentage_random = percentage_random;
            stream.blocks.read_percent = read_percent;
        })
    }
}

prop_compose! {
    fn any_stream()(
        mut stream in any_order(),
        sizes in each(any_sizes().boxed()),
        distribution in each(any_distribution().boxed()),
        flags: [bool; 5],
        zones in prop::option::of((0_u64..60_000, 0_u64..60_000, 0_u64..60_000)),
        service in prop::sample::select(vec![
            FileService::RoundRobin, FileService::Sequential, FileService::Random,
            FileService::Zipf(1.2), FileService::Pareto(0.2), FileService::Normal(20.0),
        ]),
        (service_every, open_at_once) in (0_u32..4, 0_u32..4),
    ) -> Stream {
        stream.blocks.sizes = sizes;
        stream.blocks.distribution = distribution;
        let [unaligned, by_order, no_map, lfsr, time_based] = flags;
        stream.blocks.unaligned = unaligned;
        stream.blocks.sizes_by_order = by_order;
        stream.blocks.no_map = no_map;
        if lfsr {
            stream.blocks.generator = Generator::Lfsr;
        }
        stream.length.time_based = time_based;
        stream.region.zones = zones.map(|(size, range, skip)| StridedZones { size, range, skip });
        stream.files.service = service;
        stream.files.service_every = service_every;
        stream.files.open_at_once = open_at_once;
        stream
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn blocks_stay_in_their_files_and_passes_end(
        stream in any_stream(),
        spans in prop::collection::vec((0_u64..100_000, 0_u64..100_000), 1..5),
        seed: u64,
    ) {
        let spans: Vec<FilePart> =
            spans.into_iter().map(|(offset, length)| FilePart { offset, length }).collect();
        let Ok(mut sequence) = Sequence::new(&stream, &spans, seed) else {
            return Ok(());
        };
        let smallest = Rules::new(&stream).smallest();
        let most = 2 * spans.iter().map(|span| span.length / smallest + 1).sum::<u64>();
        for pass in 0..2 {
            let mut steps = 0;
            // Without an end of its own, a stream is looked at for a while.
            while steps < 2000 {
                let Some(step) = sequence.next() else { break };
                let span = spans[step.file as usize];
                let end = step.offset + u64::from(step.length);
                prop_assert!(step.length > 0, "{step:?}");
                prop_assert!(step.offset >= span.offset && end <= span.offset + span.length, "{step:?}");
                steps += 1;
            }
            prop_assert!(stream.length.time_based || steps <= most || steps == 2000, "pass {pass}: {steps}");
            sequence.begin_again();
        }
    }
}

/// A same-offset-again stream that has moved on to another zone begins there,
/// not where it was in the zone before.
#[test]
fn the_same_offset_again_is_one_of_this_zone() {
    let stream = stream(|stream| {
        rw(stream, "randread");
        stream.blocks.rw.every = 100;
        stream.blocks.rw.sequencer = Sequencer::Identical;
        stream.region.zones = Some(StridedZones {
            size: 8192,
            range: 8192,
            skip: 0,
        });
    });
    for (number, step) in (0..).zip(pass(&stream, span(1 << 20), 1)) {
        assert_eq!(step.offset / 8192, number / 2, "{step:?}");
    }
}
