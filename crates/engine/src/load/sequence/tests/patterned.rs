//! Patterns that ask flash a question.

use super::*;
use assay_model::job::FlashPattern;
use assay_model::units::Bytes;

const SPAN: FilePart = FilePart {
    offset: 1 << 20,
    length: 1 << 20,
};

fn steps(pattern: FlashPattern, count: usize) -> Vec<(Ddir, u64)> {
    let mut stream = Stream::new("t");
    stream.blocks.pattern = Some(pattern);
    stream.blocks.rw.write = true;
    let found = Patterned::new(&stream, &[SPAN], 1).expect("it has one");
    let mut patterned = found.expect("it fits");
    let steps = std::iter::repeat_with(|| patterned.next());
    let place = |step: Step| (step.ddir, step.offset - SPAN.offset);
    steps.map(place).take(count).collect()
}

#[test]
fn units_are_written_in_turn() {
    let pattern = FlashPattern::InTurn {
        units: 3,
        unit: Bytes::kib(8),
    };
    let places: Vec<u64> = steps(pattern, 8).iter().map(|(_, at)| at / 1024).collect();
    assert_eq!(places, [0, 8, 16, 4, 12, 20, 0, 8]);
}

#[test]
fn half_of_a_block_is_on_each_side_of_a_boundary() {
    let unit = Bytes::kib(64);
    for (_, at) in steps(FlashPattern::Across { unit }, 100) {
        assert_eq!((at + 2048) % unit.0, 0, "{at}");
        assert!(at > 0 && at + 4096 <= SPAN.length, "{at}");
    }
}

#[test]
fn reads_and_writes_alternate() {
    let found = steps(FlashPattern::ReadThenWrite, 4);
    let directions: Vec<Ddir> = found.iter().map(|(ddir, _)| *ddir).collect();
    assert_eq!(
        directions,
        [Ddir::Read, Ddir::Write, Ddir::Read, Ddir::Write]
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut stream = Stream::new("t");
    stream.blocks.pattern = Some(FlashPattern::Across {
        unit: Bytes::mib(1),
    });
    let refused = Patterned::new(&stream, &[SPAN], 1).expect("it has one");
    assert!(refused.is_err());
}
