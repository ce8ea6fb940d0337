//! Patterns that detect bits which do not retain written data.

use serde::{Deserialize, Serialize};

crate::named! {
    /// A pattern, each suited to certain faults. The names are those of the literature on memory
    /// tests: moving inversions and block moves are from `MemTest86`, the others are also in
    /// memtester.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum MemoryPattern {
        /// Each word holds its own address, then the complement.
        Address = "address",
        /// Zeros, which are then checked and inverted from the lowest word upwards, and again from
        /// the highest downwards.
        MovingInversions = "moving-inversions",
        /// As `MovingInversions`, with random words.
        MovingInversionsRandom = "moving-inversions-random",
        /// One of 64 bits is set, one position further in each word; then the next bit.
        WalkingOnes = "walking-ones",
        /// One of 64 bits is clear, one position further in each word; then the next bit.
        WalkingZeros = "walking-zeros",
        /// Alternating `01`, inverted in every other word; then the complement.
        Checkerboard = "checkerboard",
        /// Random words from the seed.
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

    /// Returns the number of sweeps over all of the memory. A sweep writes, checks, or checks and
    /// writes in one pass.
    pub const fn phases(self) -> u32 {
        match self {
            Self::Random => 2,
            Self::Address | Self::Checkerboard | Self::BlockMove => 3,
            Self::MovingInversions | Self::MovingInversionsRandom => 4,
            Self::WalkingOnes | Self::WalkingZeros => 65,
        }
    }
}
