//! Error messages of a program that reaches a machine, limited in length.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that are kept; older lines are dropped.
const LINES: usize = 40;
/// Bytes kept of each line.
const WIDTH: usize = 400;
/// Time limit for the last messages after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Last lines on standard error of the program that reaches a machine; these include those of
/// the remote shell.
#[derive(Clone, Debug, Default)]
pub struct Complaints(Arc<CapturedStderr>);

#[derive(Debug, Default)]
struct CapturedStderr {
    lines: Mutex<VecDeque<String>>,
    /// Disconnected when the reading thread ends.
    reading: Mutex<Option<Receiver<()>>>,
}

impl Complaints {
    /// Collects the lines of a text.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let complaints = Self::default();
        complaints.read(text.as_bytes());
        complaints
    }

    /// Reads a stream to its end on a new thread. Without a thread there are no messages.
    pub(crate) fn listen(stderr: impl Read + Send + 'static) -> Self {
        let complaints = Self::default();
        let heard = complaints.clone();
        let (reads, reading) = channel();
        *complaints
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(reading);
        let _ = std::thread::Builder::new().spawn(move || {
            let _until_the_end: Sender<()> = reads;
            heard.read(stderr);
        });
        complaints
    }

    /// Waits until the stream is read to its end, at most [`LAST_WORDS`]: a process that the
    /// program left may hold the stream open.
    pub(crate) fn await_end(&self) {
        let reading = self
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = reading.as_ref() {
            // An error means that the reading thread has ended.
            let _ = reading.recv_timeout(LAST_WORDS);
        }
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, stderr: impl Read) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        // Only the beginning of a long line is kept in memory.
        while read_line(&mut stderr, &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                let mut lines = self.lines();
                if lines.len() == LINES {
                    lines.pop_front();
                }
                lines.push_back(text);
            }
        }
    }

    /// Returns the last line; `None` if no line was captured.
    pub(crate) fn last(&self) -> Option<String> {
        let lines = self.lines();
        lines.back().cloned()
    }

    /// Returns the first line that contains `words`.
    pub(crate) fn with(&self, words: &str) -> Option<String> {
        let lines = self.lines();
        lines.iter().find(|line| line.contains(words)).cloned()
    }
}

/// Reads the beginning of the next line; `false` at the end of the stream.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    loop {
        let Ok(chunk) = from.fill_buf() else {
            return false;
        };
        if chunk.is_empty() {
            return !line.is_empty();
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = WIDTH - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_complaints_takes_little_room() {
        let complaints = Complaints::default();
        complaints.read(std::io::repeat(b'x').take(10 << 20));
        complaints.read("line\n".repeat(100_000).as_bytes());
        let lines = complaints.lines();
        assert_eq!(lines.len(), LINES);
        drop(lines);
        let complaints = Complaints::default();
        complaints.read(std::io::repeat(b'x').take(10 << 20));
        assert_eq!(complaints.last().unwrap().len(), WIDTH);
    }
}
