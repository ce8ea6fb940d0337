//! Time limits for peers that do not answer, and the end of all connections when this
//! process ends.

use assay_model::text::no_thread;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Time limit. Ends a stream, usually by killing the process that carries it, unless the
/// watchdog is dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    barked: Arc<AtomicBool>,
    more: Sender<Duration>,
}

impl Watchdog {
    /// Kills a process after `patience`. The process must not be reaped meanwhile: its
    /// PID could be reused.
    ///
    /// # Errors
    /// If no thread can be started; the process is killed then.
    pub(crate) fn over(pid: u32, patience: Duration) -> io::Result<Self> {
        Self::new(patience, move || kill(pid)).inspect_err(|_| kill(pid))
    }

    pub(crate) fn new(
        patience: Duration,
        bite: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let barked = Arc::new(AtomicBool::new(false));
        let bark = Arc::clone(&barked);
        let (more, again) = channel::<Duration>();
        let wait = move || {
            let mut patience = patience;
            loop {
                match again.recv_timeout(patience) {
                    Ok(more) => patience = more,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
            bark.store(true, Ordering::Relaxed);
            bite();
        };
        Builder::new().spawn(wait).map_err(no_thread)?;
        Ok(Self { barked, more })
    }

    /// Restarts the time limit, with a new value.
    pub fn restart(&self, patience: Duration) {
        // An expired watchdog no longer receives; then this has no effect.
        let _ = self.more.send(patience);
    }

    /// `true` if the time limit has expired.
    pub fn has_barked(&self) -> bool {
        self.barked.load(Ordering::Relaxed)
    }
}

/// Kills a process; one that has ended is ignored.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills the group of a process with all its children, for example the proxy command by
/// which ssh reaches a machine behind another.
pub(crate) fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// PIDs of the programs that carry a connection now.
static LINKS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Entry of a program in [`LINKS`].
#[derive(Debug)]
pub(crate) struct Linking(u32);

impl Linking {
    pub(crate) fn new(pid: u32) -> Self {
        let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        links.push(pid);
        Self(pid)
    }

    /// Removes the entry after the program has ended: its PID may be reused.
    pub(crate) fn over(&self) {
        let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|pid| *pid != self.0);
    }
}

/// Kills the programs that carry connections, for a process that exits at once: a program
/// that is still connecting would not notice the exit. The agents behind them see the end
/// of their input.
pub fn end_links() {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    links.iter().copied().for_each(kill_group);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Local, Target};
    use std::io::{Read, Write};

    #[test]
    fn a_stream_that_says_nothing_ends() {
        let mut session = Local::new("sleep", &["1000"]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_millis(1))
            .unwrap();
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 0);
        assert!(watchdog.has_barked());
    }

    #[test]
    fn who_answers_in_time_is_left_alone() {
        let mut session = Local::new("cat", &[]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_secs(1000))
            .unwrap();
        session.writer.as_mut().unwrap().write_all(b"x").unwrap();
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 1);
        assert!(!watchdog.has_barked());
    }

    #[test]
    fn the_last_word_on_patience_counts() {
        let mut session = Local::new("sleep", &["1000"]).start().unwrap();
        let watchdog = session
            .must_answer_within(Duration::from_secs(1000))
            .unwrap();
        watchdog.restart(Duration::from_millis(1));
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 0);
        assert!(watchdog.has_barked());
    }
}
