//! Buffers that the kernel reads and fills: page-aligned, owned by exactly one
//! operation at a time. Also the contents of the blocks that a load writes.
//!
//! The default is random data. In blocks of up to 128 KiB, every byte changes with each write (80
//! ns for 4 KiB), because file system compressors compare data within a window of that size, in any
//! order, and must not find two similar blocks. Larger blocks only get marks, to save CPU time,
//! unless new content is requested.

use crate::EngineError;
use crate::extra::Loads;
use assay_model::load::{ContentPattern, DedupeMode, WriteContent};
use assay_model::rng::SplitMix64;
use assay_model::units::Bytes;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer; enough for direct I/O on all known devices.
const ALIGNMENT: usize = 4096;
/// Blocks up to this size are changed in every byte for each write.
const CHANGED_WHOLE: usize = 128 << 10;
/// Larger blocks only get marks, to save CPU time. Their bytes repeat after this distance,
/// which is beyond the window of compressors.
const PERIOD: usize = 1 << 20;

/// An aligned buffer. One window of it, as long as a block, is in use at a time.
#[derive(Debug)]
pub struct IoBuf {
    start: NonNull<u8>,
    layout: Layout,
    window: usize,
    block: usize,
}

// SAFETY: IoBuf owns its allocation and has no interior sharing; moving it to
// another thread moves the only handle to that memory.
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// Returns a zeroed buffer for one block of a fixed size. Aborts the process if memory is
    /// exhausted.
    pub fn zeroed(block: usize) -> Self {
        let layout = Layout::new::<[u8; ALIGNMENT]>();
        Self::with_windows(block, 1).unwrap_or_else(|_| handle_alloc_error(layout))
    }

    /// Returns a zeroed buffer for one block of a size that the user chose.
    ///
    /// # Errors
    /// [`EngineError::Memory`] if the allocation fails.
    pub fn of(block: u64) -> Result<Self, EngineError> {
        let length = usize::try_from(block).map_err(|_| EngineError::Memory(Bytes(block)))?;
        Self::with_windows(length, 1)
    }

    /// Returns a zeroed buffer for blocks that are written, one of `siblings` buffers used in
    /// turn. Large blocks have several windows.
    ///
    /// # Errors
    /// [`EngineError::Memory`] if the allocation fails.
    pub(crate) fn to_write(block: usize, siblings: usize) -> Result<Self, EngineError> {
        let windows = if block <= CHANGED_WHOLE || !block.is_multiple_of(ALIGNMENT) {
            1
        } else {
            PERIOD.div_ceil(block * siblings.max(1)).max(1)
        };
        Self::with_windows(block, windows)
    }

    fn with_windows(block: usize, windows: usize) -> Result<Self, EngineError> {
        let size = block.saturating_mul(windows).max(1);
        let none = || EngineError::Memory(Bytes(size as u64));
        let layout = Layout::from_size_align(size, ALIGNMENT).map_err(|_| none())?;
        // SAFETY: the layout has a non-zero size.
        let memory = unsafe { alloc_zeroed(layout) };
        Ok(Self {
            start: NonNull::new(memory).ok_or_else(none)?,
            layout,
            window: 0,
            block,
        })
    }

    /// The bytes of all windows of the buffer, one after the other.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes (zeroed
        // at allocation) that only this value owns, and `self` is borrowed
        // mutably for as long as the slice lives. The kernel does not access them: an
        // operation in flight owns its IoBuf.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }

    /// Returns the block of the current window.
    #[inline]
    pub fn block(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes (zeroed
        // at allocation) that only this value owns, and `self` is borrowed for
        // as long as the slice lives, so nothing writes to them in that time.
        let all = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) };
        &all[self.window..self.window + self.block]
    }

    /// Returns the block of the current window for writing.
    #[inline]
    pub fn block_mut(&mut self) -> &mut [u8] {
        let (window, block) = (self.window, self.block);
        &mut self.all_mut()[window..window + block]
    }

    /// Moves to the next window, if there is more than one.
    #[inline]
    pub(crate) fn next_window(&mut self) {
        self.window += self.block;
        if self.window + self.block > self.layout.size() {
            self.window = 0;
        }
    }
}

