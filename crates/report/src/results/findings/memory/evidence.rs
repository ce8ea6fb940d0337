//! State of the machine while its memory was measured.

use super::steps;
use crate::results::summary::Summary;
use assay_lang::{counted, tr};
use assay_model::evidence::{CpuState, Evidence};
use assay_model::units::Bytes;
use assay_model::work::memory::{Machine, MemoryStep, MemoryStepResult};

pub(super) fn lines(summary: &Summary<'_>) -> Vec<String> {
    let steps = steps(summary);
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Vec::new();
    };
    let evidence = summary
        .run
        .trials
        .iter()
        .filter_map(|trial| trial.evidence.as_ref());
    vec![
        caches(&first.machine),
        tr!(
            "{cpus}; {bound}; NUMA nodes: {nodes}; policy for huge pages: {huge}",
            cpus = counted!(first.machine.cpus.len(), "{n} CPU", "{n} CPUs"),
            bound = bound(&steps),
            nodes = known(first.machine.nodes),
            huge = known(first.machine.huge_pages.as_deref())
        ),
        clocks(&evidence.collect::<Vec<_>>()),
        load(&steps),
        throttling(first, last),
    ]
}

fn known<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| tr!("unknown").to_owned(), |value| value.to_string())
}

fn caches(machine: &Machine) -> String {
    let words: Vec<String> = machine
        .caches
        .iter()
        .map(|cache| format!("L{} {} x {}", cache.level, cache.count, Bytes(cache.bytes)))
        .collect();
    match words.is_empty() {
        true => tr!("caches: unknown").to_owned(),
        false => tr!(
            "caches that the kernel reports: {words}",
            words = words.join(", ")
        ),
    }
}

/// Describes whether threads were bound to their CPUs.
fn bound(steps: &[&MemoryStep]) -> &'static str {
    let free = steps.iter().any(|step| match &step.found {
        MemoryStepResult::Bandwidth(step) => step.cpus.iter().any(Option::is_none),
        MemoryStepResult::Latency(step) => step.cpu.is_none(),
        MemoryStepResult::Stress(step) => step.cpus.iter().any(Option::is_none),
    });
    match free {
        true => tr!("threads could not be bound to them"),
        false => tr!("each thread was bound to one"),
    }
}

/// Describes the governors, and the lowest and highest frequency before and after all steps.
fn clocks(all: &[&Evidence]) -> String {
    let cpus = || {
        all.iter()
            .flat_map(|one| one.before.cpus.iter().chain(&one.after.cpus))
    };
    let mut governors: Vec<&str> = cpus().filter_map(|cpu| cpu.governor.as_deref()).collect();
    governors.sort_unstable();
    governors.dedup();
    let governors = (!governors.is_empty()).then(|| governors.join(", "));
    let mhz = |cpu: &CpuState| cpu.khz.map(|khz| khz / 1000);
    let (low, high) = (cpus().filter_map(mhz).min(), cpus().filter_map(mhz).max());
    let frequency = low
        .zip(high)
        .map(|(low, high)| format!("{low} .. {high} MHz"));
    tr!(
        "governor: {governors}; frequency before and after the steps: {frequency}",
        governors = known(governors),
        frequency = known(frequency)
    )
}

/// Describes the load by other processes; the measuring process is not counted.
fn load(steps: &[&MemoryStep]) -> String {
    let others = steps.iter().filter_map(|step| step.machine.running);
    let others = others.map(|running| running.saturating_sub(1));
    let most = others.max();
    let busy = steps
        .iter()
        .filter(|step| step.machine.running.is_some_and(|running| running > 1));
    match most {
        None => tr!("other load: unknown").to_owned(),
        Some(0) => tr!("no other process wanted a CPU before any of the steps").to_owned(),
        Some(most) => tr!(
            "other processes wanted a CPU before {busy} of {steps} steps, {most} at most: figures may be low",
            busy = busy.count(),
            steps = steps.len(),
            most
        ),
    }
}

fn throttling(first: &MemoryStep, last: &MemoryStep) -> String {
    let times = last
        .throttled_after
        .zip(first.machine.throttled)
        .map(|(after, before)| after.saturating_sub(before));
    match times {
        None => tr!("thermal throttling: unknown").to_owned(),
        Some(0) => tr!("thermal throttling: none").to_owned(),
        Some(times) => tr!("thermal throttling: {times} times", times),
    }
}
