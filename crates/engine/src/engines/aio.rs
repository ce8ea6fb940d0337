//! Asynchronous I/O: that of Linux (`libaio`), by system call, and that of POSIX (`posixaio`):
//! `aio_read(3)`, `aio_write(3)`.
//!
//! For buffered files `io_submit` waits for the I/O, so the depth of `libaio` has no effect.
//!
//! The C library does POSIX I/O with its own threads. glibc runs I/Os to the same file one after
//! the other, at any depth, and has at most 20 such threads; musl has one for each I/O.

use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine, IoPriority};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

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

const LIBAIO_KIND: EngineKind = EngineKind::Libaio;
const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
/// The `priority` field is valid (Linux 4.18).
const IOCB_FLAG_IOPRIO: u32 = 1 << 1;

/// `struct iocb`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
    /// The kernel's key, which stays 0, and `RWF_` flags, in native byte order.
    key_and_flags: [u32; 2],
    command: u16,
    priority: i16,
    fd: u32,
    address: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// `AIO_RING_MAGIC`: value that identifies the known layout of the ring.
const RING_MAGIC: u32 = 0xa10a_10a1;

/// `struct __kernel_old_timespec`, which `io_getevents(2)` takes on every architecture, independent
/// of the C library's `timespec`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct KernelTimespec {
    seconds: libc::c_long,
    nanoseconds: libc::c_long,
}

impl KernelTimespec {
    fn new(span_ns: u64) -> Self {
        Self {
            seconds: (span_ns / 1_000_000_000)
                .try_into()
                .unwrap_or(libc::c_long::MAX),
            nanoseconds: (span_ns % 1_000_000_000).try_into().unwrap_or(0),
        }
    }
}

/// A kernel context for asynchronous I/O.
#[derive(Debug)]
struct Context {
    id: libc::c_ulong,
    /// True if the process may take events out of the ring itself. Before Linux 3.17, the kernel
    /// did not reuse the slots of such events.
    shares_ring: bool,
}

impl Context {
    fn new(depth: u32) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the new context's id into `id`, which must
        // be 0 beforehand.
        let answer = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut id) };
        check(answer).map(|_| Self {
            id,
            shares_ring: kernel_version().is_some_and(|version| version >= (3, 17)),
        })
    }

    /// Takes the next event out of the kernel's ring (`struct aio_ring`) without a system call;
    /// `None` if there is no event, or the layout of the ring is unknown.
    #[inline]
    fn next_event(&self) -> Option<IoEvent> {
        if !self.shares_ring {
            return None;
        }
        let ring = self.id as *mut u32;
        // SAFETY: the kernel maps the ring at the address that is the id until `io_destroy`, and
        // lets the process take events out of it (`user_refill_reqs_available`). It writes an event
        // before it moves the tail past it, and uses its place again after the head is past it. The
        // head is moved by this thread alone: here, or by the kernel while it is in `io_getevents`.
        unsafe {
            let [entries, magic] = [1, 4].map(|at| ring.add(at).read());
            let [head, tail] = [2, 3].map(|at| AtomicU32::from_ptr(ring.add(at)));
            let next = head.load(Ordering::Relaxed);
            if magic != RING_MAGIC || next >= entries || next == tail.load(Ordering::Acquire) {
                return None;
            }
            let events = ring.add(8).cast::<IoEvent>();
            let event = events.add(next as usize).read_unaligned();
            head.store((next + 1) % entries, Ordering::Release);
            Some(event)
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: destroys the context made in `new`, once.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

fn check(answer: libc::c_long) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Returns the version of the kernel, such as (3, 17).
fn kernel_version() -> Option<(u32, u32)> {
    let uname = rustix::system::uname();
    let release = uname.release().to_str().ok()?;
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns both words in the order of `struct iocb`, which puts `aio_key` first on little-endian
/// machines.
fn key_and_flags(nowait: bool) -> [u32; 2] {
    let flags = if nowait { libc::RWF_NOWAIT as u32 } else { 0 };
    if cfg!(target_endian = "little") {
        [0, flags]
    } else {
        [flags, 0]
    }
}

/// Checks that `io_setup(2)` works here.
pub(crate) fn probe_libaio() -> Result<(), EngineError> {
    Context::new(1)
        .map(drop)
        .map_err(|error| EngineError::unavailable(LIBAIO_KIND, error))
}

/// The engine `libaio`.
#[derive(Debug)]
pub(crate) struct Libaio {
    context: Context,
    /// Value of `key_and_flags` in each descriptor.
    key_and_flags: [u32; 2],
    /// Units in the kernel or waiting for submission, by slot.
    slots: Slots,
    iocbs: Box<[Iocb]>,
    /// Slots queued but not yet submitted.
    pending: Vec<usize>,
    /// List for `io_submit(2)`, kept here to be allocated once.
    list: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
}

impl Libaio {
    pub(crate) fn new(engine: &Engine) -> Result<Self, EngineError> {
        let depth = engine.iodepth;
        let entries = depth as usize;
        Ok(Self {
            context: Context::new(depth)
                .map_err(|error| EngineError::unavailable(LIBAIO_KIND, error))?,
            key_and_flags: key_and_flags(engine.nowait),
            slots: Slots::new(depth),
            iocbs: vec![Iocb::default(); entries].into_boxed_slice(),
            pending: Vec::with_capacity(entries),
            list: Vec::with_capacity(entries),
            events: vec![IoEvent::default(); entries],
        })
    }

    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "file offsets are below 2^63, descriptors are not negative, and a priority is 16 bits"
    )]
    fn describe(&self, file: &OpenFile, slot: usize, unit: &mut IoUnit) -> Iocb {
        let command = match unit.ddir {
            Ddir::Write => IOCB_CMD_PWRITE,
            Ddir::Read | Ddir::Trim => IOCB_CMD_PREAD,
        };
        let unit_priority = unit.priority;
        let (offset, bytes) = unit.remainder();
        Iocb {
            data: slot as u64,
            key_and_flags: self.key_and_flags,
            command,
            priority: unit_priority.0 as i16,
            flags: match unit_priority {
                IoPriority::NONE => 0,
                _ => IOCB_FLAG_IOPRIO,
            },
            fd: file.file.as_raw_fd() as u32,
            address: bytes.as_mut_ptr() as u64,
            length: bytes.len() as u64,
            offset: offset as i64,
            ..Iocb::default()
        }
    }

    /// Submits the pending slots, and returns the number that the kernel accepted.
    fn submit(&mut self) -> io::Result<usize> {
        self.list.clear();
        for &slot in &self.pending {
            self.list.push(&raw mut self.iocbs[slot]);
        }
        // SAFETY: `list` holds pointers to descriptors that live in `self`;
        // each names a buffer owned by a unit in `self.slots`, which stays
        // there until its event is taken (`Drop` waits for that).
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.context.id,
                self.list.len(),
                self.list.as_mut_ptr(),
            )
        };
        check(answer)
    }

    fn wait(&mut self, min: usize, max: usize, timeout_ns: Option<u64>) -> io::Result<usize> {
        let mut time = timeout_ns.map(KernelTimespec::new);
        let time_pointer = time
            .as_mut()
            .map_or(std::ptr::null_mut(), |time| &raw mut *time);
        // SAFETY: the kernel writes at most `events.len()` events into
        // `events`, and reads `time` if given; both outlive the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context.id,
                min,
                max.min(self.events.len()),
                self.events.as_mut_ptr(),
                time_pointer,
            )
        };
        check(answer)
    }

    fn in_kernel(&self) -> usize {
        self.slots.taken() - self.pending.len()
    }
}

