//! The command line of `assay mem`.

use crate::driver::measuring::MeasureArgs;
use crate::ui::values::parse_time;
use assay_model::units::{Bytes, Nanos};
use assay_model::work::memory::Bit;
use clap::{Args, ValueEnum};

const AFTER: &str = "\
Examples:
  assay mem                        bandwidth and latency, five trials
  assay mem bandwidth --size 1G    arrays of 1 GiB each
  assay mem stress --for 8h        as much memory as is safe, for eight hours

docs/memory.md says what each figure is.

Exit codes: 0 done, 1 failed, 2 wrong usage, 4 memory did not keep what was written to it,
5 target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

/// Part of the memory test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryPart {
    /// Rates of copy, scale, add, triad (STREAM's), memset, read and memcpy (mbw's), with
    /// one thread and with all.
    Bandwidth,
    /// Latency of dependent loads, in working sets of 4 KiB to 256 MiB.
    Latency,
    /// Write and check patterns in as much memory as is safe, on all CPUs.
    Stress,
}

/// `assay mem`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct MemArgs {
    /// Parts to run [default: bandwidth latency].
    #[arg(value_enum)]
    pub parts: Vec<MemoryPart>,
    /// Size of each of the three arrays [default: four times the last-level caches].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Passes of each kernel in a trial, the first of which does not count.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub passes: u32,
    /// Threads of the multi-threaded loops [default: one per CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Largest working set of the latency test.
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pub largest_set: Bytes,
    /// Size of the memory under stress [default: the available memory less a reserve].
    #[arg(long, value_name = "SIZE")]
    pub stress_size: Option<Bytes>,
    /// Repeat the patterns of the stress test for this long, for example 90s, 30m or 8h
    /// [default: each once per trial].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Nanos>,
    /// Number of repetitions [default: 5, with stress 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// For tests of assay: flip that bit under the stress, as BYTE.BIT.
    #[arg(long, value_name = "BYTE.BIT", hide = true, value_parser = parse_bit)]
    pub flip_bit: Option<Bit>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl MemArgs {
    /// `true` if a part of the test is requested.
    pub fn wants(&self, part: MemoryPart) -> bool {
        match self.parts.as_slice() {
            [] => part != MemoryPart::Stress,
            parts => parts.contains(&part),
        }
    }

    /// Returns the first flag that has no effect because its part of the test is not requested.
    pub fn without_its_part(&self) -> Option<(&'static str, MemoryPart)> {
        let flags = [
            (self.size.is_some(), "--size", MemoryPart::Bandwidth),
            (self.threads.is_some(), "--threads", MemoryPart::Bandwidth),
            (
                self.stress_size.is_some(),
                "--stress-size",
                MemoryPart::Stress,
            ),
            (self.duration.is_some(), "--for", MemoryPart::Stress),
            (self.flip_bit.is_some(), "--flip-bit", MemoryPart::Stress),
        ];
        let mut given = flags.into_iter().filter(|(given, ..)| *given);
        let idle = given.find(|(_, _, part)| !self.wants(*part));
        idle.map(|(_, flag, part)| (flag, part))
    }
}

/// Parses `BYTE.BIT`.
fn parse_bit(text: &str) -> Result<Bit, String> {
    let numbers = text.split_once('.').and_then(|(offset, bit)| {
        let (offset, bit) = (offset.parse().ok()?, bit.parse().ok()?);
        (bit < 8).then_some(Bit { offset, bit })
    });
    numbers.ok_or_else(|| "write BYTE.BIT, for example 4096.3".to_owned())
}
