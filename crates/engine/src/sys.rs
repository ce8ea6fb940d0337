//! System calls without a safe wrapper elsewhere, and the clock of the worker loop.

use assay_model::load::SyncFileRange;
use assay_model::trial::CpuUse;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::system::sysinfo;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::null;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The number of `cachestat(2)`, the same on all architectures of this crate
/// (it is younger than the common table of 2019).
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    /// 0: to the end of the file.
    length: u64,
}

/// `struct cachestat`: numbers of pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cachestat {
    pub(crate) cached: u64,
    pub(crate) dirty: u64,
    pub(crate) writeback: u64,
    pub(crate) evicted: u64,
    pub(crate) recently_evicted: u64,
}

/// Counts the pages of a range of a file in the page cache (Linux 6.5). A `length` of 0 means to
/// the end of the file.
pub(crate) fn cachestat(file: &File, offset: u64, length: u64) -> io::Result<Cachestat> {
    let range = CachestatRange { offset, length };
    let mut stat = Cachestat::default();
    // SAFETY: the call reads `range` and writes `stat`; both live on this
    // frame for its duration and have the layout of the kernel's structures.
    // A kernel without it answers ENOSYS and touches neither.
    let answer = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut stat,
            0,
        )
    };
    if answer == 0 {
        Ok(stat)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Counts the pages of a file's first `length` bytes that are in memory.
pub(crate) fn resident_pages(file: &File, length: usize, page: usize) -> io::Result<u64> {
    /// Bytes mapped at a time, so that a huge file needs little address space and a small vector.
    const WINDOW: usize = 256 << 20;
    let mut resident = 0;
    let mut vector = vec![0_u8; WINDOW.min(length).div_ceil(page)];
    for start in (0..length).step_by(WINDOW) {
        let window = WINDOW.min(length - start);
        let pages = &mut vector[..window.div_ceil(page)];
        map_and_look(file, start, window, pages)?;
        resident += pages.iter().filter(|&&flags| flags & 1 == 1).count() as u64;
    }
    Ok(resident)
}

/// Calls `mincore(2)` for `window` bytes of a file from `start` on.
fn map_and_look(file: &File, start: usize, window: usize, pages: &mut [u8]) -> io::Result<()> {
    let offset =
        libc::off_t::try_from(start).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: a new, private, inaccessible mapping at an address the kernel
    // chooses; it aliases nothing and is never dereferenced.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            window,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `map` is the mapping of `window` bytes made above, and `pages`
    // has one byte for each of its pages, which the kernel writes.
    let answer = unsafe { libc::mincore(map, window, pages.as_mut_ptr()) };
    let result = if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    };
    // SAFETY: unmaps exactly the mapping made above, once; nothing points into
    // it any more.
    unsafe { libc::munmap(map, window) };
    result
}

/// Returns the processor use of the calling thread since it started.
#[expect(
    clippy::cast_sign_loss,
    reason = "the kernel's counters and times are never negative"
)]
pub fn thread_cpu_use() -> CpuUse {
    let usage = thread_usage();
    let nanos = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    CpuUse {
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        run_delay_ns: run_delay_ns().unwrap_or(0),
    }
}

/// Returns the time for which the calling thread waited for a processor
/// (Documentation/scheduler/sched-stats).
fn run_delay_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the memory size of the machine, in bytes.
#[allow(
    clippy::useless_conversion,
    reason = "the kernel's words have 32 bits on small machines"
)]
pub(crate) fn memory_bytes() -> u64 {
    let info = sysinfo();
    u64::from(info.totalram).saturating_mul(info.mem_unit.into())
}

/// Page faults of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) major: u64,
    pub(crate) minor: u64,
}

/// Returns the page faults of the calling thread since it started.
pub(crate) fn thread_faults() -> Faults {
    let usage = thread_usage();
    Faults {
        major: u64::try_from(usage.ru_majflt).unwrap_or(0),
        minor: u64::try_from(usage.ru_minflt).unwrap_or(0),
    }
}

fn thread_usage() -> libc::rusage {
    // SAFETY: `rusage` is plain old data, for which all-zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage` into the one given.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    debug_assert_eq!(answer, 0, "RUSAGE_THREAD is known since Linux 2.6.26");
    usage
}

