//! Benchmarks of main memory: memory regions, loops of vector instructions over
//! arrays, chains of dependent loads, and words with volatile access.

mod kernels;

pub use kernels::{Arrays, can_stream, vectors_for};

use crate::sys;
use assay_model::rng::SplitMix64;
use rustix::thread::CpuSet;
use std::io;
use std::ptr::NonNull;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::sync::atomic::{Ordering, compiler_fence};

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

/// Number of loads per iteration of the loop.
const UNROLLED: u64 = 16;

/// A cycle through all lines of a region in random order, which a prefetcher cannot
/// predict.
#[derive(Debug)]
pub struct Chain {
    region: Region,
    at: *const *const u8,
}

// SAFETY: the pointer leads into the region, which the chain owns.
unsafe impl Send for Chain {}

impl Chain {
    /// Creates a cycle through `bytes` bytes with one pointer per line. The seed
    /// determines the order.
    ///
    /// # Errors
    /// As for [`Region::new`].
    pub fn new(bytes: usize, line_bytes: usize, seed: u64) -> io::Result<Self> {
        let line_bytes = line_bytes.max(size_of::<usize>()).next_power_of_two();
        let lines = (bytes / line_bytes).max(1);
        let region = Region::new(lines * line_bytes)?;
        let place = |line: usize| {
            // SAFETY: `line` is below `lines`, all of which the region has; lines are
            // aligned to more than a pointer, as the region is.
            unsafe { region.start().add(line * line_bytes).cast::<usize>() }
        };
        for line in 0..lines {
            // SAFETY: a place in the region, to which no other reference exists.
            unsafe { place(line).write(line) };
        }
        // Sattolo's algorithm: a permutation that is one cycle.
        let mut rng = SplitMix64::new(seed);
        for line in (1..lines).rev() {
            let other = usize::try_from(rng.next_u64() % line as u64).unwrap_or(0);
            // SAFETY: two places in the region, as above.
            unsafe { place(line).swap(place(other)) };
        }
        for line in 0..lines {
            // SAFETY: the place holds the number of a line, written above.
            let next = place(unsafe { place(line).read() });
            // SAFETY: as above; the number is replaced by the pointer to that line.
            unsafe { place(line).cast::<*const u8>().write(next.as_ptr().cast()) };
        }
        let at = region.start().as_ptr().cast::<*const u8>();
        Ok(Self { region, at })
    }

    /// Returns the memory of the cycle.
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// Follows the cycle for `loads` loads, rounded up to a multiple of 16, and
    /// returns the number of loads made.
    pub fn walk(&mut self, loads: u64) -> u64 {
        let rounds = loads.div_ceil(UNROLLED);
        let mut at = self.at;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: every place of the cycle holds a pointer to a place of it.
                at = unsafe { at.read() }.cast();
            }
        }
        self.at = std::hint::black_box(at);
        rounds * UNROLLED
    }
}

/// Length of a word in bytes.
const WORD: usize = size_of::<u64>();

/// A region as 64-bit words. Reads and writes are volatile, so that the compiler
/// cannot replace a read by the value last written.
#[derive(Debug)]
pub struct Cells {
    region: Region,
    words: usize,
}

impl Cells {
    /// Allocates `words` words, all 0.
    ///
    /// # Errors
    /// As for [`Region::new`].
    pub fn new(words: usize) -> io::Result<Self> {
        let region = Region::new(words.saturating_mul(WORD))?;
        Ok(Self { region, words })
    }

    /// Returns the underlying memory.
    pub const fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    /// Returns the number of cells.
    pub const fn len(&self) -> usize {
        self.words
    }

    /// Returns true if there are no cells.
    pub const fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// Returns the address of a word.
    pub fn address(&self, index: usize) -> u64 {
        self.word(index).as_ptr() as u64
    }

    /// Writes a word.
    #[inline]
    pub fn write(&mut self, index: usize, value: u64) {
        // SAFETY: `word` is within the region, aligned, and borrowed mutably.
        unsafe { self.word(index).write_volatile(value) }
    }

    /// Reads a word.
    #[inline]
    pub fn read(&self, index: usize) -> u64 {
        // SAFETY: `word` is within the region, aligned and initialised, and is not
        // written while it is borrowed.
        unsafe { self.word(index).read_volatile() }
    }

    /// Reads a word from memory instead of the caches, if the processor lets user
    /// programs evict a line; otherwise reads as [`Self::read`].
    pub fn read_again(&self, index: usize) -> u64 {
        evict(self.word(index));
        self.read(index)
    }

    /// Returns a pointer to a word.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[inline]
    fn word(&self, index: usize) -> NonNull<u64> {
        assert!(index < self.words, "there is no such word");
        // SAFETY: `index` words from the start are within the region (see above),
        // which begins at a multiple of more than a word.
        unsafe { self.region.start().cast::<u64>().add(index) }
    }
}

/// Writes a cache line back and evicts it.
#[cfg(target_arch = "x86_64")]
fn evict(word: NonNull<u64>) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    compiler_fence(Ordering::SeqCst);
    // SAFETY: every x86-64 has these; the line is one of a live region, and its
    // content does not change.
    unsafe {
        _mm_mfence();
        _mm_clflush(word.as_ptr().cast());
        _mm_mfence();
    }
    compiler_fence(Ordering::SeqCst);
}

/// Writes a cache line back and evicts it, which Linux allows to user programs.
#[cfg(target_arch = "aarch64")]
fn evict(word: NonNull<u64>) {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the line is one of a live region, and its content does not change.
    unsafe {
        std::arch::asm!("dsb sy", "dc civac, {0}", "dsb sy", in(reg) word.as_ptr(), options(nostack));
    }
    compiler_fence(Ordering::SeqCst);
}

/// Does nothing, because other processors do not let user programs evict a line.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn evict(_word: NonNull<u64>) {}

/// Binds the calling thread to a CPU. Returns true if the kernel allowed it.
pub fn bind_to(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// Returns the numbers of the CPUs that the calling thread may use; empty if
/// the kernel does not report them.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|cpu| set.is_set(*cpu))
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect()
}

/// Returns the number of page faults with I/O of the calling thread since it
/// started.
pub fn major_faults() -> u64 {
    sys::thread_faults().major
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

    #[test]
    fn a_chain_visits_each_line_once_and_comes_back() {
        let lines = 128;
        let mut chain = Chain::new(lines * 64, 64, 7).unwrap();
        let begin = chain.at;
        let mut seen = std::collections::HashSet::new();
        for _ in 0..lines {
            assert!(seen.insert(chain.at as usize));
            // SAFETY: as in `walk`.
            chain.at = unsafe { chain.at.read() }.cast();
        }
        assert_eq!(chain.at, begin);
        assert_eq!(chain.walk(100), 112);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let first = |seed| {
            let chain = Chain::new(1 << 16, 64, seed).unwrap();
            // SAFETY: as in `walk`.
            let second = unsafe { chain.at.read() };
            second as u64 - chain.region().address()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn what_is_written_is_read_again_with_and_without_the_caches() {
        let mut cells = Cells::new(1000).unwrap();
        cells.write(999, u64::MAX);
        assert_eq!((cells.read(0), cells.read(999)), (0, u64::MAX));
        assert_eq!(cells.read_again(999), u64::MAX);
        assert_eq!(cells.address(999) - cells.address(0), 999 * 8);
    }

    #[test]
    #[should_panic(expected = "there is no such word")]
    fn a_word_beyond_the_end_is_none() {
        let _ = Cells::new(1).unwrap().read(1);
    }
}
