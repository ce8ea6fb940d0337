//! Time of the next I/O: rates, pauses, minimum rates, and the proportions between streams.
//! Times are on the stream's clock, in nanoseconds; this module neither reads a clock nor
//! sleeps.

use crate::sys::lock;
use assay_model::load::{Ddir, Flow, LatencyTarget, PaceLimits, PerDirection, ThinkTime};
use assay_model::rng::SplitMix64;
use assay_model::units::as_u64;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The limits on the pace of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    limits: PerDirection<Option<Limit>>,
    thinking: Option<Thinking>,
    least: PerDirection<Option<LeastRate>>,
    /// True if pauses do not count against the rate.
    ignore_think_time: bool,
}

/// Direction and time of the next I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) ddir: Ddir,
    /// Time until the I/O is due; 0 if it is due now.
    pub(crate) delay_ns: u64,
}

impl Pacing {
    /// Creates the limits of `pace`, from `start_ns` on, with `seed` for random arrivals.
    /// `None` if there is no limit, so that the worker loop can skip the checks.
    pub(crate) fn new(pace: &PaceLimits, start_ns: u64, seed: u64) -> Option<Self> {
        let mut rng = SplitMix64::new(seed);
        let pacing = Self {
            limits: PerDirection::from_fn(|ddir| {
                let poisson = pace.poisson.then(|| SplitMix64::new(rng.next_u64()));
                let limit = Limit::new(pace.rate[ddir], pace.rate_iops[ddir], start_ns, poisson)?;
                let from_due = pace.from_due;
                Some(Limit { from_due, ..limit })
            }),
            thinking: pace
                .think
                .filter(|think| think.pause.0 > 0)
                .map(|think| Thinking::new(think, start_ns)),
            least: PerDirection::from_fn(|ddir| {
                let (bytes, ios) = (pace.rate_min[ddir], pace.rate_iops_min[ddir]);
                LeastRate::new(bytes, ios, pace.rate_cycle.0, start_ns)
            }),
            ignore_think_time: pace.ignore_think_time,
        };
        let nothing = Ddir::ALL
            .iter()
            .all(|&ddir| pacing.limits[ddir].is_none() && pacing.least[ddir].is_none());
        (!nothing || pacing.thinking.is_some()).then_some(pacing)
    }

    /// Returns the time until an I/O of that direction may be issued, in nanoseconds; 0 if it
    /// may be issued now.
    #[inline]
    pub(crate) fn delay_ns(&self, ddir: Ddir, now_ns: u64) -> u64 {
        match &self.limits[ddir] {
            Some(limit) => limit.delay_ns(now_ns),
            None => 0,
        }
    }

    /// Returns the time at which the next I/O of that direction is or was due, if latencies count
    /// from then.
    pub(crate) fn due_ns(&self, ddir: Ddir) -> Option<u64> {
        let limit = self.limits[ddir].as_ref().filter(|limit| limit.from_due)?;
        Some(limit.due_ns)
    }

    /// Chooses the direction of the next I/O, given the `drawn` one. In a mix of reads and
    /// writes, the other direction goes first if it is due earlier (as in fio).
    pub(crate) fn steer(&self, drawn: Ddir, is_mixed: bool, now_ns: u64) -> Turn {
        let turn = |ddir| Turn {
            ddir,
            delay_ns: self.delay_ns(ddir, now_ns),
        };
        let other = match drawn {
            Ddir::Read => Ddir::Write,
            Ddir::Write => Ddir::Read,
            Ddir::Trim => return turn(drawn),
        };
        let (drawn, other) = (turn(drawn), turn(other));
        if is_mixed && other.delay_ns < drawn.delay_ns {
            other
        } else {
            drawn
        }
    }

    /// Records that an I/O was submitted.
    #[inline]
    pub(crate) fn issued(&mut self, ddir: Ddir, bytes: u32, now_ns: u64) {
        if let Some(limit) = &mut self.limits[ddir] {
            limit.issued(bytes, now_ns);
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.issued();
        }
    }

