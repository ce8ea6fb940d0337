//! Nobody is waited for without end.

use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Ends a stream, as a rule by killing the process that it leads to, unless this is
/// dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    barked: Arc<AtomicBool>,
    _calm: Sender<()>,
}

impl Watchdog {
    /// Kills a process, which must not be waited for meanwhile: its number could be
    /// another's.
    pub(crate) fn over(pid: u32, patience: Duration) -> Self {
        Self::new(patience, move || kill(pid))
    }

    pub(crate) fn new(patience: Duration, bite: impl FnOnce() + Send + 'static) -> Self {
        let barked = Arc::new(AtomicBool::new(false));
        let bark = Arc::clone(&barked);
        let (calm, calmed) = channel::<()>();
        std::thread::spawn(move || {
            if calmed.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                bark.store(true, Ordering::Relaxed);
                bite();
            }
        });
        Self {
            barked,
            _calm: calm,
        }
    }

    /// Whether the time was over.
    #[must_use]
    pub fn has_barked(&self) -> bool {
        self.barked.load(Ordering::Relaxed)
    }
}

/// Kills a process; it may have ended by itself.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Local, Target};
    use std::io::{Read, Write};

    #[test]
    fn a_stream_that_says_nothing_ends() {
        let mut session = Local::new("sleep", &["1000"]).start().unwrap();
        let watchdog = session.must_answer_within(Duration::from_millis(1));
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 0);
        assert!(watchdog.has_barked());
    }

    #[test]
    fn who_answers_in_time_is_left_alone() {
        let mut session = Local::new("cat", &[]).start().unwrap();
        let watchdog = session.must_answer_within(Duration::from_secs(1000));
        session.writer.as_mut().unwrap().write_all(b"x").unwrap();
        assert_eq!(session.reader.read(&mut [0]).unwrap(), 1);
        assert!(!watchdog.has_barked());
    }
}
