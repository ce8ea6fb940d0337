//! The order of blocks within one file.

use super::random::{Ahead, Draw, Permutation, Skewed};
use super::{FilePart, FreeMap, Lengths};
use crate::EngineError;
use crate::extra::Loads;
use assay_model::load::blocks::{
    Blocks, Distribution, FileService, Files, Generator, Sequencer, StridedZones,
};
use assay_model::load::{Ddir, PerDirection, Stream};
use assay_model::rng::SplitMix64;
use std::collections::VecDeque;

/// Position and order within one file.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    span: FilePart,
    /// Current window: the whole span, or a zone of it.
    start: u64,
    end: u64,
    order: RandomOrder,
    draws: PerDirection<Draw>,
    /// Start of the block that follows the last one, by direction.
    next: PerDirection<u64>,
    /// Start of the last block, by direction.
    last: PerDirection<Option<u64>>,
    /// Bytes issued in this zone.
    zone_bytes: u64,
    /// Bytes issued in this pass.
    pass_bytes: u64,
}

/// Random offsets of the window.
#[derive(Clone, Debug)]
enum RandomOrder {
    Once { ahead: Box<Ahead>, left: u64 },
    Map(FreeMap, Loads),
    Draws,
}

/// A block: offset and length.
type OffsetAndLength = (u64, u32);

impl Walk {
    /// Creates a walk at the beginning of `span`.
    pub(super) fn new(
        span: FilePart,
        rules: &Rules,
        rng: &mut SplitMix64,
    ) -> Result<Self, EngineError> {
        let window = rules
            .zones
            .map_or(span.length, |zones| zones.range.min(span.length));
        let order = match (rules.order, Loads::here()) {
            (OrderKind::Map, Some(loads)) if rules.random => {
                RandomOrder::Map(FreeMap::new(window / rules.piece(), &rules.job)?, loads)
            }
            (OrderKind::Once, _) if rules.random => RandomOrder::Once {
                ahead: Box::new(Ahead::new(Permutation::new(0, 0))),
                left: 0,
            },
            _ => RandomOrder::Draws,
        };
        let mut draw = |ddir: Ddir| {
            if !rules.random || !rules.choosing().contains(&ddir) {
                return Ok(Draw::Uniform);
            }
            let align = rules.jump_lengths[ddir].align();
            let (blocks, seed) = (rules.starts(ddir, window), rng.next_u64());
            Draw::new(&rules.distribution[ddir], blocks, align, seed, &rules.job)
        };
        let draws = PerDirection {
            read: draw(Ddir::Read)?,
            write: draw(Ddir::Write)?,
            trim: draw(Ddir::Trim)?,
        };
        let mut walk = Self {
            span,
            start: span.offset,
            end: span.offset,
            order,
            draws,
            next: PerDirection::default(),
            last: PerDirection::default(),
            zone_bytes: 0,
            pass_bytes: 0,
        };
        walk.begin_again(rules, rng);
        Ok(walk)
    }

    /// Restarts at the beginning, with a new random order.
    pub(super) fn begin_again(&mut self, rules: &Rules, rng: &mut SplitMix64) {
        (self.zone_bytes, self.pass_bytes) = (0, 0);
        self.open_window(self.span.offset, rules.zones);
        self.shuffle(rules, rng);
    }

    /// Returns the next block of direction `ddir`; `None` if the file is done. With `anew`, a new
    /// random offset is due.
    pub(super) fn step(
        &mut self,
        ddir: Ddir,
        anew: bool,
        rules: &Rules,
        rng: &mut SplitMix64,
    ) -> Option<OffsetAndLength> {
        if let Some(zones) = rules.zones {
            self.follow_zones(zones, ddir, rules, rng);
        }
        let (offset, length) = self.block(ddir, anew, rules, rng)?;
        self.last[ddir] = Some(offset);
        self.next[ddir] = offset + u64::from(length);
        self.zone_bytes += u64::from(length);
        self.pass_bytes += u64::from(length);
        Some((offset, length))
    }

    /// Returns true if the walk has issued as many bytes as its file has, because an order of blocks
    /// may have no end.
    pub(super) fn has_all_bytes(&self, rules: &Rules) -> bool {
        self.pass_bytes + rules.smallest() > self.span.length
    }

