//! Measurements of main memory: the work and its steps.

use assay_model::job::Job;
use assay_model::work::Work;
use assay_model::work::memory::{
    Bandwidth, Kernel, Latency, Memory, MemoryPattern, Stores, latency_job, stress_job,
};

/// Default number of passes of each kernel.
pub const PASSES: u32 = 10;

/// Returns a work for bandwidth and latency, and its steps, for use as a part of a larger run.
pub fn short() -> (Work, Vec<Job>) {
    let work = Memory {
        bandwidth: Some(Bandwidth {
            array_bytes: None,
            passes: PASSES,
            threads: None,
        }),
        latency: Some(Latency::default()),
        stress: None,
    };
    let steps = steps(&work);
    (Work::Memory(Box::new(work)), steps)
}

/// Returns the steps that are known: the names of others contain the target's number of CPUs, which
/// is unknown. The work itself runs the steps in random order.
pub fn steps(work: &Memory) -> Vec<Job> {
    let mut steps = Vec::new();
    if let Some(bandwidth) = &work.bandwidth {
        let kernels = Kernel::ALL.into_iter();
        let all = kernels.flat_map(|kernel| kernel.stores().iter().map(move |s| (kernel, *s)));
        let plain = all.filter(|(_, stores)| *stores == Stores::Plain);
        steps.extend(plain.map(|(kernel, stores)| {
            assay_model::work::memory::bandwidth_job(kernel, stores, 1, bandwidth.passes)
        }));
    }
    if let Some(latency) = &work.latency {
        steps.extend(latency.sets().map(latency_job));
    }
    if work.stress.is_some() {
        steps.extend(MemoryPattern::ALL.map(stress_job));
    }
    steps
}
