//! Length of the next block.

use assay_model::load::blocks::BlockSizes;
use assay_model::rng::SplitMix64;

/// The block sizes of one direction.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    min: u32,
    max: u32,
    /// Alignment of block offsets in random order, in bytes.
    align: u32,
    kind: LengthKind,
}

#[derive(Clone, Debug)]
enum LengthKind {
    Fixed,
    /// Random multiples of the smallest size.
    Multiples,
    /// Random numbers of bytes.
    Bytes,
    /// Pairs of size and weight.
    Split(Vec<(u32, u8)>),
}

impl Lengths {
    /// Creates the lengths for `sizes`: multiples of the smallest size, unless
    /// `unaligned`.
    pub(super) fn new(sizes: &BlockSizes, unaligned: bool) -> Self {
        let split: Vec<(u32, u8)> = sizes
            .split
            .iter()
            .copied()
            .filter(|&(size, percent)| size > 0 && percent > 0)
            .collect();
        let of_split = |pick: fn(std::vec::IntoIter<u32>) -> Option<u32>, otherwise| {
            let sizes: Vec<u32> = split.iter().map(|&(size, _)| size).collect();
            pick(sizes.into_iter()).unwrap_or(otherwise)
        };
        let min = of_split(Iterator::min, sizes.min).max(1);
        let max = of_split(Iterator::max, sizes.max).max(min);
        let kind = match (min == max, split.is_empty(), unaligned) {
            (true, ..) => LengthKind::Fixed,
            (false, false, _) => LengthKind::Split(split),
            (false, true, true) => LengthKind::Bytes,
            (false, true, false) => LengthKind::Multiples,
        };
        Self {
            min,
            max,
            align: if sizes.align == 0 { min } else { sizes.align },
            kind,
        }
    }

    /// Returns the smallest block size.
    pub(super) const fn min(&self) -> u32 {
        self.min
    }

    /// Returns the alignment of block offsets in random order, in bytes.
    pub(super) const fn align(&self) -> u32 {
        self.align
    }

    /// Returns the length shared by all blocks, if it is fixed.
    pub(super) const fn fixed(&self) -> Option<u32> {
        match self.kind {
            LengthKind::Fixed => Some(self.min),
            _ => None,
        }
    }

    /// Returns the next length that fits into `room`; `None` if none fits.
    pub(super) fn draw(&self, rng: &mut SplitMix64, room: u64) -> Option<u32> {
        if room < u64::from(self.min) {
            return None;
        }
        let most = u32::try_from(room).unwrap_or(u32::MAX).min(self.max);
        Some(match &self.kind {
            LengthKind::Fixed => self.min,
            LengthKind::Multiples => self.min * (1 + below(rng, most / self.min)),
            LengthKind::Bytes => self.min + below(rng, most - self.min + 1),
            LengthKind::Split(sizes) => pick(sizes, most, rng),
        })
    }
}

/// Draws one of the sizes up to `most` by weight. The smallest size must fit.
fn pick(sizes: &[(u32, u8)], most: u32, rng: &mut SplitMix64) -> u32 {
    let fitting = || sizes.iter().filter(|&&(size, _)| size <= most);
    let weights = fitting().map(|&(_, weight)| u32::from(weight)).sum();
    let mut at = below(rng, weights);
    for &(size, weight) in fitting() {
        match at.checked_sub(u32::from(weight)) {
            Some(left) => at = left,
            None => return size,
        }
    }
    most
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a number below a 32-bit bound"
)]
fn below(rng: &mut SplitMix64, bound: u32) -> u32 {
    rng.below(u64::from(bound)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sizes(min: u32, max: u32, split: &[(u32, u8)]) -> BlockSizes {
        BlockSizes {
            min,
            max,
            split: split.to_vec(),
            align: 0,
        }
    }

    fn counts(lengths: &Lengths, room: u64) -> BTreeMap<u32, u32> {
        let mut rng = SplitMix64::new(3);
        let mut counts = BTreeMap::new();
        for _ in 0..100_000 {
            *counts
                .entry(lengths.draw(&mut rng, room).unwrap())
                .or_default() += 1;
        }
        counts
    }

    #[test]
    fn a_range_gives_each_multiple_alike() {
        let counts = counts(&Lengths::new(&sizes(1024, 4096, &[]), false), u64::MAX);
        assert_eq!(
            counts.keys().copied().collect::<Vec<_>>(),
            [1024, 2048, 3072, 4096]
        );
        // Binomial with p = 1/4: standard deviation 137.
        assert!(
            counts.values().all(|n| (24_300..25_700).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_split_keeps_its_shares_and_skips_what_does_not_fit() {
        let split = [(4096, 70), (8192, 20), (65536, 10), (512, 0)];
        let lengths = Lengths::new(&sizes(4096, 65536, &split), false);
        let all = counts(&lengths, u64::MAX);
        assert!((69_300..70_700).contains(&all[&4096]), "{all:?}");
        assert!((19_300..20_700).contains(&all[&8192]), "{all:?}");
        let fitting = counts(&lengths, 10_000);
        assert_eq!(fitting.len(), 2);
        assert!((77_000..78_600).contains(&fitting[&4096]), "{fitting:?}");
    }

    #[test]
    fn unaligned_lengths_are_any_number_of_bytes() {
        let counts = counts(&Lengths::new(&sizes(512, 600, &[]), true), 599);
        assert_eq!(counts.len(), 88);
        assert_eq!(counts.keys().next(), Some(&512));
    }

    #[test]
    fn no_room_no_block() {
        let lengths = Lengths::new(&sizes(512, 600, &[]), true);
        assert_eq!(lengths.draw(&mut SplitMix64::new(1), 511), None);
    }
}
