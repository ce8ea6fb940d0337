//! Main memory: data rates of loops over arrays, latency as a function of the size of the
//! working set, and tests for bit flips.

pub(crate) mod stress;

use crate::observer::{ProgressReporter, nanos};
use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::memory::{Arrays, Chain, bind_to, can_stream, major_faults, vectors_for};
use assay_model::act::memory::{
    Bandwidth, BandwidthStep, Kernel, Latency, LatencyStep, Machine, Memory, MemoryStep,
    MemoryStepResult, Pages, Stores, TIMES_LAST_LEVEL, bandwidth_job, latency_job,
};
use assay_model::act::{ActReport, StepDetail};
use assay_model::job::Job;
use assay_model::rng::SplitMix64;
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, yield_now};
use std::time::Instant;

/// Machine information that only the agent can look up.
pub trait MachineInfo {
    /// Returns caches, nodes and available memory.
    fn machine(&self) -> Machine;
    /// Returns the number of thermal throttling events since boot, over all CPUs.
    fn throttled(&self) -> Option<u64>;
    /// Returns the bytes of this process between two addresses that are in huge pages.
    fn huge_bytes(&self, from: u64, to: u64) -> Option<u64>;
    /// Returns the physical address of an address of this process.
    fn physical(&self, address: u64) -> Option<u64>;
}

/// Carries out an act on main memory.
///
/// # Errors
/// If there is not enough memory, or the act was stopped.
pub fn run(
    work: &Memory,
    around: &dyn MachineInfo,
    context: &mut Context<'_>,
) -> Result<ActReport, ActError> {
    let mut steps = Steps { done: 0, around };
    if let Some(bandwidth) = &work.bandwidth {
        measure_bandwidth(bandwidth, &mut steps, context)?;
    }
    if let Some(latency) = &work.latency {
        measure_latency(latency, &mut steps, context)?;
    }
    if let Some(stress) = &work.stress {
        stress::run(stress, &mut steps, context)?;
    }
    Ok(ActReport::Steps)
}

/// Steps of an act, which are reported to the observer one after the other.
struct Steps<'a> {
    done: u32,
    around: &'a dyn MachineInfo,
}

impl Steps<'_> {
    /// Runs one step; `measure` runs while the clock runs.
    fn take(
        &mut self,
        job: &Job,
        context: &mut Context<'_>,
        measure: impl FnOnce(&mut Context<'_>, u32) -> Result<(MemoryStepResult, Outcome), ActError>,
    ) -> Result<(), ActError> {
        let step = ObservedStep { job, paths: &[] };
        context.observer.begins(step);
        let machine = self.around.machine();
        context.observer.clock_starts(step);
        let measured = measure(context, self.done);
        context.observer.clock_stopped();
        self.done += 1;
        let (found, outcome, ended) = match measured {
            Ok((found, outcome)) => (Some(found), outcome, Ok(())),
            Err(error) => (None, error.outcome(), Err(error)),
        };
        let detail = found.map(|found| {
            StepDetail::Memory(Box::new(MemoryStep {
                machine,
                throttled_after: self.around.throttled(),
                found,
            }))
        });
        let came = StepOutcome {
            measured: None,
            detail,
        };
        context.observer.ended(outcome, came);
        // Storing does not disturb: no step of main memory uses storage.
        context.observer.keep();
        ended
    }
}

/// Creates the error for memory that cannot be allocated.
pub(crate) fn no_room(bytes: u64, error: &io::Error) -> ActError {
    ActError::Failed {
        message: format!(
            "cannot get {} of memory: {error}; ask for less",
            Bytes(bytes)
        ),
        errno: error.raw_os_error(),
    }
}

/// Creates the error for measuring threads that ended unexpectedly.
fn lost_threads() -> ActError {
    ActError::failed(
        "a measuring thread ended unexpectedly: it is a bug in assay, please report it",
    )
}

