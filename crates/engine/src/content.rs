//! Contents of the blocks that a load writes.
//!
//! The default is random data. Blocks of up to 128 KiB are changed in every byte for each write (80
//! ns for 4 KiB): file system compressors look at that much together, in whatever order it was
//! written, and must not find a block that resembles another. Larger blocks only get marks, to save
//! CPU time.

mod mixture;
pub(crate) mod pattern;
mod repeats;
#[cfg(test)]
mod tests;

use crate::buffer::{CHANGED_WHOLE, fill_random};
use crate::extra::Loads;
use assay_model::load::content::{ContentPattern, WriteContent};
use assay_model::rng::SplitMix64;
use repeats::Repeats;

pub(crate) use mixture::Mixture;

/// Larger blocks are marked at this distance, so that no two sectors are equal.
const SECTOR: usize = 512;
/// Bytes of a mark: a number, and the same number in disguise.
const MARK: usize = 16;

/// Fills blocks before they are written. It needs nothing of what a block held
/// before: buffers may come fresh, or from a read.
#[derive(Debug)]
pub(crate) struct Filler {
    content: Content,
}

#[derive(Debug)]
enum Content {
    Zero,
    Pattern(ContentPattern, Loads),
    Kept(Kept),
    Fresh(Fresh, Loads),
}

impl Filler {
    /// For blocks of up to `largest_block` bytes. The same seed gives the same
    /// content.
    pub(crate) fn new(content: &WriteContent, largest_block: u32, seed: u64) -> Self {
        let of_loads = Loads::here().and_then(|loads| Content::of_load(content, seed, loads));
        let content = of_loads.unwrap_or_else(|| match content.zero {
            true => Content::Zero,
            false => Content::Kept(Kept::new(largest_block, content.scramble, seed)),
        });
        Self { content }
    }

    /// Says where duplicates come from with [`DedupeMode::WorkingSet`]: from a
    /// share of the `blocks` that the region holds, and of the streams with
    /// these seeds (`dedupe_global`; none: only of its own).
    ///
    /// [`DedupeMode::WorkingSet`]: assay_model::load::content::DedupeMode::WorkingSet
    pub(crate) fn with_working_set(mut self, blocks: u64, streams: &[u64]) -> Self {
        if let Content::Fresh(fresh, _) = &mut self.content {
            fresh.repeats.set_working_set(blocks, streams);
        }
        self
    }

    /// Makes the random content of a buffer that only gets marks later: before the clock starts,
    /// since it takes longer than many devices take for a block.
    pub(crate) fn prepare(&mut self, buffer: &mut [u8]) {
        if let Content::Kept(kept) = &mut self.content {
            kept.prepare(buffer);
        }
    }

    /// Fills a block that will be written at `offset`.
    #[inline]
    pub(crate) fn fill(&mut self, block: &mut [u8], offset: u64) {
        match &mut self.content {
            Content::Kept(kept) => kept.fill(block),
            Content::Zero => block.fill(0),
            Content::Pattern(pattern, _) => pattern::fill(block, pattern, offset),
            Content::Fresh(fresh, _) => fresh.fill(block, offset),
        }
    }
}

impl Content {
    /// Creates content that only loads ask for, never the jobs of a plan.
    fn of_load(content: &WriteContent, seed: u64, loads: Loads) -> Option<Self> {
        let made_to_measure = content.compress_percent.is_some() || content.dedupe_percent > 0;
        if made_to_measure {
            Some(Self::Fresh(Fresh::new(content, seed), loads))
        } else if !content.pattern.bytes.is_empty() {
            Some(Self::Pattern(content.pattern.clone(), loads))
        } else if content.refill && !content.zero {
            Some(Self::Fresh(Fresh::new(content, seed), loads))
        } else {
            None
        }
    }
}

/// Random content that is made once and then only changed a little.
#[derive(Debug)]
struct Kept {
    base: Box<[u8]>,
    scramble: bool,
    numbers: SplitMix64,
    /// Key that separates this filler's marks from other data.
    disguise: u64,
}

impl Kept {
    fn new(largest_block: u32, scramble: bool, seed: u64) -> Self {
        let mut numbers = SplitMix64::new(seed);
        let mut base = vec![0; CHANGED_WHOLE.min(largest_block as usize)].into_boxed_slice();
        fill_random(&mut base, &mut numbers);
        Self {
            base,
            scramble,
            disguise: numbers.next_u64(),
            numbers,
        }
    }

    fn prepare(&mut self, buffer: &mut [u8]) {
        if !self.is_changed_whole(buffer.len()) {
            buffer
                .chunks_mut(SECTOR)
                .for_each(|sector| self.mark(sector));
        }
    }

    /// Returns true if every byte of a block so long is changed for each write.
    #[inline]
    const fn is_changed_whole(&self, length: usize) -> bool {
        self.scramble && length <= self.base.len()
    }

    #[inline]
    fn fill(&mut self, block: &mut [u8]) {
        if self.is_changed_whole(block.len()) {
            combine(block, &self.base, self.numbers.next_u64());
        } else {
            for sector in block.chunks_mut(SECTOR) {
                self.mark(sector);
            }
        }
    }

    /// Gives the sector a new mark. If it has none yet, it is filled first.
    fn mark(&mut self, sector: &mut [u8]) {
        let Some((mark, rest)) = sector.split_first_chunk_mut::<MARK>() else {
            fill_random(sector, &mut self.numbers);
            return;
        };
        let (words, _) = mark.as_chunks::<8>();
        let [number, disguised] = [0, 1].map(|i: usize| u64::from_le_bytes(words[i]));
        let known = number ^ disguised == self.disguise;
        if !known {
            fill_random(rest, &mut self.numbers);
        }
        if self.scramble || !known {
            let number = self.numbers.next_u64();
            mark[..8].copy_from_slice(&number.to_le_bytes());
            mark[8..].copy_from_slice(&(number ^ self.disguise).to_le_bytes());
        }
    }
}

/// Writes `base` into `block` with each word changed by `key`: what is random
/// stays random, and no word is what it was in another block.
#[inline]
fn combine(block: &mut [u8], base: &[u8], key: u64) {
    let (words, rest) = block.as_chunks_mut::<8>();
    let (from, _) = base.as_chunks::<8>();
    for (word, from) in words.iter_mut().zip(from) {
        *word = (u64::from_le_bytes(*from) ^ key).to_le_bytes();
    }
    let done = words.len() * 8;
    for ((byte, from), key) in rest.iter_mut().zip(&base[done..]).zip(key.to_le_bytes()) {
        *byte = from ^ key;
    }
}

/// Content that is made anew for each write.
#[derive(Debug)]
struct Fresh {
    repeats: Repeats,
    mixture: Mixture,
    /// Duplicates must not tell where they are.
    anywhere: bool,
}

impl Fresh {
    fn new(content: &WriteContent, seed: u64) -> Self {
        Self {
            repeats: Repeats::new(content, seed),
            mixture: Mixture::new(content),
            anywhere: content.dedupe_percent > 0,
        }
    }

    fn fill(&mut self, block: &mut [u8], offset: u64) {
        let offset = if self.anywhere { 0 } else { offset };
        self.mixture.fill(block, self.repeats.next_seed(), offset);
    }
}
