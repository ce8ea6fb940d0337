//! Memory mapped files: each I/O copies between its buffer and a mapping of the
//! whole file.
//!
//! A mapping cannot extend a file: an I/O ends at the size that the file had when it was opened,
//! and an empty file is refused. If the kernel cannot provide a page (a media error, a full file
//! system below a hole, a file that was truncated meanwhile), the I/O fails with `EIO`.
//!
//! Direct I/O is not possible, because a mapping is the page cache. If the file was opened
//! with `O_SYNC`, `O_DSYNC` or `O_DIRECT`, which the kernel ignores for mappings,
//! `msync(2)` follows each write, so that the data is at least on the device when the write
//! counts as done. With `O_DIRECT` the pages are also removed from the mapping, as in fio.
//! They stay in the page cache.
//!
//! When the kernel cannot provide a page, an access to it raises `SIGBUS`, which ends the process.
//! While a thread is in `copy`, faults within the mapping are caught: an empty page replaces the
//! missing one, the copy continues and then returns [`Missing`]. Any other `SIGBUS` is passed to
//! the previous handler.

use crate::EngineError;
use crate::engines::{IoEngine, IoUnit, OpenFile};
use assay_model::job::FlushCall;
use assay_model::load::Ddir;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::param::page_size;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// A mapping of a file from its start. Only the copies of this module access its memory.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
    protection: libc::c_int,
    /// True if each write is followed by `msync(2)`.
    writes_through: bool,
    lets_go: bool,
}

