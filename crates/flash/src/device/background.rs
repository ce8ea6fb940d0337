//! Background work of a card, beside the requests.

use super::noise::Noise;
use crate::time::Picos;

/// Work that is done in the background as long as there is not too much of it: what a cache
/// holds, what an SLC area has to fold, what garbage collection has to move.
#[derive(Clone, Debug)]
pub struct Bucket {
    block: Picos,
    capacity: Picos,
    empty_at: Picos,
}

impl Bucket {
    /// Room for so many blocks of work, each of which takes so long.
    pub fn empty(block: Picos, blocks: u64) -> Self {
        Self {
            block,
            capacity: block.times(blocks),
            empty_at: Picos::ZERO,
        }
    }

    /// The same without any room left.
    pub fn full(block: Picos, blocks: u64) -> Self {
        let empty = Self::empty(block, blocks);
        Self {
            empty_at: empty.capacity,
            ..empty
        }
    }

    /// Adds the work of so many blocks, which came from `begun` until `now`; how long that
    /// has to wait until it fits.
    pub fn add(&mut self, begun: Picos, now: Picos, blocks: u64, noise: &mut Noise) -> Picos {
        self.empty_at = self.empty_at.max(begun) + noise.on(self.block.times(blocks));
        (self.empty_at - now) - self.capacity
    }

    /// When all is done.
    pub const fn empty_at(&self) -> Picos {
        self.empty_at
    }
}

/// Regions of addresses in memory. Each has one place, which the last one that used it has:
/// a direct-mapped cache.
#[derive(Clone, Debug)]
pub struct Regions {
    held: Vec<Option<u64>>,
    blocks: u64,
    load: Picos,
}

impl Regions {
    /// So many places, for regions of so many blocks.
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
        // What comes slowly is done meanwhile.
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
