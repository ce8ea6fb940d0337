//! System calls without a safe wrapper elsewhere.

use assay_model::load::SyncFileRange;
use assay_model::trial::CpuUse;
use rustix::io::Errno;
use rustix::system::sysinfo;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
