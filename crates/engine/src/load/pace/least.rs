//! Minimum rate of a direction.

/// Time after the start without evaluation (as in fio).
const SETTLE_NS: u64 = 2_000_000_000;

/// Checks the minimum rate of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastRate {
    /// Minimum in bytes per second; 0 if `iops` applies.
    bytes_per_s: u64,
    iops: u64,
    cycle_ns: u64,
    /// Start of the current cycle.
    since_ns: u64,
    bytes: u64,
    ios: u64,
    /// True if the direction had any I/O; an unused direction is not evaluated.
    used: bool,
}

impl LeastRate {
    /// Creates a check; `None` if there is no minimum.
    pub(super) const fn new(
        bytes_per_s: u64,
        iops: u64,
        cycle_ns: u64,
        start_ns: u64,
    ) -> Option<Self> {
        if bytes_per_s == 0 && iops == 0 {
            return None;
        }
        let mut least = Self {
            bytes_per_s,
            iops,
            cycle_ns: if cycle_ns == 0 { 1 } else { cycle_ns },
            since_ns: 0,
            bytes: 0,
            ios: 0,
            used: false,
        };
        least.restart(start_ns);
        Some(least)
    }

    #[inline]
    pub(super) fn completed(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        self.used = true;
    }

    /// Returns a message with the rate of the cycle that just ended, if it was too low.
    pub(super) fn not_kept(&mut self, now_ns: u64) -> Option<String> {
        let Some(spent_ns) = now_ns.checked_sub(self.since_ns).filter(|&spent| spent > 0) else {
            // Within the time without evaluation.
            (self.bytes, self.ios) = (0, 0);
            return None;
        };
        if spent_ns < self.cycle_ns || !self.used {
            return None;
        }
        let (bytes, ios) = (
            per_second(self.bytes, spent_ns),
            per_second(self.ios, spent_ns),
        );
        (self.bytes, self.ios, self.since_ns) = (0, 0, now_ns);
        if bytes < self.bytes_per_s {
            Some(format!(
                "rate_min={}B/s not met, got {bytes}B/s",
                self.bytes_per_s
            ))
        } else if self.bytes_per_s == 0 && ios < self.iops {
            Some(format!(
                "rate_iops_min={} not met, got {ios} IOPS",
                self.iops
            ))
        } else {
            None
        }
    }

    pub(super) const fn restart(&mut self, now_ns: u64) {
        self.since_ns = now_ns.saturating_add(SETTLE_NS);
        self.bytes = 0;
        self.ios = 0;
    }
}

fn per_second(amount: u64, time_ns: u64) -> u64 {
    let rate = u128::from(amount) * 1_000_000_000 / u128::from(time_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The first problem when an I/O of 1000 bytes is done every `gap_ms`, up
    /// to ten seconds, and after five seconds every `then_ms`.
    fn problem(mut least: LeastRate, gap_ms: u64, then_ms: u64) -> Option<(u64, String)> {
        let mut now = 0;
        while now < 10_000 {
            now += if now < 5000 { gap_ms } else { then_ms };
            least.completed(1000);
            if let Some(problem) = least.not_kept(now * MS) {
                return Some((now, problem));
            }
        }
        None
    }

    fn least(bytes: u64, ios: u64) -> LeastRate {
        LeastRate::new(bytes, ios, 1000 * MS, 0).unwrap()
    }

    #[test]
    fn a_direction_without_io_is_not_judged() {
        assert_eq!(least(200_000, 0).not_kept(10_000 * MS), None);
    }

    #[test]
    fn what_is_kept_is_no_problem() {
        assert_eq!(problem(least(99_000, 0), 10, 10), None);
        assert_eq!(problem(least(0, 99), 10, 10), None);
    }

    #[test]
    fn too_slow_is_said_after_the_settling_time_and_a_cycle() {
        let (when, what) = problem(least(200_000, 0), 10, 10).unwrap();
        assert_eq!(when, 3000);
        assert_eq!(what, "rate_min=200000B/s not met, got 100000B/s");
    }

    #[test]
    fn a_later_slump_is_seen_in_its_own_cycle() {
        let (when, what) = problem(least(0, 90), 10, 20).unwrap();
        assert!((6000..=6020).contains(&when), "{when}");
        assert!(what.contains("rate_iops_min=90"), "{what}");
    }
}
