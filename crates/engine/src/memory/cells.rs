//! Words of memory under test, with reads and writes that the compiler never
//! removes.

use super::Region;
use std::io;
use std::ptr::NonNull;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::sync::atomic::{Ordering, compiler_fence};

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

#[cfg(test)]
mod tests {
    use super::*;

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
