//! Linux native asynchronous I/O, by system call. (For buffered files `io_submit` waits for the
//! I/O, so the depth has no effect.)

use super::posixaio::Slots;
use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine, IoPriority};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

const KIND: EngineKind = EngineKind::Libaio;
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
pub(crate) fn probe() -> Result<(), EngineError> {
    Context::new(1)
        .map(drop)
        .map_err(|error| EngineError::unavailable(KIND, error))
}

/// The engine.
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
            context: Context::new(depth).map_err(|error| EngineError::unavailable(KIND, error))?,
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
                Err(error) => return Err(EngineError::queue(KIND, "submit", error)),
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
            Err(error) => Err(EngineError::queue(KIND, "wait", error)),
        }
    }
}
