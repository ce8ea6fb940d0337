//! The sequence of I/Os: direction, file, offset, length.
//!
//! One pass covers the regions of all files once, by fio's rules: each
//! sequential direction starts from the beginning, each random offset occurs
//! once (unless requested otherwise), and a mix of directions shares the bytes
//! of one pass. Offsets come from assay's own generators.
//!
//! `Plain` has the simple cases: blocks of one size in one file, in one direction or (for random
//! order) in a mix of two. They are measured most often, so they use a minimum of instructions.
//! `Mixed` is the general case: several directions, sizes, files, zones.

mod random;
mod walk;

use crate::EngineError;
#[cfg(feature = "patterns")]
use assay_model::job::FlashPattern;
use assay_model::load::blocks::{BlockSizes, Distribution};
use assay_model::load::report::FilePart;
use assay_model::load::{Ddir, Stream};
use assay_model::rng::SplitMix64;
use random::{Ahead, Permutation};
use std::cmp::Ordering;
use walk::{Directions, OrderKind, Rules, Service, Walk};

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) ddir: Ddir,
    /// Number of the file among the stream's files.
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// The I/Os of a stream, in order. A clone repeats the sequence from the point
/// where it was cloned (which reproduces the written offsets for checking).
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    kind: SequenceKind,
    seed: u64,
    /// True if each pass has the same order (fio's `randrepeat`).
    repeat: bool,
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per stream, and in the hot loop: no detour over the heap"
)]
enum SequenceKind {
    Plain(Plain),
    Mixed(Box<Mixed>),
    #[cfg(feature = "patterns")]
    Patterned(Patterned),
}

impl Sequence {
    /// Creates the sequence of `stream` over `spans`, the regions of its files
    /// by number. `seed` determines all random choices.
    ///
    /// # Errors
    /// If no block fits into any region, zones are longer than a region, or
    /// memory for a map of blocks is exhausted.
    pub(crate) fn new(stream: &Stream, spans: &[FilePart], seed: u64) -> Result<Self, EngineError> {
        let rules = Rules::new(stream);
        let longest = spans.iter().map(|span| span.length).max().unwrap_or(0);
        let room = rules
            .zones
            .map_or(longest, |zones| zones.range.min(longest));
        if room < rules.smallest() {
            return Err(EngineError::Job {
                job: stream.name.clone(),
                problem: format!(
                    "its smallest block ({} bytes) does not fit into the region or zone of any file (at most {room} bytes): lower bs or raise size",
                    rules.smallest()
                ),
            });
        }
        let kind = match Plain::new(&rules, spans, seed) {
            _ if stream.blocks.pattern.is_some() => patterned(stream, spans, seed)?,
            Some(plain) => SequenceKind::Plain(plain),
            None => SequenceKind::Mixed(Box::new(Mixed::new(rules, stream, spans, seed)?)),
        };
        Ok(Self {
            kind,
            seed,
            repeat: stream.blocks.repeat,
        })
    }

    /// Returns the next I/O; `None` at the end of the pass. (An endless
    /// sequence starts over instead, except where several files are processed
    /// one after the other.)
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Plain(plain) => {
                let ddir = plain.draw();
                plain.next_of(ddir)
            }
            SequenceKind::Mixed(mixed) => {
                let ddir = mixed.draw();
                mixed.next_of(ddir)
            }
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => Some(patterned.next()),
        }
    }

    /// Draws the direction of the next I/O. The caller may change it
    /// ([`Pacing::steer`](super::pace::Pacing::steer)) before it takes the I/O
    /// with [`next_of`](Self::next_of).
    pub(crate) fn draw(&mut self) -> Ddir {
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.draw(),
            SequenceKind::Mixed(mixed) => mixed.draw(),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => patterned.draw(),
        }
    }

    /// Returns the next I/O in direction `ddir`: in a mix either direction,
    /// else the one that was drawn.
    pub(crate) fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.next_of(ddir),
            SequenceKind::Mixed(mixed) => mixed.next_of(ddir),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => Some(patterned.next()),
        }
    }

    /// Returns the write that belongs to the last trim, if it was not returned
    /// yet.
    pub(crate) fn take_owed_write(&mut self) -> Option<Step> {
        match &mut self.kind {
            SequenceKind::Mixed(mixed) => mixed.pending.take(),
            _ => None,
        }
    }

    /// Returns true if reads and writes are mixed, so that a drawn direction
    /// may be changed.
    pub(crate) const fn is_mixed(&self) -> bool {
        match &self.kind {
            SequenceKind::Plain(plain) => plain.is_mixed(),
            SequenceKind::Mixed(mixed) => mixed.is_mixed(),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(_) => false,
        }
    }

    /// Starts the next pass (for fio's loops and a large `io_size`), in the
    /// same order with `randrepeat`, else in another.
    pub(crate) fn begin_again(&mut self) {
        if !self.repeat {
            self.seed = SplitMix64::new(self.seed).next_u64();
        }
        match &mut self.kind {
            SequenceKind::Plain(plain) => plain.begin_again(self.seed),
            SequenceKind::Mixed(mixed) => mixed.begin_again(self.seed),
            #[cfg(feature = "patterns")]
            SequenceKind::Patterned(patterned) => patterned.begin_again(self.seed),
        }
    }
}

