//! Roles of an agent that was transferred to a machine, selected by its arguments.
//!
//! The agent either serves the link that has started it, and ends with it, or it is kept
//! as a separate process that outlives the link and communicates through a relay. Both
//! have a private folder, whose name is unique.

use crate::serve::{greeting, serve_from};
use crate::siblings::{ASK_AGAIN, ENDS, GOES_ON, Purpose, connect, is_ours, listen};
use assay_link::{Link, Times, link};
use rustix::process::setsid;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};
use std::{env, fs};

/// Serve the link that has started this process.
const SERVE: &str = "serve";
/// Start a kept agent, and be the first relay to it.
const KEEP: &str = "keep";
/// Be the kept agent.
const KEPT: &str = "kept";
/// Be another relay to a kept agent.
const RELAY: &str = "relay";

/// Time limit for a kept agent to start.
const STARTING: Duration = Duration::from_secs(20);

/// Runs the agent in the role given by its arguments, which are `ROLE FOLDER SECONDS`;
/// without them it serves standard input and output. With `--version` it only prints its
/// greeting, in a line that hosts parse.
///
/// # Errors
/// If a stream fails, the input is not a message, or an agent cannot be kept on this
/// machine.
pub fn run(words: &[OsString]) -> io::Result<()> {
    match words {
        [word] if word == "--version" => writeln!(io::stdout(), "{}", greeting()),
        [role, folder, seconds] => act(role, Path::new(folder), grace(seconds)),
        _ => serve_from(io::stdin(), io::stdout(), None).map_err(io::Error::other),
    }
}

fn act(role: &OsStr, folder: &Path, grace: Duration) -> io::Result<()> {
    let times = Times::within(grace);
    match role.to_str() {
        Some(SERVE) => {
            let folder = Some(folder.to_owned());
            serve_from(io::stdin(), io::stdout(), folder).map_err(io::Error::other)
        }
        Some(KEEP) => start_kept().and_then(|()| run_relay(folder, STARTING)),
        Some(KEPT) => run_kept(folder, times),
        Some(RELAY) => run_relay(folder, Duration::ZERO),
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

fn grace(seconds: &OsStr) -> Duration {
    let seconds = seconds.to_str().and_then(|word| word.parse().ok());
    Duration::from_secs(seconds.unwrap_or_default())
}

/// Starts this program again, with the same arguments except the role. It inherits only
/// standard error of the link, for its last messages.
fn start_kept() -> io::Result<()> {
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    // Counted from the end: the program `assay` has one more word before the role.
    let role = words.iter_mut().rev().nth(2);
    *role.ok_or(ErrorKind::InvalidInput)? = KEPT.into();
    Command::new(env::current_exe()?)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map(drop)
}

/// Longest time that another host waits for the absent one to reconnect, which normally takes less.
const COMING_BACK: Duration = Duration::from_secs(10);
/// Time limit for the first byte of a connection, which is its purpose.
const PURPOSE: Duration = Duration::from_secs(10);

/// Serves until the host ends the session or is absent for too long, then removes the folder.
///
/// Without a connection, messages and the record of the current trial stay in memory: writing them
/// could change what is measured. The next trial begins only when the host has that record.
fn run_kept(folder: &Path, times: Times) -> io::Result<()> {
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
    relay: Arc<Mutex<Option<UnixStream>>>,
}

impl RelayListener {
    fn new(link: Link, times: Times) -> Self {
        Self {
            link,
            times,
            relay: Arc::default(),
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
        let answer = self.answer_to_sibling();
        let _ = stream.write_all(&[answer]);
        if answer == ENDS {
            self.link.give_up(None);
        }
    }

    /// Returns the answer to another agent on this machine that asks whether this one is abandoned:
    /// it continues, ends, or does not know yet whether a host is there. A broken connection may
    /// stay open for many minutes, but a running host sends a keep-alive packet at every interval.
    fn answer_to_sibling(&self) -> u8 {
        let (silent, times) = (self.link.silent_for(), self.times);
        match self.link.is_connected() {
            true if silent < 2 * times.sign => GOES_ON,
            true if silent < times.silence => ASK_AGAIN,
            false if silent < COMING_BACK => ASK_AGAIN,
            _ => ENDS,
        }
    }

    fn accept(&self, stream: &UnixStream) {
        let mut relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = relay.take() {
            let _ = before.shutdown(Shutdown::Both);
        }
        *relay = stream.try_clone().ok();
        drop(relay);
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

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);
/// Exit code if the link has ended but the agent has not.
const LINK_ENDED: i32 = 3;

/// Relays until either side ends; `patience` is the time limit for the agent to start.
///
/// The relay copies bytes between a link and a kept agent, in both directions. It exits
/// successfully only if the agent has ended. Any other end is that of the link alone, and the agent
/// continues.
fn run_relay(folder: &Path, patience: Duration) -> io::Result<()> {
    let mut agent = connect_within(folder, patience)?;
    agent.write_all(&[Purpose::Relay.byte()])?;
    let to_agent = agent.try_clone()?;
    Builder::new().spawn(move || {
        // With or without an error, the link has ended.
        let _ = pump(io::stdin(), to_agent);
        exit(LINK_ENDED);
    })?;
    // If the agent still listens, only this connection has ended, for example for a newer relay.
    if pump(agent, io::stdout()).is_err() || connect(folder).is_ok() {
        exit(LINK_ENDED);
    }
    Ok(())
}

fn connect_within(folder: &Path, patience: Duration) -> io::Result<UnixStream> {
    let since = Instant::now();
    loop {
        match connect(folder) {
            Err(error)
                if error.kind() == ErrorKind::ConnectionRefused && since.elapsed() < patience =>
            {
                sleep(BETWEEN_ATTEMPTS);
            }
            done => return done,
        }
    }
}

/// Copies like `io::copy`, but flushes each chunk at once.
fn pump(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&chunk[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Collects the successive answers to a sibling, without repetitions.
    fn answers(listener: &RelayListener, last: u8) -> Vec<u8> {
        let since = Instant::now();
        let mut answers = vec![listener.answer_to_sibling()];
        while answers.last() != Some(&last) && since.elapsed() < Duration::from_secs(60) {
            answers.push(listener.answer_to_sibling());
            answers.dedup();
        }
        answers
    }

    #[test]
    fn an_open_but_silent_connection_does_not_keep_the_agent() {
        let times = Times {
            grace: Duration::from_secs(3600),
            sign: Duration::from_millis(20),
            silence: Duration::from_millis(200),
        };
        let (link, _reader, _writer) = link(times);
        let listener = RelayListener::new(link, times);
        let (relay, _peer) = UnixStream::pair().unwrap();
        let accepting = listener.clone();
        std::thread::spawn(move || accepting.accept(&relay));
        let answers = answers(&listener, ENDS);
        assert!(listener.link.is_connected());
        assert!(answers.ends_with(&[ASK_AGAIN, ENDS]), "{answers:?}");
    }
}
