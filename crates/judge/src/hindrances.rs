//! Hindrances of a trial: what explains a figure, or a stall in it, other than the storage.

use assay_lang::tr;
use assay_model::evidence::{Evidence, IoLimit};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use serde::Serialize;

/// Part of the clock's time, or of the processors', that is worth a word.
const MUCH: f64 = 0.05;
/// The same for time in which a control group got no processor, which an unlimited one never is.
const MUCH_THROTTLED: f64 = 0.01;
/// Less than this is worth no word: the kernel counts steal in ticks of 10 ms.
const LITTLE_NS: u64 = 20_000_000;
/// A rate so near to a limit, or above it in a burst, is that of the limit.
const NEAR_LIMIT: f64 = 0.9;

/// Something besides storage that kept the agent waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hindrance {
    /// `stopped`, `run_delay`, `steal`, `cpu_limit` or `io_limit`.
    pub kind: &'static str,
    /// Time that it took; 0 for a limit of I/O.
    pub time_ns: u64,
    /// The same in words.
    pub words: String,
}

/// Returns the hindrances of a job with so many threads.
pub(super) fn of(evidence: &Evidence, measured: &Measurement, threads: u32) -> Vec<Hindrance> {
    let mut found = Vec::new();
    let mut add = |kind, time_ns: u64, whole_ns: u64, much, words: &dyn Fn(&str) -> String| {
        let share = time_ns as f64 / whole_ns.max(1) as f64;
        if share > much && time_ns >= LITTLE_NS {
            let words = words(&format!("{:.0} %", share.min(1.0) * 100.0));
            found.push(Hindrance {
                kind,
                time_ns,
                words,
            });
        }
    };
    let threads_ns = measured.elapsed_ns.saturating_mul(threads.max(1).into());
    let (earlier, now) = (&evidence.before, &evidence.after);
    let window_ns = now.at_ns.saturating_sub(earlier.at_ns);
    if let Some((before, after)) = earlier.hindrances.as_ref().zip(now.hindrances.as_ref()) {
        let ns = after.stood_still_ns.saturating_sub(before.stood_still_ns);
        add("stopped", ns, window_ns, 0.0, &|_| {
            let time = Nanos(ns);
            tr!("the agent stood still {time} (stopped or suspended)", time)
        });
        let ns = after.throttled_ns.saturating_sub(before.throttled_ns);
        add("cpu_limit", ns, window_ns, MUCH_THROTTLED, &|share| {
            tr!(
                "a CPU limit of its cgroup stopped the agent for {share} of the time",
                share
            )
        });
        let steal = after.steal_ns.zip(before.steal_ns);
        let ns = steal.map_or(0, |(after, before)| after.saturating_sub(before));
        let all_ns = window_ns.saturating_mul(after.processors.into());
        add("steal", ns, all_ns, MUCH, &|share| {
            tr!("the hypervisor took {share} of the processors' time", share)
        });
    }
    let delay_ns = measured.cpu.run_delay_ns;
    add("run_delay", delay_ns, threads_ns, MUCH, &|share| {
        tr!(
            "the agent's threads waited for a processor for {share} of the time",
            share
        )
    });
    let limits = now.hindrances.iter().flat_map(|now| &now.io_limits);
    let reached = limits.filter(|limit| is_reached(limit, evidence, measured));
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

/// True if the job moved about as much as a limit of one of its devices lets it.
fn is_reached(limit: &IoLimit, evidence: &Evidence, measured: &Measurement) -> bool {
    let mut layers = evidence.storage.layers.iter();
    let totals = match limit.key.starts_with('r') {
        true => &measured.read,
        false => &measured.write,
    };
    let moved = match limit.key.ends_with("iops") {
        true => totals.ios,
        false => totals.bytes,
    };
    let allowed = limit.per_second as f64 * measured.elapsed_ns as f64 / 1e9;
    layers.any(|layer| limit.device == format!("{}:{}", layer.major, layer.minor))
        && moved > 0
        && moved as f64 >= allowed * NEAR_LIMIT
}