    fn block(
        &mut self,
        ddir: Ddir,
        anew: bool,
        rules: &Rules,
        rng: &mut SplitMix64,
    ) -> Option<OffsetAndLength> {
        if !anew && rules.identical {
            let offset = self.last[ddir].unwrap_or(self.start);
            let length = rules.follow_lengths[ddir].draw(rng, self.end - offset)?;
            return Some((offset, length));
        }
        let percent = u64::from(rules.percentage_random[ddir]);
        let jumps = rules.random && anew && (percent >= 100 || rng.below(100) < percent);
        if jumps {
            return self.jump(ddir, rules, rng);
        }
        let block = self.follow(ddir, rules, rng);
        if block.is_none() && rules.random {
            return self.jump(ddir, rules, rng);
        }
        block
    }

    /// Returns the block that follows the last one of its direction.
    fn follow(&self, ddir: Ddir, rules: &Rules, rng: &mut SplitMix64) -> Option<OffsetAndLength> {
        let lengths = &rules.follow_lengths[ddir];
        let place = self.following(ddir, rules.skip);
        let fitting = |place: u64, rng: &mut SplitMix64| {
            let length = lengths.draw(rng, (self.end - self.start).checked_sub(place)?)?;
            Some((self.start + place, length))
        };
        let block = place.and_then(|place| fitting(place, rng));
        if block.is_none() && !rules.random && (rules.endless || rules.zones.is_some()) {
            return fitting(0, rng);
        }
        block
    }

    /// Returns the offset of the next block within the window. With a skip, a position beyond the
    /// window wraps around to its other end (as in fio, where going backwards from the beginning of
    /// a file starts with the block there, but elsewhere with the last of the region).
    fn following(&self, ddir: Ddir, skip: i64) -> Option<u64> {
        let length = self.end - self.start;
        let place = self.next[ddir].saturating_sub(self.start);
        if skip == 0 || place >= length {
            return (place < length).then_some(place);
        }
        if place == 0 {
            let backwards = skip < 0 && self.start > 0;
            return if backwards {
                length.checked_add_signed(skip)
            } else {
                Some(0)
            };
        }
        match place.checked_add_signed(skip) {
            Some(place) if place < length => Some(place),
            _ if skip > 0 => Some(0),
            _ => length.checked_add_signed(skip),
        }
    }

    /// Returns a random block.
    fn jump(&mut self, ddir: Ddir, rules: &Rules, rng: &mut SplitMix64) -> Option<OffsetAndLength> {
        let block = self.jump_in_order(ddir, rules, rng);
        if block.is_none() && (rules.endless || rules.zones.is_some()) {
            self.shuffle(rules, rng);
            return self.jump_in_order(ddir, rules, rng);
        }
        block
    }

    fn jump_in_order(
        &mut self,
        ddir: Ddir,
        rules: &Rules,
        rng: &mut SplitMix64,
    ) -> Option<OffsetAndLength> {
        let lengths = &rules.jump_lengths[ddir];
        match &mut self.order {
            RandomOrder::Once { ahead, left } => {
                let align = u64::from(rules.jump_lengths[rules.choosing()[0]].align());
                // The blocks of another direction may be too large for this position.
                loop {
                    *left = left.checked_sub(1)?;
                    let offset = self.start + ahead.next() * align;
                    if let Some(length) = lengths.draw(rng, self.end - offset) {
                        return Some((offset, length));
                    }
                }
            }
            RandomOrder::Map(map, _) => {
                let piece = rules.piece();
                let from = rng.below((self.end - self.start) / piece);
                let step = (u64::from(lengths.align()) / piece).max(1);
                let first = map.next_free(from / step * step)?;
                let offset = self.start + first * piece;
                let wanted = lengths
                    .draw(rng, self.end - offset)
                    .map_or(piece, u64::from);
                let pieces = map.take(first, wanted.div_ceil(piece));
                let length = wanted.min(pieces * piece);
                Some((offset, u32::try_from(length).unwrap_or(u32::MAX)))
            }
            RandomOrder::Draws => {
                let starts = rules.starts(ddir, self.end - self.start);
                let number = self.draws[ddir].number(rng, starts);
                let offset = self.start + number * u64::from(lengths.align());
                Some((offset, lengths.draw(rng, self.end.checked_sub(offset)?)?))
            }
        }
    }

