//! I/Os with their own priority.

use assay_model::load::priority::{IoPriority, PriorityShare};
use assay_model::load::{Ddir, PerDirection, Stream};
use assay_model::rng::SplitMix64;

/// Draws the priorities of a stream's I/Os.
#[derive(Clone, Debug)]
pub(super) struct Priorities {
    shares: PerDirection<Vec<PriorityShare>>,
    /// Priority of the stream.
    own: IoPriority,
    rng: SplitMix64,
}

impl Priorities {
    /// Creates the draw; `None` if all I/Os have the priority of their stream.
    pub(super) fn new(stream: &Stream, seed: u64) -> Option<Self> {
        let shares = &stream.engine.priorities;
        let any = shares.iter().any(|(_, shares)| !shares.is_empty());
        any.then(|| Self {
            shares: shares.clone(),
            own: stream.process.priority(),
            rng: SplitMix64::new(seed),
        })
    }

    /// Draws the priority of the next I/O.
    pub(super) fn draw(&mut self, ddir: Ddir, length: u32) -> IoPriority {
        let mut at = self.rng.below(100);
        for share in &self.shares[ddir] {
            if share.size.is_some_and(|size| size != length) {
                continue;
            }
            match at.checked_sub(u64::from(share.percent)) {
                Some(left) => at = left,
                None => return share.priority,
            }
        }
        IoPriority::NONE
    }

    /// Returns the priority that applies to an I/O for which
    /// [`Priorities::draw`] returned `given`.
    pub(super) fn in_force(&self, given: IoPriority) -> IoPriority {
        if given == IoPriority::NONE {
            self.own
        } else {
            given
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(size: Option<u32>, percent: u8, class: u8) -> PriorityShare {
        PriorityShare {
            size,
            percent,
            priority: IoPriority::new(class, 0),
        }
    }

    #[test]
    fn without_shares_there_is_nothing_to_draw() {
        assert!(Priorities::new(&Stream::new("a"), 1).is_none());
    }

    #[test]
    fn each_size_has_its_shares() {
        let mut stream = Stream::new("a");
        stream.process.io_priority = Some(4);
        stream.engine.priorities.read = vec![
            share(Some(4096), 25, 1),
            share(Some(4096), 75, 3),
            share(Some(8192), 10, 1),
        ];
        let mut priorities = Priorities::new(&stream, 7).unwrap();
        let mut count = |ddir, length, class| {
            let drawn = (0..10_000).map(|_| priorities.draw(ddir, length));
            drawn.filter(|priority| priority.class() == class).count()
        };
        // Standard deviations are below 44.
        assert!((2_300..2_700).contains(&count(Ddir::Read, 4096, 1)));
        assert_eq!(count(Ddir::Read, 4096, 0), 0);
        assert!((8_800..9_200).contains(&count(Ddir::Read, 8192, 0)));
        assert_eq!(count(Ddir::Read, 512, 0), 10_000);
        assert_eq!(count(Ddir::Write, 4096, 0), 10_000);
        let own = priorities.in_force(IoPriority::NONE);
        assert_eq!((own.class(), own.level()), (2, 4));
    }
}
