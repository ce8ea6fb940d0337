//! The agent that is kept: it serves a host over links that come and go, and ends when
//! none has come for too long.
//!
//! What it says while there is none is kept in memory, and so is the record of the
//! trial that was under way: storage that is measured is written by nothing else. It
//! begins no other trial before the host has that record, as always.

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

/// A host that comes back has come within this, or its cable is still out. Who wants to
/// measure here meanwhile does not wait for longer.
const COMING_BACK: Duration = Duration::from_secs(10);
/// Who connects says at once what for.
const PURPOSE: Duration = Duration::from_secs(10);

/// Serves until the host ends it or is gone for good, and removes its folder.
pub(super) fn run(folder: &Path, times: Times) -> io::Result<()> {
    // What ends the processes of the link does not end this one.
    let _ = setsid();
    let listener = listen(folder)?;
    let (link, reader, writer) = link(times);
    let (watched, greeted) = (link.clone(), link.clone());
    Builder::new().spawn(move || watched.watch())?;
    Builder::new().spawn(move || Door::new(greeted, times).stand(&listener))?;
    let served = serve_from(reader, writer, Some(folder.to_owned()));
    link.await_delivery();
    // Who has started it removes the folder if this cannot.
    let _ = fs::remove_dir_all(folder);
    served.map_err(io::Error::other)
}

/// Lets relays in, one at a time: a new one takes the place of another, whose link may
/// be dead although nobody has told so.
#[derive(Clone)]
struct Door {
    link: Link,
    times: Times,
    inside: Arc<Mutex<Option<UnixStream>>>,
}

impl Door {
    fn new(link: Link, times: Times) -> Self {
        Self {
            link,
            times,
            inside: Arc::default(),
        }
    }

    fn stand(&self, listener: &UnixListener) {
        for stream in listener.incoming().flatten().filter(is_ours) {
            let door = self.clone();
            // If no thread can be started, the connection is closed, and its maker connects again.
            let _ = Builder::new().spawn(move || door.answer(stream));
        }
    }

    fn answer(&self, mut stream: UnixStream) {
        match purpose(&mut stream) {
            Some(Purpose::Relay) => self.let_in(&stream),
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

    /// Returns the answer to a sibling: the agent goes on, ends, or does not know yet whether a
    /// host is there. A connection with a broken link stays open for many minutes; a living host is
    /// heard at every sign of life.
    fn future(&self) -> u8 {
        let (silent, times) = (self.link.silent_for(), self.times);
        match self.link.is_connected() {
            true if silent < 2 * times.sign => GOES_ON,
            true if silent < times.silence => ASK_AGAIN,
            false if silent < COMING_BACK => ASK_AGAIN,
            _ => ENDS,
        }
    }

    fn let_in(&self, stream: &UnixStream) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = inside.take() {
            let _ = before.shutdown(Shutdown::Both);
        }
        *inside = stream.try_clone().ok();
        drop(inside);
        // A relay that carries something else than a link is as good as none.
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

    /// Collects the answers given to a sibling as time goes on, each once.
    fn answers(door: &Door, last: u8) -> Vec<u8> {
        let since = Instant::now();
        let mut answers = vec![door.future()];
        while answers.last() != Some(&last) && since.elapsed() < Duration::from_secs(60) {
            answers.push(door.future());
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
        let door = Door::new(link, times);
        let (relay, _cable_is_out) = UnixStream::pair().unwrap();
        let inside = door.clone();
        std::thread::spawn(move || inside.let_in(&relay));
        let answers = answers(&door, ENDS);
        assert!(door.link.is_connected());
        assert!(answers.ends_with(&[ASK_AGAIN, ENDS]), "{answers:?}");
    }
}
