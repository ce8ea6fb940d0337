//! Running one job: workers, the clock around them, and what they recorded.

use crate::clock::{Clock, MonotonicClock};
use crate::engines::{libaio::Libaio, null::Null, psync::Psync, sync::Sync, uring::Uring};
use crate::error::EngineError;
use crate::io::IoEngine;
use crate::pattern::Pattern;
use crate::recorder::{Recorder, merge};
use crate::sys;
use crate::worker::{Finished, Parts, Shared, Worker, buffers};
use assay_model::job::{EngineKind, Job, OpenSync};
use assay_model::rng::SplitMix64;
use assay_model::trial::{CpuUse, Measurement};
use assay_model::units::Bytes;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::system::sysinfo;
use std::fs::File;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// What a ring of io_uring holds at most (`IORING_MAX_ENTRIES`).
const MAX_DEPTH: u32 = 32_768;
/// Workers are threads.
const MAX_WORKERS: u32 = 1_024;
/// Alignment that direct I/O needs at least.
const SECTOR: u64 = 512;

/// How far a job has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the clock started.
    pub elapsed_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
}

/// Whoever watches a job: gathers evidence when the clock starts and stops,
/// and shows progress. Called on the thread that called [`measure()`].
pub trait Observer {
    /// Everything is ready; the clock starts when this returns (with a ramp:
    /// the measured time begins now).
    fn clock_starts(&mut self);
    /// The last worker has just finished.
    fn clock_stopped(&mut self);
    /// A few times a second.
    fn progress(&mut self, progress: Progress);
}

/// Runs `job` on the file or device at `path`, which must exist, until it is
/// done or `stop` is set. The same `seed` gives the same offsets in the same
/// order.
///
/// # Errors
/// When the job cannot start here (file, engine, contradiction) or the kernel
/// refuses to take I/O. Failed I/Os are not errors but part of the result.
pub fn measure(
    job: &Job,
    path: &Path,
    seed: u64,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    check(job)?;
    let shared = Shared {
        stop,
        halted: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
        ios: AtomicU64::new(0),
    };
    let start = StartLine {
        barrier: Barrier::new(job.numjobs as usize + 1),
        start_ns: AtomicU64::new(0),
    };
    let mut seeds = SplitMix64::new(seed);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..job.numjobs {
            let (seed, sender) = (seeds.next_u64(), sender.clone());
            let (shared, start) = (&shared, &start);
            scope.spawn(move || serve(job, path, seed, shared, start, &sender));
        }
        drop(sender);
        Coordinator {
            job,
            shared: &shared,
            start: &start,
            receiver,
            observer,
        }
        .run()
    })
}

/// Refuses jobs that cannot mean anything.
fn check(job: &Job) -> Result<(), EngineError> {
    let problem = if job.bs.0 == 0 || job.bs.0 > u64::from(u32::MAX) {
        Some("the block size must be between 1 byte and 4 GiB".to_owned())
    } else if !(1..=MAX_DEPTH).contains(&job.iodepth) || !(1..=MAX_WORKERS).contains(&job.numjobs) {
        Some(format!(
            "iodepth must be between 1 and {MAX_DEPTH}, numjobs between 1 and {MAX_WORKERS}"
        ))
    } else if buffer_bytes(job) > memory_bytes() {
        Some(format!(
            "its I/O buffers would take {}, more than there is memory: lower bs, iodepth or numjobs",
            Bytes(buffer_bytes(job))
        ))
    } else if job.direct && !(job.bs.0 | job.offset.0).is_multiple_of(SECTOR) {
        Some(format!(
            "direct I/O needs block size and offset in multiples of {SECTOR} bytes"
        ))
    } else if job.size.0 < job.bs.0 {
        Some(format!(
            "not one block of {} fits into {}",
            job.bs, job.size
        ))
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

/// What the buffers of all workers take, in bytes.
fn buffer_bytes(job: &Job) -> u64 {
    job.bs
        .0
        .saturating_mul(u64::from(job.iodepth))
        .saturating_mul(u64::from(job.numjobs))
}

#[allow(
    clippy::useless_conversion,
    reason = "the kernel's words have 32 bits on small machines"
)]
fn memory_bytes() -> u64 {
    let info = sysinfo();
    u64::from(info.totalram).saturating_mul(info.mem_unit.into())
}

