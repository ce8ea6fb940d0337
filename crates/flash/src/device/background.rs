//! Background work of a card, beside the requests.

use super::noise::Noise;
use crate::time::Picos;

/// Background work up to a limit: data in a cache, data to be folded from an SLC area, data
/// to be moved by garbage collection.
#[derive(Clone, Debug)]
pub struct Bucket {
    block: Picos,
    capacity: Picos,
    empty_at: Picos,
}

impl Bucket {
    /// Creates an idle bucket for `blocks` blocks of work, each of which takes `block`.
    pub fn empty(block: Picos, blocks: u64) -> Self {
        Self {
            block,
            capacity: block.times(blocks),
            empty_at: Picos::ZERO,
        }
    }

    /// Creates a bucket that is full.
    pub fn full(block: Picos, blocks: u64) -> Self {
        let empty = Self::empty(block, blocks);
        Self {
            empty_at: empty.capacity,
            ..empty
        }
    }

    /// Adds the work of `blocks` blocks that arrived from `begun` until `now`. Returns the
    /// time to wait until it fits.
    pub fn add(&mut self, begun: Picos, now: Picos, blocks: u64, noise: &mut Noise) -> Picos {
        self.empty_at = self.empty_at.max(begun) + noise.on(self.block.times(blocks));
        (self.empty_at - now) - self.capacity
    }

    /// Returns the time at which all work is done.
    pub const fn empty_at(&self) -> Picos {
        self.empty_at
    }
}

/// Regions of the address map in memory, as a direct-mapped cache.
#[derive(Clone, Debug)]
pub struct Regions {
    held: Vec<Option<u64>>,
    blocks: u64,
    load: Picos,
}

impl Regions {
    /// Creates an empty cache of `places` regions of `blocks` blocks each.
    pub fn new(places: u32, blocks: u64, load: Picos) -> Self {
        Self {
            held: vec![None; places.max(1) as usize],
            blocks: blocks.max(1),
            load,
        }
    }

    /// Returns the time until the mapping of these blocks is loaded.
    pub fn touch(&mut self, block: u64, blocks: u64) -> Picos {
        let first = block / self.blocks;
        let last = block.saturating_add(blocks.saturating_sub(1)) / self.blocks;
        (first..=last).map(|region| self.load(region)).sum()
    }

    fn load(&mut self, region: u64) -> Picos {
        let places = self.held.len() as u64;
        let place = usize::try_from(region % places).unwrap_or(0);
        match self.held.get_mut(place) {
            Some(held) if *held != Some(region) => {
                *held = Some(region);
                self.load
            }
            _ => Picos::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_only_when_there_is_too_much_of_it() {
        let mut bucket = Bucket::empty(Picos(10), 2);
        let at = |moment| (Picos(moment), Picos(moment));
        let mut add =
            |(begun, now), blocks| bucket.add(begun, now, blocks, &mut Noise::new(0.0, 0));
        assert_eq!(add(at(0), 2), Picos(0));
        assert_eq!(add(at(0), 1), Picos(10));
        // All is done by then.
        assert_eq!(add(at(100), 2), Picos(0));
        // Work that arrives slowly is done in the meantime.
        assert_eq!(add((Picos(200), Picos(240)), 6), Picos(0));
        let mut full = Bucket::full(Picos(10), 2);
        assert_eq!(
            full.add(Picos(0), Picos(0), 3, &mut Noise::new(0.0, 0)),
            Picos(30)
        );
    }

    #[test]
    fn a_region_is_loaded_once_until_another_takes_its_place() {
        let mut regions = Regions::new(2, 8, Picos(5));
        assert_eq!(regions.touch(0, 16), Picos(10));
        assert_eq!(regions.touch(7, 1), Picos(0));
        assert_eq!(regions.touch(16, 1), Picos(5));
        assert_eq!(regions.touch(0, 1), Picos(5));
    }
}