/// Bytes of an array if the sizes of the caches are unknown.
const ARRAY_BYTES: u64 = 256 << 20;
/// Bytes of an array, at least: a pass must be long enough for the clock.
const LEAST_ARRAY_BYTES: u64 = 16 << 20;
/// Bytes of a word of an array.
const WORD: u64 = 8;
/// Divisor of the available memory: all arrays together use at most this part.
const PART_OF_ROOM: u64 = 2;

/// Runs all kernels with one thread, then with all. Each thread initializes separate arrays, so
/// that they are in memory near its CPU. A pass lasts from the first begin to the last end of all
/// threads.
fn measure_bandwidth(
    work: &Bandwidth,
    steps: &mut Steps<'_>,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let machine = steps.around.machine();
    let bytes = array_bytes(work, &machine, context);
    let all = work
        .threads
        .unwrap_or(thread_count(machine.cpus.len()))
        .max(1);
    let mut counts = vec![1, all];
    counts.dedup();
    for threads in counts {
        with_threads(work, bytes, &machine, threads, steps, context)?;
    }
    Ok(())
}

/// Returns the bytes of each array: the requested size, or a size that exceeds the caches, as
/// far as memory is available.
fn array_bytes(work: &Bandwidth, machine: &Machine, context: &mut Context<'_>) -> u64 {
    if let Some(bytes) = work.array_bytes {
        return bytes;
    }
    let wanted = machine.last_level_bytes().map_or(ARRAY_BYTES, |last| {
        last.saturating_mul(TIMES_LAST_LEVEL).max(LEAST_ARRAY_BYTES)
    });
    let room = machine.room_bytes().map(|room| room / PART_OF_ROOM / 3);
    let bytes = wanted.min(room.unwrap_or(wanted));
    if bytes < wanted {
        let (has, wanted) = (Bytes(bytes), Bytes(wanted));
        context.observer.note(
            NoteWeight::Warning,
            format!(
                "arrays of {wanted} would exceed the caches, but only {has} of memory are free"
            ),
        );
    }
    bytes
}

/// Request of one pass to a thread.
#[derive(Clone, Copy)]
struct PassRequest {
    kernel: Kernel,
    stores: Stores,
}

/// Message from a thread.
enum BandwidthReply {
    /// The arrays are allocated, at this location.
    Ready(Result<ArrayPlacement, io::Error>),
    /// Begin and end of the pass, and major page faults.
    Done((u64, u64), u64),
}

/// Location of a thread's arrays.
struct ArrayPlacement {
    cpu: Option<u32>,
    words: usize,
    huge_asked: bool,
    /// Begin and end address of each array.
    ranges: Vec<(u64, u64)>,
}

fn with_threads(
    work: &Bandwidth,
    bytes: u64,
    machine: &Machine,
    threads: u32,
    steps: &mut Steps<'_>,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let words = usize::try_from(bytes / WORD / u64::from(threads)).unwrap_or(usize::MAX);
    let barrier = SpinBarrier::of(threads);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (reply_tx, reply_rx) = channel();
        let mut orders = Vec::new();
        for number in 0..threads as usize {
            let (order, to_do) = channel();
            orders.push(order);
            let cpu = machine
                .cpus
                .get(number % machine.cpus.len().max(1))
                .copied();
            let (reply_tx, barrier) = (reply_tx.clone(), &barrier);
            let life = move || run_passes(cpu, words, began, barrier, &to_do, &reply_tx);
            let started = Builder::new().spawn_scoped(scope, life);
            started.map_err(ActError::no_thread)?;
        }
        drop(reply_tx);
        let team = BandwidthTeam {
            orders,
            replies: reply_rx,
        };
        team.measure(work, bytes, steps, context)
    })
}

