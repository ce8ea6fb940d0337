//! Benchmarks of main memory: memory regions, loops of vector instructions over
//! arrays, chains of dependent loads, and words with volatile access.

mod cells;
mod chase;
mod kernels;
mod region;

pub use cells::Cells;
pub use chase::Chain;
pub use kernels::{Arrays, can_stream, vectors_for};
pub use region::Region;

use crate::sys;
use rustix::thread::CpuSet;

/// Binds the calling thread to a CPU. Returns true if the kernel allowed it.
pub fn bind_to(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// Returns the numbers of the CPUs that the calling thread may use; empty if
/// the kernel does not report them.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|cpu| set.is_set(*cpu))
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect()
}

/// Returns the number of page faults with I/O of the calling thread since it
/// started.
pub fn major_faults() -> u64 {
    sys::thread_faults().major
}