/// Where the workers wait for each other and for the evidence.
#[derive(Debug)]
struct StartLine {
    barrier: Barrier,
    start_ns: AtomicU64,
}

/// From a worker's thread to the coordinator.
enum Report {
    Ready(Result<(), EngineError>),
    Done(Box<Result<Finished, EngineError>>),
}

/// The life of a worker's thread. Rings are made here because the kernel ties
/// them to the thread that uses them.
fn serve(
    job: &Job,
    path: &Path,
    seed: u64,
    shared: &Shared<'_>,
    start: &StartLine,
    sender: &Sender<Report>,
) {
    let work = Work {
        job,
        path,
        seed,
        shared,
        start,
        sender,
    };
    let depth = job.iodepth;
    match job.ioengine {
        EngineKind::Psync => work.on(|file| Ok(Psync::new(file))),
        EngineKind::Sync => work.on(|file| Ok(Sync::new(file))),
        EngineKind::Libaio => work.on(|file| Libaio::new(file, depth)),
        EngineKind::IoUring => work.on(|file| Uring::new(file, depth)),
        EngineKind::Null => work.on(|_| Ok(Null)),
    }
}

/// One worker's thread, whatever its engine.
struct Work<'a> {
    job: &'a Job,
    path: &'a Path,
    seed: u64,
    shared: &'a Shared<'a>,
    start: &'a StartLine,
    sender: &'a Sender<Report>,
}

impl Work<'_> {
    fn on<E: IoEngine>(&self, engine: impl FnOnce(File) -> Result<E, EngineError>) {
        sys::own_file_table();
        let prepared = self.prepare(engine);
        let (ready, prepared) = match prepared {
            Ok(prepared) => (Ok(()), Some(prepared)),
            Err(error) => (Err(error), None),
        };
        // The coordinator outlives the workers: sending cannot fail.
        let _ = self.sender.send(Report::Ready(ready));
        self.start.barrier.wait();
        let Some((engine, parts)) = prepared else {
            return;
        };
        if self.shared.halted.load(Ordering::Relaxed) {
            return;
        }
        let start_ns = self.start.start_ns.load(Ordering::Acquire);
        let finished = Worker::new(engine, parts, start_ns).run();
        if finished.is_err() {
            self.shared.halted.store(true, Ordering::Relaxed);
        }
        let _ = self.sender.send(Report::Done(Box::new(finished)));
    }

    fn prepare<E: IoEngine>(
        &self,
        engine: impl FnOnce(File) -> Result<E, EngineError>,
    ) -> Result<(E, Parts<'_, MonotonicClock>), EngineError> {
        let file = open_for(self.job, self.path)?;
        let for_flushes = file
            .try_clone()
            .map_err(|error| EngineError::file("duplicate", self.path, error))?;
        let pattern = Pattern::new(self.job, self.seed).ok_or_else(|| EngineError::Job {
            job: self.job.name.clone(),
            problem: "not one block fits into its region".to_owned(),
        })?;
        let parts = Parts {
            clock: MonotonicClock,
            job: self.job,
            shared: self.shared,
            file: for_flushes,
            pattern,
            buffers: buffers(self.job, self.seed),
            seed: self.seed,
        };
        Ok((engine(file)?, parts))
    }
}

fn open_for(job: &Job, path: &Path) -> Result<File, EngineError> {
    let mut flags = OFlags::CLOEXEC
        | match (job.rw.reads(), job.rw.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
    if job.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.sync {
        OpenSync::None => OFlags::empty(),
        OpenSync::Dsync => OFlags::DSYNC,
        OpenSync::Sync => OFlags::SYNC,
    };
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::INVAL) if job.direct => {
            return Err(EngineError::NoDirect {
                path: path.to_owned(),
            });
        }
        Err(errno) => return Err(EngineError::file("open", path, errno.into())),
    };
    // A directory opens for reading, and then fails every read.
    match file.metadata() {
        Ok(what) if what.is_dir() => {
            let error = Errno::ISDIR.into();
            Err(EngineError::file("use", path, error))
        }
        Ok(_) => Ok(file),
        Err(error) => Err(EngineError::file("look at", path, error)),
    }
}

