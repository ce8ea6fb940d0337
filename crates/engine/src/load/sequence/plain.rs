//! The simple cases: blocks of one size in one file, in one direction or (for
//! random order) in a mix of two. They are measured most often, so they use a
//! minimum of instructions.

use super::rules::{Directions, OrderKind, Rules};
use super::{FilePart, Step};
use crate::permutation::{Ahead, Permutation};
use assay_model::load::Ddir;
use assay_model::load::blocks::Distribution;
use assay_model::rng::SplitMix64;

/// Sequence over blocks of one size in one file.
#[derive(Clone, Debug)]
pub(super) struct Plain {
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
    pub(super) fn new(rules: &Rules, spans: &[FilePart], seed: u64) -> Option<Self> {
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
    pub(super) fn begin_again(&mut self, seed: u64) {
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
    pub(super) fn draw(&mut self) -> Ddir {
        self.directions.draw(&mut self.rng)
    }

    pub(super) const fn is_mixed(&self) -> bool {
        self.directions.is_mixed()
    }

    #[inline]
    pub(super) fn next_of(&mut self, ddir: Ddir) -> Option<Step> {
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