#[cfg(feature = "patterns")]
fn patterned(stream: &Stream, spans: &[FilePart], seed: u64) -> Result<SequenceKind, EngineError> {
    let made = Patterned::new(stream, spans, seed);
    made.unwrap_or_else(|| Err(no_patterns(stream)))
        .map(SequenceKind::Patterned)
}

#[cfg(not(feature = "patterns"))]
fn patterned(
    stream: &Stream,
    _spans: &[FilePart],
    _seed: u64,
) -> Result<SequenceKind, EngineError> {
    Err(no_patterns(stream))
}

fn no_patterns(stream: &Stream) -> EngineError {
    EngineError::Job {
        job: stream.name.clone(),
        problem: "this agent has no patterns: it is the small one".to_owned(),
    }
}

/// An endless sequence of blocks of one size in one file, by a pattern that reveals properties of
/// flash devices.
#[cfg(feature = "patterns")]
#[derive(Clone, Debug)]
struct Patterned {
    pattern: FlashPattern,
    span: FilePart,
    length: u32,
    /// Direction, for a pattern of one direction.
    ddir: Ddir,
    number: u64,
    rng: SplitMix64,
}

#[cfg(feature = "patterns")]
impl Patterned {
    /// Creates the sequence; `None` if the stream has no pattern.
    fn new(stream: &Stream, spans: &[FilePart], seed: u64) -> Option<Result<Self, EngineError>> {
        let pattern = stream.blocks.pattern?;
        let length = stream.blocks.sizes.read.min;
        let needed = match pattern {
            FlashPattern::InTurn { units, unit } => unit.0.saturating_mul(u64::from(units)),
            FlashPattern::Across { unit } => unit.0.saturating_mul(2).max(2 * u64::from(length)),
            FlashPattern::ReadThenWrite => u64::from(length),
        };
        let fits = spans.first().filter(|span| span.length >= needed.max(1));
        let Some(span) = fits else {
            return Some(Err(EngineError::Job {
                job: stream.name.clone(),
                problem: format!("its pattern needs {needed} bytes: raise size"),
            }));
        };
        Some(Ok(Self {
            pattern,
            span: *span,
            length,
            ddir: if stream.blocks.rw.read {
                Ddir::Read
            } else {
                Ddir::Write
            },
            number: 0,
            rng: SplitMix64::new(seed),
        }))
    }

    fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.number = 0;
    }

    const fn draw(&self) -> Ddir {
        match self.pattern {
            FlashPattern::ReadThenWrite if self.number % 2 == 1 => Ddir::Write,
            FlashPattern::ReadThenWrite => Ddir::Read,
            _ => self.ddir,
        }
    }

    fn next(&mut self) -> Step {
        let ddir = self.draw();
        let length = u64::from(self.length).max(1);
        let place = match self.pattern {
            FlashPattern::InTurn { units, unit } => {
                let units = u64::from(units.max(1));
                let in_unit = (self.number / units) % (unit.0 / length).max(1);
                (self.number % units) * unit.0 + in_unit * length
            }
            FlashPattern::Across { unit } => {
                let multiples = (self.span.length - length / 2) / unit.0.max(1);
                // Multiple 0 is excluded, because half a block before it is
                // outside the span.
                let multiple = 1 + self.rng.below(multiples.saturating_sub(1).max(1));
                (multiple * unit.0).saturating_sub(length / 2)
            }
            FlashPattern::ReadThenWrite => self.rng.below(self.span.length / length) * length,
        };
        self.number += 1;
        Step {
            ddir,
            file: 0,
            offset: self.span.offset + place,
            length: self.length,
        }
    }
}

