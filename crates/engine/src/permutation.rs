//! Random orders that need no map in memory.

use assay_model::rng::SplitMix64;

/// Rounds of the mixer. With four, some seeds still prefer small steps; from
/// five on the steps are spread as in a fair shuffle (tested below).
const ROUNDS: usize = 5;

/// A random permutation of `0..len` that needs no memory: block `i` of a pass
/// is computed from `i`. Every number occurs exactly once, for any `len`.
///
/// It is a bijective mixer on the next power of two (multiplication by odd
/// numbers, addition and xor-shift modulo 2^k are all invertible); results
/// outside `0..len` are fed back until they fall inside ("cycle walking",
/// Black and Rogaway 2002), on average less than once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    factors: [u64; ROUNDS],
    addends: [u64; ROUNDS],
}

impl Permutation {
    /// Creates the permutation of `0..len` for `seed`.
    pub(crate) fn new(len: u64, seed: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let mut rng = SplitMix64::new(seed);
        Self {
            len,
            mask,
            shift: bits.div_ceil(2).max(1),
            factors: std::array::from_fn(|_| rng.next_u64() | 1),
            addends: std::array::from_fn(|_| rng.next_u64()),
        }
    }

    /// Returns the number of ordered values.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number at position `index`, which must be below `len`.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.len);
        let mut x = self.mix(index);
        while x >= self.len {
            x = self.mix(x);
        }
        x
    }

    /// Replaces the first `count` of `numbers` by the numbers at these
    /// positions. Results outside the range are collected without a branch,
    /// which the processor could not predict, and mixed again together.
    #[inline]
    fn all_at(&self, numbers: &mut [u64; Ahead::BATCH], count: usize) {
        let mut outside: [usize; Ahead::BATCH] = std::array::from_fn(|place| place);
        let mut left = count;
        while left > 0 {
            let mut still = 0;
            for at in 0..left {
                let place = outside[at];
                let x = self.mix(numbers[place]);
                numbers[place] = x;
                outside[still] = place;
                still += usize::from(x >= self.len);
            }
            left = still;
        }
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for (factor, addend) in self.factors.iter().zip(&self.addends) {
            x = x.wrapping_mul(*factor).wrapping_add(*addend) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

/// Block numbers computed in batches. One number is a chain of dependent
/// multiplications; the processor overlaps those of a batch, which makes each
/// number about four times cheaper.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    order: Permutation,
    numbers: [u64; Self::BATCH],
    /// Next position in `numbers`; `BATCH` when a new batch is needed.
    next: usize,
    computed: u64,
}

impl Ahead {
    const BATCH: usize = 64;

    /// Creates a source of the numbers of `order`, from its first position.
    pub(crate) fn new(order: Permutation) -> Self {
        Self {
            order,
            numbers: [0; Self::BATCH],
            next: Self::BATCH,
            computed: 0,
        }
    }

    /// Returns the next number. The caller counts the positions of a pass.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        if self.next >= Self::BATCH {
            self.compute();
        }
        let number = self.numbers[self.next];
        self.next += 1;
        number
    }

    #[inline(never)]
    fn compute(&mut self) {
        let places = self.computed..self.order.len();
        let mut batch = 0;
        for (number, place) in self.numbers.iter_mut().zip(places) {
            *number = place;
            batch += 1;
        }
        self.order.all_at(&mut self.numbers, batch);
        self.computed += batch as u64;
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_exactly_once(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut seen = vec![false; usize::try_from(len).unwrap()];
            for i in 0..len {
                let slot = &mut seen[usize::try_from(order.at(i)).unwrap()];
                prop_assert!(!*slot);
                *slot = true;
            }
        }

        #[test]
        fn batches_give_the_same_numbers(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut ahead = Ahead::new(order);
            for i in 0..len {
                prop_assert_eq!(ahead.next(), order.at(i));
            }
        }

        #[test]
        fn huge_lengths_stay_inside(len in (1u64 << 40)..u64::MAX, seed: u64, at: u64) {
            prop_assert!(Permutation::new(len, seed).at(at % len) < len);
        }
    }

    /// Neighbours in the order must not be neighbours on the device: the share
    /// of small steps in either direction is that of a fair shuffle.
    #[test]
    fn the_order_has_no_locality() {
        for bits in [10, 13, 16, 18] {
            let len = 1_u64 << bits;
            let chance = 2.0 / 64.0;
            let mut squares = 0.0;
            for seed in 0..60 {
                let order = Permutation::new(len, seed);
                let near = (1..len)
                    .filter(|&i| order.at(i).abs_diff(order.at(i - 1)) < len / 64)
                    .count();
                let steps = (len - 1) as f64;
                let z = (near as f64 - steps * chance) / (steps * chance * (1.0 - chance)).sqrt();
                assert!(z.abs() < 4.5, "{bits} bits, seed {seed}: z = {z:.1}");
                squares += z * z;
            }
            // The mean of 60 squared standard normals is 1 +- 0.18.
            let mean_square = squares / 60.0;
            assert!(
                mean_square < 1.8,
                "{bits} bits: mean square {mean_square:.2}"
            );
        }
    }
}
