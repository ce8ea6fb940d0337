//! The plain cases: blocks of one size, one direction, one file. They are what
//! is measured most, and have no more steps than they need.

use super::rules::{Directions, OrderKind, Rules};
use super::{Span, Step};
use crate::permutation::{Ahead, Permutation};
use assay_model::load::Ddir;
use assay_model::load::blocks::Distribution;
use assay_model::rng::SplitMix64;

/// Blocks of one size, direction and file.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    ddir: Ddir,
    length: u32,
    first: u64,
    /// Blocks of a pass, and how many are left of this one.
    blocks: u64,
    left: u64,
    endless: bool,
    order: Order,
    rng: SplitMix64,
}

/// In which order the places come.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per stream, and in the hot loop: no detour over the heap"
)]
enum Order {
    Straight,
    Once(Ahead),
    Any,
}

impl Plain {
    /// `None`: the case is not that plain.
    pub(super) fn new(rules: &Rules, spans: &[Span], seed: u64) -> Option<Self> {
        let (&[span], Directions::Only(ddir)) = (spans, rules.directions) else {
            return None;
        };
        let lengths = if rules.random {
            &rules.jump_lengths
        } else {
            &rules.follow_lengths
        };
        let length = lengths[ddir].fixed()?;
        let aligned = !rules.random || lengths[ddir].align() == length;
        if rules.zones.is_some() || rules.every > 1 || rules.skip != 0 || !aligned {
            return None;
        }
        let order = match rules.order {
            _ if !rules.random => Order::Straight,
            _ if rules.percentage_random[ddir] < 100 => return None,
            OrderKind::Once => Order::Once(Ahead::new(Permutation::new(0, 0))),
            OrderKind::Draws if rules.distribution[ddir] == Distribution::Uniform => Order::Any,
            OrderKind::Draws | OrderKind::Map => return None,
        };
        let blocks = span.length / u64::from(length);
        let mut plain = Self {
            ddir,
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

    /// From the beginning, in the order that `seed` names.
    pub(super) fn begin_again(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.restart();
    }

    #[cold]
    fn restart(&mut self) {
        self.left = self.blocks;
        if let Order::Once(ahead) = &mut self.order {
            *ahead = Ahead::new(Permutation::new(self.blocks, self.rng.next_u64()));
        }
    }

    pub(super) const fn ddir(&self) -> Ddir {
        self.ddir
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Step> {
        if self.left == 0 {
            if !self.endless {
                return None;
            }
            self.restart();
        }
        let place = match &mut self.order {
            Order::Straight => self.blocks - self.left,
            Order::Once(ahead) => ahead.next(),
            Order::Any => self.rng.below(self.blocks),
        };
        self.left -= 1;
        Some(Step {
            ddir: self.ddir,
            file: 0,
            offset: self.first + place * u64::from(self.length),
            length: self.length,
        })
    }
}
