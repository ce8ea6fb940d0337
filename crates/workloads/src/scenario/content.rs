//! Content of the files of scenarios. It is derived from a seed and the offset alone, so that a
//! check needs no copy and can compute the digest by itself.

use assay_engine::buffer::fill_random;
use assay_model::rng::SplitMix64;
use sha2::{Digest, Sha256};

/// Distance in bytes after which content repeats, larger than the window of compressors; each
/// sector has a mark, so that no two are equal.
const PERIOD: usize = 1 << 20;
/// Distance of the marks in bytes.
const SECTOR: u64 = 4096;
const MARK_STEP: usize = 4096;
/// Bytes that are hashed at a time.
const CHUNK: usize = 1 << 20;

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Seed of the bytes.
    pub(super) seed: u64,
    /// Length in bytes.
    pub(super) bytes: u64,
    /// Percentage of blocks that are holes.
    pub(super) holes_percent: u8,
    /// Size in bytes of the blocks that may be holes.
    pub(super) block: u64,
}

impl Recipe {
    /// Returns true if the block at an offset is a hole.
    pub(super) fn is_hole(&self, offset: u64) -> bool {
        if self.holes_percent == 0 {
            return false;
        }
        let number = offset / self.block.max(1);
        let mut draw = SplitMix64::new(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        draw.below(100) < u64::from(self.holes_percent)
    }

    /// Returns the SHA-256 of all written data. Holes are skipped, because the content of a
    /// device there is not that of the file.
    pub(super) fn digest(&self) -> String {
        let source = ContentSource::new(self.seed);
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        for (offset, length) in self.extents(CHUNK as u64) {
            let length = usize::try_from(length).unwrap_or(CHUNK);
            source.fill(&mut buffer[..length], offset);
            hasher.update(&buffer[..length]);
        }
        hex(&hasher.finalize())
    }

    /// Returns offsets and lengths of the written data, at most `most` bytes each.
    pub(super) fn extents(&self, most: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        // A piece must not extend over a block that may be a hole.
        let piece = match self.holes_percent {
            0 => most,
            _ => most.min(self.block.max(1)),
        };
        let mut offset = 0;
        std::iter::from_fn(move || {
            while offset < self.bytes {
                let at = offset;
                let to_block = match self.holes_percent {
                    0 => piece,
                    _ => self.block.max(1) - at % self.block.max(1),
                };
                let length = piece.min(to_block).min(self.bytes - at);
                offset += length;
                if !self.is_hole(at) {
                    return Some((at, length));
                }
            }
            None
        })
    }
}

/// Generates the bytes of a seed.
pub(super) struct ContentSource {
    seed: u64,
    base: Vec<u8>,
}

impl ContentSource {
    pub(super) fn new(seed: u64) -> Self {
        let mut base = vec![0; PERIOD];
        fill_random(&mut base, &mut SplitMix64::new(seed));
        Self { seed, base }
    }

    /// Fills a buffer with the content at an offset.
    pub(super) fn fill(&self, into: &mut [u8], offset: u64) {
        let mut at = usize::try_from(offset % PERIOD as u64).unwrap_or(0);
        let mut rest = &mut into[..];
        while !rest.is_empty() {
            let length = rest.len().min(PERIOD - at);
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(&self.base[at..at + length]);
            rest = later;
            at = 0;
        }
        self.mark(into, offset);
    }

    /// Marks each sector at its begin with a different word.
    fn mark(&self, into: &mut [u8], offset: u64) {
        let end = offset + into.len() as u64;
        let first = offset - offset % SECTOR;
        for sector in (first..end).step_by(MARK_STEP) {
            let word = SplitMix64::new(self.seed ^ sector).next_u64().to_le_bytes();
            for (byte, at) in word.into_iter().zip(sector..) {
                if (offset..end).contains(&at)
                    && let Ok(place) = usize::try_from(at - offset)
                {
                    into[place] = byte;
                }
            }
        }
    }
}

/// Formats bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_depend_on_their_offset_alone_and_sectors_differ() {
        let source = ContentSource::new(7);
        let mut whole = vec![0; 3 * PERIOD];
        source.fill(&mut whole, 0);
        for (at, length) in [(0, 200), (4090, 30), (PERIOD - 7, 5000), (2 * PERIOD, 1)] {
            let mut part = vec![0; length];
            source.fill(&mut part, at as u64);
            assert_eq!(part, whole[at..at + length], "{at}");
        }
        assert_ne!(whole[..4096], whole[PERIOD..PERIOD + 4096]);
    }

    #[test]
    fn a_digest_leaves_holes_out() {
        let recipe = Recipe {
            seed: 3,
            bytes: 10 * 4096 + 5,
            holes_percent: 50,
            block: 4096,
        };
        let written: u64 = recipe.extents(1000).map(|(_, length)| length).sum();
        let holes = (0..11).filter(|n| recipe.is_hole(n * 4096)).count();
        assert!(holes > 0 && holes < 11);
        let source = ContentSource::new(3);
        let mut hasher = Sha256::new();
        for n in (0..11).filter(|n| !recipe.is_hole(n * 4096)) {
            let mut block = vec![0; if n == 10 { 5 } else { 4096 }];
            source.fill(&mut block, n * 4096);
            hasher.update(&block);
        }
        assert_eq!(recipe.digest(), hex(&hasher.finalize()));
        assert!(written < recipe.bytes);
    }
}
