//! Anonymous memory of this process.

use std::io;
use std::ptr::NonNull;

/// Alignment of regions in bytes, which is that of huge pages of 2 MiB.
const ALIGNMENT: usize = 2 << 20;

/// Zeroed, private memory, unmapped on drop. The kernel allocates each page when it is first
/// accessed, on the NUMA node of the accessing CPU.
#[derive(Debug)]
pub struct Region {
    /// Start of the whole mapping.
    map: NonNull<u8>,
    mapped: usize,
    /// Start of the part in use.
    start: NonNull<u8>,
    bytes: usize,
    huge_asked: bool,
}

// SAFETY: a region owns its mapping and has no interior sharing; moving it to
// another thread moves the only handle to that memory.
unsafe impl Send for Region {}

impl Region {
    /// Maps `bytes` bytes, with huge pages if the kernel provides them.
    ///
    /// # Errors
    /// If the address space or the memory is exhausted.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let none = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1);
        let mapped = bytes.checked_add(ALIGNMENT).ok_or_else(none)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(none)?;
        let skipped = map.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        // SAFETY: `skipped` is at most ALIGNMENT, which the mapping has beyond `bytes`.
        let start = unsafe { map.add(skipped) };
        // SAFETY: advice on pages of the mapping made above; it changes no content.
        let advised =
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) } == 0;
        Ok(Self {
            map,
            mapped,
            start,
            bytes,
            huge_asked: advised,
        })
    }

    /// Returns the length in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the first address.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Returns true if the kernel accepted the request for huge pages.
    pub const fn huge_asked(&self) -> bool {
        self.huge_asked
    }

    /// Allocates all pages now and prevents swapping (`mlock(2)`).
    ///
    /// # Errors
    /// If this user may not lock as much memory, or memory is exhausted.
    pub fn lock(&mut self) -> io::Result<()> {
        // SAFETY: pages of this mapping; their content does not change.
        let answer = unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Returns the first byte. [`Self::bytes`] bytes from there are initialised and belong to this
    /// region alone.
    pub(super) const fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly the mapping made in `new`, once; nothing points
        // into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_begins_where_a_huge_page_does_and_has_its_bytes() {
        let region = Region::new(5 << 20).unwrap();
        assert_eq!(region.address() % ALIGNMENT as u64, 0);
        let last = region.start().as_ptr().wrapping_add((5 << 20) - 1);
        // SAFETY: the last byte of the region, to which no other reference exists.
        unsafe { last.write_volatile(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { last.read_volatile() }, 7);
        assert!(Region::new(usize::MAX).is_err());
    }
}
