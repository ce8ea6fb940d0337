//! `io_uring(7)`.

use super::aio::Slots;
use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use crate::sys::io_uring_may_be_asked;
use assay_model::job::EngineKind;
use assay_model::load::{Ddir, Engine};
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

const KIND: EngineKind = EngineKind::IoUring;
/// `IORING_ENTER_GETEVENTS`.
const ENTER_GETEVENTS: u32 = 1;
/// `IORING_ENTER_SQ_WAKEUP`.
const ENTER_SQ_WAKEUP: u32 = 1 << 1;
/// Idle time after which the kernel's submission thread sleeps, in milliseconds; 0 selects the
/// kernel's default of one second.
const SQ_THREAD_IDLE_MS: u32 = 0;
/// Descriptor value that removes a file from the table of registered files.
const NO_FILE: RawFd = -1;
/// Maximum number of files that a ring registers, if the process may have that many open. Other
/// files are used through their descriptors.
const FILE_TABLE: u32 = 1024;
/// Maximum number of polls for completions before sleeping. A poll takes about 150 ns, so all of
/// them cost as much as a sleep and a wakeup. If the device completes within that time, both are
/// avoided and the completion is seen earlier.
const MOST_POLLS: u32 = 16;
/// Number of waits without polls, after which polls are tried again.
const WAITS_WITHOUT_POLLS: u32 = 256;
/// Interval of checks, if the kernel cannot wait with a timeout.
const NAP: Duration = Duration::from_micros(50);

// The crate's bindings were generated on 64-bit machines. If these sizes match, the kernel's
// structures have the same layout on all machines, because each field is aligned to its size.
const _: () = assert!(size_of::<squeue::Entry>() == 64);
const _: () = assert!(size_of::<cqueue::Entry>() == 16);
const _: () = assert!(size_of::<Timespec>() == 16);

/// Checks that io_uring is available and supports the operations of this engine.
pub(crate) fn probe() -> Result<(), EngineError> {
    Uring::ring(&Engine::default())
        .map(drop)
        .map_err(|error| EngineError::unavailable(KIND, error))
}

/// Checks for reads and writes without a vector (Linux 5.6), because rings are older (Linux 5.1).
fn require_operations(ring: &IoUring) -> io::Result<()> {
    let mut known = Probe::new();
    // A kernel without probes (before 5.6) has neither operation.
    let answer = ring.submitter().register_probe(&mut known);
    let needed = [opcode::Read::CODE, opcode::Write::CODE];
    if answer.is_ok() && needed.into_iter().all(|code| known.is_supported(code)) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this kernel's rings have no plain reads and writes (Linux 5.6 has)",
    ))
}

/// Registers an empty table of files and returns its size, 0 if that failed. (Before Linux 5.19 the
/// table is registered with invalid descriptors.)
fn file_table(ring: &IoUring) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let size = u32::try_from(limit).unwrap_or(u32::MAX).min(FILE_TABLE);
    let submitter = ring.submitter();
    let made = submitter
        .register_files_sparse(size)
        .or_else(|_| submitter.register_files(&vec![NO_FILE; size as usize]));
    if made.is_ok() { size as usize } else { 0 }
}

/// The engine.
pub(crate) struct Uring {
    ring: IoUring,
    /// True for each file number in the ring's table of registered files, which saves the kernel the
    /// lookup of a descriptor.
    registered: Box<[bool]>,
    /// `RWF_` flags of every read and write.
    rw_flags: i32,
    /// True if a kernel thread takes the queued entries.
    kernel_submits: bool,
    /// Units in the kernel or waiting for submission, by slot.
    slots: Slots,
    /// Entries queued but not yet submitted.
    pending: usize,
    /// Entries submitted since the last `commit`.
    handed_over: usize,
    /// True if the kernel can wait with a timeout (Linux 5.11).
    waits_with_timeout: bool,
    /// Number of polls for completions before the next sleep.
    polls: u32,
    waits_without_polls: u32,
}

impl Uring {
    /// Creates the engine. Buffers are not registered, because a stream allocates and frees them
    /// without notifying the ring.
    pub(crate) fn new(engine: &Engine) -> Result<Self, EngineError> {
        let ring = Self::ring(engine).map_err(|error| EngineError::unavailable(KIND, error))?;
        let table = if engine.register_files {
            file_table(&ring)
        } else {
            0
        };
        Ok(Self {
            // A polled ring polls until completions arrive and ignores the timeout.
            waits_with_timeout: ring.params().is_feature_ext_arg() && !engine.hipri,
            ring,
            registered: vec![false; table].into_boxed_slice(),
            rw_flags: if engine.nowait { libc::RWF_NOWAIT } else { 0 },
            kernel_submits: engine.sq_thread_poll,
            slots: Slots::new(engine.iodepth),
            pending: 0,
            handed_over: 0,
            polls: MOST_POLLS,
            waits_without_polls: 0,
        })
    }

