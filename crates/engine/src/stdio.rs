//! Buffered streams of the C library, for benchmarks that measure them.

use crate::held;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd};
use std::path::Path;
use std::ptr::NonNull;

/// Mode in which a stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `r`: read.
    Read,
    /// `r+`: overwrite an existing file.
    Update,
    /// `w+`: write a new file.
    Create,
}

/// An open stream (`FILE`) with its own buffer.
#[derive(Debug)]
pub struct Stream {
    stream: NonNull<libc::FILE>,
    /// Result of `Box::into_raw`: until the stream is closed, only the C library may use
    /// it.
    buffer: *mut [u8],
}

// SAFETY: a stream is not bound to a thread, and only this value uses it and
// owns its buffer.
unsafe impl Send for Stream {}

impl Stream {
    /// Opens a stream as `fopen(3)` does, then calls `setvbuf(3)` with a buffer of
    /// `buffer` bytes.
    ///
    /// # Errors
    /// Error that the C library returned.
    pub fn open(path: &Path, mode: Mode, buffer: usize) -> io::Result<Self> {
        let (flags, mode) = match mode {
            Mode::Read => (OFlags::RDONLY, c"r"),
            Mode::Update => (OFlags::RDWR, c"r+"),
            Mode::Create => (OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC, c"w+"),
        };
        let file = held::open(path, flags, rustix::fs::Mode::from_raw_mode(0o666))?;
        // SAFETY: the descriptor is open and fits the mode, a string that ends in a zero
        // byte.
        let stream = unsafe { libc::fdopen(file.as_raw_fd(), mode.as_ptr()) };
        let stream = NonNull::new(stream).ok_or_else(io::Error::last_os_error)?;
        // The stream owns the descriptor and closes it.
        let _ = file.into_raw_fd();
        let buffer = Box::into_raw(vec![0_u8; buffer.max(1)].into_boxed_slice());
        // Owns both from here on, so they are released if the next call fails.
        let stream = Self { stream, buffer };
        // SAFETY: nothing was done with the stream yet; the buffer has that
        // length and is freed only after `fclose`.
        let refused = unsafe {
            libc::setvbuf(
                stream.stream.as_ptr(),
                buffer.cast(),
                libc::_IOFBF,
                buffer.len(),
            )
        };
        if refused != 0 {
            return Err(io::Error::other("the C library did not accept the buffer"));
        }
        Ok(stream)
    }

    /// Calls `fclose(3)`, which writes the remaining content of the buffer.
    ///
    /// # Errors
    /// Error that the kernel returned. The stream is closed in any case.
    pub fn close(self) -> Result<(), Errno> {
        let stream = ManuallyDrop::new(self);
        // SAFETY: `drop` does not run for it.
        unsafe { close(&stream) }
    }

    /// Calls `fread(3)` and returns the number of bytes read, which is lower at the end
    /// of the file.
    ///
    /// # Errors
    /// Error that the kernel returned.
    #[inline]
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the stream is open, and the buffer has that length.
        let read = unsafe {
            libc::fread(
                bytes.as_mut_ptr().cast(),
                1,
                bytes.len(),
                self.stream.as_ptr(),
            )
        };
        if read < bytes.len() {
            self.failed()?;
        }
        Ok(read)
    }

    /// Calls `fwrite(3)` for all bytes.
    ///
    /// # Errors
    /// Error that the kernel returned.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        // SAFETY: the stream is open, and the buffer has that length.
        let written =
            unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), self.stream.as_ptr()) };
        if written < bytes.len() {
            self.failed()?;
            return Err(Errno::IO);
        }
        Ok(())
    }

    /// Calls `fflush(3)`.
    ///
    /// # Errors
    /// Error that the kernel returned.
    pub fn flush(&mut self) -> Result<(), Errno> {
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(self.stream.as_ptr()) } == 0 {
            return Ok(());
        }
        Err(last_errno())
    }

    /// Calls `fsync(2)` on the underlying file.
    ///
    /// # Errors
    /// Error that the kernel returned.
    pub fn sync(&self) -> Result<(), Errno> {
        // SAFETY: the stream is open.
        let number: RawFd = unsafe { libc::fileno(self.stream.as_ptr()) };
        // SAFETY: the descriptor is the stream's, which is open until after
        // this call.
        rustix::fs::fsync(unsafe { BorrowedFd::borrow_raw(number) })
    }

    fn failed(&self) -> Result<(), Errno> {
        // SAFETY: the stream is open.
        if unsafe { libc::ferror(self.stream.as_ptr()) } == 0 {
            return Ok(());
        }
        Err(last_errno())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let _ = unsafe { close(self) };
    }
}

/// Closes a stream, then frees its buffer.
///
/// # Safety
/// The caller must call it once for each stream and not use the stream afterwards.
unsafe fn close(stream: &Stream) -> Result<(), Errno> {
    // SAFETY: `open` opened it, and it was not closed yet (guaranteed by the caller).
    let closed = match unsafe { libc::fclose(stream.stream.as_ptr()) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    };
    // SAFETY: it came from `Box::into_raw`, is freed once, and the C library does not
    // use it after `fclose`.
    drop(unsafe { Box::from_raw(stream.buffer) });
    closed
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_end_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut stream = Stream::open(&path, Mode::Create, 4096).unwrap();
        stream.write(&[5; 6000]).unwrap();
        stream.flush().unwrap();
        stream.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), vec![5; 6000]);
        let mut update = Stream::open(&path, Mode::Update, 4096).unwrap();
        update.write(&[6; 10]).unwrap();
        drop(update);
        let mut bytes = vec![0; 4000];
        let mut read = Stream::open(&path, Mode::Read, 4096).unwrap();
        assert_eq!(read.read(&mut bytes), Ok(4000));
        assert_eq!((bytes[9], bytes[10]), (6, 5));
        assert_eq!(read.read(&mut bytes), Ok(2000));
        assert_eq!(read.read(&mut bytes), Ok(0));
        assert!(read.write(&bytes).is_err() || read.flush().is_err());
        let none = Stream::open(&folder.path().join("none"), Mode::Read, 1);
        assert_eq!(none.unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
    #[test]
    fn closing_tells_that_the_rest_could_not_be_written() {
        let full = Path::new("/dev/full");
        let mut stream = Stream::open(full, Mode::Update, 4096).unwrap();
        stream.write(&[5; 10]).unwrap();
        assert_eq!(stream.close(), Err(Errno::NOSPC));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut stream = Stream::open(&path, Mode::Create, 4096).unwrap();
        stream.write(&[5; 10]).unwrap();
        assert_eq!(stream.close(), Ok(()));
        assert_eq!(std::fs::read(&path).unwrap(), [5; 10]);
    }
}