/// Calls `sync_file_range(2)`.
pub(crate) fn sync_file_range(
    file: &File,
    offset: u64,
    length: u64,
    range: SyncFileRange,
) -> Result<(), Errno> {
    let mut flags = 0;
    if range.wait_before {
        flags |= libc::SYNC_FILE_RANGE_WAIT_BEFORE;
    }
    if range.write {
        flags |= libc::SYNC_FILE_RANGE_WRITE;
    }
    if range.wait_after {
        flags |= libc::SYNC_FILE_RANGE_WAIT_AFTER;
    }
    let offset = offset.try_into().map_err(|_| Errno::OVERFLOW)?;
    let length = length.try_into().map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: only numbers are passed, and a descriptor that is open.
    let answer = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if answer == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Calls `ioprio_set(2)` for the calling thread.
pub(crate) fn set_io_priority(class: u8, level: u8) -> Result<(), Errno> {
    const WHO_PROCESS: libc::c_int = 1;
    const CLASS_SHIFT: u32 = 13;
    let priority = (libc::c_int::from(class) << CLASS_SHIFT) | libc::c_int::from(level);
    // SAFETY: only numbers are passed; 0 is the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) };
    if answer == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

fn last_errno() -> Errno {
    let error = io::Error::last_os_error();
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Sets the timer slack of the calling thread to the minimum, so that a paced job is not 50 µs
/// late each time.
pub(crate) fn exact_timers() {
    // SAFETY: sets one attribute of the calling thread; no memory is passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Gives the calling thread a separate table of open files. The kernel then does not count
/// references to a file on each system call, which would cost about 5 % of a cached 4 KiB read. A
/// process with one thread has this advantage already.
///
/// Until it ends, the thread keeps a copy of every file that is open now. Files that it opens are
/// not visible to other threads.
pub fn own_file_table() {
    // SAFETY: unshares the table of the calling thread only; no memory is
    // passed. Descriptors that other threads own stay theirs: this thread
    // opens, uses and closes only its own from here on.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}

/// The data of a mutex, also after a panic of another thread: all of it is changed in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Last of the standard streams, which belong to the process.
const LAST_STANDARD: RawFd = 2;

/// Numbers that were taken over. Each number is returned once only, even after
/// it was closed, because it may then be another file's.
static TAKEN: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());

/// Takes over a descriptor that the process was started with, and sets
/// `FD_CLOEXEC` so that programs started by this one do not inherit it. Must be
/// called before the process opens any file.
///
/// # Errors
/// If the descriptor is not open, is a standard stream, or was taken over
/// before.
pub fn inherited(number: RawFd) -> io::Result<File> {
    let refuse = |why: &str| {
        let text = format!("descriptor {number} cannot be taken over: {why}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    };
    if number <= LAST_STANDARD {
        return refuse("it is not a descriptor, or it is a standard stream");
    }
    let mut taken = lock(&TAKEN);
    if taken.contains(&number) {
        return refuse("it was taken over before");
    }
    // SAFETY: sets a flag of a descriptor; no memory is passed. A number that is
    // not open is answered with an error.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    taken.insert(number);
    // SAFETY: the descriptor is open (above). It is not a standard stream,
    // which the standard library shares, and this function returns each number
    // once in the life of the process (`TAKEN`). The parent opened it for this
    // purpose: it is taken over before the process opens its own files, so it
    // has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(File::from(fd))
}

/// Number of entries requested of the kernel, in a child that exists only for this probe.
const ENTRIES: libc::c_uint = 1;

/// Checks that this process may call `io_uring_setup(2)` without being killed. The probe runs
/// once; the kernel's result is not evaluated here. A seccomp filter may kill the process instead
/// of returning an error, as in sandboxes and Android apps.
///
/// # Errors
/// If the filter kills a caller, or the probe fails.
pub(crate) fn io_uring_may_be_asked() -> io::Result<()> {
    static KILLED: OnceLock<Result<bool, Errno>> = OnceLock::new();
    match KILLED.get_or_init(|| is_killed(ask)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a filter of system calls (seccomp) kills who asks for it",
        )),
        Err(errno) => Err((*errno).into()),
    }
}

/// Calls `io_uring_setup(2)` without a parameter block, so that no ring is created.
fn ask() {
    // SAFETY: the kernel gets no memory; it returns EFAULT.
    unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, null::<u8>()) };
}

/// Returns true if a child that runs `act` is killed for it. `act` must only make system calls,
/// because locks and memory of other threads are frozen in the child.
fn is_killed(act: fn()) -> Result<bool, Errno> {
    // SAFETY: the child has this thread alone; until `_exit` it calls the kernel and
    // touches neither locks nor the heap, as `act` promises.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: only numbers are passed: no core is dumped, and the child ends
        // without running what this process runs at its end.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            act();
            libc::_exit(0)
        }
    }
    let child = Pid::from_raw(child.max(0)).ok_or(Errno::AGAIN)?;
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status.signaled()),
            Ok(None) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// A gate that opens once for all waiting threads, or never. Unlike a barrier it does not
/// count threads, so a missing thread does not block the others.
#[derive(Debug)]
pub struct StartLine<T> {
    /// `None` while closed; `Some(None)` if cancelled.
    decided: Mutex<Option<Option<T>>>,
    changed: Condvar,
}

impl<T> Default for StartLine<T> {
    fn default() -> Self {
        Self {
            decided: Mutex::new(None),
            changed: Condvar::new(),
        }
    }
}

impl<T: Copy> StartLine<T> {
    /// Waits for the decision. Returns the value passed to [`StartLine::open`], or `None` if
    /// cancelled.
    pub fn wait(&self) -> Option<T> {
        let closed = |decided: &mut Option<Option<T>>| decided.is_none();
        let decided = self.changed.wait_while(lock(&self.decided), closed);
        decided.unwrap_or_else(PoisonError::into_inner).flatten()
    }

