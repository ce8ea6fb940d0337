//! Storage in memory that lies as real fakes do.

use super::store::BlockStore;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;

/// How addresses are dealt with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lie {
    None,
    /// What is written from here on is lost.
    Limbo(u64),
    /// The same, and reading gives what was written there last, wherever.
    Sink(u64),
    /// Addresses repeat.
    Wraparound(u64),
    /// Addresses repeat after the second figure, and are lost from the first.
    Chain(u64, u64),
}

/// The storage.
pub(super) struct Fake {
    pub(super) memory: Vec<u8>,
    bytes: u64,
    lie: Lie,
    /// Neither can be read nor written.
    pub(super) broken: Vec<Range<u64>>,
    /// So many writes are remembered and given back whatever became of them.
    pub(super) cached: usize,
    cache: HashMap<u64, Vec<u8>>,
    newest: VecDeque<u64>,
    pub(super) writes: usize,
}

impl Fake {
    pub(super) fn new(bytes: u64, lie: Lie) -> Self {
        let real = match lie {
            Lie::None => bytes,
            Lie::Limbo(real) | Lie::Wraparound(real) | Lie::Chain(real, _) => real,
            // And one place for all the rest.
            Lie::Sink(real) => real + (1 << 20),
        };
        let mut memory = vec![0; usize::try_from(real).unwrap()];
        for (number, sector) in memory.chunks_mut(512).enumerate() {
            sector.fill((number % 251) as u8);
        }
        Self {
            memory,
            bytes,
            lie,
            broken: Vec::new(),
            cached: 0,
            cache: HashMap::new(),
            newest: VecDeque::new(),
            writes: 0,
        }
    }

    /// Where 512 bytes are kept.
    fn place(&self, at: u64) -> Option<usize> {
        let place = match self.lie {
            Lie::None => Some(at),
            Lie::Limbo(real) => (at < real).then_some(at),
            Lie::Sink(real) => Some(if at < real { at } else { real + at % 4096 }),
            Lie::Wraparound(real) => Some(at % real),
            Lie::Chain(real, wraps_at) => Some(at % wraps_at).filter(|at| *at < real),
        };
        place.map(|place| usize::try_from(place).unwrap())
    }

    fn check(&self, at: u64, length: usize) -> io::Result<()> {
        let end = at + length as u64;
        if self
            .broken
            .iter()
            .any(|bad| bad.start < end && at < bad.end)
        {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }
}

impl BlockStore for Fake {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let inside = usize::try_from(self.bytes - offset)
            .unwrap()
            .min(into.len());
        let into = &mut into[..inside];
        self.check(offset, into.len())?;
        for (at, sector) in (offset..).step_by(512).zip(into.chunks_mut(512)) {
            match self.cache.get(&at) {
                Some(bytes) => sector.copy_from_slice(bytes),
                None => match self.place(at) {
                    Some(place) => {
                        sector.copy_from_slice(&self.memory[place..place + sector.len()]);
                    }
                    None => sector.fill(0xff),
                },
            }
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.check(offset, from.len())?;
        self.writes += 1;
        for (at, sector) in (offset..).step_by(512).zip(from.chunks(512)) {
            if let Some(place) = self.place(at) {
                self.memory[place..place + sector.len()].copy_from_slice(sector);
            }
            if self.cached > 0 {
                self.newest.push_back(at);
                if self.newest.len() > self.cached {
                    let oldest = self.newest.pop_front();
                    oldest.and_then(|at| self.cache.remove(&at));
                }
                self.cache.insert(at, sector.to_vec());
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
