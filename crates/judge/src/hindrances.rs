//! Hindrances of a trial: what explains a figure, or a stall in it, other than the storage.

use assay_lang::tr;
use assay_model::evidence::{Evidence, IoLimit, Snapshot};
use assay_model::units::{Bytes, Nanos};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Smallest share of the measured time, or of the processors' time, that is reported.
const MIN_SHARE: f64 = 0.05;
/// Smallest share of throttled time that is reported; a group without a limit is never throttled.
const MIN_THROTTLED_SHARE: f64 = 0.01;
/// Shorter times are not reported: the kernel counts steal in ticks of 10 ms.
const MIN_TIME_NS: u64 = 20_000_000;
/// Ratio of a device's rate to its limit at which the limit counts as reached; bursts may exceed
/// it.
const AT_LIMIT: RangeInclusive<f64> = 0.9..=1.5;

/// Something besides storage that kept the agent waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hindrance {
    /// Kind: `stopped`, `run_delay`, `steal`, `cpu_limit` or `io_limit`.
    pub kind: &'static str,
    /// Time lost to the hindrance; 0 for an I/O limit.
    pub time_ns: u64,
    /// Description for the user.
    pub words: String,
}

/// Returns the hindrances of threads with a total run time of `threads_ns`, which waited for a
/// processor for `run_delay_ns` in total.
pub(super) fn of(evidence: &Evidence, run_delay_ns: u64, threads_ns: u64) -> Vec<Hindrance> {
    let mut found = Vec::new();
    let mut add = |kind, time_ns: u64, whole_ns: u64, much, words: &dyn Fn(&str) -> String| {
        let share = time_ns as f64 / whole_ns.max(1) as f64;
        if share > much && time_ns >= MIN_TIME_NS {
            let words = words(&format!("{:.0} %", share.min(1.0) * 100.0));
            found.push(Hindrance {
                kind,
                time_ns,
                words,
            });
        }
    };
    let (earlier, now) = (&evidence.before, &evidence.after);
    let window_ns = now.at_ns.saturating_sub(earlier.at_ns);
    if let Some((before, after)) = earlier.hindrances.as_ref().zip(now.hindrances.as_ref()) {
        let suspended_ns = after.suspended_ns.saturating_sub(before.suspended_ns);
        let stops = after.stops.iter();
        let stopped_ns = stops.map(|stop| stop.within(earlier.at_ns, now.at_ns));
        let ns = stopped_ns.fold(suspended_ns, u64::saturating_add);
        add("stopped", ns, window_ns, 0.0, &|_| {
            let time = Nanos(ns);
            tr!("the agent stood still {time} (stopped or suspended)", time)
        });
        let throttled = after.throttled.iter().filter_map(|now| {
            let mut earlier = before.throttled.iter();
            let earlier = earlier.find(|earlier| earlier.group == now.group)?;
            Some((&now.group, now.time_ns.saturating_sub(earlier.time_ns)))
        });
        if let Some((group, ns)) = throttled.max_by_key(|(_, ns)| *ns) {
            add("cpu_limit", ns, window_ns, MIN_THROTTLED_SHARE, &|_| {
                let time = Nanos(ns);
                tr!(
                    "the CPU limit of cgroup {group} stopped threads of it for {time}",
                    group,
                    time
                )
            });
        }
        let steal = after.steal_ns.zip(before.steal_ns);
        let ns = steal.map_or(0, |(after, before)| after.saturating_sub(before));
        let all_ns = window_ns.saturating_mul(after.processors.into());
        add("steal", ns, all_ns, MIN_SHARE, &|share| {
            tr!("the hypervisor took {share} of the processors' time", share)
        });
    }
    add("run_delay", run_delay_ns, threads_ns, MIN_SHARE, &|share| {
        tr!(
            "the agent's threads waited for a processor for {share} of the time",
            share
        )
    });
    let limits = now.hindrances.iter().flat_map(|now| &now.io_limits);
    let reached = limits.filter(|limit| is_reached(limit, evidence, window_ns));
    found.extend(reached.map(|limit| Hindrance {
        kind: "io_limit",
        time_ns: 0,
        words: in_words(limit),
    }));
    found
}

fn in_words(limit: &IoLimit) -> String {
    let rate = match limit.key.ends_with("iops") {
        true => format!("{} IOPS", limit.per_second),
        false => format!("{}/s", Bytes(limit.per_second)),
    };
    tr!("limited by {source} to {rate}", source = limit.source, rate)
}

/// `true` if the device was about as fast as its limit allows.
fn is_reached(limit: &IoLimit, evidence: &Evidence, window_ns: u64) -> bool {
    let mut layers = evidence.storage.layers.iter();
    let limited = layers.find(|layer| limit.device == format!("{}:{}", layer.major, layer.minor));
    let count = |at: &Snapshot| {
        let layer = limited?;
        let counters = at.devices.iter().find(|one| one.name == layer.name)?;
        Some(match limit.key.as_str() {
            "rbps" => counters.read_bytes,
            "wbps" => counters.write_bytes,
            "riops" => counters.read_ios,
            _ => counters.write_ios,
        })
    };
    let counts = count(&evidence.before).zip(count(&evidence.after));
    counts.is_some_and(|(before, after)| {
        let allowed = limit.per_second as f64 * window_ns as f64 / 1e9;
        AT_LIMIT.contains(&(after.saturating_sub(before) as f64 / allowed))
    })
}
