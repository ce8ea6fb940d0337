//! Orders of offsets that reveal properties of flash devices.

use super::{FilePart, Step};
use crate::EngineError;
use assay_model::job::FlashPattern;
use assay_model::load::{Ddir, Stream};
use assay_model::rng::SplitMix64;

/// An endless sequence of blocks of one size in one file, by a pattern.
#[derive(Clone, Debug)]
pub(super) struct Patterned {
    pattern: FlashPattern,
    span: FilePart,
    length: u32,
    /// Direction, for a pattern of one direction.
    ddir: Ddir,
    number: u64,
    rng: SplitMix64,
}

impl Patterned {
    /// Creates the sequence; `None` if the stream has no pattern.
    pub(super) fn new(
        stream: &Stream,
        spans: &[FilePart],
        seed: u64,
    ) -> Option<Result<Self, EngineError>> {
        let pattern = stream.blocks.pattern?;
        let length = stream.blocks.sizes.read.min;
        let needed = match pattern {
            FlashPattern::InTurn { units, unit } => unit.0.saturating_mul(u64::from(units)),
            FlashPattern::Across { unit } => unit.0.saturating_mul(2).max(2 * u64::from(length)),
            FlashPattern::ReadThenWrite => u64::from(length),
        };
        let fits = spans.first().filter(|span| span.length >= needed.max(1));
        let Some(span) = fits else {
            return Some(Err(EngineError::Job {
                job: stream.name.clone(),
                problem: format!("its pattern needs {needed} bytes: raise size"),
            }));
        };
        Some(Ok(Self {
            pattern,
            span: *span,
            length,
            ddir: if stream.blocks.rw.read {
                Ddir::Read
            } else {
                Ddir::Write
            },
            number: 0,
            rng: SplitMix64::new(seed),
        }))
    }

    pub(super) fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.number = 0;
    }

    pub(super) const fn draw(&self) -> Ddir {
        match self.pattern {
            FlashPattern::ReadThenWrite if self.number % 2 == 1 => Ddir::Write,
            FlashPattern::ReadThenWrite => Ddir::Read,
            _ => self.ddir,
        }
    }

    pub(super) fn next(&mut self) -> Step {
        let ddir = self.draw();
        let length = u64::from(self.length).max(1);
        let place = match self.pattern {
            FlashPattern::InTurn { units, unit } => {
                let units = u64::from(units.max(1));
                let in_unit = (self.number / units) % (unit.0 / length).max(1);
                (self.number % units) * unit.0 + in_unit * length
            }
            FlashPattern::Across { unit } => {
                let multiples = (self.span.length - length / 2) / unit.0.max(1);
                // Multiple 0 is excluded, because half a block before it is
                // outside the span.
                let multiple = 1 + self.rng.below(multiples.saturating_sub(1).max(1));
                (multiple * unit.0).saturating_sub(length / 2)
            }
            FlashPattern::ReadThenWrite => self.rng.below(self.span.length / length) * length,
        };
        self.number += 1;
        Step {
            ddir,
            file: 0,
            offset: self.span.offset + place,
            length: self.length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
