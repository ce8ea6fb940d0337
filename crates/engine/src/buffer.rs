//! Buffers that the kernel reads and fills: page-aligned, owned by exactly one
//! operation at a time.

use assay_model::rng::SplitMix64;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer; enough for direct I/O on all known devices.
const ALIGNMENT: usize = 4096;
/// A value is written at this distance, so that no two sectors are equal.
const STAMP_STRIDE: usize = 512;
/// Blocks up to this size are changed in every byte for each write (80 ns for
/// 4 KiB). A compressor looks at several of them together, in whatever order
/// they were written, and must not find one that resembles another.
const CHANGED_WHOLE: usize = 16 << 10;
/// Larger blocks only get stamps, to spare the processor; their bytes come
/// back after this distance, beyond the reach of the compressors in file
/// systems (128 KiB) and controllers.
const PERIOD: usize = 1 << 20;

/// An aligned buffer of which one window of a block's length is in use.
///
/// [`IoBuf::renew`] makes the block unlike any before, for each write.
#[derive(Debug)]
pub(crate) struct IoBuf {
    start: NonNull<u8>,
    layout: Layout,
    window: usize,
    block: usize,
}

// SAFETY: IoBuf owns its allocation and has no interior sharing; moving it to
// another thread moves the only handle to that memory.
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// A zeroed buffer for one block.
    pub(crate) fn zeroed(block: usize) -> Self {
        Self::with_windows(block, 1)
    }

    /// A random block to write, one of `siblings` buffers used in turn.
    pub(crate) fn random(block: usize, siblings: usize, rng: &mut SplitMix64) -> Self {
        let windows = if block <= CHANGED_WHOLE {
            1
        } else {
            PERIOD.div_ceil(block * siblings.max(1)).max(1)
        };
        let mut buf = Self::with_windows(block, windows);
        fill_random(buf.all_mut(), rng);
        buf
    }

    fn with_windows(block: usize, windows: usize) -> Self {
        let size = (block * windows).max(1);
        let layout = Layout::from_size_align(size, ALIGNMENT)
            .unwrap_or_else(|_| unreachable!("block sizes are far below isize::MAX"));
        // SAFETY: the layout has a non-zero size.
        let memory = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Self {
            start,
            layout,
            window: 0,
            block,
        }
    }

    fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes (zeroed
        // at allocation) that only this value owns, and `self` is borrowed
        // mutably for as long as the slice lives. The kernel has no claim on
        // them: an operation under way owns its IoBuf.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }

    /// The block of the current window.
    #[inline]
    pub(crate) fn block_mut(&mut self) -> &mut [u8] {
        let (window, block) = (self.window, self.block);
        &mut self.all_mut()[window..window + block]
    }

    /// Makes the block unlike any before. `serial` must not come twice.
    #[inline]
    pub(crate) fn renew(&mut self, serial: u64) {
        let mut numbers = SplitMix64::new(serial);
        if self.block <= CHANGED_WHOLE {
            change_all(self.block_mut(), numbers.next_u64());
        } else {
            self.next_window();
            stamp(self.block_mut(), &mut numbers);
        }
    }

    fn next_window(&mut self) {
        self.window += self.block;
        if self.window + self.block > self.layout.size() {
            self.window = 0;
        }
    }
}

/// Combines every word with `key`: what is random stays random, and nothing
/// of it is left as it was.
fn change_all(block: &mut [u8], key: u64) {
    let key = key.to_le_bytes();
    let (words, rest) = block.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(key)).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key) {
        *byte ^= key;
    }
}

/// Writes a number into each sector.
fn stamp(block: &mut [u8], numbers: &mut SplitMix64) {
    for sector in block.chunks_mut(STAMP_STRIDE) {
        let word = numbers.next_u64().to_le_bytes();
        let length = word.len().min(sector.len());
        sector[..length].copy_from_slice(&word[..length]);
    }
}

impl Drop for IoBuf {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc_zeroed` with this very layout and
        // is freed once, here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Fills `bytes` with random content.
pub(crate) fn fill_random(bytes: &mut [u8], rng: &mut SplitMix64) {
    for chunk in bytes.chunks_mut(8) {
        let word = rng.next_u64().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn blocks_are_aligned_and_no_sector_ever_repeats() {
        for block in [4096, CHANGED_WHOLE, 2 * CHANGED_WHOLE] {
            let mut buf = IoBuf::random(block, 1, &mut SplitMix64::new(1));
            let mut seen = HashSet::new();
            for serial in 0..(4 * PERIOD / block) as u64 {
                buf.renew(serial);
                assert_eq!(buf.block_mut().as_ptr() as usize % ALIGNMENT, 0);
                for sector in buf.block_mut().chunks(STAMP_STRIDE) {
                    assert!(seen.insert(sector.to_vec()), "{block}: {serial}");
                }
            }
        }
    }

    /// What a compressor finds is a string that came before. Equal words at
    /// equal places of their blocks would be one.
    #[test]
    fn no_word_repeats_within_a_mebibyte() {
        for block in [512, 4096, CHANGED_WHOLE, 2 * CHANGED_WHOLE, PERIOD] {
            let mut buf = IoBuf::random(block, 1, &mut SplitMix64::new(1));
            let mut seen = HashSet::new();
            for serial in 0..(PERIOD / block) as u64 {
                let serial = u64::MAX - serial;
                buf.renew(serial);
                let (words, _) = buf.block_mut().as_chunks::<8>();
                assert!(words.iter().all(|word| seen.insert(*word)), "{block}");
            }
        }
    }

    #[test]
    fn odd_block_sizes_work() {
        for block in [1, 7, 1000, CHANGED_WHOLE + 1] {
            let mut buf = IoBuf::random(block, 1, &mut SplitMix64::new(1));
            let before = buf.block_mut().to_vec();
            buf.renew(1);
            assert_eq!(buf.block_mut().len(), block);
            assert_ne!(buf.block_mut(), before);
        }
    }
}