/// Sequence over blocks of one size in one file.
#[derive(Clone, Debug)]
struct Plain {
    directions: Directions,
    length: u32,
    first: u64,
    /// Number of blocks in a pass; `left` of them remain.
    blocks: u64,
    left: u64,
    endless: bool,
    order: PlainOrder,
    rng: SplitMix64,
}

/// Order of the block positions.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per stream, and in the hot loop: no detour over the heap"
)]
enum PlainOrder {
    Straight,
    Once(Ahead),
    Any,
}

impl Plain {
    /// Creates the sequence; `None` if the rules need the general case.
    fn new(rules: &Rules, spans: &[FilePart], seed: u64) -> Option<Self> {
        let &[span] = spans else {
            return None;
        };
        let mixes = match rules.directions {
            Directions::Only(_) => true,
            Directions::Mixed(_) => rules.random,
            Directions::TrimThenWrite => false,
        };
        let length = one_length(rules)?;
        if !mixes || rules.zones.is_some() || rules.every > 1 || rules.skip != 0 {
            return None;
        }
        let all = |holds: &dyn Fn(Ddir) -> bool| rules.choosing().iter().all(|&ddir| holds(ddir));
        let uniform = all(&|ddir| rules.distribution[ddir] == Distribution::Uniform);
        let jumps = all(&|ddir| rules.percentage_random[ddir] >= 100);
        let order = match rules.order {
            _ if !rules.random => PlainOrder::Straight,
            _ if !jumps || !uniform => return None,
            OrderKind::Once => PlainOrder::Once(Ahead::new(Permutation::new(0, 0))),
            OrderKind::Draws => PlainOrder::Any,
            OrderKind::Map => return None,
        };
        let blocks = span.length / u64::from(length);
        let mut plain = Self {
            directions: rules.directions,
            length,
            first: span.offset,
            blocks,
            left: 0,
            endless: rules.endless,
            order,
            rng: SplitMix64::new(seed),
        };
        plain.begin_again(seed);
        Some(plain)
    }

    /// Restarts the sequence in the order of `seed`.
    fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.restart();
    }

    #[cold]
    fn restart(&mut self) {
        self.left = self.blocks;
        if let PlainOrder::Once(ahead) = &mut self.order {
            *ahead = Ahead::new(Permutation::new(self.blocks, self.rng.next_u64()));
        }
    }

    #[inline]
    fn draw(&mut self) -> Ddir {
        self.directions.draw(&mut self.rng)
    }

    const fn is_mixed(&self) -> bool {
        self.directions.is_mixed()
    }

    #[inline]
    fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
        if self.left == 0 {
            if !self.endless {
                return None;
            }
            self.restart();
        }
        let place = match &mut self.order {
            PlainOrder::Straight => self.blocks - self.left,
            PlainOrder::Once(ahead) => ahead.next(),
            PlainOrder::Any => self.rng.below(self.blocks),
        };
        self.left -= 1;
        Some(Step {
            ddir,
            file: 0,
            offset: self.first + place * u64::from(self.length),
            length: self.length,
        })
    }
}

/// Returns the length of all blocks; `None` if lengths differ, or blocks do not
/// start at multiples of it.
fn one_length(rules: &Rules) -> Option<u32> {
    let lengths = if rules.random {
        &rules.jump_lengths
    } else {
        &rules.follow_lengths
    };
    let first = lengths[rules.choosing()[0]].fixed()?;
    let same = rules.choosing().iter().all(|&ddir| {
        let lengths = &lengths[ddir];
        lengths.fixed() == Some(first) && (!rules.random || lengths.align() == first)
    });
    same.then_some(first)
}

