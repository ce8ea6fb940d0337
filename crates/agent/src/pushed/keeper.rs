//! The agent that is kept: it serves a host over links that come and go, and ends when
//! none has come for too long.
//!
//! What it says while there is none is kept in memory, and so is the record of the
//! trial that was under way: storage that is measured is written by nothing else. It
//! begins no other trial before the host has that record, as always.

use super::address::{ASK_AGAIN, ENDS, GOES_ON, Purpose, is_ours, listen};
use crate::serve::serve_from;
use assay_link::{Link, Times, link};
use rustix::process::setsid;
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;
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
    spawn(move || watched.watch());
    spawn(move || Door::new(greeted).stand(&listener));
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
    inside: Arc<Mutex<Option<UnixStream>>>,
}

impl Door {
    fn new(link: Link) -> Self {
        Self {
            link,
            inside: Arc::default(),
        }
    }

    fn stand(&self, listener: &UnixListener) {
        for stream in listener.incoming().flatten().filter(is_ours) {
            let door = self.clone();
            spawn(move || door.answer(stream));
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
        let answer = match self.link.is_connected() {
            true => GOES_ON,
            false if self.link.silent_for() < COMING_BACK => ASK_AGAIN,
            false => ENDS,
        };
        let _ = stream.write_all(&[answer]);
        if answer == ENDS {
            self.link.give_up(None);
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
