//! Memory for the blocks of a copy.

use crate::WorkError;
use assay_model::gnu::{self, Base};
use assay_model::work::copy::{Extent, FileCopy};

/// Alignment that is sufficient for direct I/O on every system.
const ALIGNMENT: usize = 4096;

/// A block aligned to a page. Memory that is not touched is not allocated by the kernel.
#[derive(Debug)]
pub(super) struct PageAlignedBlock {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageAlignedBlock {
    /// Allocates a block; `None` if there is not enough memory.
    fn new(length: u64) -> Option<Self> {
        let length = usize::try_from(length).ok()?;
        let size = length.checked_add(ALIGNMENT)?;
        // Checked first, because a failed allocation below would abort the process.
        Vec::<u8>::new().try_reserve_exact(size).ok()?;
        let memory = vec![0; size];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Some(Self {
            memory,
            start,
            length,
        })
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// Blocks of a copy.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) input: PageAlignedBlock,
    /// `None` if data is written from the input block.
    pub(super) output: Option<PageAlignedBlock>,
}

impl Buffers {
    pub(super) fn new(work: &FileCopy) -> Result<Self, WorkError> {
        // Nothing will be read: dd does not allocate the memory either.
        let idle = work.count.is_some_and(Extent::is_empty);
        let size = |block: u64| {
            if idle && work.seek.is_empty() && work.skip.is_empty() {
                1
            } else {
                block
            }
        };
        let block = |what: &str, length: u64| {
            PageAlignedBlock::new(size(length)).ok_or_else(|| exhausted(what, length))
        };
        Ok(Self {
            input: block("input", work.input_block)?,
            output: match work.reblock {
                true => Some(block("output", work.output_block)?),
                false => None,
            },
        })
    }
}

fn exhausted(what: &str, length: u64) -> WorkError {
    WorkError::failed(format!(
        "memory exhausted by {what} buffer of size {length} bytes ({})",
        gnu::size(length, Base::Binary)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_with_a_page_and_is_zero() {
        for length in [1, 512, 1 << 20] {
            let mut block = PageAlignedBlock::new(length).unwrap();
            let bytes = block.bytes_mut();
            assert_eq!(bytes.len() as u64, length);
            assert_eq!(bytes.as_ptr() as usize % ALIGNMENT, 0);
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        assert!(PageAlignedBlock::new(u64::MAX).is_none());
    }
}
