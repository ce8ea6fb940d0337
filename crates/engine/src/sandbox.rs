//! System calls for which a seccomp filter may kill the process instead of returning an error, as
//! in sandboxes and Android apps.

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::ptr::null;
use std::sync::OnceLock;

/// Number of entries requested of the kernel, in a child that exists only for this probe.
const ENTRIES: libc::c_uint = 1;

/// Checks that this process may call `io_uring_setup(2)` without being killed. The probe runs
/// once; the kernel's result is not evaluated here.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
