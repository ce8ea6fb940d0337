//! Proportions between the I/Os of several streams.

use crate::sys::lock;
use assay_model::load::pace::Flow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;

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
}
