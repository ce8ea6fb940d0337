//! POSIX asynchronous I/O: `aio_read(3)`, `aio_write(3)`.
//!
//! The C library does this with its own threads. glibc runs I/Os to the same file one after the
//! other, at any depth, and has at most 20 such threads; musl has one for each I/O.

use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

const KIND: EngineKind = EngineKind::Posixaio;
/// Maximum number of I/Os to wait for; the newest are chosen. In a deeper queue several are then
/// done per wakeup, which is intended: a wakeup for each costs more than a fast I/O.
const WAITED_FOR: usize = 16;

/// A control block. It belongs to the C library while its I/O is in flight, so it is allocated
/// separately and no Rust reference points to it.
#[derive(Debug)]
struct Control(NonNull<libc::aiocb>);

impl Control {
    fn new() -> Self {
        // SAFETY: `aiocb` is plain old data, for which all-zero is a value.
        let empty: libc::aiocb = unsafe { std::mem::zeroed() };
        Self(NonNull::from(Box::leak(Box::new(empty))))
    }

    /// Starts the I/O that `unit` describes.
    fn start(&self, file: &OpenFile, unit: &mut IoUnit) -> io::Result<()> {
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        let overflow = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
        let offset = offset.try_into().map_err(overflow)?;
        let control = self.0.as_ptr();
        // SAFETY: no I/O of this block is in flight (its slot was free), so this thread may write
        // it. The C library keeps pointers to the block and to the unit's buffer until the I/O is
        // done; both stay in place until then: the block until `Drop`, the unit in the engine's
        // slots.
        let answer = unsafe {
            (*control) = std::mem::zeroed();
            (*control).aio_fildes = file.file.as_raw_fd();
            (*control).aio_buf = bytes.as_mut_ptr().cast();
            (*control).aio_nbytes = bytes.len();
            (*control).aio_offset = offset;
            (*control).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
            if writes {
                libc::aio_write(control)
            } else {
                libc::aio_read(control)
            }
        };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Returns the result (bytes, or a negated error number); `None` while the I/O is in flight.
    fn result(&self) -> Option<i64> {
        let control = self.0.as_ptr();
        // SAFETY: the block was given to `aio_read` or `aio_write`, and its
        // result is fetched once, after it is done.
        unsafe {
            match libc::aio_error(control) {
                libc::EINPROGRESS => None,
                0 => i64::try_from(libc::aio_return(control)).ok(),
                errno => {
                    libc::aio_return(control);
                    Some(-i64::from(errno))
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` in `new`, freed once; the engine drops it only when no I/O is
        // in flight, and leaks it otherwise.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Posixaio {
    slots: Slots,
    controls: Vec<Control>,
    /// Slots whose I/O is in flight, in the order in which they were started.
    under_way: Vec<usize>,
    /// List for `aio_suspend(3)`, kept here to be allocated once.
    list: Vec<*const libc::aiocb>,
    /// Number of I/Os started since the last `commit`.
    handed_over: usize,
}

impl Posixaio {
    pub(crate) fn new(engine: &Engine) -> Self {
        let entries = engine.iodepth as usize;
        Self {
            slots: Slots::new(engine.iodepth),
            controls: std::iter::repeat_with(Control::new).take(entries).collect(),
            under_way: Vec::with_capacity(entries),
            list: Vec::with_capacity(entries),
            handed_over: 0,
        }
    }

    fn take_completed(&mut self, done: &mut Vec<Completion>) {
        let (controls, slots) = (&self.controls, &mut self.slots);
        self.under_way
            .retain(|&slot| match controls[slot].result() {
                Some(result) => {
                    slots.complete(slot as u64, result, done);
                    false
                }
                None => true,
            });
    }

    /// Sleeps until one of the newest I/Os is done, or `timeout_ns` has passed.
    fn suspend(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.list.clear();
        for &slot in self.under_way.iter().rev().take(WAITED_FOR) {
            self.list.push(self.controls[slot].0.as_ptr());
        }
        let time = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000).try_into().unwrap_or(i32::MAX.into()),
            tv_nsec: (ns % 1_000_000_000).try_into().unwrap_or(0),
        });
        let time = time
            .as_ref()
            .map_or(std::ptr::null(), |time| &raw const *time);
        let count = libc::c_int::try_from(self.list.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the list names `count` control blocks that live in `self`, and `time`, if given,
        // lives on this frame.
        let answer = unsafe { libc::aio_suspend(self.list.as_ptr(), count, time) };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Posixaio {
    /// The C library may still write into the buffers of units in flight, so this waits for all of
    /// them before the buffers are freed.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while !self.under_way.is_empty() {
            self.take_completed(&mut done);
            let slept = if self.under_way.is_empty() {
                Ok(())
            } else {
                self.suspend(None)
            };
            if slept.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
                // Leaking the memory is safer than freeing it while a thread writes.
                self.slots.leak();
                std::mem::forget(std::mem::take(&mut self.controls));
                return;
            }
        }
    }
}

impl IoEngine for Posixaio {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if unit.ddir == Ddir::Trim {
            return super::queue(file, unit);
        }
        let Some(slot) = self.slots.next_free() else {
            return QueueStatus::Busy(unit);
        };
        match self.controls[slot].start(file, &mut unit) {
            Ok(()) => {
                self.slots.put(slot, unit);
                self.under_way.push(slot);
                self.handed_over += 1;
                QueueStatus::Queued
            }
            // Out of threads or memory now: some I/Os must complete first.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && !self.under_way.is_empty() =>
            {
                QueueStatus::Busy(unit)
            }
            Err(error) => QueueStatus::Completed(Completion {
                unit,
                result: Err(error.raw_os_error().unwrap_or(libc::EIO)),
            }),
        }
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        Ok(std::mem::take(&mut self.handed_over))
    }

    fn reap(
        &mut self,
        min: u32,
        _max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let wanted = done.len() + (min as usize).min(self.under_way.len());
        let until = timeout_ns.map(|ns| Instant::now() + Duration::from_nanos(ns));
        self.take_completed(done);
        while done.len() < wanted {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let left_ns = left.map(|left| u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
            match self.suspend(left_ns) {
                Ok(()) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::EAGAIN) => {}
                    _ => return Err(EngineError::queue(KIND, "wait", error)),
                },
            }
            self.take_completed(done);
        }
        Ok(())
    }
}

/// A table of units by slot. The kernel gets the slot's number with the I/O and
/// returns it with the result. A unit in the table keeps its buffer in place.
#[derive(Debug)]
pub(super) struct Slots {
    units: Vec<Option<IoUnit>>,
    free: Vec<usize>,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        let slots = depth as usize;
        Self {
            units: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
        }
    }

    /// Returns a free slot for [`Slots::put`]; it stays free until then.
    #[inline]
    pub(super) fn next_free(&self) -> Option<usize> {
        self.free.last().copied()
    }

    /// Puts a unit into the slot that [`Slots::next_free`] returned.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, unit: IoUnit) {
        debug_assert_eq!(self.next_free(), Some(slot));
        self.free.pop();
        self.units[slot] = Some(unit);
    }

    /// Returns a unit that the kernel has finished. `tag` is its slot, and
    /// `result` is the kernel's result: a number of bytes, or a negated error
    /// number.
    #[inline]
    pub(super) fn complete(&mut self, tag: u64, result: i64, done: &mut Vec<Completion>) {
        let slot = usize::try_from(tag).unwrap_or(usize::MAX);
        let Some(unit) = self.units.get_mut(slot).and_then(Option::take) else {
            return;
        };
        self.free.push(slot);
        let result = u32::try_from(result).map_err(|_| i32::try_from(-result).unwrap_or(libc::EIO));
        done.push(Completion { unit, result });
    }

    /// Returns the number of units in the table.
    #[inline]
    pub(super) fn taken(&self) -> usize {
        self.units.len() - self.free.len()
    }

    /// Drops the units without freeing their buffers, because the kernel may
    /// still write to them.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.units));
        self.free.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::IoBuf;
    use assay_model::load::{Ddir, IoPriority};

    fn unit(offset: u64) -> IoUnit {
        IoUnit {
            ddir: Ddir::Read,
            file: 0,
            offset,
            length: 512,
            moved: 0,
            buf: IoBuf::zeroed(512),
            submitted_ns: 0,
            priority: IoPriority::NONE,
            tag: 0,
        }
    }

    #[test]
    fn each_result_finds_its_unit_once() {
        let mut slots = Slots::new(2);
        let first = slots.next_free().unwrap();
        slots.put(first, unit(1));
        let second = slots.next_free().unwrap();
        slots.put(second, unit(2));
        assert_eq!((slots.next_free(), slots.taken()), (None, 2));
        let mut done = Vec::new();
        slots.complete(second as u64, 512, &mut done);
        slots.complete(second as u64, 512, &mut done);
        slots.complete(u64::MAX, 512, &mut done);
        slots.complete(first as u64, -5, &mut done);
        let came: Vec<_> = done.iter().map(|c| (c.unit.offset, c.result)).collect();
        assert_eq!(came, [(2, Ok(512)), (1, Err(5))]);
        assert_eq!(slots.taken(), 0);
    }
}