    /// Moves to the next zone when this one has had its bytes, and restarts the zone at its end (a
    /// zone may get more bytes than its length).
    fn follow_zones(
        &mut self,
        zones: StridedZones,
        ddir: Ddir,
        rules: &Rules,
        rng: &mut SplitMix64,
    ) {
        if self.zone_bytes >= zones.size {
            self.zone_bytes = 0;
            let start = self
                .start
                .saturating_add(zones.range.saturating_add(zones.skip));
            let end = self.span.offset + self.span.length;
            let fits = start
                .checked_add(rules.smallest())
                .is_some_and(|last| last <= end);
            self.open_window(if fits { start } else { self.span.offset }, rules.zones);
        }
        if self.next[ddir] >= self.end {
            self.next[ddir] = self.start;
        }
        if self.zone_bytes.is_multiple_of(zones.range) {
            self.shuffle(rules, rng);
        }
    }

    fn open_window(&mut self, start: u64, zones: Option<StridedZones>) {
        let end = self.span.offset + self.span.length;
        self.start = start;
        self.end = zones.map_or(end, |zones| start.saturating_add(zones.range).min(end));
        self.next = PerDirection::all(start);
        self.last = PerDirection::default();
    }

    /// Marks the whole window as not done, in a new order.
    fn shuffle(&mut self, rules: &Rules, rng: &mut SplitMix64) {
        let length = self.end - self.start;
        match &mut self.order {
            RandomOrder::Once { ahead, left } => {
                *left = rules.starts(rules.choosing()[0], length);
                **ahead = Ahead::new(Permutation::new(*left, rng.next_u64()));
            }
            RandomOrder::Map(map, _) => map.free_first(length / rules.piece()),
            RandomOrder::Draws => {}
        }
    }
}

/// Factor by which file frequencies are drawn more finely than the number of files, so that the
/// distribution also applies within each file's share (as in fio).
const FINENESS: u64 = 1024;

/// Chooses among the files that are not done.
#[derive(Clone, Debug)]
pub(super) struct Service {
    choice: Choice,
    /// Number of I/Os to a file before another is chosen.
    every: u32,
    /// Number of I/Os left for the chosen file.
    left: u32,
    /// Files in use, at most `open_at_once`.
    active: VecDeque<u32>,
    /// Index of the chosen file in `active`.
    at: usize,
    /// Number of the first file that was not in use yet.
    unused: u32,
    files: u32,
    open_at_once: usize,
    /// True if the chosen file was already used.
    served: bool,
}

#[derive(Clone, Debug)]
enum Choice {
    InTurn,
    UntilDone,
    Random,
    /// Skewed choice among the files in use, with the first the most frequent (normal: the middle
    /// one).
    Skewed(Skewed, Loads),
}

impl Service {
    /// Creates the choice among `number` files, of which at most `files.open_at_once` are in use
    /// at a time.
    pub(super) fn new(files: &Files, number: u32) -> Self {
        let open_at_once = match files.open_at_once {
            0 => number,
            some => some.min(number),
        };
        let fine = u64::from(open_at_once) * FINENESS;
        let skewed = Loads::here().and_then(|loads| Some((skewed(files.service, fine)?, loads)));
        let choice = match (files.service, skewed) {
            (_, Some((law, loads))) => Choice::Skewed(law, loads),
            (FileService::Sequential, None) => Choice::UntilDone,
            (FileService::Random, None) => Choice::Random,
            _ => Choice::InTurn,
        };
        let mut service = Self {
            choice,
            every: files.service_every.max(1),
            left: 0,
            active: VecDeque::new(),
            at: 0,
            unused: 0,
            files: number,
            open_at_once: open_at_once as usize,
            served: false,
        };
        service.begin_again();
        service
    }

