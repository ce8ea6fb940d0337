//! Which jobs are refused before anything is opened.

use crate::error::EngineError;
use crate::sys;
use assay_model::job::{EngineKind, Job, RateLimit};
use assay_model::units::Bytes;

/// Largest depth of an io_uring ring (`IORING_MAX_ENTRIES`).
const MAX_DEPTH: u32 = 32_768;
/// Workers are threads.
const MAX_WORKERS: u32 = 1_024;
/// Alignment that direct I/O needs at least.
const SECTOR: u64 = 512;

/// Refuses jobs that cannot mean anything.
pub(super) fn check(job: &Job) -> Result<(), EngineError> {
    let problem = if job.bs.0 == 0 || job.bs.0 > u64::from(u32::MAX) {
        Some("the block size must be between 1 byte and 4 GiB".to_owned())
    } else if !(1..=MAX_DEPTH).contains(&job.iodepth) || !(1..=MAX_WORKERS).contains(&job.numjobs) {
        Some(format!(
            "iodepth must be between 1 and {MAX_DEPTH}, numjobs between 1 and {MAX_WORKERS}"
        ))
    } else if buffer_bytes(job) > sys::memory_bytes() {
        Some(format!(
            "its I/O buffers would take {}, more than there is memory: lower bs, iodepth or numjobs",
            Bytes(buffer_bytes(job))
        ))
    } else if job.direct && !(job.bs.0 | job.offset.0).is_multiple_of(SECTOR) {
        Some(format!(
            "direct I/O needs block size and offset in multiples of {SECTOR} bytes"
        ))
    } else if !job.ioengine.moves_data()
        && !matches!(job.ioengine, EngineKind::Null | EngineKind::Sim)
    {
        Some(format!(
            "{} moves no data: it works in a load (assay fio), not here",
            job.ioengine
        ))
    } else if job.direct && job.ioengine == EngineKind::Mmap {
        Some("a mapped file is the page cache: mmap cannot be direct".to_owned())
    } else if job.size.0 < job.bs.0 {
        Some(format!(
            "not one block of {} fits into {}",
            job.bs, job.size
        ))
    } else if let Some(io_size) = job.io_size.filter(|size| size.0 < job.bs.0) {
        Some(format!(
            "not one block of {} fits into its io_size of {io_size}",
            job.bs
        ))
    } else if matches!(
        job.rate,
        Some(RateLimit::Iops(0) | RateLimit::BytesPerSec(0))
    ) {
        Some("a rate of 0 would never do anything: leave it out or raise it".to_owned())
    } else if job.time_based && job.runtime.is_none() && job.io_size.is_none() {
        Some("a time_based job needs a runtime".to_owned())
    } else {
        None
    };
    problem.map_or(Ok(()), |problem| {
        Err(EngineError::Job {
            job: job.name.clone(),
            problem,
        })
    })
}

/// Returns the total size of all workers' buffers, in bytes.
fn buffer_bytes(job: &Job) -> u64 {
    job.bs
        .0
        .saturating_mul(u64::from(job.iodepth))
        .saturating_mul(u64::from(job.numjobs))
}
