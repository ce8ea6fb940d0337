//! One child of a test: opens its file, measures, and closes the file.

use super::access::{Access, AccessRequest, is_buffered_twice};
use super::buffers::Buffers;
use super::latencies::RecordLatency;
use super::order::RecordOrder;
use crate::WorkError;
use crate::meter::nanos;
use crate::progress::EVERY;
use assay_engine::thread_cpu_use;
use assay_model::job::Direction;
use assay_model::trial::{CpuUse, IoErrorRecord};
use assay_model::work::iozone::Child as Figures;
use assay_stats::histogram::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// State shared by the children of a step.
pub(super) struct ChildrenState<'a> {
    /// A stop was requested.
    pub(super) stop: &'a AtomicBool,
    /// A child is done, and the others must stop.
    pub(super) halt: AtomicBool,
    /// Bytes transferred by each child.
    moved: Vec<AtomicU64>,
}

impl<'a> ChildrenState<'a> {
    pub(super) fn new(children: usize, stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            halt: AtomicBool::new(false),
            moved: (0..children).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Returns the bytes transferred by all children.
    pub(super) fn moved(&self) -> u64 {
        let each = self.moved.iter().map(|moved| moved.load(Ordering::Relaxed));
        each.sum()
    }
}

/// Results of a child.
#[derive(Debug, Default)]
pub(super) struct Came {
    pub(super) figures: Figures,
    pub(super) writes: bool,
    pub(super) ios: u64,
    pub(super) latency: Histogram,
    pub(super) flush: Histogram,
    pub(super) cpu: CpuUse,
    pub(super) entries: Vec<RecordLatency>,
    /// Mismatch between the data read and the data written.
    pub(super) mismatch: Option<String>,
    /// It transferred all of its records.
    pub(super) whole: bool,
    /// Failure that ended the child early.
    pub(super) failure: Option<ChildFailure>,
}

/// A call that failed while the clock ran.
#[derive(Debug)]
pub(super) struct ChildFailure {
    pub(super) error: WorkError,
    pub(super) record: IoErrorRecord,
}

/// A child that is ready to start.
pub(super) struct Child<'a> {
    wanted: AccessRequest<'a>,
    /// `None` after the file was closed.
    access: Option<Access<'a>>,
    order: RecordOrder,
    records: u64,
    /// Number of records measured.
    done: u64,
    buffers: &'a mut Buffers,
    shared: &'a ChildrenState<'a>,
    number: usize,
}

impl<'a> Child<'a> {
    pub(super) fn ready(
        wanted: AccessRequest<'a>,
        buffers: &'a mut Buffers,
        shared: &'a ChildrenState<'a>,
        number: usize,
    ) -> Result<Self, WorkError> {
        let work = wanted.work;
        let records = wanted.row.file_kib / wanted.row.record_kib;
        let access = Access::open(wanted)?;
        access.warm_up(work.children.is_empty(), buffers)?;
        Ok(Self {
            order: RecordOrder::of(wanted.test, records, work.stride, work.mix.sequential),
            access: Some(access),
            wanted,
            records,
            done: 0,
            buffers,
            shared,
            number,
        })
    }

    /// Runs the measured part. After a failure, the result covers the part before it. `tell` is
    /// called a few times a second with the bytes done; its time is not counted.
    pub(super) fn measure(&mut self, tell: &mut dyn FnMut(u64)) -> Came {
        let work = self.wanted.work;
        let mut came = Came {
            writes: self.wanted.writes,
            ..Came::default()
        };
        let cpu = thread_cpu_use();
        let start = Instant::now();
        let idle = self.pass(start, tell, &mut came);
        if work.stonewall {
            self.shared.halt.store(true, Ordering::Relaxed);
        }
        if came.failure.is_none() {
            self.finish(start, &mut came);
        }
        self.done = came.ios;
        let elapsed = start.elapsed().saturating_sub(idle);
        came.cpu = thread_cpu_use().since(cpu);
        came.figures = Figures {
            bytes: came.ios * (self.wanted.row.record_kib << 10),
            elapsed_ns: nanos(elapsed).max(1),
            cpu_ns: came.cpu.user_ns + came.cpu.system_ns,
            idle_ns: nanos(idle),
        };
        if came.failure.is_some() {
            // A failed file is not used any more.
            self.access = None;
        }
        came
    }