    /// Restarts with all files available.
    pub(super) fn begin_again(&mut self) {
        self.active.clear();
        (self.at, self.left, self.unused, self.served) = (0, 0, 0, false);
        self.refill();
    }

    /// Returns true if some files get more I/O than others. A file at its end then restarts
    /// instead of being done.
    pub(super) const fn is_skewed(&self) -> bool {
        matches!(self.choice, Choice::Skewed(..))
    }

    /// Returns true if files wait until others are done, so that each file must end at some time.
    pub(super) fn replaces_files(&self) -> bool {
        let one_by_one = matches!(self.choice, Choice::UntilDone) && self.files > 1;
        (one_by_one || self.open_at_once < self.files as usize) && !self.is_skewed()
    }

    /// Returns the file of the next I/O; `None` if all are done.
    pub(super) fn next(&mut self, rng: &mut SplitMix64) -> Option<u32> {
        if self.left == 0 {
            self.choose(rng);
            self.left = self.every;
        }
        self.left -= 1;
        self.active.get(self.at).copied()
    }

    /// Marks the file that [`next`](Self::next) last returned as done.
    pub(super) fn is_done(&mut self) {
        if self.at == 0 {
            // This preserves the order of the others.
            self.active.pop_front();
        } else {
            self.active.swap_remove_back(self.at);
        }
        (self.at, self.left, self.served) = (0, 0, false);
        self.refill();
    }

    fn choose(&mut self, rng: &mut SplitMix64) {
        match &self.choice {
            Choice::InTurn if self.served && self.active.len() > 1 => self.active.rotate_left(1),
            Choice::InTurn | Choice::UntilDone => {}
            Choice::Random => self.at = index(rng.below(self.active.len() as u64)),
            Choice::Skewed(law, _) => {
                let last = self.active.len().saturating_sub(1);
                self.at = index(law.draw(rng) / FINENESS).min(last);
            }
        }
        self.served = true;
    }

    fn refill(&mut self) {
        while self.active.len() < self.open_at_once && self.unused < self.files {
            self.active.push_back(self.unused);
            self.unused += 1;
        }
    }
}

/// Returns the distribution of a service that prefers some files; `None` if it prefers none.
fn skewed(service: FileService, bound: u64) -> Option<Skewed> {
    match service {
        FileService::Zipf(theta) => Some(Skewed::zipf(bound, theta)),
        FileService::Pareto(power) => Some(Skewed::pareto(bound, power)),
        FileService::Normal(deviation) => Some(Skewed::normal(bound, deviation, None)),
        FileService::RoundRobin | FileService::Sequential | FileService::Random => None,
    }
}

/// Converts a position among the files, which is below 2^32.
fn index(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// Rules that apply to all files of a stream.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) directions: Directions,
    /// True if offsets are in random order.
    pub(super) random: bool,
    /// Number of I/Os for each new random offset.
    pub(super) every: u32,
    /// True if the I/Os between new offsets repeat the same offset instead of the following one.
    pub(super) identical: bool,
    /// Bytes added to the offset after each sequential I/O.
    pub(super) skip: i64,
    /// Chance of a random offset, in percent.
    pub(super) percentage_random: PerDirection<u8>,
    pub(super) jump_lengths: PerDirection<Lengths>,
    pub(super) follow_lengths: PerDirection<Lengths>,
    pub(super) distribution: PerDirection<Distribution>,
    pub(super) order: OrderKind,
    pub(super) zones: Option<StridedZones>,
    /// True if the order starts over by itself at its end.
    pub(super) endless: bool,
    /// The stream's name, for errors.
    pub(super) job: String,
}

/// Method of choosing random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderKind {
    /// Each block position exactly once.
    Once,
    /// Free positions from a map, for blocks of several sizes.
    Map,
    /// Independent draws, which may repeat.
    Draws,
}

/// Method of choosing the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directions {
    Only(Ddir),
    /// Reads with this chance in percent, otherwise writes.
    Mixed(u8),
    TrimThenWrite,
}

