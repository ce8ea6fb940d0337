//! Complaints of a program that reaches a machine, kept short.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that are kept, the last ones.
const LINES: usize = 40;
/// Bytes that are kept of each.
const WIDTH: usize = 400;
/// Time limit for the last complaints after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The last lines that the program, or one over there, has said on standard error.
#[derive(Clone, Debug, Default)]
pub struct Complaints(Arc<CapturedStderr>);

#[derive(Debug, Default)]
struct CapturedStderr {
    lines: Mutex<VecDeque<String>>,
    /// Ends with the thread that reads.
    reading: Mutex<Option<Receiver<()>>>,
}

impl Complaints {
    /// Returns the complaints in a text.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let complaints = Self::default();
        complaints.read(text.as_bytes());
        complaints
    }

    /// Reads them on a thread of its own, until there are no more; without a thread there are
    /// none.
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

    /// Waits until all was read that is there, if that does not take long: it may
    /// have left a process that holds the stream open.
    pub(crate) fn await_end(&self) {
        let reading = self
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = reading.as_ref() {
            // It ends with an error, which is what is waited for.
            let _ = reading.recv_timeout(LAST_WORDS);
        }
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, stderr: impl Read) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        // However long a line is, only its beginning takes room.
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

    /// The last line; `None` when nothing was said.
    pub(crate) fn last(&self) -> Option<String> {
        let lines = self.lines();
        lines.back().cloned()
    }

    /// The first line that has these words.
    pub(crate) fn with(&self, words: &str) -> Option<String> {
        let lines = self.lines();
        lines.iter().find(|line| line.contains(words)).cloned()
    }
}

/// The beginning of the next line; whether there was one.
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
