//! Baseline of the benchmarks: a loop that only calls `pread` at random
//! offsets.

use anyhow::Result;
use rustix::io::pread;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::path::Path;

/// Returns the CPU time per I/O, in ns, of `ios` random 4 KiB reads within the
/// first `size` bytes of a file. The offsets come from xorshift64, the cheapest
/// generator without a short period.
pub fn cpu_ns_per_io(path: &Path, size: u64, ios: u64) -> Result<f64> {
    let file = File::open(path)?;
    let mut buffer = vec![0_u8; 4096];
    let blocks = size / 4096;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let before = thread_cpu_ns();
    for _ in 0..ios {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pread(&file, &mut *buffer, state % blocks * 4096)?;
    }
    Ok((thread_cpu_ns() - before) / ios as f64)
}

fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