    /// Starts all waiting threads, and those that call [`StartLine::wait`] later.
    pub fn open(&self, with: T) {
        self.decide(Some(with));
    }

    /// Makes all waits return `None`, unless the gate was opened before.
    pub fn cancel(&self) {
        self.decide(None);
    }

    fn decide(&self, decision: Option<T>) {
        lock(&self.decided).get_or_insert(decision);
        self.changed.notify_all();
    }
}

/// Signal that wakes a thread. Without a handler it would end the process;
/// users send it to a copying program to request its progress.
const SIGNAL: libc::c_int = libc::SIGUSR1;

/// Wakes one thread: the system call in which it waits ends with `EINTR`.
#[derive(Clone, Copy, Debug)]
pub struct Waker {
    process: libc::pid_t,
    thread: libc::pid_t,
}

impl Waker {
    /// Creates a waker for the calling thread. From now on SIGUSR1 only
    /// interrupts a system call of the thread that receives it.
    ///
    /// # Errors
    /// If the kernel refuses the signal handler.
    pub fn of_this_thread() -> io::Result<Self> {
        // Without SA_RESTART, so that calls end.
        catch(0)?;
        // SAFETY: asks for two numbers; no memory is passed.
        let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
        let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
        Ok(Self { process, thread })
    }

    /// Interrupts the thread if it waits. A thread that is just about to wait
    /// is not interrupted, so the caller must repeat the call.
    pub fn wake(&self) {
        // SAFETY: only numbers are passed. The signal has a handler (above), and
        // it goes to a thread of this very process or to none.
        unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) };
    }
}

/// Installs a handler so that SIGUSR1 does not end the process. It interrupts
/// no system call that can be restarted, until a [`Waker`] is created.
///
/// # Errors
/// If the kernel refuses the signal handler.
pub fn handle_sigusr1() -> io::Result<()> {
    catch(libc::SA_RESTART)
}

fn catch(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain old data, for which all-zero is a value: no
    // flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = flags;
    // SAFETY: `action` lives for the call, and its handler is a function that
    // touches nothing, so it may run at any moment.
    let answer = unsafe { libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn nothing(_: libc::c_int) {}

/// A clock that only moves forward. The real one is [`MonotonicClock`]; tests of the worker loop
/// use their own.
pub(crate) trait Clock: Copy + Send + Sync {
    /// True if this is the machine's clock, so that the machine's activity meanwhile belongs to its
    /// time.
    const REAL: bool = true;

    /// Nanoseconds since an arbitrary but fixed moment.
    fn now(&self) -> u64;

    /// Waits `ns` nanoseconds.
    fn sleep(&self, ns: u64);

    /// Called when a stream starts, with the start time, which is a moment ago.
    fn begin(&self, _start_ns: u64) {}

    /// Called in each round of a busy-wait. Only a virtual clock moves here.
    #[inline]
    fn spin(&self) {}
}

/// `CLOCK_MONOTONIC`, read in user space (vDSO) without a system call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    #[expect(
        clippy::cast_sign_loss,
        reason = "the monotonic clock starts at boot and is never negative"
    )]
    fn now(&self) -> u64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn sleep(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::os::fd::IntoRawFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_number_is_given_away_once() {
        let (reader, _writer) = io::pipe().unwrap();
        let number = OwnedFd::from(reader).into_raw_fd();
        let file = inherited(number).unwrap();
        assert!(inherited(number).is_err(), "it has an owner");
        drop(file);
        assert!(inherited(number).is_err(), "it may be another's by now");
    }

    #[test]
    fn standard_streams_and_what_is_not_open_are_refused() {
        for number in [-1, 0, 1, 2, RawFd::MAX] {
            assert!(inherited(number).is_err(), "{number}");
        }
    }

    #[test]
    fn who_is_killed_for_a_call_is_told_from_who_is_not() {
        fn harmless() {
            // SAFETY: no memory is passed.
            unsafe { libc::getppid() };
        }
        fn deadly() {
            // SAFETY: the calling process kills itself as a filter would.
            unsafe { libc::kill(libc::getpid(), libc::SIGSYS) };
        }
        assert_eq!(is_killed(harmless), Ok(false));
        assert_eq!(is_killed(deadly), Ok(true));
    }

    #[test]
    fn all_who_wait_hear_the_first_decision() {
        for (open_first, received) in [(true, Some(7)), (false, None)] {
            let line = StartLine::default();
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| line.wait())).collect();
                if open_first {
                    line.open(7);
                }
                line.cancel();
                line.open(8);
                for worker in waiting {
                    assert_eq!(worker.join().unwrap(), received);
                }
            });
            assert_eq!(line.wait(), received, "for those who come late too");
        }
    }

    #[test]
    fn a_read_of_an_empty_pipe_is_interrupted() {
        let (reader, _writer) = io::pipe().unwrap();
        let waker = Waker::of_this_thread().unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    waker.wake();
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let came = rustix::io::read(&reader, &mut [0; 1]);
            over.store(true, Ordering::Relaxed);
            assert_eq!(came, Err(Errno::INTR));
        });
    }
}
