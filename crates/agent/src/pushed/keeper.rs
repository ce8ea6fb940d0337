//! The kept agent: serves a host over successive connections, and ends if it has none for too long.
//!
//! Messages are kept in memory while there is no connection, and so is the record of the trial in
//! progress: nothing else may write to the storage under test. The next trial begins only when the
//! host has that record, as always.

use crate::serve::serve_from;
use crate::siblings::{ASK_AGAIN, ENDS, GOES_ON, Purpose, is_ours, listen};
use assay_link::{Link, Times, link};
use rustix::process::setsid;
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Time within which a host normally reconnects; later, its cable is probably unplugged. Another
/// host that wants to use the machine meanwhile does not wait longer.
const COMING_BACK: Duration = Duration::from_secs(10);
/// Time limit for the first byte of a connection, which is its purpose.
const PURPOSE: Duration = Duration::from_secs(10);

/// Serves until the host ends the session or is absent for too long, then removes the folder.
pub(super) fn run(folder: &Path, times: Times) -> io::Result<()> {
    // A new session protects this process from signals to the processes of the link.
    let _ = setsid();
    let listener = listen(folder)?;
    let (link, reader, writer) = link(times);
    let (watched, greeted) = (link.clone(), link.clone());
    Builder::new().spawn(move || watched.watch())?;
    Builder::new().spawn(move || RelayListener::new(greeted, times).serve(&listener))?;
    let served = serve_from(reader, writer, Some(folder.to_owned()));
    link.await_delivery();
    // If this fails, the shell that started the agent removes the folder.
    let _ = fs::remove_dir_all(folder);
    served.map_err(io::Error::other)
}

/// Accepts relays, one at a time. A new relay replaces an old one, whose connection may be dead
/// without an error.
#[derive(Clone)]
struct RelayListener {
    link: Link,
    times: Times,
    inside: Arc<Mutex<Option<UnixStream>>>,
}

impl RelayListener {
    fn new(link: Link, times: Times) -> Self {
        Self {
            link,
            times,
            inside: Arc::default(),
        }
    }

    fn serve(&self, listener: &UnixListener) {
        for stream in listener.incoming().flatten().filter(is_ours) {
            let listener = self.clone();
            // If no thread can be started, the connection is closed, and the peer connects again.
            let _ = Builder::new().spawn(move || listener.answer(stream));
        }
    }

    fn answer(&self, mut stream: UnixStream) {
        match purpose(&mut stream) {
            Some(Purpose::Relay) => self.accept(&stream),
            Some(Purpose::End) => self.end(&mut stream),
            None => {}
        }
    }

    fn end(&self, stream: &mut UnixStream) {
        let answer = self.future();
        let _ = stream.write_all(&[answer]);
        if answer == ENDS {
            self.link.give_up(None);
        }
    }

    /// Returns the answer to a sibling: the agent continues, ends, or does not know yet whether a
    /// host is there. A broken connection may stay open for many minutes, but a running host sends
    /// a keep-alive packet at every interval.
    fn future(&self) -> u8 {
        let (silent, times) = (self.link.silent_for(), self.times);
        match self.link.is_connected() {
            true if silent < 2 * times.sign => GOES_ON,
            true if silent < times.silence => ASK_AGAIN,
            false if silent < COMING_BACK => ASK_AGAIN,
            _ => ENDS,
        }
    }

    fn accept(&self, stream: &UnixStream) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = inside.take() {
            let _ = before.shutdown(Shutdown::Both);
        }
        *inside = stream.try_clone().ok();
        drop(inside);
        // An error means that the peer is not a link of this version; the connection is closed as
        // well.
        let _ = self.link.carry(stream, stream);
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn purpose(stream: &mut UnixStream) -> Option<Purpose> {
    stream.set_read_timeout(Some(PURPOSE)).ok()?;
    let mut byte = [0];
    stream.read_exact(&mut byte).ok()?;
    stream.set_read_timeout(None).ok()?;
    Purpose::of(byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Collects the successive answers to a sibling, without repetitions.
    fn answers(listener: &RelayListener, last: u8) -> Vec<u8> {
        let since = Instant::now();
        let mut answers = vec![listener.future()];
        while answers.last() != Some(&last) && since.elapsed() < Duration::from_secs(60) {
            answers.push(listener.future());
            answers.dedup();
        }
        answers
    }

    #[test]
    fn a_connection_that_says_nothing_is_no_host() {
        let times = Times {
            grace: Duration::from_secs(3600),
            sign: Duration::from_millis(20),
            silence: Duration::from_millis(200),
        };
        let (link, _reader, _writer) = link(times);
        let listener = RelayListener::new(link, times);
        let (relay, _cable_is_out) = UnixStream::pair().unwrap();
        let inside = listener.clone();
        std::thread::spawn(move || inside.accept(&relay));
        let answers = answers(&listener, ENDS);
        assert!(listener.link.is_connected());
        assert!(answers.ends_with(&[ASK_AGAIN, ENDS]), "{answers:?}");
    }
}
