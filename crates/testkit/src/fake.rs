//! In-memory storage that reports a false capacity, as counterfeit cards do.

use crate::known_speed::KnownSpeed;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// Size of a sector, in bytes.
const SECTOR: usize = 512;

/// Mapping of addresses to memory.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// Each address has its own sector.
    None,
    /// Writes at or above this address are lost.
    Limbo(u64),
    /// All addresses at or above this one share the same eight sectors.
    Sink(u64),
    /// Addresses repeat modulo this size.
    Wraparound(u64),
    /// Addresses repeat modulo the second size; within it, those at or above
    /// the first are lost.
    Chain(u64, u64),
}

/// Simulated storage.
#[derive(Debug)]
pub struct Fake {
    /// Content of the sectors that exist.
    pub memory: Vec<u8>,
    bytes: u64,
    lie: Lie,
    /// Addresses that can neither be read nor written.
    pub broken: Vec<Range<u64>>,
    /// Number of latest written sectors that reads return from a cache, even if
    /// the write was lost.
    pub cached: usize,
    cache: HashMap<u64, Vec<u8>>,
    newest: VecDeque<u64>,
    /// Number of writes so far.
    pub writes: usize,
    /// Duration of a flush.
    pub flush_takes: Duration,
    /// Speed of reads and writes; `None`: no delay.
    pub speed: Option<KnownSpeed>,
    /// File with the duration of a read, in milliseconds; `None`: no delay.
    pub slowed_by: Option<PathBuf>,
}

impl Fake {
    /// Makes storage that reports a capacity of `bytes`. Neighbouring sectors
    /// differ.
    ///
    /// # Panics
    /// When its real capacity does not fit into memory.
    #[must_use]
    pub fn new(bytes: u64, lie: Lie) -> Self {
        let real = match lie {
            Lie::None => bytes,
            Lie::Limbo(real) | Lie::Wraparound(real) | Lie::Chain(real, _) => real,
            // Room for the sectors that addresses above the real capacity
            // share.
            Lie::Sink(real) => real + (1 << 20),
        };
        let mut memory = vec![0; usize::try_from(real).expect("it fits into memory")];
        for (number, sector) in (0_u8..251).cycle().zip(memory.chunks_mut(SECTOR)) {
            sector.fill(number);
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
            flush_takes: Duration::ZERO,
            speed: None,
            slowed_by: None,
        }
    }

    /// Reported capacity.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Duration of a read.
    ///
    /// # Panics
    /// When the file `slowed_by` holds no number.
    #[must_use]
    pub fn read_takes(&self) -> Duration {
        let Some(file) = &self.slowed_by else {
            return Duration::ZERO;
        };
        let text = fs::read_to_string(file).expect("a file");
        Duration::from_millis(text.trim().parse().expect("a number"))
    }

    /// Returns the position in memory of a byte address; `None` if it is lost.
    fn place(&self, at: u64) -> Option<usize> {
        let place = match self.lie {
            Lie::None => Some(at),
            Lie::Limbo(real) => (at < real).then_some(at),
            Lie::Sink(real) => Some(if at < real { at } else { real + at % 4096 }),
            Lie::Wraparound(real) => Some(at % real),
            Lie::Chain(real, wraps_at) => Some(at % wraps_at).filter(|at| *at < real),
        };
        place.and_then(|place| usize::try_from(place).ok())
    }

    fn check(&self, at: u64, length: usize) -> io::Result<()> {
        let end = at + length as u64;
        let hit = |bad: &Range<u64>| bad.start < end && at < bad.end;
        if self.broken.iter().any(hit) {
            return Err(rustix::io::Errno::IO.into());
        }
        Ok(())
    }

    /// Reads whole sectors; bytes beyond the reported end stay unchanged.
    ///
    /// # Errors
    /// `EIO` in a `broken` range.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let inside = left.min(into.len());
        let into = &mut into[..inside];
        self.check(offset, into.len())?;
        for (at, sector) in (offset..).step_by(SECTOR).zip(into.chunks_mut(SECTOR)) {
            if let Some(bytes) = self.cache.get(&at) {
                sector.copy_from_slice(bytes);
            } else if let Some(place) = self.place(at) {
                sector.copy_from_slice(&self.memory[place..place + sector.len()]);
            } else {
                sector.fill(0xff);
            }
        }
        Ok(())
    }

    /// Writes whole sectors.
    ///
    /// # Errors
    /// `EIO` in a `broken` range.
    pub fn write_at(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.check(offset, from.len())?;
        self.writes += 1;
        for (at, sector) in (offset..).step_by(SECTOR).zip(from.chunks(SECTOR)) {
            if let Some(place) = self.place(at) {
                self.memory[place..place + sector.len()].copy_from_slice(sector);
            }
            if self.cached > 0 {
                self.remember(at, sector);
            }
        }
        Ok(())
    }

    fn remember(&mut self, at: u64, sector: &[u8]) {
        self.newest.push_back(at);
        if self.newest.len() > self.cached {
            let oldest = self.newest.pop_front();
            oldest.and_then(|at| self.cache.remove(&at));
        }
        self.cache.insert(at, sector.to_vec());
    }
}
