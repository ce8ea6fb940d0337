//! Main memory: its bandwidth, its latency, and a check that it retains written data.
//!
//! No storage takes part. Each step contains the caches, nodes and pages of the machine, because
//! they are the evidence of its figures.

use crate::act::ActSpec;
use crate::job::{Job, Purpose, Rw};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Smallest ratio of array size to last-level caches at which the caches do not serve the arrays:
/// STREAM's rule (McCalpin, "STREAM: Sustainable Memory Bandwidth", its run rules).
pub const TIMES_LAST_LEVEL: u64 = 4;

/// A measurement of main memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Rates of the kernels.
    pub bandwidth: Option<Bandwidth>,
    /// Latency for different sizes of the working set.
    pub latency: Option<Latency>,
    /// Patterns that are written and checked.
    pub stress: Option<Stress>,
}

impl ActSpec for Memory {
    fn writes(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn waits_on_exit(&self) -> bool {
        false
    }

    fn measures_storage(&self) -> bool {
        false
    }
}

crate::defaults! {
    /// Rates of simple loops over arrays.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bandwidth {
        /// Bytes of each array, all threads together; `None`: four times the last-level caches.
        pub array_bytes: Option<u64>,
        /// Passes of each kernel in a trial.
        pub passes: u32 = 10,
        /// Threads in addition to a run with one; `None`: as many as there are CPUs.
        pub threads: Option<u32>,
    }
}

crate::defaults! {
    /// Dependent loads, each waiting for the previous one, at random places of a working set.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Latency {
        /// Smallest working set.
        pub least_bytes: u64 = 4 << 10,
        /// Largest working set.
        pub most_bytes: u64 = 256 << 20,
    }
}

impl Latency {
    /// Returns the working sets: each twice as large as the previous one.
    pub fn sets(&self) -> impl Iterator<Item = u64> + use<> {
        let most = self.most_bytes;
        let double = |set: &u64| set.checked_mul(2);
        std::iter::successors(Some(self.least_bytes.max(1)), double)
            .take_while(move |set| *set <= most)
    }
}

crate::named! {
    /// A loop over arrays `a`, `b` and `c` of 8-byte words.
    ///
    /// The four kernels of STREAM count bytes as STREAM does: those that the loop reads and writes,
    /// without those that a cache reads before a write. `Memcpy` counts each copied byte once, as
    /// mbw does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kernel {
        /// `c = a` (STREAM).
        Copy = "copy",
        /// `b = s * c` (STREAM).
        Scale = "scale",
        /// `c = a + b` (STREAM).
        Add = "add",
        /// `a = b + s * c` (STREAM).
        Triad = "triad",
        /// Sets every word of `a`.
        Fill = "memset",
        /// Reads and sums every word of `a`.
        Read = "read",
        /// `memcpy(3)` of the C library (mbw's MEMCPY).
        Memcpy = "memcpy",
    }
}

impl Kernel {
    /// Returns the counted bytes for each word of an array.
    pub const fn counted_per_word(self) -> u64 {
        match self {
            Self::Copy | Self::Scale => 16,
            Self::Add | Self::Triad => 24,
            Self::Fill | Self::Read | Self::Memcpy => 8,
        }
    }

    /// Returns the kernel's formula and the bytes that it counts for each word.
    pub const fn formula(self) -> &'static str {
        match self {
            Self::Copy => "c = a, 16 bytes a word (STREAM)",
            Self::Scale => "b = s*c, 16 bytes a word (STREAM)",
            Self::Add => "c = a + b, 24 bytes a word (STREAM)",
            Self::Triad => "a = b + s*c, 24 bytes a word (STREAM)",
            Self::Fill => "a = s, 8 bytes a word",
            Self::Read => "sum of a, 8 bytes a word",
            Self::Memcpy => "memcpy of a to b, each byte counted once (mbw)",
        }
    }

    /// Returns the kinds of stores that the kernel can use.
    pub const fn stores(self) -> &'static [Stores] {
        match self {
            Self::Copy | Self::Scale | Self::Add | Self::Triad | Self::Fill => {
                &[Stores::Plain, Stores::Streaming]
            }
            Self::Read | Self::Memcpy => &[Stores::Plain],
        }
    }
}

