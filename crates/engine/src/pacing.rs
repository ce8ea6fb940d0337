//! Rate limits.

use assay_model::job::RateLimit;

/// When the next I/O may be handed over. A worker that fell behind catches up
/// at most one second's worth, so that a stall is not followed by a flood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Time one I/O takes at the limit.
    step_ns: u64,
    due_ns: u64,
}

/// At most this much lateness is made up for.
const MAX_LATENESS_NS: u64 = 1_000_000_000;

impl Pacer {
    /// A limit of zero is refused before it gets here; here it must only not be
    /// divided by.
    pub(crate) fn new(limit: RateLimit, block: u64, start_ns: u64) -> Self {
        let step_ns = match limit {
            RateLimit::Iops(iops) => 1_000_000_000 / iops.max(1),
            RateLimit::BytesPerSec(rate) => {
                let step = u128::from(block) * 1_000_000_000 / u128::from(rate.max(1));
                u64::try_from(step).unwrap_or(u64::MAX)
            }
        };
        Self {
            step_ns,
            due_ns: start_ns,
        }
    }

    /// How long to wait before the next I/O; 0: it is due.
    pub(crate) fn wait_ns(&self, now_ns: u64) -> u64 {
        self.due_ns.saturating_sub(now_ns)
    }

    /// An I/O was handed over.
    pub(crate) fn step(&mut self, now_ns: u64) {
        self.due_ns =
            (self.due_ns.saturating_add(self.step_ns)).max(now_ns.saturating_sub(MAX_LATENESS_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_on_average() {
        let mut pacer = Pacer::new(RateLimit::BytesPerSec(4096 * 1000), 4096, 0);
        let mut now = 0;
        for _ in 0..5000 {
            now += pacer.wait_ns(now);
            pacer.step(now);
        }
        // The first I/O goes at once, so 5000 take 4999 steps.
        assert_eq!(now, 4_999_000_000);
    }

    #[test]
    fn a_long_stall_is_not_followed_by_a_flood() {
        let mut pacer = Pacer::new(RateLimit::Iops(100), 4096, 0);
        pacer.step(60_000_000_000);
        let now = 60_000_000_000;
        let mut at_once = 0;
        while pacer.wait_ns(now) == 0 {
            pacer.step(now);
            at_once += 1;
        }
        assert!(at_once <= 101, "{at_once} I/Os at once");
    }
}
