//! Pauses between I/Os.

use assay_model::load::pace::ThinkTime;

/// A pause that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Total length of the pause, in nanoseconds.
    pub(crate) total_ns: u64,
    /// Length of the initial part in which the CPU is kept busy, in
    /// nanoseconds.
    pub(crate) spin_ns: u64,
}

/// State that determines when pauses are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinking {
    think: ThinkTime,
    /// Number of blocks since the last pause.
    blocks: u32,
    /// End of the last pause.
    since_ns: u64,
}

impl Thinking {
    pub(super) const fn new(think: ThinkTime, start_ns: u64) -> Self {
        Self {
            think,
            blocks: 0,
            since_ns: start_ns,
        }
    }

    #[inline]
    pub(super) fn issued(&mut self) {
        self.blocks += u32::from(self.think.count_issued);
    }

    #[inline]
    pub(super) fn completed(&mut self) {
        self.blocks += u32::from(!self.think.count_issued);
    }

    /// Returns the pause if it is due: after the requested number of blocks or
    /// time, whichever comes first.
    #[inline]
    pub(super) fn due(&self, now_ns: u64) -> Option<Pause> {
        let think = &self.think;
        let enough_blocks = think.blocks > 0 && self.blocks >= think.blocks;
        let enough_time =
            think.io_time.0 > 0 && now_ns.saturating_sub(self.since_ns) >= think.io_time.0;
        (enough_blocks || enough_time).then_some(Pause {
            total_ns: think.pause.0,
            spin_ns: think.spin.0.min(think.pause.0),
        })
    }

    pub(super) const fn paused(&mut self, now_ns: u64) {
        self.blocks = 0;
        self.since_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;

    fn think(blocks: u32, count_issued: bool, io_time: u64) -> Thinking {
        let think = ThinkTime {
            pause: Nanos(1000),
            spin: Nanos(300),
            blocks,
            count_issued,
            io_time: Nanos(io_time),
        };
        Thinking::new(think, 0)
    }

    #[test]
    fn blocks_are_counted_where_it_is_asked() {
        for count_issued in [true, false] {
            let mut thinking = think(2, count_issued, 0);
            for _ in 0..2 {
                assert_eq!(thinking.due(0), None);
                if count_issued {
                    thinking.issued();
                } else {
                    thinking.completed();
                }
            }
            let pause = Pause {
                total_ns: 1000,
                spin_ns: 300,
            };
            assert_eq!(thinking.due(0), Some(pause));
            thinking.paused(0);
            if count_issued {
                (0..9).for_each(|_| thinking.completed());
            } else {
                (0..9).for_each(|_| thinking.issued());
            }
            assert_eq!(thinking.due(0), None);
        }
    }

    #[test]
    fn time_or_blocks_whichever_comes_first() {
        let mut timed = think(0, false, 5000);
        (0..100).for_each(|_| timed.completed());
        assert_eq!(timed.due(4999), None);
        assert!(timed.due(5000).is_some());
        timed.paused(6000);
        assert_eq!(timed.due(10_999), None);
        assert!(timed.due(11_000).is_some());
        let mut both = think(3, false, 5000);
        (0..3).for_each(|_| both.completed());
        assert!(both.due(1).is_some());
    }
}
