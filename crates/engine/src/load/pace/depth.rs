//! Search for the largest queue depth that keeps a latency target.

use assay_model::load::LatencyTarget;

/// Number of consecutive good windows after which the next depth, which failed
/// before, is tried again: it may have failed by chance.
const GOOD_WINDOWS: u32 = 3;

/// Result of evaluating the latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DepthDecision {
    /// The depth does not change.
    GoOn,
    /// The depth has changed. I/O in flight must complete before the stream
    /// continues.
    Changed,
    /// The depth is found: statistics are reset and collected for one window.
    Found,
    /// The window at the found depth is over, and the stream ends.
    Done,
    /// Even a depth of 1 does not keep the latency, and the stream ends.
    Missed,
}

/// Doubles the depth while the latency is kept, then bisects between the
/// largest depth that kept it and the smallest that did not.
#[derive(Clone, Debug)]
pub(crate) struct DepthSearch {
    target: LatencyTarget,
    max: u32,
    depth: u32,
    /// Largest depth that kept the latency; 0 if none did.
    good: u32,
    /// Smallest depth that did not keep the latency.
    bad: Option<u32>,
    /// Number of consecutive good windows at a depth that cannot be raised.
    stable: u32,
    /// True in the last window, at the found depth.
    last: bool,
    since_ns: u64,
    ios: u64,
    slow: u64,
}

impl DepthSearch {
    /// Starts a search for `target` at depths up to `max`, from depth 1.
    pub(crate) fn new(target: &LatencyTarget, max: u32, start_ns: u64) -> Self {
        Self {
            target: *target,
            max: max.max(1),
            depth: 1,
            good: 0,
            bad: None,
            stable: 0,
            last: false,
            since_ns: start_ns,
            ios: 0,
            slow: 0,
        }
    }

    /// Returns the number of I/Os to keep in flight now.
    pub(crate) const fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the largest depth that kept the latency; 0 if none did.
    pub(crate) const fn reached(&self) -> u32 {
        self.good
    }

    /// Evaluates a completed I/O. If all I/Os must keep the latency, a slower
    /// one ends the window at once.
    pub(crate) fn completed(&mut self, latency_ns: u64, now_ns: u64) -> DepthDecision {
        self.ios += 1;
        if latency_ns > self.target.target.0 {
            self.slow += 1;
            if self.target.percentile >= 100.0 {
                return self.too_deep(now_ns);
            }
        }
        if now_ns.saturating_sub(self.since_ns) < self.target.window.0 {
            return DepthDecision::GoOn;
        }
        let kept = (self.ios - self.slow) as f64 / self.ios as f64 * 100.0;
        if kept >= self.target.percentile {
            self.kept(now_ns)
        } else {
            self.too_deep(now_ns)
        }
    }

    /// Starts a new window, when the measured time begins or I/O continues
    /// after a change.
    pub(crate) const fn restart(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
        self.ios = 0;
        self.slow = 0;
    }

    fn kept(&mut self, now_ns: u64) -> DepthDecision {
        self.restart(now_ns);
        self.good = self.depth;
        if self.last {
            return DepthDecision::Done;
        }
        let next = match self.bad {
            None => self.depth.saturating_mul(2).min(self.max),
            Some(bad) => self.depth.midpoint(bad).max(self.depth),
        };
        if next != self.depth {
            self.stable = 0;
            self.depth = next;
            return DepthDecision::Changed;
        }
        if !self.target.run {
            self.last = true;
            return DepthDecision::Found;
        }
        self.stable += 1;
        if self.stable >= GOOD_WINDOWS {
            self.stable = 0;
            self.bad = self.bad.map(|bad| bad + 1).filter(|&bad| bad <= self.max);
        }
        DepthDecision::GoOn
    }

    fn too_deep(&mut self, now_ns: u64) -> DepthDecision {
        self.restart(now_ns);
        self.stable = 0;
        self.last = false;
        self.good = self.good.min(self.depth - 1);
        if self.depth == 1 {
            return if self.target.run {
                DepthDecision::GoOn
            } else {
                DepthDecision::Missed
            };
        }
        self.bad = Some(self.depth);
        self.depth = self.good.midpoint(self.depth).clamp(1, self.depth - 1);
        DepthDecision::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;

    const WINDOW: u64 = 1_000_000;

    fn target(percentile: f64, run: bool) -> LatencyTarget {
        LatencyTarget {
            target: Nanos(1000),
            window: Nanos(WINDOW),
            percentile,
            run,
        }
    }

    /// Runs a device of which the latency is `latency` of the depth and of the
    /// I/O's number, for that many I/Os; the findings but `GoOn`.
    fn run(
        search: &mut DepthSearch,
        ios: u64,
        latency: impl Fn(u32, u64) -> u64,
    ) -> Vec<DepthDecision> {
        let mut findings = Vec::new();
        for number in 0..ios {
            let latency_ns = latency(search.depth(), number);
            let finding = search.completed(latency_ns, number * WINDOW / 100);
            if finding != DepthDecision::GoOn {
                findings.push(finding);
            }
            if matches!(finding, DepthDecision::Done | DepthDecision::Missed) {
                break;
            }
        }
        findings
    }

    #[test]
    fn the_largest_depth_that_keeps_the_latency_is_found() {
        for limit in 1..=40 {
            let mut search = DepthSearch::new(&target(100.0, false), 32, 0);
            let findings = run(&mut search, 100_000, |depth, _| {
                u64::from(depth) * 1000 / limit
            });
            assert_eq!(
                search.reached(),
                u32::try_from(limit).unwrap().min(32),
                "{findings:?}"
            );
            assert_eq!(
                findings[findings.len() - 2..],
                [DepthDecision::Found, DepthDecision::Done]
            );
        }
    }

    #[test]
    fn a_share_of_slow_ios_is_allowed() {
        // One in a hundred is slow at any depth, one in ten from 9 on.
        let latency = |depth, number: u64| {
            let every = if depth >= 9 { 10 } else { 100 };
            if number.is_multiple_of(every) {
                5000
            } else {
                10
            }
        };
        let mut search = DepthSearch::new(&target(95.0, false), 64, 0);
        run(&mut search, 100_000, latency);
        assert_eq!(search.reached(), 8);
        let mut search = DepthSearch::new(&target(100.0, false), 64, 0);
        assert_eq!(run(&mut search, 100_000, latency), [DepthDecision::Missed]);
        assert_eq!(search.reached(), 0);
    }

    #[test]
    fn it_goes_on_and_follows_the_device_where_asked() {
        let mut search = DepthSearch::new(&target(100.0, true), 64, 0);
        let findings = run(&mut search, 10_000, |depth, _| u64::from(depth) * 100);
        assert!((9..=11).contains(&search.depth()), "{}", search.depth());
        assert!(
            findings
                .iter()
                .all(|finding| *finding == DepthDecision::Changed)
        );
        search.restart(0);
        run(&mut search, 20_000, |depth, _| u64::from(depth) * 50);
        assert!((19..=21).contains(&search.depth()), "{}", search.depth());
        search.restart(0);
        run(&mut search, 20_000, |depth, _| u64::from(depth) * 400);
        assert!((2..=3).contains(&search.depth()), "{}", search.depth());
    }
}
