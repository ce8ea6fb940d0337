//! Map of the pieces of a region that were not used yet.

use crate::error::EngineError;
use std::cmp::Ordering;

/// Bits in a word.
const WORD: usize = 64;

/// A set of free pieces, numbered from 0. Above the bits of the pieces, summary
/// levels mark the words below that still have a set bit, so that the next free
/// piece is found in a few steps even if the map is almost empty.
#[derive(Clone, Debug)]
pub(super) struct FreeMap {
    /// Bits of the pieces, followed by the summary levels. A set bit means
    /// free.
    levels: Vec<Vec<u64>>,
}

impl FreeMap {
    /// Creates a map with all `len` pieces free.
    ///
    /// # Errors
    /// If there is not enough memory; the message names `job`.
    pub(super) fn new(len: u64, job: &str) -> Result<Self, EngineError> {
        let no_memory = || EngineError::Job {
            job: job.to_owned(),
            problem: format!(
                "not enough memory for a map of {len} blocks: use norandommap, larger blocks or one block size"
            ),
        };
        let mut levels = Vec::new();
        let mut bits = usize::try_from(len).map_err(|_| no_memory())?;
        loop {
            let words = bits.div_ceil(WORD);
            let mut level = Vec::new();
            level.try_reserve_exact(words).map_err(|_| no_memory())?;
            level.resize(words, 0);
            levels.push(level);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let mut map = Self { levels };
        map.free_first(len);
        Ok(map)
    }

    /// Marks the first `len` pieces as free and all others as used. `len` is at
    /// most the map's length.
    pub(super) fn free_first(&mut self, len: u64) {
        let mut bits = index(len);
        for level in &mut self.levels {
            let whole = bits / WORD;
            for (number, word) in level.iter_mut().enumerate() {
                *word = match number.cmp(&whole) {
                    Ordering::Less => u64::MAX,
                    Ordering::Equal => (1 << (bits % WORD)) - 1,
                    Ordering::Greater => 0,
                };
            }
            bits = bits.div_ceil(WORD);
        }
    }

    /// Returns the first free piece from `from` on, else the first one from 0
    /// on.
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        self.first_from(index(from))
            .or_else(|| self.first_from(0))
            .map(|piece| piece as u64)
    }

    /// Takes up to `most` free, adjacent pieces from `first` on, and returns
    /// their number.
    pub(super) fn take(&mut self, first: u64, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most {
            let piece = index(first + taken);
            let bit = piece % WORD;
            let Some(word) = self.levels[0].get_mut(piece / WORD) else {
                break;
            };
            let free = u64::from((*word >> bit).trailing_ones());
            let run = free.min(most - taken);
            if run == 0 {
                break;
            }
            *word &= !((u64::MAX >> (WORD as u64 - run)) << bit);
            if *word == 0 {
                self.word_is_empty(piece / WORD);
            }
            taken += run;
        }
        taken
    }

    /// Clears the summary bits of word `number` of the pieces, which has no bit
    /// left.
    fn word_is_empty(&mut self, mut number: usize) {
        for level in &mut self.levels[1..] {
            let word = &mut level[number / WORD];
            *word &= !(1 << (number % WORD));
            if *word != 0 {
                return;
            }
            number /= WORD;
        }
    }

    fn first_from(&self, from: usize) -> Option<usize> {
        let mut from = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(from / WORD)? & (u64::MAX << (from % WORD));
            if word != 0 {
                let found = from / WORD * WORD + word.trailing_zeros() as usize;
                return Some(self.lowest_below(found, height));
            }
            from = from / WORD + 1;
        }
        None
    }

    /// Returns the first free piece below bit `bit` of the level at `height`.
    fn lowest_below(&self, bit: usize, height: usize) -> usize {
        self.levels[..height].iter().rev().fold(bit, |bit, level| {
            bit * WORD + level[bit].trailing_zeros() as usize
        })
    }
}

/// Converts a piece's number to an index. It fits for every map that fits into
/// memory.
fn index(piece: u64) -> usize {
    usize::try_from(piece).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;
    use proptest::prelude::*;

    proptest! {
        /// Against the plainest map there is.
        #[test]
        fn it_finds_and_takes_what_a_plain_map_would(len in 1_u64..10_000, seed: u64) {
            let mut map = FreeMap::new(len, "t").unwrap();
            let mut plain = vec![true; usize::try_from(len).unwrap()];
            let mut rng = SplitMix64::new(seed);
            loop {
                let from = rng.below(len);
                let at = usize::try_from(from).unwrap();
                let wanted = (at..plain.len()).chain(0..at).find(|&i| plain[i]);
                prop_assert_eq!(map.next_free(from), wanted.map(|i| i as u64));
                let Some(first) = wanted else { break };
                let most = 1 + rng.below(200);
                let run = plain[first..].iter().take_while(|free| **free).count() as u64;
                prop_assert_eq!(map.take(first as u64, most), run.min(most));
                let end = first + usize::try_from(run.min(most)).unwrap();
                plain[first..end].fill(false);
            }
        }
    }

    #[test]
    fn freed_again_it_is_as_new_or_shorter() {
        let mut map = FreeMap::new(5000, "t").unwrap();
        assert_eq!(map.take(0, u64::MAX), 5000);
        assert_eq!(map.next_free(17), None);
        map.free_first(70);
        assert_eq!(map.next_free(69), Some(69));
        assert_eq!(map.take(0, 100), 70);
        assert_eq!(map.next_free(0), None);
    }
}
