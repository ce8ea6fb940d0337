//! Check that memory keeps what is written to it.

use super::MemoryPattern;
use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Patterns over as much memory as is safe.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Stress {
        /// Bytes to test; `None`: as many as are safe.
        pub bytes: Option<u64>,
        /// So often each pattern is written; 0: until the time is over.
        pub passes: u32 = 1,
        /// It ends after this time, between two phases of a pattern.
        pub limit_ns: Option<u64>,
        /// For tests alone: a bit that is flipped behind the back of the check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub flip: Option<Bit>,
    }
}

/// A bit of the memory under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bit {
    /// Byte, from the begin of the first thread's part.
    pub offset: u64,
    /// 0 to 7.
    pub bit: u8,
}

/// Results of one pattern, or of a part of it that ended with flips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StressStep {
    /// The pattern.
    pub pattern: MemoryPattern,
    /// The pass, from 1.
    pub pass: u32,
    /// Phases done, counted from 0: from this one ...
    pub first_phase: u32,
    /// ... up to, and without, this one, of [`MemoryPattern::phases`].
    pub end_phase: u32,
    /// Bytes under test.
    pub tested_bytes: u64,
    /// Start of each thread's part, and its bytes.
    pub parts: Vec<(u64, u64)>,
    /// The CPU that each thread was bound to.
    pub cpus: Vec<Option<u32>>,
    /// Bytes of them that were locked (`mlock(2)`), so that none was swapped.
    pub locked_bytes: u64,
    /// Bytes written and read, all phases together.
    pub moved_bytes: u64,
    /// Duration of the step, in nanoseconds.
    pub elapsed_ns: u64,
    /// Words that were not what had been written.
    pub flips: u64,
    /// The first of them.
    pub first: Vec<BitFlip>,
    /// Memory that was not tested.
    pub untested: Untested,
    /// A bit was flipped on purpose, for a test of assay: what was found is no fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flipped_on_purpose: Option<Bit>,
}

/// Memory that is not under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untested {
    /// Bytes of the machine's memory that are not under test; `None` if its size is unknown.
    pub bytes: Option<u64>,
}

/// A word that was not what had been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitFlip {
    /// Address in this process.
    pub address: u64,
    /// Address in the machine; `None`: the kernel shows it to root alone.
    pub physical: Option<u64>,
    /// Byte, from the begin of the part.
    pub offset: u64,
    /// The thread that found it, from 0: its CPU is in [`StressStep::cpus`].
    pub thread: u32,
    /// Word that was written.
    pub expected: u64,
    /// Word that was read.
    pub found: u64,
    /// It was read so often again, past the caches where the processor allows ...
    pub reads: u32,
    /// ... and so often it was wrong again.
    pub wrong_reads: u32,
    /// Phase of the pattern.
    pub phase: u32,
}

impl BitFlip {
    /// The bits that differ, 0 the lowest.
    pub fn bits(&self) -> impl Iterator<Item = u32> + use<> {
        let differ = self.expected ^ self.found;
        (0..u64::BITS).filter(move |bit| differ >> bit & 1 == 1)
    }
}