/// The thread that starts the clock and waits for the workers.
struct Coordinator<'a> {
    job: &'a Job,
    shared: &'a Shared<'a>,
    start: &'a StartLine,
    receiver: Receiver<Report>,
    observer: &'a mut dyn Observer,
}

impl Coordinator<'_> {
    fn run(mut self) -> Result<Measurement, EngineError> {
        self.await_ready()?;
        let ramp_ns = self.job.ramp_time.0;
        if ramp_ns == 0 {
            self.observer.clock_starts();
        }
        let clock = MonotonicClock;
        let start_ns = clock.now();
        self.start.start_ns.store(start_ns, Ordering::Release);
        self.start.barrier.wait();

        let measured_from_ns = start_ns + ramp_ns;
        let finished = self.await_done(measured_from_ns, ramp_ns > 0);
        self.observer.clock_stopped();
        self.conclude(finished?, measured_from_ns)
    }

    /// Waits until every worker is ready; if one cannot be, lets all go home.
    fn await_ready(&mut self) -> Result<(), EngineError> {
        let mut failure = None;
        for _ in 0..self.job.numjobs {
            if let Ok(Report::Ready(Err(error))) = self.receiver.recv() {
                failure = Some(error);
            }
        }
        match failure {
            None => Ok(()),
            Some(error) => {
                self.shared.halted.store(true, Ordering::Relaxed);
                self.start.barrier.wait();
                Err(error)
            }
        }
    }

    fn await_done(
        &mut self,
        measured_from_ns: u64,
        mut ramping: bool,
    ) -> Result<Vec<Finished>, EngineError> {
        let mut finished = Vec::new();
        let mut failure = None;
        loop {
            let now_ns = MonotonicClock.now();
            if ramping && now_ns >= measured_from_ns {
                ramping = false;
                self.observer.clock_starts();
            }
            let wait = if ramping {
                PROGRESS_EVERY.min(Duration::from_nanos(measured_from_ns - now_ns))
            } else {
                PROGRESS_EVERY
            };
            match self.receiver.recv_timeout(wait) {
                Ok(Report::Done(result)) => match *result {
                    Ok(worker) => finished.push(worker),
                    Err(error) => failure = Some(error),
                },
                Ok(Report::Ready(_)) => {}
                Err(RecvTimeoutError::Timeout) => self.tell_progress(measured_from_ns),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if finished.len() == self.job.numjobs as usize {
                break;
            }
        }
        failure.map_or(Ok(finished), Err)
    }

    fn tell_progress(&mut self, measured_from_ns: u64) {
        self.observer.progress(Progress {
            elapsed_ns: MonotonicClock.now().saturating_sub(measured_from_ns),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            ios: self.shared.ios.load(Ordering::Relaxed),
        });
    }

    fn conclude(
        &self,
        workers: Vec<Finished>,
        measured_from_ns: u64,
    ) -> Result<Measurement, EngineError> {
        let failed = workers.iter().any(|w| w.recorder.error_count() > 0);
        let stopped = self.shared.stop.load(Ordering::Relaxed);
        if workers.iter().any(|w| w.still_ramping) && !failed && !stopped {
            return Err(EngineError::Job {
                job: self.job.name.clone(),
                problem: "it was over before its ramp_time: make it longer or time_based"
                    .to_owned(),
            });
        }
        let cpu = workers.iter().map(|w| w.cpu).fold(CpuUse::default(), add);
        let records: Vec<(Recorder, u64)> = workers
            .into_iter()
            .map(|w| (w.recorder, w.end_ns))
            .collect();
        let end_ns = records.iter().map(|&(_, end_ns)| end_ns).max().unwrap_or(0);
        let merged = merge(records).ok_or(EngineError::Stopped)?;
        Ok(Measurement {
            elapsed_ns: end_ns.saturating_sub(measured_from_ns),
            read: merged.read,
            write: merged.write,
            flush: merged.flush,
            series: merged.series,
            longest_gap: merged.longest_gap,
            errors: merged.errors,
            cpu,
        })
    }
}

fn add(a: CpuUse, b: CpuUse) -> CpuUse {
    CpuUse {
        user_ns: a.user_ns + b.user_ns,
        system_ns: a.system_ns + b.system_ns,
        voluntary_switches: a.voluntary_switches + b.voluntary_switches,
        involuntary_switches: a.involuntary_switches + b.involuntary_switches,
    }
}