/// Store instructions of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stores {
    /// Stores through the caches, which first read the overwritten data. Compilers translate STREAM
    /// in this way.
    Plain,
    /// Non-temporal stores, which bypass the caches.
    Streaming,
}

crate::named! {
    /// Vector instructions of a kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Vectors {
        /// 512 bits, x86-64.
        Avx512 = "AVX-512",
        /// 256 bits, x86-64.
        Avx2 = "AVX2",
        /// 128 bits, every x86-64.
        Sse2 = "SSE2",
        /// 128 bits, every aarch64.
        Neon = "NEON",
        /// Instructions that the compiler chose for plain loops.
        Portable = "portable loops",
    }
}

/// Memory of a machine, as the kernel reports it. A missing value is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// CPUs that this process may run on.
    pub cpus: Vec<u32>,
    /// Caches of the first of the CPUs, with their number over all CPUs. In a virtual machine these
    /// are the values that its host reports.
    pub caches: Vec<Cache>,
    /// NUMA nodes with memory.
    pub nodes: Option<u32>,
    /// Policy for huge pages, in the kernel's words: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// Bytes of a huge page.
    pub huge_page_bytes: Option<u64>,
    /// `MemTotal`.
    pub total_bytes: Option<u64>,
    /// `MemAvailable`.
    pub available_bytes: Option<u64>,
    /// Memory that the control group may still allocate, in bytes; `None` if it has no limit, or
    /// the kernel does not report it.
    pub group_bytes: Option<u64>,
    /// Number of times that CPUs were throttled for heat since boot (x86).
    pub throttled: Option<u64>,
    /// Processes that were running or waiting for a CPU at that moment, including this one.
    pub running: Option<u32>,
    /// Hypervisor that the machine runs under; `None` on hardware, or when unknown.
    pub hypervisor: Option<String>,
}

impl Machine {
    /// Returns the size of the largest cache, all of its kind together.
    pub fn last_level_bytes(&self) -> Option<u64> {
        let last = self.caches.iter().max_by_key(|cache| cache.level)?;
        Some(last.bytes.saturating_mul(last.count.into()))
    }

    /// Returns the bytes that a process may allocate now without harm to others: the available
    /// memory, limited by the control group.
    pub fn room_bytes(&self) -> Option<u64> {
        let all = [self.available_bytes, self.group_bytes];
        all.into_iter().flatten().min()
    }
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// Bytes of one cache.
    pub bytes: u64,
    /// Number of these caches.
    pub count: u32,
    /// Bytes of a line.
    pub line_bytes: Option<u32>,
}

/// Pages that back the arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// `true` if huge pages were requested (`madvise(2)`), and the kernel did not refuse.
    pub huge_asked: bool,
    /// Bytes of the arrays that are in huge pages; `None` if the kernel does not report them.
    pub huge_bytes: Option<u64>,
    /// Page faults with I/O during the measurement, such as reads from swap.
    pub major_faults: u64,
}

/// Results of a step that measured memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStep {
    /// The machine before the step.
    pub machine: Machine,
    /// Number of times that CPUs were throttled for heat since boot, after the step.
    pub throttled_after: Option<u64>,
    /// Results of the step.
    pub found: MemoryStepResult,
}

impl MemoryStep {
    /// Returns the number of bit flips.
    pub const fn flips(&self) -> u64 {
        match &self.found {
            MemoryStepResult::Stress(step) => step.flips,
            MemoryStepResult::Bandwidth(_) | MemoryStepResult::Latency(_) => 0,
        }
    }
}

