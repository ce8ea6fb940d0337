//! Rules for the order of a stream's blocks, derived once from its options.

use super::lengths::Lengths;
use assay_model::load::blocks::{Blocks, Distribution, Generator, Sequencer, StridedZones};
use assay_model::load::{Ddir, PerDirection, Stream};
use assay_model::rng::SplitMix64;

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