/// Body of a thread, which ends with the channel of requests.
fn run_passes(
    cpu: Option<u32>,
    words: usize,
    began: Instant,
    barrier: &SpinBarrier,
    orders: &Receiver<PassRequest>,
    reply_tx: &Sender<BandwidthReply>,
) {
    let cpu = cpu.filter(|&cpu| bind_to(cpu));
    let mut arrays = match Arrays::new(words) {
        Ok(arrays) => arrays,
        Err(error) => {
            let _ = reply_tx.send(BandwidthReply::Ready(Err(error)));
            return;
        }
    };
    let ranges = arrays.regions().iter();
    let ranges = ranges.map(|region| (region.address(), region.address() + region.bytes() as u64));
    let place = ArrayPlacement {
        cpu,
        words: arrays.words(),
        huge_asked: arrays.regions().iter().all(|region| region.huge_asked()),
        ranges: ranges.collect(),
    };
    // Without a receiver, no requests follow either.
    let _ = reply_tx.send(BandwidthReply::Ready(Ok(place)));
    for order in orders {
        let faults = major_faults();
        barrier.wait();
        let start = nanos(began.elapsed());
        arrays.pass(order.kernel, order.stores);
        let pass = (start, nanos(began.elapsed()));
        let _ = reply_tx.send(BandwidthReply::Done(pass, major_faults() - faults));
    }
}

/// Threads that wait for requests.
struct BandwidthTeam {
    orders: Vec<Sender<PassRequest>>,
    replies: Receiver<BandwidthReply>,
}

impl BandwidthTeam {
    /// Measures all kernels, in an order derived from the seed.
    fn measure(
        &self,
        work: &Bandwidth,
        bytes: u64,
        steps: &mut Steps<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let places = self.places(bytes)?;
        let threads = thread_count(places.len());
        let words: usize = places.iter().map(|place| place.words).sum();
        let words = words as u64;
        let huge = places.iter().flat_map(|place| &place.ranges);
        let huge = huge.map(|&(from, to)| steps.around.huge_bytes(from, to));
        let huge_bytes = huge.sum::<Option<u64>>();
        for (kernel, stores) in shuffled_kernels(context.seed) {
            if context.stopped() {
                return Err(ActError::Stopped);
            }
            let job = bandwidth_job(kernel, stores, threads, work.passes);
            let order = PassRequest { kernel, stores };
            steps.take(&job, context, |context, done| {
                let total = u64::from(work.passes);
                let mut progress = ProgressReporter::new(&job.name, done, Some(total)).of_items();
                progress.report(context, 0);
                let (mut passes_ns, mut major_faults) = (Vec::new(), 0);
                while passes_ns.len() < work.passes as usize && !context.stopped() {
                    let (pass_ns, faults) = self.pass(order)?;
                    passes_ns.push(pass_ns);
                    major_faults += faults;
                }
                let outcome = match passes_ns.len() < work.passes as usize {
                    true => Outcome::Interrupted,
                    false => Outcome::Completed,
                };
                let found = BandwidthStep {
                    kernel,
                    stores,
                    vectors: vectors_for(kernel),
                    cpus: places.iter().map(|place| place.cpu).collect(),
                    array_bytes: words * WORD,
                    counted_bytes: words * kernel.counted_per_word(),
                    passes_ns,
                    pages: Pages {
                        huge_asked: places.iter().all(|place| place.huge_asked),
                        huge_bytes,
                        major_faults,
                    },
                };
                Ok((MemoryStepResult::Bandwidth(found), outcome))
            })?;
        }
        Ok(())
    }

    /// Waits until all threads have their arrays.
    fn places(&self, bytes: u64) -> Result<Vec<ArrayPlacement>, ActError> {
        let mut places = Vec::new();
        for _ in &self.orders {
            match self.replies.recv() {
                Ok(BandwidthReply::Ready(Ok(place))) => places.push(place),
                Ok(BandwidthReply::Ready(Err(error))) => return Err(no_room(3 * bytes, &error)),
                Ok(BandwidthReply::Done(..)) | Err(_) => return Err(lost_threads()),
            }
        }
        places.sort_by_key(|place| place.cpu);
        Ok(places)
    }