    /// Creates the ring. Because one thread submits and waits, it uses the flags for that if the
    /// kernel has them (Linux 6.1), else a plain ring.
    fn ring(engine: &Engine) -> io::Result<IoUring> {
        io_uring_may_be_asked()?;
        let plain = || {
            let mut builder = IoUring::builder();
            if engine.hipri {
                builder.setup_iopoll();
            }
            builder
        };
        let ring = if engine.sq_thread_poll {
            plain()
                .setup_sqpoll(SQ_THREAD_IDLE_MS)
                .build(engine.iodepth)
        } else {
            plain()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .build(engine.iodepth)
                .or_else(|_| plain().build(engine.iodepth))
        }?;
        require_operations(&ring)?;
        Ok(ring)
    }

    fn entry(&self, file: &OpenFile, slot: usize, unit: &mut IoUnit) -> squeue::Entry {
        let writes = unit.ddir == Ddir::Write;
        let length = unit.left();
        let priority = unit.priority.0;
        let (offset, bytes) = unit.remainder();
        let address = bytes.as_mut_ptr();
        let fd = Fd(file.file.as_raw_fd());
        let fixed = self.registered.get(file.number as usize) == Some(&true);
        let fixed = fixed.then_some(Fixed(file.number));
        let read = |entry: opcode::Read| {
            let entry = entry.offset(offset).rw_flags(self.rw_flags);
            entry.ioprio(priority).build()
        };
        let write = |entry: opcode::Write| {
            let entry = entry.offset(offset).rw_flags(self.rw_flags);
            entry.ioprio(priority).build()
        };
        let entry = match (writes, fixed) {
            (false, Some(fixed)) => read(opcode::Read::new(fixed, address, length)),
            (false, None) => read(opcode::Read::new(fd, address, length)),
            (true, Some(fixed)) => write(opcode::Write::new(fixed, address, length)),
            (true, None) => write(opcode::Write::new(fd, address, length)),
        };
        entry.user_data(slot as u64)
    }

    /// Halves the number of polls when they found too few completions, else doubles it. A polling
    /// thread keeps its CPU from the kernel thread that may have to do the I/O, as on a device that
    /// completes only while its caller sleeps.
    fn set_polls(&mut self, found_enough: bool) {
        if found_enough {
            self.polls = (2 * self.polls).min(MOST_POLLS);
        } else if self.polls > 0 {
            self.polls /= 2;
            self.waits_without_polls = 0;
        } else {
            self.waits_without_polls += 1;
            if self.waits_without_polls == WAITS_WITHOUT_POLLS {
                self.polls = MOST_POLLS;
            }
        }
    }

    /// Puts a descriptor into the ring's table of files, or removes it ([`NO_FILE`]). Returns true
    /// if that worked.
    fn set_registered(&mut self, file: &OpenFile, fd: RawFd) -> bool {
        let number = file.number as usize;
        if number >= self.registered.len() {
            return false;
        }
        let submitter = self.ring.submitter();
        let changed = submitter.register_files_update(file.number, &[fd]);
        matches!(changed, Ok(1))
    }

    /// Returns the number of units whose buffers the kernel may access. A kernel thread takes
    /// entries as soon as they are in the queue.
    fn in_kernel(&self) -> usize {
        match self.kernel_submits {
            true => self.slots.taken(),
            false => self.slots.taken() - self.pending,
        }
    }

    /// Records that the kernel took this many of the pending entries.
    fn took(&mut self, entries: usize) {
        let entries = entries.min(self.pending);
        self.pending -= entries;
        self.handed_over += entries;
    }

