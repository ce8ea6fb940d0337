//! The order of blocks within one file.

use super::FilePart;
use super::draw::Draw;
use super::free_map::FreeMap;
use super::rules::{OrderKind, Rules};
use crate::error::EngineError;
use crate::extra::Loads;
use crate::permutation::{Ahead, Permutation};
use assay_model::load::blocks::StridedZones;
use assay_model::load::{Ddir, PerDirection};
use assay_model::rng::SplitMix64;

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
