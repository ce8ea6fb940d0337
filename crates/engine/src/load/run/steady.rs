//! Steady-state detection over the streams that report as one.

use crate::load::shared::{SteadyTotals, StreamShared};
use crate::load::steady::SteadyWatch;
use assay_model::load::Load;
use assay_model::load::report::StreamReport;

/// Groups of streams that end when they are steady.
pub(super) struct SteadyGroups(Vec<SteadyGroup>);

struct SteadyGroup {
    report: u32,
    /// Indices of the streams.
    members: Vec<usize>,
    watch: SteadyWatch,
    interval_ns: u64,
    /// Number of intervals evaluated so far.
    seen: usize,
    before: SteadyTotals,
    attained: bool,
}

impl SteadyGroups {
    pub(super) fn new(load: &Load) -> Self {
        let mut groups: Vec<SteadyGroup> = Vec::new();
        for (index, stream) in load.streams.iter().enumerate() {
            let Some(asked) = &stream.steady_state else {
                continue;
            };
            match groups
                .iter_mut()
                .find(|group| group.report == stream.report)
            {
                Some(group) => group.members.push(index),
                None => groups.push(SteadyGroup {
                    report: stream.report,
                    members: vec![index],
                    watch: SteadyWatch::new(asked),
                    interval_ns: asked.interval.0.max(1),
                    seen: 0,
                    before: SteadyTotals::default(),
                    attained: false,
                }),
            }
        }
        Self(groups)
    }

    /// Evaluates the intervals that ended since the last call. Returns the
    /// report numbers of the groups that became steady.
    pub(super) fn look(&mut self, shared: &[StreamShared]) -> Vec<u32> {
        let mut attained = Vec::new();
        for group in self.0.iter_mut().filter(|group| !group.attained) {
            if group.look(shared) {
                group.attained = true;
                attained.push(group.report);
            }
        }
        attained
    }

    /// Fills the steady state into the reports of the streams concerned.
    pub(super) fn fill_in(&self, load: &Load, reports: &mut [StreamReport]) {
        for group in &self.0 {
            for (stream, report) in load.streams.iter().zip(reports.iter_mut()) {
                if stream.report == group.report && stream.steady_state.is_some() {
                    report.steady_state = Some(group.watch.reached());
                }
            }
        }
    }
}

impl SteadyGroup {
    fn look(&mut self, shared: &[StreamShared]) -> bool {
        while let Some(totals) = self.totals(shared) {
            self.seen += 1;
            let ios = totals.ios.saturating_sub(self.before.ios);
            let bytes = totals.bytes.saturating_sub(self.before.bytes);
            let latency_ns = totals
                .latency_sum_ns
                .saturating_sub(self.before.latency_sum_ns);
            self.before = totals;
            let mean_ns = latency_ns.checked_div(ios).unwrap_or(0);
            if self
                .watch
                .sample(self.per_second(ios), self.per_second(bytes), mean_ns)
            {
                return true;
            }
        }
        false
    }

    fn per_second(&self, amount: u64) -> u64 {
        let rate = u128::from(amount) * 1_000_000_000 / u128::from(self.interval_ns);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Returns the sum over all streams at the end of the next interval; `None`
    /// until each of them has reached it.
    fn totals(&self, shared: &[StreamShared]) -> Option<SteadyTotals> {
        let mut sum = SteadyTotals::default();
        for &index in &self.members {
            let totals = shared[index].steady(self.seen)?;
            sum.ios += totals.ios;
            sum.bytes += totals.bytes;
            sum.latency_sum_ns = sum.latency_sum_ns.saturating_add(totals.latency_sum_ns);
        }
        Some(sum)
    }
}