impl Drop for IoBuf {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc_zeroed` with this very layout and
        // is freed once, here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Fills `bytes` with random content.
pub fn fill_random(bytes: &mut [u8], rng: &mut SplitMix64) {
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = rng.next_u64().to_le_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&rng.next_u64().to_le_bytes()[..rest.len()]);
    }
}

/// Larger blocks are marked at this distance, so that no two sectors are equal.
const SECTOR: usize = 512;
/// Length of a mark in bytes: a number, followed by the same number XOR-ed with the filler's key.
const MARK: usize = 16;

/// Fills blocks before they are written. The earlier content of a block does not matter: buffers
/// may be new or come from a read.
#[derive(Debug)]
pub(crate) struct Filler {
    content: Content,
}

#[derive(Debug)]
enum Content {
    Zero,
    Pattern(ContentPattern, Loads),
    Kept(Kept),
    Fresh(Fresh, Loads),
}

impl Filler {
    /// Creates a filler for blocks of up to `largest_block` bytes. The same seed gives the same
    /// content.
    pub(crate) fn new(content: &WriteContent, largest_block: u32, seed: u64) -> Self {
        let of_loads = Loads::here().and_then(|loads| Content::of_load(content, seed, loads));
        let content = of_loads.unwrap_or_else(|| match content.zero {
            true => Content::Zero,
            false => Content::Kept(Kept::new(content, largest_block, seed)),
        });
        Self { content }
    }

    /// Sets the source of duplicates for [`DedupeMode::WorkingSet`]: a share of the `blocks` of the
    /// region, from the streams with these seeds (`dedupe_global`). Without seeds, duplicates come
    /// from the filler's own stream only.
    ///
    /// [`DedupeMode::WorkingSet`]: assay_model::load::DedupeMode::WorkingSet
    pub(crate) fn with_working_set(mut self, blocks: u64, streams: &[u64]) -> Self {
        if let Content::Fresh(fresh, _) = &mut self.content {
            fresh.repeats.set_working_set(blocks, streams);
        }
        self
    }

    /// Writes the random content of a buffer that later only gets marks. Called before the clock
    /// starts, because it takes longer than many devices need for a block.
    pub(crate) fn prepare(&mut self, buffer: &mut [u8]) {
        if let Content::Kept(kept) = &mut self.content {
            kept.prepare(buffer);
        }
    }

    /// Fills a block that will be written at `offset`.
    #[inline]
    pub(crate) fn fill(&mut self, block: &mut [u8], offset: u64) {
        match &mut self.content {
            Content::Kept(kept) => kept.fill(block),
            Content::Zero => block.fill(0),
            Content::Pattern(pattern, _) => fill_pattern(block, pattern, offset),
            Content::Fresh(fresh, _) => fresh.fill(block, offset),
        }
    }
}

impl Content {
    /// Creates content that only loads request, never the jobs of a plan.
    fn of_load(content: &WriteContent, seed: u64, loads: Loads) -> Option<Self> {
        let made_to_measure = content.compress_percent.is_some() || content.dedupe_percent > 0;
        if made_to_measure {
            Some(Self::Fresh(Fresh::new(content, seed), loads))
        } else if !content.pattern.bytes.is_empty() {
            Some(Self::Pattern(content.pattern.clone(), loads))
        } else {
            None
        }
    }
}

/// Random content that is generated once and then changed slightly for each write.
#[derive(Debug)]
struct Kept {
    base: Box<[u8]>,
    scramble: bool,
    /// Every byte of every block is changed for each write.
    refill: bool,
    numbers: SplitMix64,
    /// Key that separates this filler's marks from other data.
    disguise: u64,
}

impl Kept {
    fn new(content: &WriteContent, largest_block: u32, seed: u64) -> Self {
        let mut numbers = SplitMix64::new(seed);
        let mut base = vec![0; CHANGED_WHOLE.min(largest_block as usize).max(1)].into_boxed_slice();
        fill_random(&mut base, &mut numbers);
        Self {
            base,
            scramble: content.scramble,
            refill: content.refill,
            disguise: numbers.next_u64(),
            numbers,
        }
    }

    fn prepare(&mut self, buffer: &mut [u8]) {
        if !self.is_changed_whole(buffer.len()) {
            buffer
                .chunks_mut(SECTOR)
                .for_each(|sector| self.mark(sector));
        }
    }

    /// Returns true if every byte of a block of this length is changed for each write.
    #[inline]
    const fn is_changed_whole(&self, length: usize) -> bool {
        self.refill || (self.scramble && length <= self.base.len())
    }

    #[inline]
    fn fill(&mut self, block: &mut [u8]) {
        if self.is_changed_whole(block.len()) {
            for part in block.chunks_mut(self.base.len()) {
                combine(part, &self.base, self.numbers.next_u64());
            }
        } else {
            for sector in block.chunks_mut(SECTOR) {
                self.mark(sector);
            }
        }
    }

    /// Gives the sector a new mark. If it has none yet, it is filled first.
    fn mark(&mut self, sector: &mut [u8]) {
        let Some((mark, rest)) = sector.split_first_chunk_mut::<MARK>() else {
            fill_random(sector, &mut self.numbers);
            return;
        };
        let (words, _) = mark.as_chunks::<8>();
        let [number, disguised] = [0, 1].map(|i: usize| u64::from_le_bytes(words[i]));
        let known = number ^ disguised == self.disguise;
        if !known {
            fill_random(rest, &mut self.numbers);
        }
        if self.scramble || !known {
            let number = self.numbers.next_u64();
            mark[..8].copy_from_slice(&number.to_le_bytes());
            mark[8..].copy_from_slice(&(number ^ self.disguise).to_le_bytes());
        }
    }
}

/// Writes `base` into `block` with each word XOR-ed with `key`: random data stays random, and every
/// word differs from the same word of another block.
#[inline]
fn combine(block: &mut [u8], base: &[u8], key: u64) {
    let (words, rest) = block.as_chunks_mut::<8>();
    let (from, _) = base.as_chunks::<8>();
    for (word, from) in words.iter_mut().zip(from) {
        *word = (u64::from_le_bytes(*from) ^ key).to_le_bytes();
    }
    let done = words.len() * 8;
    for ((byte, from), key) in rest.iter_mut().zip(&base[done..]).zip(key.to_le_bytes()) {
        *byte = from ^ key;
    }
}

/// Content that is generated for each write.
#[derive(Debug)]
struct Fresh {
    repeats: Repeats,
    mixture: Mixture,
    /// Duplicates must not contain their offset, or they would differ.
    anywhere: bool,
}

impl Fresh {
    fn new(content: &WriteContent, seed: u64) -> Self {
        Self {
            repeats: Repeats::new(content, seed),
            mixture: Mixture::new(content),
            anywhere: content.dedupe_percent > 0,
        }
    }

    fn fill(&mut self, block: &mut [u8], offset: u64) {
        let offset = if self.anywhere { 0 } else { offset };
        self.mixture.fill(block, self.repeats.next_seed(), offset);
    }
}

/// Random content, a share of which is replaced by zeros or a pattern.
#[derive(Debug)]
pub(crate) struct Mixture {
    /// Share that is replaced, in percent.
    percent: usize,
    /// Size of the pieces that each contain that share, in bytes; 0 means the whole block.
    chunk: usize,
    /// Replacement for the random bytes; zeros if empty.
    pattern: ContentPattern,
}

impl Mixture {
    /// Creates the mixture that `content` describes; random content if it describes none.
    pub(crate) fn new(content: &WriteContent) -> Self {
        Self {
            percent: content.compress_percent.unwrap_or(0).min(100).into(),
            chunk: content.compress_chunk as usize,
            pattern: content.pattern.clone(),
        }
    }

    /// Fills a block at `offset`. The same seed gives the same content.
    pub(crate) fn fill(&self, block: &mut [u8], seed: u64, offset: u64) {
        let mut numbers = SplitMix64::new(seed);
        if self.percent == 0 {
            fill_random(block, &mut numbers);
            return;
        }
        let chunk = if self.chunk == 0 {
            block.len().max(1)
        } else {
            self.chunk
        };
        for piece in block.chunks_mut(chunk) {
            let random = piece.len() * (100 - self.percent) / 100;
            let (random, rest) = piece.split_at_mut(random);
            fill_random(random, &mut numbers);
            if self.pattern.bytes.is_empty() {
                rest.fill(0);
            } else {
                fill_pattern(rest, &self.pattern, offset);
            }
        }
    }
}

/// Chooses the content of each block by a seed: a repeated seed is a repeated block. Earlier blocks
/// are not stored, because the seed of the n-th block is computed from n.
#[derive(Debug)]
struct Repeats {
    percent: u64,
    mode: DedupeMode,
    /// Seeds of the streams that duplicates may come from.
    streams: Vec<u64>,
    own: u64,
    /// Distinct blocks in the working set.
    set: u64,
    set_percent: u64,
    /// Distinct blocks made so far.
    made: u64,
    choices: SplitMix64,
}

impl Repeats {
    fn new(content: &WriteContent, seed: u64) -> Self {
        Self {
            percent: content.dedupe_percent.into(),
            mode: content.dedupe_mode,
            streams: vec![seed],
            own: seed,
            set: u64::MAX,
            set_percent: content.dedupe_set_percent.into(),
            made: 0,
            choices: SplitMix64::new(!seed),
        }
    }

    /// See [`Filler::with_working_set`].
    fn set_working_set(&mut self, blocks: u64, streams: &[u64]) {
        let set = u128::from(blocks) * u128::from(self.set_percent) / 100;
        self.set = u64::try_from(set).unwrap_or(u64::MAX).max(1);
        if !streams.is_empty() {
            self.streams = streams.to_vec();
        }
    }

    /// Returns the seed of the next block.
    fn next_seed(&mut self) -> u64 {
        if self.made == 0 || self.choices.below(100) >= self.percent {
            self.made += 1;
            return seed_of(self.own, self.made - 1);
        }
        match self.mode {
            DedupeMode::Repeat => seed_of(self.own, self.made - 1),
            DedupeMode::WorkingSet => {
                let stream = self.choices.below(self.streams.len() as u64);
                let stream = usize::try_from(stream).map_or(self.own, |i| self.streams[i]);
                seed_of(stream, self.choices.below(self.made.min(self.set)))
            }
        }
    }
}

/// Returns the seed of a stream's distinct block `number`. The seeds are all different, because the
/// generator's first number is a bijection of its state.
fn seed_of(stream: u64, number: u64) -> u64 {
    let stream = SplitMix64::new(stream).next_u64();
    SplitMix64::new(stream.wrapping_add(number)).next_u64()
}

/// A byte that differs from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Offset within the compared data.
    pub(crate) at: usize,
    pub(crate) found: u8,
    pub(crate) expected: u8,
}

/// Fills a block at `offset` with the pattern, which must not be empty. Every
/// repetition contains the offset of the block, or of the pattern's interval.
pub(crate) fn fill_pattern(block: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let interval = interval_of(pattern, block.len());
    let starts = (offset..).step_by(interval);
    for (piece, offset) in block.chunks_mut(interval).zip(starts) {
        fill_interval(piece, pattern, offset);
    }
}

/// Returns the distance in bytes after which the pattern restarts.
fn interval_of(pattern: &ContentPattern, length: usize) -> usize {
    match pattern.interval as usize {
        0 => length.max(1),
        interval => interval,
    }
}

fn fill_interval(block: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let mut done = pattern.bytes.len().min(block.len());
    block[..done].copy_from_slice(&pattern.bytes[..done]);
    put_offset(&mut block[..done], pattern, offset);
    // Doubling the copied part needs few, long copies.
    while done > 0 && done < block.len() {
        let more = done.min(block.len() - done);
        block.copy_within(..more, done);
        done += more;
    }
}

/// Returns the first byte of `bytes` that differs from the pattern. `bytes`
/// begins `skip` bytes after the start of a block at `offset`. An empty pattern
/// matches everything.
pub(crate) fn first_difference(
    bytes: &[u8],
    skip: usize,
    pattern: &ContentPattern,
    offset: u64,
) -> Option<Difference> {
    if pattern.bytes.is_empty() {
        return None;
    }
    let interval = interval_of(pattern, skip + bytes.len());
    let mut done = 0;
    while done < bytes.len() {
        let (number, skip) = ((skip + done) / interval, (skip + done) % interval);
        let end = bytes.len().min(done + interval - skip);
        let offset = offset + (number * interval) as u64;
        let found = first_difference_in(&bytes[done..end], skip, pattern, offset);
        if let Some(difference) = found {
            let at = done + difference.at;
            return Some(Difference { at, ..difference });
        }
        done = end;
    }
    None
}

/// Returns the first difference within one interval.
fn first_difference_in(
    bytes: &[u8],
    skip: usize,
    pattern: &ContentPattern,
    offset: u64,
) -> Option<Difference> {
    // The block holds only the beginning of a long pattern.
    let period = pattern.bytes.len().min(skip + bytes.len());
    let mut wanted = pattern.bytes[..period].to_vec();
    put_offset(&mut wanted, pattern, offset);
    wanted.rotate_left(skip % period);
    let first = period.min(bytes.len());
    // If the first period matches and every later byte equals the one a period
    // earlier, all bytes match.
    if bytes[..first] == wanted[..first] && bytes[first..] == bytes[..bytes.len() - first] {
        return None;
    }
    let mut pairs = bytes.iter().zip(wanted.iter().cycle()).enumerate();
    pairs
        .find(|(_, (found, expected))| found != expected)
        .map(|(at, (&found, &expected))| Difference {
            at,
            found,
            expected,
        })
}

fn put_offset(unit: &mut [u8], pattern: &ContentPattern, offset: u64) {
    let offset = offset.to_le_bytes();
    for &at in &pattern.offsets_at {
        let Some(place) = unit.get_mut(at as usize..) else {
            continue;
        };
        let length = place.len().min(offset.len());
        place[..length].copy_from_slice(&offset[..length]);
    }
}

#[cfg(test)]
mod tests;
