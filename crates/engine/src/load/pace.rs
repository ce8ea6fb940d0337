//! Time of the next I/O: rates, pauses, minimum rates, and the proportions between streams.
//! Times are on the stream's clock, in nanoseconds; this module neither reads a clock nor
//! sleeps.

mod depth;

pub(crate) use depth::{DepthDecision, DepthSearch};

use crate::sys::lock;
use assay_model::load::{Ddir, Flow, PaceLimits, PerDirection, ThinkTime};
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
                Limit::new(pace.rate[ddir], pace.rate_iops[ddir], start_ns, poisson)
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
        self.due_ns = due_ns.max(now_ns.saturating_sub(MAX_LATENESS_NS));
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::ThinkTime;
    use assay_model::units::Nanos;

    const SECOND: u64 = 1_000_000_000;

    /// A pace after a change.
    fn pacing(change: impl FnOnce(&mut PaceLimits)) -> Pacing {
        let mut pace = PaceLimits::default();
        change(&mut pace);
        Pacing::new(&pace, 0, 1).unwrap()
    }

    #[test]
    fn no_limits_no_pacing() {
        assert!(Pacing::new(&PaceLimits::default(), 0, 1).is_none());
    }

    #[test]
    fn each_direction_has_its_own_rate() {
        let mut pacing = pacing(|pace| {
            pace.rate.read = 4096 * 1000;
            pace.rate_iops.write = 10;
        });
        for ddir in Ddir::ALL {
            pacing.issued(ddir, 4096, 0);
        }
        assert_eq!(pacing.delay_ns(Ddir::Read, 0), SECOND / 1000);
        assert_eq!(pacing.delay_ns(Ddir::Write, 0), SECOND / 10);
        assert_eq!(pacing.delay_ns(Ddir::Trim, 0), 0);
    }

    #[test]
    fn a_direction_held_back_lets_the_other_go() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 1;
            pace.rate_iops.write = 100;
        });
        let turn = |ddir, delay_ns| Turn { ddir, delay_ns };
        pacing.issued(Ddir::Read, 4096, 0);
        assert_eq!(pacing.steer(Ddir::Read, true, 0), turn(Ddir::Write, 0));
        assert_eq!(pacing.steer(Ddir::Read, false, 0), turn(Ddir::Read, SECOND));
        pacing.issued(Ddir::Write, 4096, 0);
        let next = turn(Ddir::Write, SECOND / 100);
        assert_eq!(pacing.steer(Ddir::Read, true, 0), next);
        assert_eq!(pacing.steer(Ddir::Write, true, 0), next);
        assert_eq!(pacing.steer(Ddir::Read, true, SECOND), turn(Ddir::Read, 0));
    }

    #[test]
    fn both_rates_of_a_mix_are_kept_whatever_is_drawn() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 300;
            pace.rate_iops.write = 100;
        });
        let (mut now, mut counts, mut rng) = (0, [0_u32, 0], SplitMix64::new(1));
        while now < 10 * SECOND {
            let drawn = if rng.below(2) == 0 {
                Ddir::Read
            } else {
                Ddir::Write
            };
            let turn = pacing.steer(drawn, true, now);
            now += turn.delay_ns;
            pacing.issued(turn.ddir, 4096, now);
            counts[usize::from(turn.ddir == Ddir::Write)] += 1;
        }
        assert!(
            counts[0].abs_diff(3000) <= 2 && counts[1].abs_diff(1000) <= 2,
            "{counts:?}"
        );
    }

    fn thinking(ignore: bool) -> Pacing {
        pacing(|pace| {
            pace.rate_iops.read = 10;
            pace.ignore_think_time = ignore;
            pace.think = Some(ThinkTime {
                pause: Nanos(SECOND),
                spin: Nanos(0),
                blocks: 1,
                count_issued: true,
                io_time: Nanos(0),
            });
        })
    }

    #[test]
    fn thinking_is_made_up_for_unless_it_is_to_be_ignored() {
        for (ignore, delay) in [(false, 0), (true, SECOND / 10)] {
            let mut pacing = thinking(ignore);
            pacing.issued(Ddir::Read, 4096, 0);
            assert!(pacing.pause_due(0).is_some());
            pacing.paused(0, SECOND);
            assert!(pacing.pause_due(SECOND).is_none());
            assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), delay);
        }
    }

    #[test]
    fn nothing_is_left_over_from_the_ramp() {
        let mut pacing = pacing(|pace| {
            pace.rate_iops.read = 10;
            pace.rate_iops_min.read = 5;
        });
        for _ in 0..50 {
            pacing.issued(Ddir::Read, 4096, 0);
        }
        pacing.restart(SECOND);
        assert_eq!(pacing.delay_ns(Ddir::Read, SECOND), 0);
        assert_eq!(pacing.too_slow(SECOND), None);
    }

    #[test]
    fn a_least_rate_not_kept_names_its_direction() {
        let mut pacing = pacing(|pace| pace.rate_iops_min.write = 100);
        assert_eq!(pacing.too_slow(2 * SECOND), None);
        pacing.completed(Ddir::Write, 4096);
        let problem = pacing.too_slow(4 * SECOND).unwrap();
        assert!(problem.starts_with("write: rate_iops_min=100"), "{problem}");
    }

    fn join(table: &FlowTable, id: i64, weight: u32) -> FlowShare {
        let flow = Flow {
            id,
            weight,
            sleep: Nanos(100_000),
        };
        FlowShare::join(table, &flow)
    }

    /// Lets all streams try in turn, later ones faster, and returns the I/Os of each.
    fn run(streams: &mut [FlowShare], rounds: u32) -> Vec<u64> {
        let before: Vec<u64> = streams.iter().map(|stream| stream.ios).collect();
        for _ in 0..rounds {
            for (speed, stream) in (1..).zip(streams.iter_mut()) {
                for _ in 0..speed * 20 {
                    if stream.may_go() {
                        stream.issued();
                    }
                }
            }
        }
        streams
            .iter()
            .zip(before)
            .map(|(stream, before)| stream.ios - before)
            .collect()
    }

    #[test]
    fn io_counts_keep_to_the_weights() {
        let table = FlowTable::default();
        let mut streams = [1, 5, 10].map(|weight| join(&table, 1, weight));
        let ios = run(&mut streams, 1000);
        assert!(ios[0] > 100, "{ios:?}");
        assert!(
            ios[1].abs_diff(5 * ios[0]) <= 10 && ios[2].abs_diff(10 * ios[0]) <= 20,
            "{ios:?}"
        );
    }

    #[test]
    fn the_others_go_on_in_their_own_proportion() {
        let table = FlowTable::default();
        let mut streams: Vec<FlowShare> = [1, 2, 3]
            .map(|weight| join(&table, 1, weight))
            .into_iter()
            .collect();
        run(&mut streams, 500);
        streams.pop();
        let ios = run(&mut streams, 500);
        assert!(ios[0] > 100 && ios[1].abs_diff(2 * ios[0]) <= 10, "{ios:?}");
    }

    #[test]
    fn one_alone_and_other_ids_are_not_held_back() {
        let table = FlowTable::default();
        let mut streams = [join(&table, 1, 7), join(&table, 2, 1)];
        assert_eq!(run(&mut streams, 10), [200, 400]);
        assert_eq!(streams[0].sleep_ns(), 100_000);
    }

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