    /// Returns the duration of a pass from the first begin to the last end, and the major page
    /// faults.
    fn pass(&self, order: PassRequest) -> Result<(u64, u64), ActError> {
        for thread in &self.orders {
            thread.send(order).map_err(|_| lost_threads())?;
        }
        let (mut first, mut last, mut faults) = (u64::MAX, 0, 0);
        for _ in &self.orders {
            let Ok(BandwidthReply::Done((start, end), own_faults)) = self.replies.recv() else {
                return Err(lost_threads());
            };
            faults += own_faults;
            (first, last) = (first.min(start), last.max(end));
        }
        Ok((last.saturating_sub(first), faults))
    }
}

/// Converts a number of threads.
fn thread_count(threads: usize) -> u32 {
    u32::try_from(threads).unwrap_or(u32::MAX)
}

/// Returns the kernels and their stores in an order derived from the seed.
fn shuffled_kernels(seed: u64) -> Vec<(Kernel, Stores)> {
    let all = Kernel::ALL.into_iter();
    let each = all.flat_map(|kernel| kernel.stores().iter().map(move |stores| (kernel, *stores)));
    let possible = each
        .filter(|(kernel, stores)| *stores == Stores::Plain || can_stream(vectors_for(*kernel)));
    let mut order: Vec<_> = possible.collect();
    SplitMix64::new(seed).shuffle(&mut order);
    order
}

/// Polls before the processor is yielded.
const SPINS: u32 = 20_000;

/// Reusable barrier for a number of threads.
struct SpinBarrier {
    all: u32,
    here: AtomicU32,
    round: AtomicU32,
}

impl SpinBarrier {
    const fn of(all: u32) -> Self {
        Self {
            all,
            here: AtomicU32::new(0),
            round: AtomicU32::new(0),
        }
    }

    /// Waits until all threads have arrived.
    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.all {
            self.here.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            looks += 1;
            if looks < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

/// Loads of a pass, which takes at least a millisecond even from the first cache.
const LATENCY_LOADS: u64 = 1 << 20;
/// Passes over each working set.
const LATENCY_PASSES: usize = 5;
/// Assumed size of a cache line in bytes if the kernel does not report it.
const USUAL_LINE_BYTES: u32 = 64;

/// Measures the latency of a chain of dependent loads in each working set, the smallest first.
fn measure_latency(
    work: &Latency,
    steps: &mut Steps<'_>,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let machine = steps.around.machine();
    let line_bytes = machine.caches.iter().filter_map(|cache| cache.line_bytes);
    let line_bytes = line_bytes.max().unwrap_or(USUAL_LINE_BYTES);
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
            ProgressReporter::new(&job.name, done, None).report_now(context, 0);
            let walk = WorkingSet {
                set_bytes,
                line_bytes,
                seed,
            };
            let walked = std::thread::scope(|scope| {
                let (say, chain) = channel();
                let (go, wait) = channel::<()>();
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
        say: &Sender<(u64, u64)>,
        go: &Receiver<()>,
    ) -> io::Result<LatencyStep> {
        let cpu = cpu.filter(|&cpu| bind_to(cpu));
        let bytes = usize::try_from(self.set_bytes).unwrap_or(usize::MAX);
        let mut chain = Chain::new(bytes, self.line_bytes as usize, self.seed)?;
        let from = chain.region().address();
        // The other end of both channels is in the thread that waits for this one.
        let _ = say.send((from, from + self.set_bytes));
        let _ = go.recv();
        chain.walk((self.set_bytes / u64::from(self.line_bytes.max(1))).min(8 * LATENCY_LOADS));
        let faults = major_faults();
        let mut loads = LATENCY_LOADS;
        let mut passes_ns = Vec::with_capacity(LATENCY_PASSES);
        for _ in 0..LATENCY_PASSES {
            let began = Instant::now();
            loads = chain.walk(LATENCY_LOADS);
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

#[cfg(test)]
mod tests;
