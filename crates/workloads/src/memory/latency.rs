//! Latency as a function of the size of the working set: a chain of dependent loads.

use super::{Steps, lost_threads, no_room};
use crate::observer::{ProgressReporter, nanos};
use crate::{ActError, Context};
use assay_engine::memory::{Chain, bind_to, major_faults};
use assay_model::act::memory::{Latency, LatencyStep, MemoryStepResult, Pages, latency_job};
use assay_model::trial::Outcome;
use std::io;
use std::thread::Builder;
use std::time::Instant;

/// Loads of a pass, which takes at least a millisecond even from the first cache.
const LOADS: u64 = 1 << 20;
/// Passes over each working set.
const PASSES: usize = 5;
/// Assumed size of a cache line in bytes if the kernel does not report it.
const LINE_BYTES: u32 = 64;

/// Measures each working set, the smallest first.
pub(super) fn run(
    work: &Latency,
    steps: &mut Steps<'_>,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let machine = steps.around.machine();
    let line_bytes = machine.caches.iter().filter_map(|cache| cache.line_bytes);
    let line_bytes = line_bytes.max().unwrap_or(LINE_BYTES);
    // The first CPU handles most interrupts.
    let cpu = machine.cpus.last().copied();
    let fits = |set: &u64| machine.room_bytes().is_none_or(|room| *set <= room / 2);
    for set_bytes in work.sets().filter(fits) {
        if context.stopped() {
            return Err(ActError::Stopped);
        }
        let job = latency_job(set_bytes);
        let seed = context.seed;
        let around = steps.around;
        steps.take(&job, context, |context, done| {
            ProgressReporter::new(&job.name, done, None).tell(context, 0);
            let walk = WorkingSet {
                set_bytes,
                line_bytes,
                seed,
            };
            let walked = std::thread::scope(|scope| {
                let (say, chain) = std::sync::mpsc::channel();
                let (go, wait) = std::sync::mpsc::channel::<()>();
                let walk = move || walk.on(cpu, &say, &wait);
                let walker = Builder::new().spawn_scoped(scope, walk)?;
                // Page sizes are read while the chain exists and before the measurement
                // starts.
                let huge_bytes = chain
                    .recv()
                    .ok()
                    .and_then(|(from, to)| around.huge_bytes(from, to));
                let _ = go.send(());
                Ok((walker.join(), huge_bytes))
            });
            let (walked, huge_bytes) = walked.map_err(ActError::no_thread)?;
            let mut step = walked
                .map_err(|_| lost_threads())?
                .map_err(|error| no_room(set_bytes, &error))?;
            step.pages.huge_bytes = huge_bytes;
            Ok((MemoryStepResult::Latency(step), Outcome::Completed))
        })?;
    }
    Ok(())
}

/// A working set to measure.
struct WorkingSet {
    set_bytes: u64,
    line_bytes: u32,
    seed: u64,
}

impl WorkingSet {
    /// Measures on a CPU, after one pass over the whole set. Sends the addresses of the
    /// set, and continues after a message on `go`.
    fn on(
        &self,
        cpu: Option<u32>,
        say: &std::sync::mpsc::Sender<(u64, u64)>,
        go: &std::sync::mpsc::Receiver<()>,
    ) -> io::Result<LatencyStep> {
        let cpu = cpu.filter(|&cpu| bind_to(cpu));
        let bytes = usize::try_from(self.set_bytes).unwrap_or(usize::MAX);
        let mut chain = Chain::new(bytes, self.line_bytes as usize, self.seed)?;
        let from = chain.region().address();
        // The other end of both channels is in the thread that waits for this one.
        let _ = say.send((from, from + self.set_bytes));
        let _ = go.recv();
        chain.walk((self.set_bytes / u64::from(self.line_bytes.max(1))).min(8 * LOADS));
        let faults = major_faults();
        let mut loads = LOADS;
        let mut passes_ns = Vec::with_capacity(PASSES);
        for _ in 0..PASSES {
            let began = Instant::now();
            loads = chain.walk(LOADS);
            passes_ns.push(nanos(began.elapsed()));
        }
        Ok(LatencyStep {
            set_bytes: self.set_bytes,
            line_bytes: self.line_bytes,
            cpu,
            loads,
            passes_ns,
            pages: Pages {
                huge_asked: chain.region().huge_asked(),
                huge_bytes: None,
                major_faults: major_faults() - faults,
            },
        })
    }
}
