//! Storage in memory that lies as fakes do which are sold.

use crate::known_speed::KnownSpeed;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// A sector, which is what addresses are dealt with by.
const SECTOR: usize = 512;

/// How addresses are dealt with.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// As they should be.
    None,
    /// What is written from here on is lost.
    Limbo(u64),
    /// What is written from here on goes all to the same few sectors.
    Sink(u64),
    /// Addresses repeat.
    Wraparound(u64),
    /// Addresses repeat after the second figure, and are lost from the first.
    Chain(u64, u64),
}

/// The storage.
#[derive(Debug)]
pub struct Fake {
    /// What it really holds.
    pub memory: Vec<u8>,
    bytes: u64,
    lie: Lie,
    /// Addresses that can neither be read nor written.
    pub broken: Vec<Range<u64>>,
    /// So many sectors are remembered and given back, whatever became of them.
    pub cached: usize,
    cache: HashMap<u64, Vec<u8>>,
    newest: VecDeque<u64>,
    /// How often it was written.
    pub writes: usize,
    /// How long a flush takes.
    pub flush_takes: Duration,
    /// How fast it reads and writes, else as fast as it can.
    pub speed: Option<KnownSpeed>,
    /// A file that says how many milliseconds a read takes; none: no time.
    pub slowed_by: Option<PathBuf>,
}

impl Fake {
    /// Storage that says it has so many bytes. Its sectors differ.
    ///
    /// # Panics
    /// When memory does not hold it.
    #[must_use]
    pub fn new(bytes: u64, lie: Lie) -> Self {
        let real = match lie {
            Lie::None => bytes,
            Lie::Limbo(real) | Lie::Wraparound(real) | Lie::Chain(real, _) => real,
            // And one place for all the rest.
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

    /// What it says that it holds.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long a read takes.
    ///
    /// # Panics
    /// When the file does not say.
    #[must_use]
    pub fn read_takes(&self) -> Duration {
        let Some(file) = &self.slowed_by else {
            return Duration::ZERO;
        };
        let text = fs::read_to_string(file).expect("a file");
        Duration::from_millis(text.trim().parse().expect("a number"))
    }

    /// Where a sector is kept.
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

    /// Reads whole sectors; what is behind the end stays as it is.
    ///
    /// # Errors
    /// `EIO` where it is broken.
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
    /// `EIO` where it is broken.
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
