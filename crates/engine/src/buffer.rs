//! Buffers that the kernel reads and fills: page-aligned, owned by exactly one
//! operation at a time.

use assay_model::rng::SplitMix64;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer; enough for direct I/O on all known devices.
const ALIGNMENT: usize = 4096;
/// A value is written at this distance, so that no two blocks are equal.
const STAMP_STRIDE: usize = 512;

/// An aligned buffer of which one window of a block's length is in use.
///
/// Writes move the window on after each I/O. The same bytes then come back
/// only after the whole buffer, which keeps a compressor that looks at several
/// blocks together from finding them equal.
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
    /// A zeroed buffer of `windows` windows of `block` bytes each.
    pub(crate) fn zeroed(block: usize, windows: usize) -> Self {
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

    /// As [`IoBuf::zeroed`], filled with random bytes.
    pub(crate) fn random(block: usize, windows: usize, rng: &mut SplitMix64) -> Self {
        let mut buf = Self::zeroed(block, windows);
        fill_random(buf.all_mut(), rng);
        buf
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

    /// Moves to the next window and makes it unlike any block before.
    #[inline]
    pub(crate) fn renew(&mut self, serial: u64) {
        self.window += self.block;
        if self.window + self.block > self.layout.size() {
            self.window = 0;
        }
        let mut stamp = SplitMix64::new(serial);
        for sector in self.block_mut().chunks_mut(STAMP_STRIDE) {
            let word = stamp.next_u64().to_le_bytes();
            let length = word.len().min(sector.len());
            sector[..length].copy_from_slice(&word[..length]);
        }
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
    fn blocks_are_aligned_and_never_repeat() {
        let mut buf = IoBuf::random(4096, 4, &mut SplitMix64::new(1));
        let mut seen = HashSet::new();
        for serial in 0..100 {
            buf.renew(serial);
            assert_eq!(buf.block_mut().as_ptr() as usize % ALIGNMENT, 0);
            for sector in buf.block_mut().chunks(STAMP_STRIDE) {
                assert!(
                    seen.insert(sector.to_vec()),
                    "a sector repeated at {serial}"
                );
            }
        }
    }

    #[test]
    fn odd_block_sizes_work() {
        let mut buf = IoBuf::random(1000, 3, &mut SplitMix64::new(1));
        for serial in 0..10 {
            buf.renew(serial);
            assert_eq!(buf.block_mut().len(), 1000);
        }
    }
}
