//! Rate limit of one direction.

use assay_model::number::as_u64;
use assay_model::rng::SplitMix64;

/// Maximum delay that is caught up, so that a stall is not followed by a burst.
const MAX_LATENESS_NS: u64 = 1_000_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Larger rates are no limit on any machine. Below this value, the sum of a
/// block's nanoseconds and a remainder fits into 64 bits.
const MAX_RATE: u64 = 1 << 62;

/// Time at which the next I/O of a direction is due.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    unit: Unit,
    rate: u64,
    due_ns: u64,
    /// Remainder of the last division, kept so that the rate does not drift.
    remainder: u64,
    /// Generator for Poisson arrivals, if requested.
    poisson: Option<SplitMix64>,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes,
    Ios,
}

impl Limit {
    /// Creates a limit in bytes per second, or in I/Os per second if that is 0;
    /// `None` if both are 0.
    pub(super) fn new(
        bytes_per_s: u64,
        iops: u64,
        start_ns: u64,
        poisson: Option<SplitMix64>,
    ) -> Option<Self> {
        let (unit, rate) = match (bytes_per_s, iops) {
            (0, 0) => return None,
            (0, iops) => (Unit::Ios, iops),
            (bytes, _) => (Unit::Bytes, bytes),
        };
        Some(Self {
            unit,
            rate: rate.min(MAX_RATE),
            due_ns: start_ns,
            remainder: 0,
            poisson,
        })
    }

    #[inline]
    pub(super) const fn delay_ns(&self, now_ns: u64) -> u64 {
        self.due_ns.saturating_sub(now_ns)
    }

    pub(super) fn issued(&mut self, bytes: u32, now_ns: u64) {
        let amount = match self.unit {
            Unit::Bytes => u64::from(bytes),
            Unit::Ios => 1,
        };
        let whole = amount * SECOND_NS + self.remainder;
        let gap_ns = whole / self.rate;
        self.remainder = whole % self.rate;
        let gap_ns = match &mut self.poisson {
            Some(rng) => exponential(gap_ns, rng),
            None => gap_ns,
        };
        let due_ns = self.due_ns.saturating_add(gap_ns);
        self.due_ns = due_ns.max(now_ns.saturating_sub(MAX_LATENESS_NS));
    }

    /// Delays the next I/O by time that does not count.
    pub(super) const fn postpone(&mut self, time_ns: u64) {
        self.due_ns = self.due_ns.saturating_add(time_ns);
    }

    pub(super) const fn restart(&mut self, now_ns: u64) {
        self.due_ns = now_ns;
        self.remainder = 0;
    }
}

/// Draws the gap between two arrivals of a Poisson process with a mean of
/// `mean_ns`.
fn exponential(mean_ns: u64, rng: &mut SplitMix64) -> u64 {
    as_u64(mean_ns as f64 * -(1.0 - rng.fraction()).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the last of `number` I/Os goes, if each goes as soon as it may.
    fn last(mut limit: Limit, number: u32, bytes: u32) -> u64 {
        let mut now = 0;
        for _ in 0..number {
            now += limit.delay_ns(now);
            limit.issued(bytes, now);
        }
        now
    }

    #[test]
    fn rates_are_kept_on_average_without_drift() {
        // The first goes at once, so n take n - 1 gaps.
        let limit = |bytes, iops| Limit::new(bytes, iops, 0, None).unwrap();
        assert_eq!(last(limit(4096 * 1000, 0), 5001, 4096), 5 * SECOND_NS);
        assert_eq!(last(limit(0, 3), 3001, 4096), 1000 * SECOND_NS);
        // 512 bytes at 10 GB/s take 51.2 ns.
        assert_eq!(last(limit(10_000_000_000, 0), 1_000_001, 512), 51_200_000);
    }

    #[test]
    fn poisson_arrivals_have_the_same_mean_and_vary() {
        let limit = Limit::new(0, 1000, 0, Some(SplitMix64::new(1))).unwrap();
        let seconds = last(limit.clone(), 100_001, 4096) as f64 / 1e9;
        // Standard deviation of the sum: sqrt(100 000) ms = 0.32 s.
        assert!((seconds - 100.0).abs() < 1.6, "{seconds}");
        let (mut limit, mut now, mut short) = (limit, 0, 0);
        for _ in 0..10_000 {
            limit.issued(4096, now);
            let gap = limit.delay_ns(now);
            short += u32::from(gap < 500_000);
            now += gap;
        }
        // 1 - e^-0.5 = 39.3 % are below half the mean; standard deviation 49.
        assert!((3680..4190).contains(&short), "{short}");
    }

    #[test]
    fn a_long_stall_is_not_followed_by_a_flood() {
        let mut limit = Limit::new(0, 100, 0, None).unwrap();
        let now = 60 * SECOND_NS;
        let mut at_once = 0;
        while limit.delay_ns(now) == 0 {
            limit.issued(4096, now);
            at_once += 1;
        }
        assert!((100..=102).contains(&at_once), "{at_once} I/Os at once");
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        let mut fast = Limit::new(u64::MAX, 0, 0, None).unwrap();
        let mut slow = Limit::new(1, 0, 0, None).unwrap();
        for _ in 0..10 {
            fast.issued(u32::MAX, 0);
            slow.issued(u32::MAX, 0);
        }
        assert!(fast.delay_ns(0) < 100);
        assert_eq!(slow.delay_ns(0), u64::MAX);
    }
}