impl Drop for Libaio {
    /// The kernel may still write into the buffers of units in flight, so this waits for all of
    /// them before the buffers are freed. (Not every kernel waits in `io_destroy(2)`.)
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_kernel() > 0 {
            if self.reap(1, u32::MAX, None, &mut done).is_err() {
                // Leaking the buffers is safer than freeing them while the kernel writes.
                self.slots.leak();
                return;
            }
        }
    }
}

impl IoEngine for Libaio {
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
        self.iocbs[slot] = self.describe(file, slot, &mut unit);
        self.slots.put(slot, unit);
        self.pending.push(slot);
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        let mut handed_over = 0;
        while !self.pending.is_empty() {
            match self.submit() {
                Ok(taken) => {
                    handed_over += taken;
                    self.pending.drain(..taken);
                }
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The kernel has no resources now: I/Os in flight must complete first, and the rest
                // is submitted by the next call.
                Err(error)
                    if error.raw_os_error() == Some(libc::EAGAIN) && self.in_kernel() > 0 =>
                {
                    break;
                }
                Err(error) => return Err(EngineError::queue(LIBAIO_KIND, "submit", error)),
            }
        }
        Ok(handed_over)
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let (before, min) = (done.len(), self.in_kernel().min(min as usize));
        let max = min.max(max as usize);
        while done.len() - before < max
            && let Some(event) = self.context.next_event()
        {
            self.slots.complete(event.data, event.result, done);
        }
        let taken = done.len() - before;
        if taken > 0 && taken >= min {
            return Ok(());
        }
        match self.wait(min.saturating_sub(taken), max - taken, timeout_ns) {
            Ok(count) => {
                for at in 0..count {
                    let event = self.events[at];
                    self.slots.complete(event.data, event.result, done);
                }
                Ok(())
            }
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
            Err(error) => Err(EngineError::queue(LIBAIO_KIND, "wait", error)),
        }
    }
}

const POSIX_KIND: EngineKind = EngineKind::Posixaio;
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

/// The engine `posixaio`.
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
                    _ => return Err(EngineError::queue(POSIX_KIND, "wait", error)),
                },
            }
            self.take_completed(done);
        }
        Ok(())
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
