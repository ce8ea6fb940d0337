//! Waking a thread that waits in a system call.

use std::io;

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
pub fn survive_wakes() -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

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
