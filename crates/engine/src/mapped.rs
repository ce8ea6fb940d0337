//! A memory-mapped file for benchmarks that map files as other tools do. The
//! `mmap` engine is separate.

use crate::engines::mmap;
use crate::engines::mmap::{check, map};
use rustix::io::Errno;
use rustix::param::page_size;
use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// The mapped beginning of a file. Only [`MappedFile::read_at`] and
/// [`MappedFile::write_at`] access its memory.
#[derive(Debug)]
pub struct MappedFile {
    start: NonNull<u8>,
    length: usize,
    protection: libc::c_int,
}

// SAFETY: the mapping is owned by this value alone and not bound to a thread.
unsafe impl Send for MappedFile {}

impl MappedFile {
    /// Maps the first `length` bytes of a file, which must be that long.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn new(file: &File, length: usize, writable: bool) -> io::Result<Self> {
        mmap::prepare();
        let write = if writable { libc::PROT_WRITE } else { 0 };
        let protection = libc::PROT_READ | write;
        let start = map(std::ptr::null_mut(), length, protection, 0, file)?;
        Ok(Self {
            start,
            length,
            protection,
        })
    }

    /// Returns the mapped length in bytes.
    pub const fn length(&self) -> usize {
        self.length
    }

    fn range(&self, offset: usize, length: usize) -> Result<NonNull<u8>, Errno> {
        let end = offset.checked_add(length).ok_or(Errno::INVAL)?;
        if end > self.length {
            return Err(Errno::INVAL);
        }
        // SAFETY: `offset` is within the mapping.
        Ok(unsafe { self.start.add(offset) })
    }

    /// Copies from the file.
    ///
    /// # Errors
    /// `EINVAL` beyond the mapping; `EIO` if the kernel could not provide a
    /// page, after which the mapping holds zeros there.
    pub fn read_at(&self, offset: usize, bytes: &mut [u8]) -> Result<(), Errno> {
        let mapped = self.range(offset, bytes.len())?;
        let length = bytes.len();
        // SAFETY: both ends are valid for `length` bytes, the buffer is not part
        // of the mapping, which is this value's own.
        unsafe { mmap::copy(mapped, NonNull::from(bytes).cast(), mapped, length) }
            .map_err(|_| Errno::IO)
    }

    /// Copies to the file.
    ///
    /// # Errors
    /// As for [`Self::read_at`]; `EACCES` if the file is not mapped for
    /// writing.
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        if self.protection & libc::PROT_WRITE == 0 {
            return Err(Errno::ACCESS);
        }
        let mapped = self.range(offset, bytes.len())?;
        // SAFETY: as in `read_at`; the mapping is writable, the bytes are only
        // read.
        unsafe { mmap::copy(NonNull::from(bytes).cast(), mapped, mapped, bytes.len()) }
            .map_err(|_| Errno::IO)
    }

    /// Calls `msync(2)` for a part, extended to whole pages.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn sync(&self, offset: usize, length: usize, wait: bool) -> Result<(), Errno> {
        let before = offset % page_size();
        let start = self.range(offset - before, length + before)?;
        let flags = if wait { libc::MS_SYNC } else { libc::MS_ASYNC };
        // SAFETY: the pages are those of this mapping.
        check(unsafe { libc::msync(start.as_ptr().cast(), length + before, flags) })
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped, once; nothing points into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn what_is_written_is_in_the_file_and_nothing_beyond_the_mapping() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 10_000]).unwrap();
        let mut mapped = MappedFile::new(&file, 10_000, true).unwrap();
        mapped.write_at(5000, &[7; 5000]).unwrap();
        assert_eq!(mapped.write_at(5001, &[7; 5000]), Err(Errno::INVAL));
        mapped.sync(5000, 5000, true).unwrap();
        let mut bytes = [0; 10_000];
        mapped.read_at(0, &mut bytes).unwrap();
        assert_eq!((bytes[4999], bytes[5000], bytes[9999]), (1, 7, 7));
        file.rewind().unwrap();
        let mut of_file = Vec::new();
        file.read_to_end(&mut of_file).unwrap();
        assert_eq!(of_file, bytes);
        let mut read_only = MappedFile::new(&file, 4096, false).unwrap();
        assert_eq!(read_only.write_at(0, &[0]), Err(Errno::ACCESS));
    }

    #[test]
    fn a_page_that_is_gone_fails_the_copy() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapped = MappedFile::new(&file, 8192, true).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(mapped.read_at(4096, &mut [0; 16]), Err(Errno::IO));
    }
}