/// Result of a step, by kind of measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "measured", rename_all = "snake_case")]
pub enum MemoryStepResult {
    /// Result of a bandwidth measurement.
    Bandwidth(BandwidthStep),
    /// Result of a latency measurement.
    Latency(LatencyStep),
    /// Result of a check that memory retains written data.
    Stress(StressStep),
}

/// Passes of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BandwidthStep {
    /// Loop that was measured.
    pub kernel: Kernel,
    /// Store instructions of the kernel.
    pub stores: Stores,
    /// Vector instructions of the kernel.
    pub vectors: Vectors,
    /// CPU that each thread was bound to; `None` if the kernel refused.
    pub cpus: Vec<Option<u32>>,
    /// Bytes of each array, all threads together.
    pub array_bytes: u64,
    /// Bytes that count in one pass.
    pub counted_bytes: u64,
    /// Duration of each pass, from the start of the first thread to the end of the last.
    pub passes_ns: Vec<u64>,
    /// Pages that backed the arrays.
    pub pages: Pages,
}

impl BandwidthStep {
    /// Returns the rates of the passes, in bytes per second. The first is left out if there are
    /// others, as in STREAM.
    pub fn rates(&self) -> Vec<f64> {
        let after_first = usize::from(self.passes_ns.len() > 1);
        let counted = self.passes_ns.iter().skip(after_first);
        let counted = counted.filter(|ns| **ns > 0);
        counted
            .map(|ns| self.counted_bytes as f64 * 1e9 / *ns as f64)
            .collect()
    }
}

/// Dependent loads at random places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyStep {
    /// Bytes of the working set.
    pub set_bytes: u64,
    /// Bytes between two places: a cache line.
    pub line_bytes: u32,
    /// CPU that the thread was bound to; `None` if the kernel refused.
    pub cpu: Option<u32>,
    /// Loads per pass.
    pub loads: u64,
    /// Duration of each pass.
    pub passes_ns: Vec<u64>,
    /// Pages that backed the working set.
    pub pages: Pages,
}

impl LatencyStep {
    /// Returns the nanoseconds per load of each pass.
    pub fn per_load_ns(&self) -> Vec<f64> {
        let loads = self.loads.max(1) as f64;
        self.passes_ns.iter().map(|ns| *ns as f64 / loads).collect()
    }
}

/// Returns the job of a kernel; `threads` is the total number of threads.
pub fn bandwidth_job(kernel: Kernel, stores: Stores, threads: u32, passes: u32) -> Job {
    let rw = match kernel {
        Kernel::Read => Rw::Read,
        Kernel::Fill => Rw::Write,
        _ => Rw::Rw,
    };
    let (suffix, past) = match stores {
        Stores::Plain => ("", ""),
        Stores::Streaming => ("-nt", ", non-temporal stores"),
    };
    let name = format!("{}{suffix}-{threads}t", kernel.name());
    let formula = kernel.formula();
    Job {
        numjobs: threads,
        purpose: Some(Purpose::MemoryBandwidth),
        description: Some(format!(
            "{formula}, {threads} threads, {passes} passes{past}"
        )),
        ..Job::new(&name, rw, Bytes(8), Bytes(0))
    }
}

/// Returns the job of a working set.
pub fn latency_job(set_bytes: u64) -> Job {
    let set = Bytes(set_bytes);
    let name = format!("latency-{}", set.to_string().replace(' ', ""));
    Job {
        purpose: Some(Purpose::MemoryLatency),
        description: Some(format!("dependent loads at random places of {set}")),
        ..Job::new(&name, Rw::RandRead, Bytes(8), set)
    }
}

/// Returns the job of a pattern.
pub fn stress_job(pattern: MemoryPattern) -> Job {
    Job {
        purpose: Some(Purpose::MemoryStress),
        description: Some(pattern.words().to_owned()),
        ..Job::new(
            &format!("stress-{}", pattern.name()),
            Rw::Rw,
            Bytes(8),
            Bytes(0),
        )
    }
}

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