/// Bits in a word.
const WORD: usize = 64;

/// A set of free pieces, numbered from 0. Above the bits of the pieces, summary
/// levels mark the words below that still have a set bit, so that the next free
/// piece is found in a few steps even if the map is almost empty.
#[derive(Clone, Debug)]
struct FreeMap {
    /// Bits of the pieces, followed by the summary levels. A set bit means
    /// free.
    levels: Vec<Vec<u64>>,
}

impl FreeMap {
    /// Creates a map with all `len` pieces free.
    ///
    /// # Errors
    /// If there is not enough memory; the message names `job`.
    fn new(len: u64, job: &str) -> Result<Self, EngineError> {
        let no_memory = || EngineError::Job {
            job: job.to_owned(),
            problem: format!(
                "not enough memory for a map of {len} blocks: use norandommap, larger blocks or one block size"
            ),
        };
        let mut levels = Vec::new();
        let mut bits = usize::try_from(len).map_err(|_| no_memory())?;
        loop {
            let words = bits.div_ceil(WORD);
            let mut level = Vec::new();
            level.try_reserve_exact(words).map_err(|_| no_memory())?;
            level.resize(words, 0);
            levels.push(level);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let mut map = Self { levels };
        map.free_first(len);
        Ok(map)
    }

    /// Marks the first `len` pieces as free and all others as used. `len` is at
    /// most the map's length.
    fn free_first(&mut self, len: u64) {
        let mut bits = index(len);
        for level in &mut self.levels {
            let whole = bits / WORD;
            for (number, word) in level.iter_mut().enumerate() {
                *word = match number.cmp(&whole) {
                    Ordering::Less => u64::MAX,
                    Ordering::Equal => (1 << (bits % WORD)) - 1,
                    Ordering::Greater => 0,
                };
            }
            bits = bits.div_ceil(WORD);
        }
    }

    /// Returns the first free piece from `from` on, else the first one from 0
    /// on.
    fn next_free(&self, from: u64) -> Option<u64> {
        self.first_from(index(from))
            .or_else(|| self.first_from(0))
            .map(|piece| piece as u64)
    }

    /// Takes up to `most` free, adjacent pieces from `first` on, and returns
    /// their number.
    fn take(&mut self, first: u64, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most {
            let piece = index(first + taken);
            let bit = piece % WORD;
            let Some(word) = self.levels[0].get_mut(piece / WORD) else {
                break;
            };
            let free = u64::from((*word >> bit).trailing_ones());
            let run = free.min(most - taken);
            if run == 0 {
                break;
            }
            *word &= !((u64::MAX >> (WORD as u64 - run)) << bit);
            if *word == 0 {
                self.word_is_empty(piece / WORD);
            }
            taken += run;
        }
        taken
    }

    /// Clears the summary bits of word `number` of the pieces, which has no bit
    /// left.
    fn word_is_empty(&mut self, mut number: usize) {
        for level in &mut self.levels[1..] {
            let word = &mut level[number / WORD];
            *word &= !(1 << (number % WORD));
            if *word != 0 {
                return;
            }
            number /= WORD;
        }
    }

    fn first_from(&self, from: usize) -> Option<usize> {
        let mut from = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(from / WORD)? & (u64::MAX << (from % WORD));
            if word != 0 {
                let found = from / WORD * WORD + word.trailing_zeros() as usize;
                return Some(self.lowest_below(found, height));
            }
            from = from / WORD + 1;
        }
        None
    }

    /// Returns the first free piece below bit `bit` of the level at `height`.
    fn lowest_below(&self, bit: usize, height: usize) -> usize {
        self.levels[..height].iter().rev().fold(bit, |bit, level| {
            bit * WORD + level[bit].trailing_zeros() as usize
        })
    }
}

/// Converts a piece's number to an index. It fits for every map that fits into
/// memory.
fn index(piece: u64) -> usize {
    usize::try_from(piece).unwrap_or(usize::MAX)
}

/// Sequence over any block sizes, files and directions.
#[derive(Clone, Debug)]
struct Mixed {
    rules: Rules,
    service: Service,
    walks: Vec<Walk>,
    rng: SplitMix64,
    /// Number of I/Os until the next new random offset.
    until_new: u32,
    /// Bytes of a pass; `None` if it ends when all files are done.
    pass_bytes: Option<u64>,
    /// Bytes issued in this pass.
    given: u64,
    /// Write that belongs to the previous trim.
    pending: Option<Step>,
}

