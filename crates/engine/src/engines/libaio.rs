//! Linux native asynchronous I/O, by system call. (Buffered files make
//! `io_submit` wait for the I/O: the depth then means nothing.)

use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, QueueStatus};
use assay_model::job::{Direction, EngineKind};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
const COMMAND: [u16; 2] = [0, 1];

/// `struct iocb`. Only fields that both byte orders agree on are used; `key`
/// and `rw_flags` stay 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
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

/// `struct __kernel_old_timespec`, which `io_getevents(2)` takes on every
/// architecture, whatever the C library thinks of time.
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
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the new context's id into `id`, which must
        // be 0 beforehand.
        let answer = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut id) };
        check(answer).map(|_| Self(id))
    }
}

impl Drop for Context {
    /// Waits for every I/O under way: afterwards the kernel has no claim on
    /// any buffer.
    fn drop(&mut self) {
        // SAFETY: destroys the context made in `new`, once.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

fn check(answer: libc::c_long) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

fn unavailable(source: io::Error) -> EngineError {
    EngineError::Unavailable {
        engine: EngineKind::Libaio,
        source,
    }
}

/// Whether `io_setup(2)` works here.
pub(crate) fn probe() -> Result<(), EngineError> {
    Context::new(1).map(drop).map_err(unavailable)
}

/// The engine. The context stands before the units: it is dropped first, and
/// so waits for the kernel before their buffers are freed.
#[derive(Debug)]
pub(crate) struct Libaio {
    context: Context,
    file: File,
    /// Units in the kernel or waiting for it, by slot.
    units: Vec<Option<IoUnit>>,
    free: Vec<usize>,
    iocbs: Box<[Iocb]>,
    /// Slots queued but not yet handed over.
    pending: Vec<usize>,
    events: Vec<IoEvent>,
}

impl Libaio {
    pub(crate) fn new(file: File, depth: u32) -> Result<Self, EngineError> {
        let slots = depth as usize;
        Ok(Self {
            context: Context::new(depth).map_err(unavailable)?,
            file,
            units: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
            iocbs: vec![Iocb::default(); slots].into_boxed_slice(),
            pending: Vec::with_capacity(slots),
            events: vec![IoEvent::default(); slots],
        })
    }

    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "file offsets are below 2^63 and descriptors are not negative"
    )]
    fn describe(&self, slot: usize, unit: &mut IoUnit) -> Iocb {
        let command = COMMAND[usize::from(unit.direction == Direction::Write)];
        let (offset, bytes) = unit.remainder();
        Iocb {
            data: slot as u64,
            command,
            fd: self.file.as_raw_fd() as u32,
            address: bytes.as_mut_ptr() as u64,
            length: bytes.len() as u64,
            offset: offset as i64,
            ..Iocb::default()
        }
    }

    /// Hands over the first `pending` slots; the number taken.
    fn submit(&mut self) -> io::Result<usize> {
        let mut list: Vec<*mut Iocb> = Vec::with_capacity(self.pending.len());
        for &slot in &self.pending {
            list.push(&raw mut self.iocbs[slot]);
        }
        // SAFETY: `list` holds pointers to descriptors that live in `self`;
        // each names a buffer owned by a unit in `self.units`, which stays
        // there until its event is taken or, at the latest, until the context
        // has been destroyed.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.context.0,
                list.len(),
                list.as_mut_ptr(),
            )
        };
        check(answer)
    }

    fn wait(&mut self, min: usize, timeout_ns: Option<u64>) -> io::Result<usize> {
        let mut time = timeout_ns.map(KernelTimespec::new);
        let time_pointer = time
            .as_mut()
            .map_or(std::ptr::null_mut(), |time| &raw mut *time);
        // SAFETY: the kernel writes at most `events.len()` events into
        // `events`, and reads `time` if given; both outlive the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context.0,
                min,
                self.events.len(),
                self.events.as_mut_ptr(),
                time_pointer,
            )
        };
        check(answer)
    }

    /// Takes back a unit that the kernel is done with.
    fn take(&mut self, slot: usize, result: i64, done: &mut Vec<Completion>) {
        let Some(unit) = self.units.get_mut(slot).and_then(Option::take) else {
            return;
        };
        self.free.push(slot);
        done.push(Completion {
            unit,
            result: kernel_result(result),
        });
    }
}

/// A result as the kernel packs it: bytes, or a negated error number.
pub(super) fn kernel_result(result: i64) -> Result<u32, i32> {
    u32::try_from(result).map_err(|_| i32::try_from(-result).unwrap_or(libc::EIO))
}

fn queue_error(operation: &'static str, source: io::Error) -> EngineError {
    EngineError::Queue {
        engine: EngineKind::Libaio,
        operation,
        source,
    }
}

impl IoEngine for Libaio {
    const ASYNCHRONOUS: bool = true;

    fn queue(&mut self, mut unit: IoUnit) -> QueueStatus {
        let Some(slot) = self.free.pop() else {
            return QueueStatus::Busy(unit);
        };
        self.iocbs[slot] = self.describe(slot, &mut unit);
        self.units[slot] = Some(unit);
        self.pending.push(slot);
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        while !self.pending.is_empty() {
            match self.submit() {
                Ok(taken) => drop(self.pending.drain(..taken)),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The kernel is out of resources for now: what is under way
                // comes back first, the rest is handed over next time.
                Err(error)
                    if error.raw_os_error() == Some(libc::EAGAIN)
                        && self.units.len() - self.free.len() > self.pending.len() =>
                {
                    break;
                }
                Err(error) => return Err(queue_error("submit", error)),
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
        match self.wait(min as usize, timeout_ns) {
            Ok(count) => {
                for at in 0..count {
                    let event = self.events[at];
                    let slot = usize::try_from(event.data).unwrap_or(usize::MAX);
                    self.take(slot, event.result, done);
                }
                Ok(())
            }
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
            Err(error) => Err(queue_error("wait", error)),
        }
    }
}