    /// Carries out the flush and the close that count as part of the measurement.
    fn finish(&mut self, start: Instant, came: &mut Came) {
        let work = self.wanted.work;
        if work.flush
            && let Some(access) = &mut self.access
        {
            let before = Instant::now();
            if let Err(error) = access.flush() {
                came.failure = Some(self.failure(error, None, start));
                return;
            }
            if self.wanted.writes {
                came.flush.record(nanos(before.elapsed()));
            }
        }
        // If other children ended first, this file is incomplete and is completed below.
        if work.close
            && came.whole
            && let Some(access) = self.access.take()
            && let Err(error) = access.close()
        {
            came.failure = Some(self.failure(error, None, start));
        }
    }

    /// Creates the failure for the record at `offset`; `None` for a failed flush.
    #[cold]
    fn failure(&self, error: WorkError, offset: Option<u64>, start: Instant) -> ChildFailure {
        let direction = if self.wanted.writes {
            Direction::Write
        } else {
            Direction::Read
        };
        let record = IoErrorRecord {
            direction: offset.map(|_| direction),
            offset: offset.unwrap_or(0),
            length: offset.map_or(0, |_| self.wanted.row.record_kib << 10),
            errno: error.errno(),
            message: error.to_string(),
            at_ns: nanos(start.elapsed()),
        };
        ChildFailure { error, record }
    }

    /// Processes all records with one clock reading each, and returns the time spent on other work.
    fn pass(&mut self, start: Instant, tell: &mut dyn FnMut(u64), came: &mut Came) -> Duration {
        let work = self.wanted.work;
        let Some(access) = &mut self.access else {
            return Duration::ZERO;
        };
        let think = Duration::from_millis(work.think_ms);
        let check = work.verify.is_some() && !self.wanted.writes;
        let attentive = !think.is_zero() || check || work.latency_files.is_some();
        let record = self.wanted.row.record_kib << 10;
        let shared = self.shared;
        let moved = &shared.moved[self.number];
        let mut walk = self.order.records();
        let mut idle = Duration::ZERO;
        let mut last = start;
        let mut next_word = start + EVERY;
        for index in 0..self.records {
            if shared.stop.load(Ordering::Relaxed) || shared.halt.load(Ordering::Relaxed) {
                return idle;
            }
            if attentive && !think.is_zero() {
                idle += compute(think);
                last = Instant::now();
            }
            let offset = access.offset(walk.next());
            if let Err(error) = access.transfer(index, offset, self.buffers) {
                came.failure = Some(self.failure(error, Some(offset), start));
                return idle;
            }
            let now = Instant::now();
            let latency_ns = nanos(now - last);
            came.latency.record(latency_ns);
            last = now;
            came.ios += 1;
            moved.store(came.ios * record, Ordering::Relaxed);
            if now >= next_word {
                tell(came.ios * record);
                next_word = now + EVERY;
                last = Instant::now();
                idle += last - now;
            }
            if attentive {
                if check {
                    came.mismatch = self.buffers.check(index, offset, &self.wanted.file.path);
                    if came.mismatch.is_some() {
                        return idle;
                    }
                }
                if work.latency_files.is_some() {
                    came.entries.push(RecordLatency {
                        offset,
                        latency_ns,
                        bytes: record,
                    });
                }
                let resumed = Instant::now();
                idle += resumed - last;
                last = resumed;
            }
        }
        came.whole = true;
        idle
    }

    /// Finishes after the clock has stopped: writes the rest of a file cut short because another
    /// child was done, flushes and closes the file.
    pub(super) fn settle(mut self) -> Result<(), WorkError> {
        let Some(mut access) = self.access.take() else {
            return Ok(());
        };
        let writes = self.wanted.writes;
        if writes && matches!(self.order, RecordOrder::Forward) {
            for index in self.done..self.records {
                if self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                access.transfer(index, access.offset(index), self.buffers)?;
            }
        }
        let flushed = self.wanted.work.flush || (is_buffered_twice(self.wanted.test) && !writes);
        if !flushed {
            access.flush()?;
        }
        access.close()
    }
}

/// Keeps the processor busy; returns the actual time.
fn compute(time: Duration) -> Duration {
    let start = Instant::now();
    loop {
        let elapsed = start.elapsed();
        if elapsed >= time {
            return elapsed;
        }
        std::hint::spin_loop();
    }
}
