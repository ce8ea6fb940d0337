//! Other kept agents on this machine whose host is gone: their settings in force, and a trial
//! that they may still run, would disturb the measurement of the next host.
//!
//! The address of an agent is an abstract socket (unix(7)), because Android does not let a shell
//! create a socket in a folder. It is the unique name of the agent's folder; connections of other
//! users are refused.

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Prefix of the names of agents' folders (`assay_target::boot`).
const PREFIX: &str = "assay-agent-";
/// Time limit for an agent to end a trial, undo settings and remove test files.
const ENDING: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time limit for the answer of another agent.
const ANSWER: Duration = Duration::from_secs(5);

/// Ends other agents beside this folder that have lost their host; returns their number.
pub(crate) fn end_abandoned(folder: &Path) -> usize {
    let Some(entries) = folder.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return 0;
    };
    let others = entries.flatten().map(|entry| entry.path());
    let others = others.filter(|path| path != folder && is_agents(path));
    others.filter(|path| end(path)).count()
}

fn is_agents(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PREFIX)
}

/// Requests an agent to end, and waits for it; `true` if it has ended.
fn end(folder: &Path) -> bool {
    if !is_ending(folder) {
        return false;
    }
    let since = Instant::now();
    while connect(folder).is_ok() {
        if since.elapsed() > ENDING {
            return false;
        }
        sleep(POLL_INTERVAL);
    }
    true
}

/// Returns `true` if the agent answers that it ends; repeats the request while it waits for its
/// host to reconnect.
fn is_ending(folder: &Path) -> bool {
    loop {
        match ask(folder) {
            Ok(ASK_AGAIN) => sleep(POLL_INTERVAL),
            answer => return answer.is_ok_and(|answer| answer == ENDS),
        }
    }
}

fn ask(folder: &Path) -> io::Result<u8> {
    let mut agent = connect(folder)?;
    agent.set_read_timeout(Some(ANSWER))?;
    agent.write_all(&[Purpose::End.byte()])?;
    let mut answer = [0];
    agent.read_exact(&mut answer)?;
    Ok(answer[0])
}

/// Purpose of a connection, sent as its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The connection carries the link.
    Relay,
    /// The connection requests that an agent without a host ends.
    End,
}

impl Purpose {
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Relay => b'R',
            Self::End => b'E',
        }
    }

    pub(crate) fn of(byte: u8) -> Option<Self> {
        [Self::Relay, Self::End]
            .into_iter()
            .find(|purpose| purpose.byte() == byte)
    }
}

/// Answer to [`Purpose::End`]: the agent has no host and ends.
pub(crate) const ENDS: u8 = b'y';
/// Answer to [`Purpose::End`]: the agent has a host.
pub(crate) const GOES_ON: u8 = b'n';
/// Answer to [`Purpose::End`]: the connection was lost recently, and the host may reconnect.
pub(crate) const ASK_AGAIN: u8 = b'w';

/// Listens on the address of the agent with that folder.
pub(crate) fn listen(folder: &Path) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(folder)?)
}

/// Connects to the agent with that folder.
pub(crate) fn connect(folder: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&address(folder)?)?;
    match is_ours(&stream) {
        true => Ok(stream),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Returns true if the peer runs as the same user.
pub(crate) fn is_ours(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|other| other.uid == geteuid())
}

fn address(folder: &Path) -> io::Result<SocketAddr> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    SocketAddr::from_abstract_name(name.as_bytes())
}
