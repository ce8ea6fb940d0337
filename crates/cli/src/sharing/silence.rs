//! Time limit for progress on a link.

use assay_target::Watchdog;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time of a single read or write without progress. Storing a batch at the other side may
/// wait for other writers of a busy store: at most 150 s.
pub const SILENCE: Duration = Duration::from_secs(5 * 60);

/// Stream of a link, which is cut when a single read or write makes no progress for too long. Time
/// between them does not count, because this side is busy then.
pub struct Watched<S> {
    stream: S,
    watchdog: Arc<Watchdog>,
    silence: Duration,
}

impl<S> Watched<S> {
    /// Wraps a stream; the watchdog cuts its link.
    pub const fn new(stream: S, watchdog: Arc<Watchdog>, silence: Duration) -> Self {
        Self {
            stream,
            watchdog,
            silence,
        }
    }

    fn limited<T>(&mut self, work: impl FnOnce(&mut S) -> T) -> T {
        self.watchdog.restart(self.silence);
        let done = work(&mut self.stream);
        self.watchdog.restart(Duration::MAX);
        done
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limited(|stream| stream.read(buffer))
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limited(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.limited(Write::flush)
    }
}