    /// Records a completed I/O with the number of bytes moved.
    #[inline]
    pub(crate) fn completed(&mut self, ddir: Ddir, bytes: u32) {
        if let Some(thinking) = &mut self.thinking {
            thinking.completed();
        }
        if let Some(least) = &mut self.least[ddir] {
            least.completed(bytes);
        }
    }

    /// Returns the pause that is due. The caller waits until nothing is in flight, makes the
    /// pause and calls [`paused`](Self::paused).
    #[inline]
    pub(crate) fn pause_due(&self, now_ns: u64) -> Option<Pause> {
        self.thinking.as_ref()?.due(now_ns)
    }

    /// Records a pause from `begin_ns` to `now_ns`.
    pub(crate) fn paused(&mut self, begin_ns: u64, now_ns: u64) {
        if let Some(thinking) = &mut self.thinking {
            thinking.paused(now_ns);
        }
        if self.ignore_think_time {
            for ddir in Ddir::ALL {
                if let Some(limit) = &mut self.limits[ddir] {
                    limit.postpone(now_ns.saturating_sub(begin_ns));
                }
            }
        }
    }

    /// Returns a message if a minimum rate was not kept. Called after completions, except
    /// during the ramp.
    pub(crate) fn too_slow(&mut self, now_ns: u64) -> Option<String> {
        Ddir::ALL.into_iter().find_map(|ddir| {
            let problem = self.least[ddir].as_mut()?.not_kept(now_ns)?;
            Some(format!("{}: {problem}", ddir.name()))
        })
    }

    /// Restarts all limits when the measured time begins.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        for ddir in Ddir::ALL {
            if let Some(limit) = &mut self.limits[ddir] {
                limit.restart(now_ns);
            }
            if let Some(least) = &mut self.least[ddir] {
                least.restart(now_ns);
            }
        }
    }
}

/// The flows of a load, by id. Clones share the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTable(Arc<Mutex<BTreeMap<i64, Arc<FlowGroup>>>>);

/// The streams with the same flow id.
#[derive(Debug, Default)]
struct FlowGroup {
    /// I/Os of the streams that are running.
    ios: AtomicU64,
    /// Sum of their weights.
    weight: AtomicU64,
}

/// Membership of one stream in a flow, until it is dropped.
#[derive(Debug)]
pub(crate) struct FlowShare {
    group: Arc<FlowGroup>,
    weight: u64,
    ios: u64,
    sleep_ns: u64,
}

impl FlowShare {
    /// Adds a stream to the flow that `flow` names.
    pub(crate) fn join(table: &FlowTable, flow: &Flow) -> Self {
        let mut groups = lock(&table.0);
        let group = Arc::clone(groups.entry(flow.id).or_default());
        let weight = u64::from(flow.weight);
        group.weight.fetch_add(weight, Ordering::Relaxed);
        Self {
            group,
            weight,
            ios: 0,
            sleep_ns: flow.sleep.0,
        }
    }

    /// Returns true if the next I/O may be issued: this stream's share of all I/Os is not above its
    /// share of all weights. Otherwise the stream waits for [`sleep_ns`](Self::sleep_ns) and checks
    /// again.
    #[inline]
    pub(crate) fn may_go(&self) -> bool {
        let ios = self.group.ios.load(Ordering::Relaxed);
        let weight = self.group.weight.load(Ordering::Relaxed);
        // ios_own / ios <= weight_own / weight, without rounding.
        u128::from(self.ios) * u128::from(weight) <= u128::from(ios) * u128::from(self.weight)
    }

    /// Counts an issued I/O.
    #[inline]
    pub(crate) fn issued(&mut self) {
        self.group.ios.fetch_add(1, Ordering::Relaxed);
        self.ios += 1;
    }

    /// Returns the pause of a stream that is ahead; with 0 it checks again at once.
    pub(crate) const fn sleep_ns(&self) -> u64 {
        self.sleep_ns
    }
}