impl Directions {
    fn new(blocks: &Blocks) -> Self {
        let rw = &blocks.rw;
        match (rw.read, rw.write, rw.trim) {
            (_, _, true) if rw.trim_then_write => Self::TrimThenWrite,
            (true, true, _) => Self::Mixed(blocks.read_percent),
            (true, false, _) => Self::Only(Ddir::Read),
            (false, true, _) => Self::Only(Ddir::Write),
            (false, false, _) => Self::Only(Ddir::Trim),
        }
    }

    /// Returns true if reads and writes are mixed.
    pub(super) const fn is_mixed(self) -> bool {
        matches!(self, Self::Mixed(_))
    }

    /// Draws the direction of the next new block.
    #[inline]
    pub(super) fn draw(self, rng: &mut SplitMix64) -> Ddir {
        match self {
            Self::Only(ddir) => ddir,
            Self::Mixed(percent) if rng.below(100) < u64::from(percent) => Ddir::Read,
            Self::Mixed(_) => Ddir::Write,
            Self::TrimThenWrite => Ddir::Trim,
        }
    }

    /// Returns the directions that choose separate blocks.
    pub(super) const fn choosing(self) -> &'static [Ddir] {
        match self {
            Self::Only(Ddir::Read) => &[Ddir::Read],
            Self::Only(Ddir::Write) => &[Ddir::Write],
            Self::Only(Ddir::Trim) | Self::TrimThenWrite => &[Ddir::Trim],
            Self::Mixed(_) => &[Ddir::Read, Ddir::Write],
        }
    }
}

impl Rules {
    /// Derives the rules from the options of a stream.
    pub(super) fn new(stream: &Stream) -> Self {
        let blocks = &stream.blocks;
        let lengths = |by_order: Ddir| {
            PerDirection::from_fn(|ddir| {
                let of = if blocks.sizes_by_order {
                    by_order
                } else {
                    ddir
                };
                Lengths::new(&blocks.sizes[of], blocks.unaligned)
            })
        };
        let mut rules = Self {
            directions: Directions::new(blocks),
            random: blocks.rw.random,
            every: if blocks.rw.random {
                blocks.rw.every.max(1)
            } else {
                1
            },
            identical: blocks.rw.sequencer == Sequencer::Identical,
            skip: if blocks.rw.random {
                0
            } else {
                blocks.rw.skip_bytes
            },
            percentage_random: blocks.percentage_random,
            jump_lengths: lengths(Ddir::Write),
            follow_lengths: lengths(Ddir::Read),
            distribution: blocks.distribution.clone(),
            order: OrderKind::Draws,
            zones: stream.region.zones.filter(|zones| zones.range > 0),
            // A pass that is verified must end.
            endless: stream.length.time_based && stream.verify.is_none(),
            job: stream.name.clone(),
        };
        rules.order = rules.order_kind(blocks);
        rules
    }

    /// Returns the method of choosing random offsets. As in fio, a non-uniform distribution, or
    /// blocks that start elsewhere than at multiples of their size, exclude a map.
    fn order_kind(&self, blocks: &Blocks) -> OrderKind {
        let all = |holds: &dyn Fn(Ddir) -> bool| self.choosing().iter().all(|&ddir| holds(ddir));
        let first = &self.jump_lengths[self.choosing()[0]];
        let uniform = all(&|ddir| self.distribution[ddir] == Distribution::Uniform);
        let aligned = all(&|ddir| self.jump_lengths[ddir].align() == self.jump_lengths[ddir].min());
        let one_size = all(&|ddir| {
            let lengths = &self.jump_lengths[ddir];
            lengths.fixed().is_some() && lengths.fixed() == first.fixed()
        });
        if !uniform {
            OrderKind::Draws
        } else if blocks.generator == Generator::Lfsr {
            OrderKind::Once
        } else if blocks.no_map || !aligned {
            OrderKind::Draws
        } else if one_size {
            OrderKind::Once
        } else {
            OrderKind::Map
        }
    }

