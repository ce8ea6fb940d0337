//! Mapping between writes and blocks.
//!
//! The area is written in passes, each block once per pass. Even passes go from the first block to
//! the last; in odd passes the block of place i is (i a + c) mod n, with a coprime to n:
//! neighbouring places are far apart, and the mapping is easy to invert.

use crate::rng::SplitMix64;

/// Order of the writes over an area.
#[derive(Clone, Copy, Debug)]
pub struct SoakOrder {
    blocks: u64,
    seed: u64,
}

impl SoakOrder {
    /// Creates the order for `blocks` blocks, at least one.
    pub fn new(blocks: u64, seed: u64) -> Self {
        Self {
            blocks: blocks.max(1),
            seed,
        }
    }

    /// Returns the block of a write.
    pub fn block_of(self, number: u64) -> u64 {
        let (pass, place) = (number / self.blocks, number % self.blocks);
        let (factor, shift) = self.pass(pass);
        self.modulo(u128::from(place) * u128::from(factor) + u128::from(shift))
    }

    /// Returns the last write before `next` to a block; `None` if there was none.
    pub fn last_before(self, next: u64, block: u64) -> Option<u64> {
        let pass = next / self.blocks;
        let in_pass = |pass: u64| pass * self.blocks + self.place_of(pass, block);
        let own = in_pass(pass);
        if own < next {
            return Some(own);
        }
        pass.checked_sub(1).map(in_pass)
    }

    /// Returns the place of a block in a pass.
    fn place_of(self, pass: u64, block: u64) -> u64 {
        let (factor, shift) = self.pass(pass);
        let back = self.blocks - self.modulo(u128::from(shift));
        let shifted = self.modulo(u128::from(block) + u128::from(back));
        self.modulo(u128::from(shifted) * u128::from(self.inverse(factor)))
    }

    /// Returns factor and shift of a pass.
    fn pass(self, pass: u64) -> (u64, u64) {
        if pass.is_multiple_of(2) || self.blocks < 3 {
            return (1, 0);
        }
        let mut rng = SplitMix64::new(self.seed ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shift = rng.next_u64() % self.blocks;
        loop {
            let factor = 1 + rng.next_u64() % (self.blocks - 1);
            if gcd(factor, self.blocks) == 1 {
                return (factor, shift);
            }
        }
    }

    /// Returns the inverse of a factor, by Euclid's extended algorithm.
    fn inverse(self, factor: u64) -> u64 {
        let modulus = i128::from(self.blocks);
        let (mut old, mut rest) = (i128::from(factor), modulus);
        let (mut found, mut next) = (1_i128, 0_i128);
        while rest != 0 {
            let times = old / rest;
            (old, rest) = (rest, old - times * rest);
            (found, next) = (next, found - times * next);
        }
        u64::try_from(found.rem_euclid(modulus)).unwrap_or(0)
    }

    fn modulo(self, value: u128) -> u64 {
        // The remainder is less than `blocks`, which has 64 bits.
        u64::try_from(value % u128::from(self.blocks)).unwrap_or(0)
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_last_write_of_each_block_is_known_at_every_moment() {
        for blocks in [1, 2, 3, 7, 12, 64] {
            let order = SoakOrder::new(blocks, 5);
            let mut held = BTreeMap::new();
            for next in 0..5 * blocks {
                for block in 0..blocks {
                    let expected = held.get(&block).copied();
                    assert_eq!(order.last_before(next, block), expected, "{blocks} {next}");
                }
                held.insert(order.block_of(next), next);
            }
            assert_eq!(held.len() as u64, blocks, "each block was written");
        }
    }

    #[test]
    fn every_other_pass_jumps() {
        let order = SoakOrder::new(1000, 9);
        let neighbours = |pass: u64| {
            let pairs = (0..999).map(|n| (pass * 1000 + n, pass * 1000 + n + 1));
            pairs
                .filter(|(a, b)| order.block_of(*a) + 1 == order.block_of(*b))
                .count()
        };
        assert_eq!(neighbours(0), 999);
        assert!(neighbours(1) < 100);
        assert_ne!(order.block_of(1000), order.block_of(3000), "another pass");
    }
}
