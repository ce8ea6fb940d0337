//! Buffers that the kernel reads and fills: page-aligned, owned by exactly one
//! operation at a time.

use crate::error::EngineError;
use assay_model::rng::SplitMix64;
use assay_model::units::Bytes;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer; enough for direct I/O on all known devices.
const ALIGNMENT: usize = 4096;
/// Blocks up to this size are changed in every byte for each write, see
/// [`crate::content`].
pub(crate) const CHANGED_WHOLE: usize = 128 << 10;
/// Larger blocks only get marks, to save CPU time. Their bytes repeat after this distance,
/// which is beyond the window of compressors.
const PERIOD: usize = 1 << 20;

/// An aligned buffer. One window of it, as long as a block, is in use at a time.
#[derive(Debug)]
pub struct IoBuf {
    start: NonNull<u8>,
    layout: Layout,
    window: usize,
    block: usize,
}

// SAFETY: IoBuf owns its allocation and has no interior sharing; moving it to
// another thread moves the only handle to that memory.
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// Returns a zeroed buffer for one block of a fixed size. Aborts the process if memory is
    /// exhausted.
    pub fn zeroed(block: usize) -> Self {
        let layout = Layout::new::<[u8; ALIGNMENT]>();
        Self::with_windows(block, 1).unwrap_or_else(|_| handle_alloc_error(layout))
    }

    /// Returns a zeroed buffer for one block of a size that the user chose.
    ///
    /// # Errors
    /// [`EngineError::Memory`] if the allocation fails.
    pub fn of(block: u64) -> Result<Self, EngineError> {
        let length = usize::try_from(block).map_err(|_| EngineError::Memory(Bytes(block)))?;
        Self::with_windows(length, 1)
    }

    /// Returns a zeroed buffer for blocks that are written, one of `siblings` buffers used in
    /// turn. Large blocks have several windows.
    ///
    /// # Errors
    /// [`EngineError::Memory`] if the allocation fails.
    pub(crate) fn to_write(block: usize, siblings: usize) -> Result<Self, EngineError> {
        let windows = if block <= CHANGED_WHOLE || !block.is_multiple_of(ALIGNMENT) {
            1
        } else {
            PERIOD.div_ceil(block * siblings.max(1)).max(1)
        };
        Self::with_windows(block, windows)
    }

    fn with_windows(block: usize, windows: usize) -> Result<Self, EngineError> {
        let size = block.saturating_mul(windows).max(1);
        let none = || EngineError::Memory(Bytes(size as u64));
        let layout = Layout::from_size_align(size, ALIGNMENT).map_err(|_| none())?;
        // SAFETY: the layout has a non-zero size.
        let memory = unsafe { alloc_zeroed(layout) };
        Ok(Self {
            start: NonNull::new(memory).ok_or_else(none)?,
            layout,
            window: 0,
            block,
        })
    }

    /// The bytes of all windows of the buffer, one after the other.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes (zeroed
        // at allocation) that only this value owns, and `self` is borrowed
        // mutably for as long as the slice lives. The kernel does not access them: an
        // operation in flight owns its IoBuf.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }

    /// Returns the block of the current window.
    #[inline]
    pub fn block(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes (zeroed
        // at allocation) that only this value owns, and `self` is borrowed for
        // as long as the slice lives, so nothing writes to them in that time.
        let all = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) };
        &all[self.window..self.window + self.block]
    }

    /// Returns the block of the current window for writing.
    #[inline]
    pub fn block_mut(&mut self) -> &mut [u8] {
        let (window, block) = (self.window, self.block);
        &mut self.all_mut()[window..window + block]
    }

    /// Moves to the next window, if there is more than one.
    #[inline]
    pub(crate) fn next_window(&mut self) {
        self.window += self.block;
        if self.window + self.block > self.layout.size() {
            self.window = 0;
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
pub fn fill_random(bytes: &mut [u8], rng: &mut SplitMix64) {
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = rng.next_u64().to_le_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&rng.next_u64().to_le_bytes()[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_for_which_there_is_no_memory_is_an_error() {
        for block in [1 << 62, u64::MAX] {
            let refused = IoBuf::of(block).unwrap_err().to_string();
            assert!(refused.contains("no memory for a buffer of"), "{refused}");
        }
        assert_eq!(IoBuf::of(512).unwrap().block(), [0; 512]);
    }

    #[test]
    fn every_window_is_aligned_and_holds_one_block() {
        for (block, siblings, windows) in [
            (1000, 1, 1),
            (CHANGED_WHOLE, 1, 1),
            (256 << 10, 1, 4),
            (256 << 10, 3, 2),
            (2 << 20, 1, 1),
        ] {
            let mut buf = IoBuf::to_write(block, siblings).unwrap();
            for number in 0..3 * windows {
                let before = buf.block_mut()[block - 1];
                assert_eq!(usize::from(before), number / windows, "{block}");
                buf.block_mut()[block - 1] += 1;
                assert_eq!(buf.block_mut().len(), block);
                assert_eq!(buf.block_mut().as_ptr() as usize % ALIGNMENT, 0);
                buf.next_window();
            }
        }
    }
}
