//! iozone's tests on files, with the calls that iozone 3.489 makes.
//!
//! In single mode one child works on one file, row after row; in throughput mode several
//! children work at the same time, each on a separate file. Children are threads in both
//! modes: a thread with its own table of open files makes system calls as cheaply as a
//! process.

mod access;
mod buffers;
mod child;
mod files;
mod latencies;
mod order;
mod remount;
mod step;
#[cfg(test)]
mod tests;
mod worker_threads;

use crate::{Context, WorkError};
use assay_model::work::WorkReport;
use assay_model::work::iozone::{Iozone, IozoneRow};
use buffers::Buffers;
use files::Files;
use std::time::{Duration, Instant};
use step::StepSetup;

/// Age of the last stored step after which steps are stored. Waiting for the store after
/// each step of a few milliseconds would take longer than the steps.
const UNKEPT: Duration = Duration::from_secs(1);

pub(crate) fn run(work: &Iozone, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    buffers::admit(work)?;
    let files = Files::admit(work)?;
    latencies::admit(work)?;
    let came = rows(work, &files, context);
    let cleared = files.clear(work);
    came.and(cleared).map(|()| WorkReport::Steps)
}

fn rows(work: &Iozone, files: &Files, context: &mut Context<'_>) -> Result<(), WorkError> {
    let single = [1];
    let counts: &[u32] = match work.children.as_slice() {
        [] => &single,
        counts => counts,
    };
    let mut buffers = Vec::new();
    let mut steps_done = 0;
    let mut kept = Instant::now();
    for &row in &work.rows {
        for &children in counts {
            prepare_buffers(work, row, children, context.seed, &mut buffers)?;
            for &test in &work.tests {
                let step = StepSetup {
                    work,
                    row,
                    test,
                    files: files.of(children),
                    steps_done,
                };
                step.run(&mut buffers, context)?;
                steps_done += 1;
                if kept.elapsed() > UNKEPT {
                    context.observer.keep();
                    kept = Instant::now();
                }
            }
        }
    }
    Ok(())
}

/// Creates buffers once and only enlarges them, because filling them takes time.
fn prepare_buffers(
    work: &Iozone,
    row: IozoneRow,
    children: u32,
    seed: u64,
    buffers: &mut Vec<Buffers>,
) -> Result<(), WorkError> {
    for child in 0..u64::from(children) {
        match usize::try_from(child)
            .ok()
            .and_then(|at| buffers.get_mut(at))
        {
            Some(buffers) => buffers.prepare(row.record_kib),
            None => {
                let largest = work.rows.iter().map(|row| row.record_kib).max();
                let largest = largest.unwrap_or(row.record_kib);
                let mut new = Buffers::new(work, largest, seed ^ child)?;
                new.prepare(row.record_kib);
                buffers.push(new);
            }
        }
    }
    Ok(())
}
