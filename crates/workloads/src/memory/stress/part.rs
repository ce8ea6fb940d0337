//! Memory of one thread under test.

use super::sweep::{BLOCK, Ground, Sweep};
use assay_engine::memory::{Cells, bind_to};
use assay_model::act::memory::{Bit, BitFlip};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Words between two checks of the stop flag.
const PIECE: usize = 512;
/// Flips listed in detail for each sweep and thread, at most; all are counted.
const FLIPS_KEPT: usize = 32;
/// Number of times that a wrong word is read again.
const READS_AGAIN: u32 = 8;

/// Part of the memory that a thread tests.
pub(crate) struct ThreadMemory {
    cells: Cells,
    pub(super) cpu: Option<u32>,
    pub(super) thread: u32,
    pub(super) locked: bool,
}

/// Result of a sweep.
#[derive(Default)]
pub(super) struct Swept {
    /// Bytes written and read.
    pub(super) moved_bytes: u64,
    pub(super) flips: u64,
    pub(super) first: Vec<BitFlip>,
    /// It was not stopped before the end.
    pub(super) whole: bool,
}

impl ThreadMemory {
    /// Allocates memory on a CPU; locks it if this user may.
    pub(super) fn new(words: usize, cpu: Option<u32>, thread: u32) -> io::Result<Self> {
        let cpu = cpu.filter(|&cpu| bind_to(cpu));
        let mut cells = Cells::new(words)?;
        let locked = cells.region_mut().lock().is_ok();
        Ok(Self {
            cells,
            cpu,
            thread,
            locked,
        })
    }

    /// Returns the first address and the size in bytes.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.address(), 8 * self.cells.len() as u64)
    }

    fn address(&self) -> u64 {
        match self.cells.is_empty() {
            true => 0,
            false => self.cells.address(0),
        }
    }

    fn ground(&self, seed: u64) -> Ground {
        Ground {
            address: self.address(),
            words: self.cells.len(),
            seed,
        }
    }

    /// Runs one sweep; `done` counts its words for the progress.
    pub(super) fn sweep(
        &mut self,
        sweep: Sweep,
        phase: u32,
        seed: u64,
        stop: &AtomicBool,
        done: &AtomicU64,
    ) -> Swept {
        let ground = self.ground(seed);
        let mut swept = Swept::default();
        let pieces = ground.words.div_ceil(PIECE);
        let buffers = &mut ([0; PIECE], [0; PIECE]);
        if sweep.moves {
            return self.move_blocks(ground, stop, done);
        }
        for number in 0..pieces {
            if stop.load(Ordering::Relaxed) {
                return swept;
            }
            let piece = match sweep.downwards {
                true => pieces - 1 - number,
                false => number,
            };
            let from = piece * PIECE;
            let words = PIECE.min(ground.words - from);
            self.piece(
                ground,
                sweep,
                phase,
                from..from + words,
                buffers,
                &mut swept,
            );
            done.fetch_add(words as u64, Ordering::Relaxed);
        }
        swept.whole = true;
        swept
    }

    /// Checks and writes each word of a piece before the next word.
    fn piece(
        &mut self,
        ground: Ground,
        sweep: Sweep,
        phase: u32,
        words: std::ops::Range<usize>,
        (expected, written): &mut ([u64; PIECE], [u64; PIECE]),
        swept: &mut Swept,
    ) {
        let (from, count) = (words.start, words.len());
        if let Some(value) = sweep.expected {
            value.fill(ground, from, &mut expected[..count]);
        }
        if let Some(value) = sweep.written {
            value.fill(ground, from, &mut written[..count]);
        }
        for step in 0..count {
            let at = match sweep.downwards {
                true => count - 1 - step,
                false => step,
            };
            if sweep.expected.is_some() {
                let found = self.cells.read(from + at);
                if found != expected[at] {
                    self.wrong(from + at, expected[at], found, phase, swept);
                }
            }
            if sweep.written.is_some() {
                self.cells.write(from + at, written[at]);
            }
        }
        let ways = u64::from(sweep.expected.is_some()) + u64::from(sweep.written.is_some());
        swept.moved_bytes += ways * 8 * count as u64;
    }

    /// Records a wrong word, and reads it again to find out if the error is permanent.
    #[cold]
    fn wrong(&self, index: usize, expected: u64, found: u64, phase: u32, swept: &mut Swept) {
        swept.flips += 1;
        if swept.first.len() >= FLIPS_KEPT {
            return;
        }
        let again = (0..READS_AGAIN).map(|_| u32::from(self.cells.read_again(index) != expected));
        swept.first.push(BitFlip {
            address: self.cells.address(index),
            physical: None,
            offset: 8 * index as u64,
            thread: self.thread,
            expected,
            found,
            reads: READS_AGAIN,
            wrong_reads: again.sum(),
            phase,
        });
    }

    /// Copies each block to the position of the next one, the last block first.
    fn move_blocks(&mut self, ground: Ground, stop: &AtomicBool, done: &AtomicU64) -> Swept {
        let mut swept = Swept::default();
        for block in (1..ground.blocks()).rev() {
            if stop.load(Ordering::Relaxed) {
                return swept;
            }
            for word in block * BLOCK..(block + 1) * BLOCK {
                let moved = self.cells.read(word - BLOCK);
                self.cells.write(word, moved);
            }
            done.fetch_add(BLOCK as u64, Ordering::Relaxed);
            swept.moved_bytes += 16 * BLOCK as u64;
        }
        swept.whole = true;
        swept
    }

    /// Flips a bit unnoticed by the check, in tests of assay.
    pub(super) fn flip(&mut self, bit: Bit) {
        let index = usize::try_from(bit.offset / 8).unwrap_or(usize::MAX);
        if index < self.cells.len() {
            let mut bytes = self.cells.read(index).to_ne_bytes();
            bytes[(bit.offset % 8) as usize] ^= 1 << (bit.bit % 8);
            self.cells.write(index, u64::from_ne_bytes(bytes));
        }
    }
}