    /// Enters the kernel to submit the pending entries and to post completions, without waiting.
    fn enter(&mut self) -> io::Result<()> {
        let pending = u32::try_from(self.pending).unwrap_or(u32::MAX);
        let mut flags = ENTER_GETEVENTS;
        if self.kernel_submits && self.ring.submission().need_wakeup() {
            flags |= ENTER_SQ_WAKEUP;
        }
        // SAFETY: entries in the queue name buffers owned by units in
        // `self.slots` (see `queue`), and no argument is passed.
        let entered = unsafe { self.ring.submitter().enter::<()>(pending, 0, flags, None) }?;
        self.took(entered);
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
            Ok(entered) => self.took(entered),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits until `done` holds `min` completions, on a kernel without timed waits: sleeps for short
    /// times and checks.
    fn wait_by_looking(
        &mut self,
        min: usize,
        max: usize,
        timeout_ns: u64,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let until = Instant::now() + Duration::from_nanos(timeout_ns);
        while done.len() < min {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
            match self.enter() {
                Err(error) if error.raw_os_error() != Some(libc::EINTR) => return Err(error),
                _ => self.take_completed(max, done),
            }
        }
        Ok(())
    }

    /// Takes completions out of the ring until `done` holds `max`; makes no system call.
    fn take_completed(&mut self, max: usize, done: &mut Vec<Completion>) {
        let room = max.saturating_sub(done.len());
        for event in self.ring.completion().take(room) {
            self.slots
                .complete(event.user_data(), i64::from(event.result()), done);
        }
    }
}

impl Drop for Uring {
    /// The kernel may still write into the buffers of units in flight, so this waits for all of them
    /// before the buffers are freed.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_kernel() > 0 {
            if self.wait(1, None).is_err() {
                // Leaking the buffers is safer than freeing them while the kernel writes.
                self.slots.leak();
                return;
            }
            self.take_completed(usize::MAX, &mut done);
        }
        // The kernel destroys a ring in the background; until then a registered file would keep its
        // mount busy.
        let _ = self.ring.submitter().unregister_files();
    }
}

impl IoEngine for Uring {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        if self.set_registered(file, file.file.as_raw_fd()) {
            self.registered[file.number as usize] = true;
        }
        Ok(())
    }

    fn closes(&mut self, file: &OpenFile) {
        if let Some(registered) = self.registered.get_mut(file.number as usize)
            && std::mem::take(registered)
        {
            self.set_registered(file, NO_FILE);
        }
    }

    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if unit.ddir == Ddir::Trim {
            return super::queue(file, unit);
        }
        let Some(slot) = self.slots.next_free() else {
            return QueueStatus::Busy(unit);
        };
        let entry = self.entry(file, slot, &mut unit);
        // SAFETY: the entry names the buffer owned by `unit`, which is kept in `self.slots` until
        // its completion is taken (and `Drop` waits for that), and a descriptor that is looked up,
        // not dereferenced.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            return QueueStatus::Busy(unit);
        }
        self.slots.put(slot, unit);
        self.pending += 1;
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        while self.pending > 0 {
            match self.enter() {
                Ok(()) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The completion queue is full and must be emptied first.
                    Some(libc::EAGAIN | libc::EBUSY) if self.in_kernel() > 0 => break,
                    _ => return Err(EngineError::queue(KIND, "submit", error)),
                },
            }
        }
        Ok(std::mem::take(&mut self.handed_over))
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        // Limits of the total length of `done`.
        let max = done.len() + (max as usize);
        let min = done.len() + self.slots.taken().min(min as usize);
        self.take_completed(max, done);
        for _ in 0..self.polls {
            if done.len() >= min {
                break;
            }
            // An error here occurs again in the wait, which returns it.
            let _ = self.enter();
            self.take_completed(max, done);
        }
        self.set_polls(done.len() >= min);
        if done.len() < min {
            let missing = u32::try_from(min - done.len()).unwrap_or(u32::MAX);
            match timeout_ns {
                Some(ns) if !self.waits_with_timeout => self.wait_by_looking(min, max, ns, done),
                _ => self.wait(missing, timeout_ns),
            }
            .map_err(|error| EngineError::queue(KIND, "wait", error))?;
            self.take_completed(max, done);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::IoBuf;
    use assay_model::load::IoPriority;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    /// On any kernel, in the way of one that cannot wait for a limited time.
    #[test]
    fn a_limited_wait_ends_without_and_with_a_completion() {
        if let Err(why) = probe() {
            assay_testkit::skip(&why.to_string());
            return;
        }
        let (reader, mut writer) = io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(reader));
        let file = OpenFile::new(pipe, 0, Path::new("a pipe"), false).unwrap();
        let mut engine = Uring::new(&Engine::default()).unwrap();
        engine.opened(&file).unwrap();
        engine.waits_with_timeout = false;
        let unit = IoUnit {
            ddir: Ddir::Read,
            file: 0,
            offset: 0,
            length: 512,
            moved: 0,
            buf: IoBuf::zeroed(512),
            submitted_ns: 0,
            priority: IoPriority::NONE,
            tag: 0,
        };
        assert!(matches!(engine.queue(&file, unit), QueueStatus::Queued));
        assert_eq!(engine.commit().unwrap(), 1);
        assert_eq!(engine.commit().unwrap(), 0, "told once");
        let mut done = Vec::new();
        engine.reap(1, 1, Some(1_000_000), &mut done).unwrap();
        assert!(done.is_empty(), "nothing to read yet");
        writer.write_all(&[7; 512]).unwrap();
        engine.reap(1, 1, Some(u64::MAX >> 8), &mut done).unwrap();
        assert_eq!(done[0].result, Ok(512));
        assert_eq!(done[0].unit.remainder().1, [7; 512]);
    }
}
