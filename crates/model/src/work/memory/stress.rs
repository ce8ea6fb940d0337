//! Check that memory retains written data.

use super::MemoryPattern;
use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Patterns over as much memory as is safe.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Stress {
        /// Bytes to test; `None`: as many as are safe.
        pub bytes: Option<u64>,
        /// Number of times that each pattern is written; 0: until the time is over.
        pub passes: u32 = 1,
        /// Time after which it ends, between two phases of a pattern.
        pub limit_ns: Option<u64>,
        /// Bit that is flipped without the knowledge of the check, for tests only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub flip: Option<Bit>,
    }
}

/// A bit of the memory under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bit {
    /// Byte offset from the start of the first thread's part.
    pub offset: u64,
    /// Number of the bit, 0 to 7.
    pub bit: u8,
}

/// Results of one pattern, or of a part of it that ended with flips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StressStep {
    /// The pattern.
    pub pattern: MemoryPattern,
    /// Number of the pass, from 1.
    pub pass: u32,
    /// First phase that was done, from 0.
    pub first_phase: u32,
    /// End of the phases that were done (exclusive), at most [`MemoryPattern::phases`].
    pub end_phase: u32,
    /// Bytes under test.
    pub tested_bytes: u64,
    /// Address and length of each thread's part.
    pub parts: Vec<(u64, u64)>,
    /// CPU that each thread was bound to.
    pub cpus: Vec<Option<u32>>,
    /// Bytes that were locked (`mlock(2)`), so that they could not be swapped.
    pub locked_bytes: u64,
    /// Bytes written and read, all phases together.
    pub moved_bytes: u64,
    /// Duration of the step, in nanoseconds.
    pub elapsed_ns: u64,
    /// Number of words that differ from the written ones.
    pub flips: u64,
    /// First differing words.
    pub first: Vec<BitFlip>,
    /// Memory that was not tested.
    pub untested: Untested,
    /// Bit that was flipped on purpose, for a test of assay: the differences found are not a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flipped_on_purpose: Option<Bit>,
}

/// Memory that is not under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untested {
    /// Bytes of the machine's memory that are not under test; `None` if its size is unknown.
    pub bytes: Option<u64>,
}

/// A word that differs from the written one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitFlip {
    /// Address in this process.
    pub address: u64,
    /// Physical address; `None` if the kernel does not show it, which requires root.
    pub physical: Option<u64>,
    /// Byte offset from the start of the part.
    pub offset: u64,
    /// Number of the thread that found it, from 0: its CPU is in [`StressStep::cpus`].
    pub thread: u32,
    /// Word that was written.
    pub expected: u64,
    /// Word that was read.
    pub found: u64,
    /// Number of further reads, past the caches if the processor allows it.
    pub reads: u32,
    /// Number of further reads with a wrong value.
    pub wrong_reads: u32,
    /// Phase of the pattern.
    pub phase: u32,
}

impl BitFlip {
    /// Returns the bits that differ, 0 for the lowest.
    pub fn bits(&self) -> impl Iterator<Item = u32> + use<> {
        let differ = self.expected ^ self.found;
        (0..u64::BITS).filter(move |bit| differ >> bit & 1 == 1)
    }
}
