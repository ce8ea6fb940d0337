//! Patterns that find bits which do not keep what is written to them.

use serde::{Deserialize, Serialize};

crate::named! {
    /// A pattern, and what it is good at. The names are those of the literature on
    /// memory tests: moving inversions and block moves are `MemTest86`'s, the others
    /// are memtester's too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum MemoryPattern {
        /// Each word holds its own address, then the complement.
        Address = "address",
        /// Zeros, which are then checked and inverted from the lowest word upwards,
        /// and again from the highest downwards.
        MovingInversions = "moving-inversions",
        /// The same with random words.
        MovingInversionsRandom = "moving-inversions-random",
        /// One bit of 64 is set, a word further each; then the next bit.
        WalkingOnes = "walking-ones",
        /// One bit of 64 is not.
        WalkingZeros = "walking-zeros",
        /// `01` in turn, words in turn inverted; then the complement.
        Checkerboard = "checkerboard",
        /// Random words by the seed.
        Random = "random",
        /// Random blocks that are copied one block further.
        BlockMove = "block-move",
    }
}

impl MemoryPattern {
    /// Returns a description of the pattern.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Address => "each word holds its address, then the complement",
            Self::MovingInversions => "zeros, inverted upwards, and again downwards",
            Self::MovingInversionsRandom => "random words, inverted upwards, and again downwards",
            Self::WalkingOnes => "one bit of 64 set, at all 64 places",
            Self::WalkingZeros => "one bit of 64 not set, at all 64 places",
            Self::Checkerboard => "every other bit, then the complement",
            Self::Random => "random words",
            Self::BlockMove => "random blocks, copied a block further",
        }
    }

    /// Sweeps over all of the memory, each of which writes, checks, or checks what is
    /// there and writes the next in one go.
    pub const fn phases(self) -> u32 {
        match self {
            Self::Random => 2,
            Self::Address | Self::Checkerboard | Self::BlockMove => 3,
            Self::MovingInversions | Self::MovingInversionsRandom => 4,
            Self::WalkingOnes | Self::WalkingZeros => 65,
        }
    }
}
