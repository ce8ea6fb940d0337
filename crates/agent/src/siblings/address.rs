//! Address of a kept agent: an abstract socket (unix(7)), because Android does not let a shell
//! create a socket in a folder. The address is the unique name of the agent's folder; connections
//! of other users are refused.

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

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
