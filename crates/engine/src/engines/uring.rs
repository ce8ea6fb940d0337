//! `io_uring(7)`.

use super::libaio::kernel_result;
use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, QueueStatus};
use assay_model::job::{Direction, EngineKind};
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `IORING_ENTER_GETEVENTS`.
const ENTER_GETEVENTS: u32 = 1;
/// How often to look for completions before sleeping. A look costs some
/// 150 ns, so all together cost as much as being put to sleep and woken; a
/// device that answers within that time is spared both, and its answer is seen
/// sooner.
const LOOKS_BEFORE_SLEEP: u32 = 16;

fn unavailable(source: io::Error) -> EngineError {
    EngineError::Unavailable {
        engine: EngineKind::IoUring,
        source,
    }
}

/// Whether `io_uring_setup(2)` works here.
pub(crate) fn probe() -> Result<(), EngineError> {
    IoUring::new(1).map(drop).map_err(unavailable)
}

/// The engine.
pub(crate) struct Uring {
    ring: IoUring,
    file: File,
    /// Whether the file is registered with the ring, which saves its lookup.
    registered: bool,
    /// Units in the kernel or waiting for it, by slot.
    units: Vec<Option<IoUnit>>,
    free: Vec<usize>,
    /// Entries queued but not yet handed over.
    pending: usize,
}

impl Uring {
    pub(crate) fn new(file: File, depth: u32) -> Result<Self, EngineError> {
        let ring = Self::ring(depth).map_err(unavailable)?;
        let registered = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        let slots = depth as usize;
        Ok(Self {
            ring,
            file,
            registered,
            units: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
            pending: 0,
        })
    }

    /// One thread submits and waits: a kernel that knows how to use that
    /// (Linux 6.1) is told so, an older one gets a plain ring.
    fn ring(depth: u32) -> io::Result<IoUring> {
        IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth)
            .or_else(|_| IoUring::new(depth))
    }

    fn entry(&self, slot: usize, unit: &mut IoUnit) -> squeue::Entry {
        let direction = unit.direction;
        let length = unit.left();
        let (offset, bytes) = unit.remainder();
        let address = bytes.as_mut_ptr();
        let fd = Fd(self.file.as_raw_fd());
        let entry = match (direction, self.registered) {
            (Direction::Read, true) => opcode::Read::new(Fixed(0), address, length)
                .offset(offset)
                .build(),
            (Direction::Read, false) => opcode::Read::new(fd, address, length)
                .offset(offset)
                .build(),
            (Direction::Write, true) => opcode::Write::new(Fixed(0), address, length)
                .offset(offset)
                .build(),
            (Direction::Write, false) => opcode::Write::new(fd, address, length)
                .offset(offset)
                .build(),
        };
        entry.user_data(slot as u64)
    }

    fn in_kernel(&self) -> usize {
        self.units.len() - self.free.len() - self.pending
    }

    /// Enters the kernel: hands over what is pending, and lets it post
    /// completions, without waiting for any.
    fn enter(&mut self) -> io::Result<()> {
        let pending = u32::try_from(self.pending).unwrap_or(u32::MAX);
        // SAFETY: entries in the queue name buffers owned by units in
        // `self.units` (see `queue`), and no argument is passed.
        let entered = unsafe {
            self.ring
                .submitter()
                .enter::<()>(pending, 0, ENTER_GETEVENTS, None)
        }?;
        self.pending -= entered.min(self.pending);
        Ok(())
    }

    /// Waits in the kernel for `min` completions.
    fn wait(&mut self, min: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let entered = match timeout_ns {
            None => submitter.submit_and_wait(min as usize),
            Some(ns) => {
                let nanos = u32::try_from(ns % 1_000_000_000).unwrap_or(0);
                let time = Timespec::new().sec(ns / 1_000_000_000).nsec(nanos);
                submitter.submit_with_args(min as usize, &SubmitArgs::new().timespec(&time))
            }
        };
        match entered {
            Ok(entered) => self.pending -= entered.min(self.pending),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn take_completed(&mut self, done: &mut Vec<Completion>) {
        for event in self.ring.completion() {
            let slot = usize::try_from(event.user_data()).unwrap_or(usize::MAX);
            let Some(unit) = self.units.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            self.free.push(slot);
            done.push(Completion {
                unit,
                result: kernel_result(i64::from(event.result())),
            });
        }
    }
}

impl Drop for Uring {
    /// The kernel may still write into the buffers of units under way: waits
    /// for all of them before the buffers are freed.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_kernel() > 0 {
            if self.wait(1, None).is_err() {
                // Better to leak the buffers than to free them under the kernel.
                std::mem::forget(std::mem::take(&mut self.units));
                return;
            }
            self.take_completed(&mut done);
        }
    }
}

fn queue_error(operation: &'static str, source: io::Error) -> EngineError {
    EngineError::Queue {
        engine: EngineKind::IoUring,
        operation,
        source,
    }
}

impl IoEngine for Uring {
    const ASYNCHRONOUS: bool = true;

    fn queue(&mut self, mut unit: IoUnit) -> QueueStatus {
        let Some(slot) = self.free.pop() else {
            return QueueStatus::Busy(unit);
        };
        let entry = self.entry(slot, &mut unit);
        // SAFETY: the entry names the buffer owned by `unit`, which is kept in
        // `self.units` until its completion is taken (and `Drop` waits for
        // that), and a descriptor that lives as long as `self`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.free.push(slot);
            return QueueStatus::Busy(unit);
        }
        self.units[slot] = Some(unit);
        self.pending += 1;
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        while self.pending > 0 {
            match self.enter() {
                Ok(()) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The completion side is full: it must be emptied first.
                    Some(libc::EAGAIN | libc::EBUSY) if self.in_kernel() > 0 => break,
                    _ => return Err(queue_error("submit", error)),
                },
            }
        }
        Ok(())
    }

    fn reap(
        &mut self,
        min: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let min = min as usize;
        self.take_completed(done);
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if done.len() >= min {
                return Ok(());
            }
            // What fails here fails again in the wait, and is told there.
            let _ = self.enter();
            self.take_completed(done);
        }
        if done.len() < min {
            let missing = u32::try_from(min - done.len()).unwrap_or(u32::MAX);
            self.wait(missing, timeout_ns)
                .map_err(|error| queue_error("wait", error))?;
            self.take_completed(done);
        }
        Ok(())
    }
}
