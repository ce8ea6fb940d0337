//! Descriptors that the process was started with.

use crate::sys::lock;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

/// The last of the standard streams, which are the process's own.
const LAST_STANDARD: RawFd = 2;

/// Numbers that were taken over. None is ever given away twice, not even when it
/// was closed: it may be somebody else's by then.
static TAKEN: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());

/// Takes over a descriptor that the process was started with, and keeps it from
/// programs that this one starts. To be called before the process opens anything
/// of its own.
///
/// # Errors
/// When it is not open, is a standard stream, or was taken over before.
pub fn inherited(number: RawFd) -> io::Result<File> {
    let refuse = |why: &str| {
        let text = format!("descriptor {number} cannot be taken over: {why}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    };
    if number <= LAST_STANDARD {
        return refuse("it is not a descriptor, or it is a standard stream");
    }
    let mut taken = lock(&TAKEN);
    if taken.contains(&number) {
        return refuse("it was taken over before");
    }
    // SAFETY: sets a flag of a descriptor; no memory is passed. A number that is
    // not open is answered with an error.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    taken.insert(number);
    // SAFETY: the descriptor is open (above). It is none of the standard streams,
    // which the standard library lends to everybody, and this function gives
    // each number away once in the life of the process (`TAKEN`). Whoever
    // started the process opened it for this purpose: it is taken over before
    // the process opens files of its own, so no other owner can have it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(File::from(fd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn a_number_is_given_away_once() {
        let (reader, _writer) = io::pipe().unwrap();
        let number = OwnedFd::from(reader).into_raw_fd();
        let file = inherited(number).unwrap();
        assert!(inherited(number).is_err(), "it has an owner");
        drop(file);
        assert!(inherited(number).is_err(), "it may be another's by now");
    }

    #[test]
    fn standard_streams_and_what_is_not_open_are_refused() {
        for number in [-1, 0, 1, 2, RawFd::MAX] {
            assert!(inherited(number).is_err(), "{number}");
        }
    }
}
