//! What ssh complains about, kept short and put into words.

use super::address::SshAddress;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that are kept, the last ones.
const LINES: usize = 40;
/// Bytes that are kept of each.
const WIDTH: usize = 400;
/// How long the last of them may take after ssh has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The last lines that ssh, or a program over there, has said on standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaints(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<VecDeque<String>>,
    /// Ends with the thread that reads.
    reading: Mutex<Option<Receiver<()>>>,
}

impl Complaints {
    /// Reads them on a thread of its own, until there are no more.
    pub(crate) fn listen(stderr: impl Read + Send + 'static) -> Self {
        let complaints = Self::default();
        let heard = complaints.clone();
        let (reads, reading) = channel();
        *complaints
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(reading);
        std::thread::spawn(move || {
            let _until_the_end: Sender<()> = reads;
            heard.read(stderr);
        });
        complaints
    }

    /// Waits until all was read that is there, if that does not take long: ssh may
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

    /// Why a machine cannot be reached, and what to do.
    pub(crate) fn in_words(&self, address: &SshAddress) -> String {
        let lines = self.lines();
        let says = |words: &str| lines.iter().any(|line| line.contains(words));
        let by_hand = address.by_hand();
        if says("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return format!(
                "its host key has changed: it was set up anew, or it is not the machine that it \
                 was. If you know why, forget the old key: ssh-keygen -R '{}'",
                address.known_as()
            );
        }
        if says("Host key verification failed") {
            return format!(
                "its host key is not known here: go there once by hand and look at it ({by_hand})"
            );
        }
        if let Some(line) = lines.iter().find(|line| line.contains("Permission denied")) {
            return format!(
                "ssh is not let in ({line}); assay asks for no password, so {by_hand} has to work \
                 with a key"
            );
        }
        match lines.back() {
            Some(line) => line.clone(),
            None => format!("ssh ended without a word; does {by_hand} work?"),
        }
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

    fn words(stderr: &str) -> String {
        let complaints = Complaints::default();
        complaints.read(stderr.as_bytes());
        complaints.in_words(&"ssh://root@board:2222".parse().unwrap())
    }

    #[test]
    fn what_ssh_says_at_length_is_one_line_with_a_remedy() {
        for (stderr, expected) in [
            (
                "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@\nHost key \
                 verification failed.\n",
                "ssh-keygen -R '[board]:2222'",
            ),
            (
                "No ED25519 host key is known\r\nHost key verification failed.\r\n",
                "(ssh -p 2222 root@board)",
            ),
            (
                "root@board: Permission denied (publickey).\n",
                "no password",
            ),
            (
                "ssh: connect to host board port 2222: Connection refused\n",
                "port 2222: Connection refused",
            ),
            ("", "without a word"),
        ] {
            let said = words(stderr);
            assert!(said.contains(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }

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
