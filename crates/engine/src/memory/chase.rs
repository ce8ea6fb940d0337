//! Dependent loads: each load returns the address of the next, so that no load can
//! begin before the previous one has ended.

use super::Region;
use assay_model::rng::SplitMix64;
use std::io;

/// Number of loads per iteration of the loop.
const UNROLLED: u64 = 16;

/// A cycle through all lines of a region in random order, which a prefetcher cannot
/// predict.
#[derive(Debug)]
pub struct Chain {
    region: Region,
    at: *const *const u8,
}

// SAFETY: the pointer leads into the region, which the chain owns.
unsafe impl Send for Chain {}

impl Chain {
    /// Creates a cycle through `bytes` bytes with one pointer per line. The seed
    /// determines the order.
    ///
    /// # Errors
    /// As for [`Region::new`].
    pub fn new(bytes: usize, line_bytes: usize, seed: u64) -> io::Result<Self> {
        let line_bytes = line_bytes.max(size_of::<usize>()).next_power_of_two();
        let lines = (bytes / line_bytes).max(1);
        let region = Region::new(lines * line_bytes)?;
        let place = |line: usize| {
            // SAFETY: `line` is below `lines`, all of which the region has; lines are
            // aligned to more than a pointer, as the region is.
            unsafe { region.start().add(line * line_bytes).cast::<usize>() }
        };
        for line in 0..lines {
            // SAFETY: a place in the region, to which no other reference exists.
            unsafe { place(line).write(line) };
        }
        // Sattolo's algorithm: a permutation that is one cycle.
        let mut rng = SplitMix64::new(seed);
        for line in (1..lines).rev() {
            let other = usize::try_from(rng.next_u64() % line as u64).unwrap_or(0);
            // SAFETY: two places in the region, as above.
            unsafe { place(line).swap(place(other)) };
        }
        for line in 0..lines {
            // SAFETY: the place holds the number of a line, written above.
            let next = place(unsafe { place(line).read() });
            // SAFETY: as above; the number is replaced by the pointer to that line.
            unsafe { place(line).cast::<*const u8>().write(next.as_ptr().cast()) };
        }
        let at = region.start().as_ptr().cast::<*const u8>();
        Ok(Self { region, at })
    }

    /// Returns the memory of the cycle.
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// Follows the cycle for `loads` loads, rounded up to a multiple of 16, and
    /// returns the number of loads made.
    pub fn walk(&mut self, loads: u64) -> u64 {
        let rounds = loads.div_ceil(UNROLLED);
        let mut at = self.at;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: every place of the cycle holds a pointer to a place of it.
                at = unsafe { at.read() }.cast();
            }
        }
        self.at = std::hint::black_box(at);
        rounds * UNROLLED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_each_line_once_and_comes_back() {
        let lines = 128;
        let mut chain = Chain::new(lines * 64, 64, 7).unwrap();
        let begin = chain.at;
        let mut seen = std::collections::HashSet::new();
        for _ in 0..lines {
            assert!(seen.insert(chain.at as usize));
            // SAFETY: as in `walk`.
            chain.at = unsafe { chain.at.read() }.cast();
        }
        assert_eq!(chain.at, begin);
        assert_eq!(chain.walk(100), 112);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let first = |seed| {
            let chain = Chain::new(1 << 16, 64, seed).unwrap();
            // SAFETY: as in `walk`.
            let second = unsafe { chain.at.read() };
            second as u64 - chain.region().address()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