impl Drop for FlowShare {
    /// Removes this stream's counts, so that the others keep their own proportion.
    fn drop(&mut self) {
        self.group.ios.fetch_sub(self.ios, Ordering::Relaxed);
        self.group.weight.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

/// Time after the start without evaluation (as in fio).
const SETTLE_NS: u64 = 2_000_000_000;

/// Checks the minimum rate of one direction.
#[derive(Clone, Copy, Debug)]
struct LeastRate {
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
    const fn new(bytes_per_s: u64, iops: u64, cycle_ns: u64, start_ns: u64) -> Option<Self> {
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
    fn completed(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        self.used = true;
    }

    /// Returns a message with the rate of the cycle that just ended, if it was too low.
    fn not_kept(&mut self, now_ns: u64) -> Option<String> {
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

    const fn restart(&mut self, now_ns: u64) {
        self.since_ns = now_ns.saturating_add(SETTLE_NS);
        self.bytes = 0;
        self.ios = 0;
    }
}

fn per_second(amount: u64, time_ns: u64) -> u64 {
    let rate = u128::from(amount) * 1_000_000_000 / u128::from(time_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Maximum delay that is caught up, so that a stall is not followed by a burst.
const MAX_LATENESS_NS: u64 = 1_000_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Larger rates are no limit on any machine. Below this value, the sum of a
/// block's nanoseconds and a remainder fits into 64 bits.
const MAX_RATE: u64 = 1 << 62;

/// Time at which the next I/O of a direction is due.
#[derive(Clone, Debug)]
struct Limit {
    unit: Unit,
    rate: u64,
    due_ns: u64,
    /// Remainder of the last division, kept so that the rate does not drift.
    remainder: u64,
    /// Generator for Poisson arrivals, if requested.
    poisson: Option<SplitMix64>,
    /// True if every overdue I/O is issued, however late.
    from_due: bool,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes,
    Ios,
}

impl Limit {
    /// Creates a limit in bytes per second, or in I/Os per second if that is 0;
    /// `None` if both are 0.
    fn new(
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
            from_due: false,
        })
    }

    #[inline]
    const fn delay_ns(&self, now_ns: u64) -> u64 {
        self.due_ns.saturating_sub(now_ns)
    }

    fn issued(&mut self, bytes: u32, now_ns: u64) {
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
        self.due_ns = match self.from_due {
            true => due_ns,
            false => due_ns.max(now_ns.saturating_sub(MAX_LATENESS_NS)),
        };
    }

    /// Delays the next I/O by time that does not count.
    const fn postpone(&mut self, time_ns: u64) {
        self.due_ns = self.due_ns.saturating_add(time_ns);
    }

    const fn restart(&mut self, now_ns: u64) {
        self.due_ns = now_ns;
        self.remainder = 0;
    }
}

/// Draws the gap between two arrivals of a Poisson process with a mean of
/// `mean_ns`.
fn exponential(mean_ns: u64, rng: &mut SplitMix64) -> u64 {
    as_u64(mean_ns as f64 * -(1.0 - rng.fraction()).ln())
}

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
struct Thinking {
    think: ThinkTime,
    /// Number of blocks since the last pause.
    blocks: u32,
    /// End of the last pause.
    since_ns: u64,
}

impl Thinking {
    const fn new(think: ThinkTime, start_ns: u64) -> Self {
        Self {
            think,
            blocks: 0,
            since_ns: start_ns,
        }
    }

    #[inline]
    fn issued(&mut self) {
        self.blocks += u32::from(self.think.count_issued);
    }

    #[inline]
    fn completed(&mut self) {
        self.blocks += u32::from(!self.think.count_issued);
    }

    /// Returns the pause if it is due: after the requested number of blocks or
    /// time, whichever comes first.
    #[inline]
    fn due(&self, now_ns: u64) -> Option<Pause> {
        let think = &self.think;
        let enough_blocks = think.blocks > 0 && self.blocks >= think.blocks;
        let enough_time =
            think.io_time.0 > 0 && now_ns.saturating_sub(self.since_ns) >= think.io_time.0;
        (enough_blocks || enough_time).then_some(Pause {
            total_ns: think.pause.0,
            spin_ns: think.spin.0.min(think.pause.0),
        })
    }

    const fn paused(&mut self, now_ns: u64) {
        self.blocks = 0;
        self.since_ns = now_ns;
    }
}

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
mod tests;
