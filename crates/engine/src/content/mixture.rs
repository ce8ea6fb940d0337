//! Blocks that can be compressed as far as asked.

use super::pattern;
use crate::buffer::fill_random;
use assay_model::load::content::{ContentPattern, WriteContent};
use assay_model::rng::SplitMix64;

/// Random content, of which a share gives way to zeros or a pattern.
#[derive(Debug)]
pub(crate) struct Mixture {
    /// That share.
    percent: usize,
    /// It is kept in each piece of that size; 0: of each block.
    chunk: usize,
    /// In place of zeros, unless empty.
    pattern: ContentPattern,
}

impl Mixture {
    /// As far as `content` says; random if it says nothing.
    pub(crate) fn new(content: &WriteContent) -> Self {
        Self {
            percent: content.compress_percent.unwrap_or(0).min(100).into(),
            chunk: content.compress_chunk as usize,
            pattern: content.pattern.clone(),
        }
    }

    /// Fills a block at `offset`. The same seed gives the same content.
    pub(crate) fn fill(&self, block: &mut [u8], seed: u64, offset: u64) {
        let mut numbers = SplitMix64::new(seed);
        if self.percent == 0 {
            fill_random(block, &mut numbers);
            return;
        }
        let chunk = if self.chunk == 0 {
            block.len().max(1)
        } else {
            self.chunk
        };
        for piece in block.chunks_mut(chunk) {
            let random = piece.len() * (100 - self.percent) / 100;
            let (random, rest) = piece.split_at_mut(random);
            fill_random(random, &mut numbers);
            if self.pattern.bytes.is_empty() {
                rest.fill(0);
            } else {
                pattern::fill(rest, &self.pattern, offset);
            }
        }
    }
}
