//! Copies from and to mapped files that tolerate a missing page.
//!
//! When the kernel cannot provide a page, an access to it raises `SIGBUS`, which ends the process.
//! While a thread copies here, faults within the mapping are caught: an empty page replaces the
//! missing one, the copy continues and then returns [`Missing`]. Any other `SIGBUS` is passed to
//! the previous handler.

use rustix::param::page_size;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// Memory that a thread is copying at the moment. It is accessed only by the thread itself and the
/// handler that interrupts it.
struct CopyWatch {
    from: AtomicUsize,
    /// End of the memory; 0 when no copy is running.
    to: AtomicUsize,
    faulted: AtomicBool,
}

thread_local! {
    static WATCH: CopyWatch = const {
        CopyWatch {
            from: AtomicUsize::new(0),
            to: AtomicUsize::new(0),
            faulted: AtomicBool::new(false),
        }
    };
}

/// Handler of `SIGBUS` before this one was installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A page was missing: the copied data is invalid, and the mapping has an empty page of memory in
/// its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing;

/// Copies `length` bytes. `mapped` is that one of the two ends which lies in a mapped file.
///
/// # Safety
/// Both ends must be valid for `length` bytes except for missing pages of a mapping, must not
/// overlap, and only the caller may own the mapping.
#[inline]
pub(crate) unsafe fn copy(
    from: NonNull<u8>,
    to: NonNull<u8>,
    mapped: NonNull<u8>,
    length: usize,
) -> Result<(), Missing> {
    let start = mapped.as_ptr() as usize;
    WATCH.with(|watch| {
        watch.from.store(start, Ordering::Relaxed);
        watch.to.store(start + length, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as the caller guarantees; the handler replaces a missing page before the copy
        // continues.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), length) };
        compiler_fence(Ordering::SeqCst);
        watch.to.store(0, Ordering::Relaxed);
        if watch.faulted.swap(false, Ordering::Relaxed) {
            Err(Missing)
        } else {
            Ok(())
        }
    })
}

/// Installs the handler, once for the process.
pub(crate) fn prepare() {
    // Cached here, because the handler must not be the first to query it.
    let _ = page_size();
    BEFORE.get_or_init(|| {
        // SAFETY: `sigaction` is plain old data, for which all-zero is a value.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        ours.sa_sigaction = on_fault as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO requires, and is
        // async-signal-safe. The call cannot fail: the signal exists and can be caught.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before) };
        before
    });
}

/// Replaces a missing page in the running copy by an empty one. For other faults it restores the
/// previous handler, which is called when the faulting instruction runs again.
extern "C" fn on_fault(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a `siginfo_t`, of `SIGBUS` with an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let replaced = WATCH.with(|watch| {
        let watched = watch.from.load(Ordering::Relaxed)..watch.to.load(Ordering::Relaxed);
        let replaced = watched.contains(&address) && replace_page(address);
        watch.faulted.fetch_or(replaced, Ordering::Relaxed);
        replaced
    });
    if !replaced && let Some(before) = BEFORE.get() {
        // SAFETY: restores the handler that the kernel returned before.
        unsafe { libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()) };
    }
}

fn replace_page(address: usize) -> bool {
    let page = page_size();
    let start = (address - address % page) as *mut libc::c_void;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is one of the mapping that the interrupted copy owns
    // (its pages start where the machine's do), and holds nothing.
    let answer = unsafe { libc::mmap(start, page, protection, flags, -1, 0) };
    answer != libc::MAP_FAILED
}
