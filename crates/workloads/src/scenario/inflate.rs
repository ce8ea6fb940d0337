//! CPU load: inflating (RFC 1951), as installers do between reading and writing. The same
//! text-like block is inflated repeatedly, because the purpose is the processor's share
//! of the time, not a format.

use super::stage::Turn;
use super::{Play, Scene};
use crate::ActError;
use assay_model::rng::SplitMix64;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;

/// Decompressed size of a block in bytes.
const BLOCK: usize = 256 << 10;
/// Compression level; gzip's default.
const LEVEL: u8 = 6;
/// Number of different words in the text.
const WORDS: u64 = 4096;

/// A compressed block, and a buffer for its content.
pub(super) struct Inflater {
    packed: Vec<u8>,
    out: Vec<u8>,
    /// Requested bytes that are less than a block.
    owed: u64,
}

impl Inflater {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            packed: compress_to_vec(&text(seed), LEVEL),
            out: vec![0; BLOCK],
            owed: 0,
        }
    }

    /// Inflates `bytes`, in whole blocks on average; returns the bytes inflated now.
    pub(super) fn inflate(&mut self, bytes: u64) -> u64 {
        self.owed += bytes;
        let mut done = 0;
        while self.owed >= BLOCK as u64 {
            let packed = std::iter::once(self.packed.as_slice());
            let came = decompress_slice_iter_to_slice(&mut self.out, packed, false, true);
            debug_assert_eq!(came, Ok(BLOCK));
            std::hint::black_box(&self.out);
            self.owed -= BLOCK as u64;
            done += BLOCK as u64;
        }
        done
    }
}

/// Returns text in an order derived from the seed, which compresses to about a third.
fn text(seed: u64) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let mut text = Vec::with_capacity(BLOCK + 16);
    while text.len() < BLOCK {
        // Small numbers are frequent, like some words in a text.
        let most = 1 + rng.below(WORDS);
        let number = rng.below(most);
        text.extend_from_slice(format!("w{:x} ", number * 2_654_435_761 % 16_777_213).as_bytes());
    }
    text.truncate(BLOCK);
    text
}

/// CPU load without I/O.
pub(super) struct Inflating {
    inflater: Inflater,
    bytes: u64,
}

impl Inflating {
    pub(super) fn new(bytes: u64, scene: &Scene) -> Self {
        Self {
            inflater: Inflater::new(scene.seed),
            bytes: bytes.next_multiple_of(BLOCK as u64),
        }
    }
}

impl Play for Inflating {
    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let mut left = self.bytes;
        while left > 0 {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let done = self.inflater.inflate(BLOCK as u64);
            turn.step.inflated_bytes += done;
            turn.over(due_ns);
            turn.tell(done);
            if !turn.again() {
                left = left.saturating_sub(done);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_inflated_as_is_asked_for_over_time() {
        let mut inflater = Inflater::new(1);
        let each = BLOCK as u64 / 2 + 1;
        let done: Vec<u64> = (0..4).map(|_| inflater.inflate(each)).collect();
        assert_eq!(done, [0, BLOCK as u64, 0, BLOCK as u64]);
        assert_eq!(inflater.out, text(1), "and it is the text");
        let share = inflater.packed.len() * 100 / BLOCK;
        assert!((15..60).contains(&share), "{share} %");
    }
}