    /// Returns the directions that choose separate blocks.
    pub(super) const fn choosing(&self) -> &'static [Ddir] {
        self.directions.choosing()
    }

    /// Returns the minimum of `value` over the directions and orders in use.
    fn least(&self, value: impl Fn(&Lengths) -> u32) -> u64 {
        let lengths = self.choosing().iter().flat_map(|&ddir| {
            let jump = self.random.then(|| &self.jump_lengths[ddir]);
            let follows = !self.random || self.every > 1 || self.percentage_random[ddir] < 100;
            let follow = follows.then(|| &self.follow_lengths[ddir]);
            jump.into_iter().chain(follow)
        });
        u64::from(lengths.map(value).min().unwrap_or(1).max(1))
    }

    /// Returns the smallest block size.
    pub(super) fn smallest(&self) -> u64 {
        self.least(Lengths::min)
    }

    /// Returns the smallest random block size, which is the unit of a map.
    pub(super) fn piece(&self) -> u64 {
        let smallest = |&ddir: &Ddir| self.jump_lengths[ddir].min();
        u64::from(
            self.choosing()
                .iter()
                .map(smallest)
                .min()
                .unwrap_or(1)
                .max(1),
        )
    }

    /// Returns the number of blocks of direction `ddir` that can start in `room` bytes: one at each
    /// multiple of the alignment at which the smallest block still fits.
    pub(super) fn starts(&self, ddir: Ddir, room: u64) -> u64 {
        let lengths = &self.jump_lengths[ddir];
        match room.checked_sub(u64::from(lengths.min())) {
            Some(last) => last / u64::from(lengths.align()) + 1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(kind: FileService, every: u32, open_at_once: u32, number: u32) -> Service {
        let files = Files {
            service: kind,
            service_every: every,
            open_at_once,
            ..Files::default()
        };
        Service::new(&files, number)
    }

    fn take(service: &mut Service, number: usize) -> Vec<u32> {
        let mut rng = SplitMix64::new(2);
        (0..number).map_while(|_| service.next(&mut rng)).collect()
    }

    #[test]
    fn round_robin_gives_each_its_turn_and_goes_on_without_those_done() {
        let mut service = service(FileService::RoundRobin, 2, 0, 3);
        assert_eq!(take(&mut service, 8), [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(take(&mut service, 1), [1]);
        service.is_done();
        assert_eq!(take(&mut service, 6), [2, 2, 0, 0, 2, 2]);
        service.begin_again();
        assert_eq!(take(&mut service, 4), [0, 0, 1, 1]);
    }

    #[test]
    fn few_open_files_are_replaced_as_they_are_done() {
        let mut service = service(FileService::RoundRobin, 1, 2, 3);
        assert_eq!(take(&mut service, 3), [0, 1, 0]);
        service.is_done();
        assert_eq!(take(&mut service, 4), [1, 2, 1, 2]);
        service.is_done();
        assert_eq!(take(&mut service, 2), [1, 1]);
        service.is_done();
        assert_eq!(take(&mut service, 1), []);
    }

    #[test]
    fn sequential_stays_until_done() {
        let mut service = service(FileService::Sequential, 1, 0, 2);
        assert_eq!(take(&mut service, 3), [0, 0, 0]);
        service.is_done();
        assert_eq!(take(&mut service, 2), [1, 1]);
    }

    #[test]
    fn random_takes_all_alike_and_only_those_left() {
        let mut service = service(FileService::Random, 1, 0, 4);
        let taken = take(&mut service, 40_000);
        for file in 0..4 {
            // Binomial with p = 1/4: standard deviation 87.
            let count = taken.iter().filter(|&&taken| taken == file).count();
            assert!((9_560..10_440).contains(&count), "{file}: {count}");
        }
        let done = *taken.last().unwrap();
        service.is_done();
        assert!(!take(&mut service, 1000).contains(&done));
    }

    #[test]
    fn skewed_services_prefer_the_first_files() {
        for kind in [FileService::Zipf(1.2), FileService::Pareto(0.1)] {
            let taken = take(&mut service(kind, 1, 0, 10), 10_000);
            let count = |file| taken.iter().filter(|&&taken| taken == file).count();
            assert!(count(0) > 3 * count(1), "{kind:?}");
        }
        let taken = take(&mut service(FileService::Normal(10.0), 1, 0, 11), 10_000);
        let count = |file| taken.iter().filter(|&&taken| taken == file).count();
        assert!(count(5) > 5 * count(2));
    }
}