impl Mapping {
    fn new(file: &OpenFile) -> io::Result<Self> {
        let length = usize::try_from(file.size)
            .map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        if length == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is empty, and a mapping cannot make a file longer: give it its size first",
            ));
        }
        let write = if file.writable { libc::PROT_WRITE } else { 0 };
        let protection = libc::PROT_READ | write;
        let start = map(std::ptr::null_mut(), length, protection, 0, &file.file)?;
        let flags = fcntl_getfl(&file.file)?;
        if file.random {
            // Otherwise each fault reads pages around it, and most I/Os would hit those.
            // SAFETY: the range is the new mapping's.
            check(unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_RANDOM) })?;
        }
        Ok(Self {
            start,
            length,
            protection,
            writes_through: flags.intersects(OFlags::SYNC | OFlags::DSYNC | OFlags::DIRECT),
            lets_go: flags.contains(OFlags::DIRECT),
        })
    }

    /// Returns the part of the unit that lies within the mapping: its start and its length.
    fn part(&self, unit: &IoUnit) -> (usize, usize) {
        let from = unit.offset + u64::from(unit.moved);
        let from = usize::try_from(from).map_or(self.length, |from| from.min(self.length));
        (from, (unit.left() as usize).min(self.length - from))
    }

    /// Copies the remainder of the unit, and returns the number of bytes copied.
    fn transfer(&self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, Errno> {
        let writes = unit.ddir == Ddir::Write;
        if writes && !file.writable {
            return Err(Errno::BADF);
        }
        let (from, length) = self.part(unit);
        let (_, bytes) = unit.remainder();
        let bytes = &mut bytes[..length];
        // SAFETY: `from` is at most the mapping's length.
        let mapped = unsafe { self.start.add(from) };
        // SAFETY: `length` bytes from `mapped` on are within the mapping, which is writable
        // if the file is; the buffer is not part of it. Others may change the file
        // meanwhile: the copies are of plain bytes, for which every value is valid.
        let copied = unsafe {
            if writes {
                copy(NonNull::from(&mut *bytes).cast(), mapped, mapped, length)
            } else {
                copy(mapped, NonNull::from(&mut *bytes).cast(), mapped, length)
            }
        };
        if copied.is_err() {
            self.renew(&file.file)?;
            return Err(Errno::IO);
        }
        if length > 0 {
            self.settle(writes, from, length)?;
        }
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    /// Carries out the steps that the file's flags require after an I/O.
    fn settle(&self, wrote: bool, from: usize, length: usize) -> Result<(), Errno> {
        if wrote && self.writes_through {
            self.sync(from, length)?;
        }
        if self.lets_go {
            let (start, length) = self.pages(from, length);
            // SAFETY: the pages are those of this mapping; a shared mapping maps them from
            // the page cache again.
            check(unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) })?;
        }
        Ok(())
    }

    /// Writes back a part of the file and flushes it.
    fn sync(&self, from: usize, length: usize) -> Result<(), Errno> {
        let (start, length) = self.pages(from, length);
        // SAFETY: the pages are those of this mapping.
        check(unsafe { libc::msync(start, length, libc::MS_SYNC) })
    }

    /// Returns the whole pages around a part of the mapping: start and length.
    fn pages(&self, from: usize, length: usize) -> (*mut libc::c_void, usize) {
        let before = from % page_size();
        // SAFETY: still within the mapping, which starts with a page.
        let start = unsafe { self.start.add(from - before) };
        (start.as_ptr().cast(), length + before)
    }

    /// Maps the file again at the same address, to remove the empty page that a fault
    /// inserted.
    #[cold]
    fn renew(&self, file: &File) -> Result<(), Errno> {
        let start = self.start.as_ptr().cast();
        map(start, self.length, self.protection, libc::MAP_FIXED, file)
            .map(drop)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped, once; nothing points into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Maps the first `length` bytes of a file.
fn map(
    at: *mut libc::c_void,
    length: usize,
    protection: libc::c_int,
    flags: libc::c_int,
    file: &File,
) -> io::Result<NonNull<u8>> {
    let flags = flags | libc::MAP_SHARED;
    // SAFETY: a new mapping at an address the kernel chooses; or, with `MAP_FIXED`, one
    // that replaces the caller's own mapping of the same length.
    let start = unsafe { libc::mmap(at, length, protection, flags, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

fn check(answer: libc::c_int) -> Result<(), Errno> {
    if answer == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// The engine, with the mappings of the open files by file number.
#[derive(Debug)]
pub(crate) struct Mmap {
    mappings: Vec<Option<Mapping>>,
}

impl Mmap {
    pub(crate) fn new() -> Self {
        prepare();
        Self {
            mappings: Vec::new(),
        }
    }

    fn mapping(&self, file: &OpenFile) -> Result<&Mapping, Errno> {
        let mapping = self.mappings.get(file.number as usize);
        mapping.and_then(Option::as_ref).ok_or(Errno::BADF)
    }
}

impl IoEngine for Mmap {
    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        let mapping =
            Mapping::new(file).map_err(|error| EngineError::file("map", &file.path, error))?;
        let number = file.number as usize;
        if self.mappings.len() <= number {
            self.mappings.resize_with(number + 1, || None);
        }
        self.mappings[number] = Some(mapping);
        Ok(())
    }

    fn closes(&mut self, file: &OpenFile) {
        if let Some(mapping) = self.mappings.get_mut(file.number as usize) {
            *mapping = None;
        }
    }

    #[inline]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return super::transfer(file, unit);
        }
        self.mapping(file)
            .and_then(|mapping| mapping.transfer(file, unit))
            .map_err(Errno::raw_os_error)
    }

    /// Flushes the whole file with `msync(2)`, for both flush calls.
    fn flush(&mut self, file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        let mapping = self.mapping(file)?;
        mapping.sync(0, mapping.length)
    }
}

/// The mapped beginning of a file, for benchmarks that map files as other tools do; the `mmap`
/// engine does not use it. Only [`MappedFile::read_at`] and
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
        prepare();
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
        unsafe { copy(mapped, NonNull::from(bytes).cast(), mapped, length) }.map_err(|_| Errno::IO)
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
        unsafe { copy(NonNull::from(bytes).cast(), mapped, mapped, bytes.len()) }
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

/// Memory that a thread is copying at the moment. It is accessed only by the thread itself and the
/// handler that interrupts it.
struct CopyWatch {
    from: AtomicUsize,
    /// End of the memory; 0 when no copy is running.
    to: AtomicUsize,
    faulted: AtomicBool,
}

thread_local! {
    static WATCH: CopyWatch = const {
        CopyWatch {
            from: AtomicUsize::new(0),
            to: AtomicUsize::new(0),
            faulted: AtomicBool::new(false),
        }
    };
}

/// Handler of `SIGBUS` before this one was installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A page was missing: the copied data is invalid, and the mapping has an empty page of memory in
/// its place.
#[derive(Debug, PartialEq, Eq)]
struct Missing;

/// Copies `length` bytes. `mapped` is that one of the two ends which lies in a mapped file.
///
/// # Safety
/// Both ends must be valid for `length` bytes except for missing pages of a mapping, must not
/// overlap, and only the caller may own the mapping.
#[inline]
unsafe fn copy(
    from: NonNull<u8>,
    to: NonNull<u8>,
    mapped: NonNull<u8>,
    length: usize,
) -> Result<(), Missing> {
    let start = mapped.as_ptr() as usize;
    WATCH.with(|watch| {
        watch.from.store(start, Ordering::Relaxed);
        watch.to.store(start + length, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as the caller guarantees; the handler replaces a missing page before the copy
        // continues.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), length) };
        compiler_fence(Ordering::SeqCst);
        watch.to.store(0, Ordering::Relaxed);
        if watch.faulted.swap(false, Ordering::Relaxed) {
            Err(Missing)
        } else {
            Ok(())
        }
    })
}

/// Installs the handler, once for the process.
fn prepare() {
    // Cached here, because the handler must not be the first to query it.
    let _ = page_size();
    BEFORE.get_or_init(|| {
        // SAFETY: `sigaction` is plain old data, for which all-zero is a value.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        ours.sa_sigaction = on_fault as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO requires, and is
        // async-signal-safe. The call cannot fail: the signal exists and can be caught.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before) };
        before
    });
}

/// Replaces a missing page in the running copy by an empty one. For other faults it restores the
/// previous handler, which is called when the faulting instruction runs again.
extern "C" fn on_fault(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a `siginfo_t`, of `SIGBUS` with an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let replaced = WATCH.with(|watch| {
        let watched = watch.from.load(Ordering::Relaxed)..watch.to.load(Ordering::Relaxed);
        let replaced = watched.contains(&address) && replace_page(address);
        watch.faulted.fetch_or(replaced, Ordering::Relaxed);
        replaced
    });
    if !replaced && let Some(before) = BEFORE.get() {
        // SAFETY: restores the handler that the kernel returned before.
        unsafe { libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()) };
    }
}

fn replace_page(address: usize) -> bool {
    let page = page_size();
    let start = (address - address % page) as *mut libc::c_void;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is one of the mapping that the interrupted copy owns
    // (its pages start where the machine's do), and holds nothing.
    let answer = unsafe { libc::mmap(start, page, protection, flags, -1, 0) };
    answer != libc::MAP_FAILED
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