impl Mixed {
    /// Creates the sequence of a stream that follows `rules`.
    fn new(
        rules: Rules,
        stream: &Stream,
        spans: &[FilePart],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let mut rng = SplitMix64::new(seed);
        let walks = spans
            .iter()
            .map(|&span| Walk::new(span, &rules, &mut rng))
            .collect::<Result<Vec<_>, _>>()?;
        let smallest = rules.smallest();
        let whole: u64 = spans
            .iter()
            .map(|span| span.length / smallest * smallest)
            .sum();
        let files = u32::try_from(spans.len()).unwrap_or(u32::MAX);
        let mut mixed = Self {
            service: Service::new(&stream.files, files),
            pass_bytes: (!rules.endless).then_some(whole),
            rules,
            walks,
            rng,
            until_new: 0,
            given: 0,
            pending: None,
        };
        mixed.begin_again(seed);
        Ok(mixed)
    }

    /// Restarts the sequence with random numbers from `seed`.
    fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        (self.until_new, self.given, self.pending) = (0, 0, None);
        self.begin_files_again();
    }

    fn begin_files_again(&mut self) {
        self.service.begin_again();
        for walk in &mut self.walks {
            walk.begin_again(&self.rules, &mut self.rng);
        }
    }

    fn draw(&mut self) -> Ddir {
        match &self.pending {
            Some(step) => step.ddir,
            None => self.rules.directions.draw(&mut self.rng),
        }
    }

    const fn is_mixed(&self) -> bool {
        self.rules.directions.is_mixed()
    }

    /// Returns the next block of direction `ddir`, or the pending write of a
    /// trimmed block.
    fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
        if let Some(write) = self.pending.take() {
            return Some(write);
        }
        if self.pass_bytes.is_some_and(|bytes| self.given >= bytes) {
            return None;
        }
        let anew = self.until_new == 0;
        self.until_new = if anew {
            self.rules.every
        } else {
            self.until_new
        } - 1;
        let step = self.block(ddir, anew)?;
        self.given += u64::from(step.length);
        if self.rules.directions == Directions::TrimThenWrite {
            self.pending = Some(Step {
                ddir: Ddir::Write,
                ..step
            });
        }
        Some(step)
    }

    fn block(&mut self, ddir: Ddir, anew: bool) -> Option<Step> {
        let mut ends = !self.rules.endless;
        loop {
            let Some(file) = self.service.next(&mut self.rng) else {
                if std::mem::replace(&mut ends, true) {
                    return None;
                }
                self.begin_files_again();
                continue;
            };
            let walk = &mut self.walks[file as usize];
            if self.service.replaces_files() && walk.has_all_bytes(&self.rules) {
                self.service.is_done();
                continue;
            }
            let mut block = walk.step(ddir, anew, &self.rules, &mut self.rng);
            if block.is_none() && self.service.is_skewed() {
                walk.begin_again(&self.rules, &mut self.rng);
                block = walk.step(ddir, anew, &self.rules, &mut self.rng);
            }
            if let Some((offset, length)) = block {
                return Some(Step {
                    ddir,
                    file,
                    offset,
                    length,
                });
            }
            self.service.is_done();
        }
    }
}

/// The block sizes of one direction.
#[derive(Clone, Debug)]
struct Lengths {
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
    fn new(sizes: &BlockSizes, unaligned: bool) -> Self {
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
    const fn min(&self) -> u32 {
        self.min
    }

    /// Returns the alignment of block offsets in random order, in bytes.
    const fn align(&self) -> u32 {
        self.align
    }

    /// Returns the length shared by all blocks, if it is fixed.
    const fn fixed(&self) -> Option<u32> {
        match self.kind {
            LengthKind::Fixed => Some(self.min),
            _ => None,
        }
    }

    /// Returns the next length that fits into `room`; `None` if none fits.
    fn draw(&self, rng: &mut SplitMix64, room: u64) -> Option<u32> {
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
mod tests;
