//! Sweeps of the patterns: the expected values, and the values written.

use assay_model::act::memory::MemoryPattern;
use assay_model::rng::SplitMix64;

/// Alternating bits.
const CHECKERED: u64 = 0x5555_5555_5555_5555;
/// Words of a block that is moved.
pub(super) const BLOCK: usize = 4096;

/// Value of a word, given its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillValue {
    /// Address of the word.
    Address,
    /// Complement of the address.
    NotAddress,
    /// One value for all words.
    Same(u64),
    /// Random value from the seed and the position; `not` for the complement.
    Random { not: bool },
    /// Only bit `(place + shift) mod 64`; `not` for all other bits.
    Walking { shift: u32, not: bool },
    /// Alternating bits, inverted in every other word; `not` for the complement.
    Checkered { not: bool },
    /// Random values after all blocks were moved by one block.
    Moved,
}

/// One pass over all of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    /// Value expected before the sweep.
    pub(super) expected: Option<FillValue>,
    /// Value that is written.
    pub(super) written: Option<FillValue>,
    /// Descending order of addresses.
    pub(super) downwards: bool,
    /// Moves blocks instead of checking and writing words.
    pub(super) moves: bool,
}

/// Returns the sweep of a phase; phases are counted from 0.
pub(super) const fn sweep_of(pattern: MemoryPattern, phase: u32) -> Sweep {
    const NOTHING: Sweep = Sweep {
        expected: None,
        written: None,
        downwards: false,
        moves: false,
    };
    if matches!(pattern, MemoryPattern::BlockMove) && phase == 1 {
        return Sweep {
            moves: true,
            ..NOTHING
        };
    }
    let last = pattern.phases() - 1;
    let downwards = phase == 2
        && matches!(
            pattern,
            MemoryPattern::MovingInversions | MemoryPattern::MovingInversionsRandom
        );
    Sweep {
        expected: match phase {
            0 => None,
            phase => Some(value_of(pattern, phase - 1)),
        },
        written: if phase == last {
            None
        } else {
            Some(value_of(pattern, phase))
        },
        downwards,
        moves: false,
    }
}

/// Returns the value in memory after a phase.
const fn value_of(pattern: MemoryPattern, phase: u32) -> FillValue {
    let odd = phase % 2 == 1;
    match pattern {
        MemoryPattern::Address if odd => FillValue::NotAddress,
        MemoryPattern::Address => FillValue::Address,
        MemoryPattern::MovingInversions => FillValue::Same(if odd { u64::MAX } else { 0 }),
        MemoryPattern::MovingInversionsRandom => FillValue::Random { not: odd },
        MemoryPattern::WalkingOnes => FillValue::Walking {
            shift: phase,
            not: false,
        },
        MemoryPattern::WalkingZeros => FillValue::Walking {
            shift: phase,
            not: true,
        },
        MemoryPattern::Checkerboard => FillValue::Checkered { not: odd },
        MemoryPattern::BlockMove if odd => FillValue::Moved,
        MemoryPattern::Random | MemoryPattern::BlockMove => FillValue::Random { not: false },
    }
}

/// Memory region whose words have positions from 0 to `words`.
#[derive(Clone, Copy)]
pub(super) struct Ground {
    /// Address of the first word.
    pub(super) address: u64,
    pub(super) words: usize,
    /// Seed of random words.
    pub(super) seed: u64,
}

impl FillValue {
    /// Fills words with their values, from a position on.
    pub(super) fn fill(self, ground: Ground, from: usize, words: &mut [u64]) {
        let places = (from as u64..).zip(words.iter_mut());
        match self {
            Self::Address => places.for_each(|(place, word)| *word = ground.address + 8 * place),
            Self::NotAddress => {
                places.for_each(|(place, word)| *word = !(ground.address + 8 * place));
            }
            Self::Same(value) => words.fill(value),
            Self::Random { not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| *word = random(ground.seed, place) ^ flip);
            }
            Self::Walking { shift, not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| {
                    *word = 1_u64.rotate_left(shift).rotate_left(bits(place)) ^ flip;
                });
            }
            Self::Checkered { not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| {
                    *word = CHECKERED.rotate_left(bits(place) % 2) ^ flip;
                });
            }
            Self::Moved => {
                places.for_each(|(place, word)| {
                    *word = random(ground.seed, ground.moved_from(place));
                });
            }
        }
    }
}

impl Ground {
    /// Returns the number of whole blocks.
    pub(super) const fn blocks(self) -> usize {
        self.words / BLOCK
    }

    /// Returns the position from which a word was moved: the first block was not moved,
    /// and neither were words after the last block.
    const fn moved_from(self, place: u64) -> u64 {
        let block = BLOCK as u64;
        if place >= block && place < self.blocks() as u64 * block {
            place - block
        } else {
            place
        }
    }
}

/// Returns the number of bits by which the word at a position is rotated.
const fn bits(place: u64) -> u32 {
    (place % 64) as u32
}

/// Returns the random word of a position, so that positions can be visited in any order.
const fn random(seed: u64, place: u64) -> u64 {
    let steps = place.wrapping_add(1).wrapping_mul(SplitMix64::STEP);
    SplitMix64::mix(seed.wrapping_add(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_expects_what_the_one_before_left() {
        for pattern in MemoryPattern::ALL {
            let phases = pattern.phases();
            assert_eq!(sweep_of(pattern, 0).expected, None, "{pattern:?}");
            let last = sweep_of(pattern, phases - 1);
            assert!(last.written.is_none() && last.expected.is_some());
            for phase in 1..phases {
                let (before, now) = (sweep_of(pattern, phase - 1), sweep_of(pattern, phase));
                if !before.moves && !now.moves {
                    assert_eq!(now.expected, before.written, "{pattern:?} {phase}");
                }
            }
        }
    }

    #[test]
    fn walking_bits_stand_at_every_place_of_a_word_once() {
        let ground = Ground {
            address: 0,
            words: 1,
            seed: 0,
        };
        let mut seen = 0;
        for phase in 0..64 {
            let mut word = [0];
            value_of(MemoryPattern::WalkingOnes, phase).fill(ground, 0, &mut word);
            assert_eq!(word[0].count_ones(), 1);
            seen |= word[0];
        }
        assert_eq!(seen, u64::MAX);
    }

    #[test]
    fn checkered_words_differ_from_their_neighbours_and_from_the_complement() {
        let ground = Ground {
            address: 0,
            words: 2,
            seed: 0,
        };
        let (mut plain, mut not) = ([0; 2], [0; 2]);
        FillValue::Checkered { not: false }.fill(ground, 0, &mut plain);
        FillValue::Checkered { not: true }.fill(ground, 0, &mut not);
        assert_eq!(plain[0], !plain[1]);
        assert_eq!(plain[0], !not[0]);
    }
}
