//! File descriptors that the process inherited when it was started.

use crate::sys::lock;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

/// Last of the standard streams, which belong to the process.
const LAST_STANDARD: RawFd = 2;

/// Numbers that were taken over. Each number is returned once only, even after
/// it was closed, because it may then be another file's.
static TAKEN: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());

/// Takes over a descriptor that the process was started with, and sets
/// `FD_CLOEXEC` so that programs started by this one do not inherit it. Must be
/// called before the process opens any file.
///
/// # Errors
/// If the descriptor is not open, is a standard stream, or was taken over
/// before.
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
    // SAFETY: the descriptor is open (above). It is not a standard stream,
    // which the standard library shares, and this function returns each number
    // once in the life of the process (`TAKEN`). The parent opened it for this
    // purpose: it is taken over before the process opens its own files, so it
    // has no other owner.
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
