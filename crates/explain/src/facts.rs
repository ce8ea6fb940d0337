//! Further facts about a result, each a sentence with its number, from the evidence of the trials.

use crate::as_f64;
use crate::observed::{Observed, side};
use crate::on_bus::OnBus;
use crate::words::{percent, time};
use assay_lang::tr;
use assay_model::evidence::{CpuState, Evidence};
use assay_model::job::Rw;
use assay_model::units::{Bytes, BytesPerSec, Nanos};
use assay_report::reference::Bus;
use assay_report::text::clean;
use std::collections::BTreeSet;

/// Compares a result with the ceiling of the bus. Returns `None` unless it is sequential I/O past
/// the page cache, at depth 1 and without flushes.
pub fn on_bus(one: &Observed<'_>, bus: Option<&Bus>, request: Bytes, flash: bool) -> Option<OnBus> {
    let plain = matches!(one.job.rw, Rw::Read | Rw::Write) && one.job.rate.is_none();
    let fits = one.is_past_the_cache() && one.depth == 1 && plain;
    if !fits || one.flush_us > 0.0 {
        return None;
    }
    let request = Bytes(request.0.min(one.job.bs.0));
    OnBus::of(
        (one.direction, BytesPerSec(one.rate())),
        &bus?.ceiling,
        request,
        flash,
    )
}

/// Returns all facts about a result.
pub fn of(one: &Observed<'_>) -> Vec<String> {
    let all = [
        (!one.because.is_empty() && !one.is_simulated())
            .then(|| tr!("Measured: {because}.", because = one.because)),
        one.beside.then(|| {
            tr!("Other jobs ran at the same time: what they did to these times cannot be told.")
                .to_owned()
        }),
        requests(one),
        between(one),
        processor(one),
        frequency(one),
        pressure(one),
        gap(one),
    ];
    all.into_iter().flatten().collect()
}

/// Reports the time in the block layer and the number of requests for each I/O.
fn requests(one: &Observed<'_>) -> Option<String> {
    if one.is_simulated() {
        return None;
    }
    match &one.requests {
        Ok(requests) => Some(tr!(
            "Requests took {time} in the block layer and below, {per_io} of them for each I/O.",
            time = time(requests.mean_us),
            per_io = format!("{:.2}", requests.per_io)
        )),
        Err(why) if one.is_past_the_cache() => Some(tr!(
            "Time in the block layer and its scheduler: cannot be told ({why}).",
            why
        )),
        Err(_) => None,
    }
}

/// Reports the time between two I/Os, if it is more than 10 % of the interval.
fn between(one: &Observed<'_>) -> Option<String> {
    const MUCH: f64 = 0.1;
    let us = one.interval_us - one.mean_us - one.flush_us;
    (one.is_one_by_one() && us > one.interval_us * MUCH).then(|| {
        tr!(
            "Between two I/Os {us} pass outside of them (contents of writes, pace, pauses): rates have that time, latencies do not.",
            us = time(us)
        )
    })
}

/// Returns the schedulers in force.
pub fn schedulers(one: &Observed<'_>) -> BTreeSet<String> {
    let found = evidence(one).filter_map(|evidence| {
        let device = evidence.storage.device()?;
        let queue = evidence
            .queues
            .iter()
            .find(|queue| queue.name == device.name)?;
        queue.scheduler.as_deref().map(clean)
    });
    found.collect()
}

/// Returns the evidence of the trials.
pub fn evidence<'o>(one: &'o Observed<'_>) -> impl Iterator<Item = &'o Evidence> {
    let trials = one.judged.iter();
    trials.filter_map(|trial| trial.record.evidence.as_ref())
}

fn processor(one: &Observed<'_>) -> Option<String> {
    let (user_us, kernel_us) = one.cpu_us;
    let all_us = user_us + kernel_us;
    // Without processor time, the time of the run was virtual.
    if one.is_simulated() || all_us <= 0.0 {
        return None;
    }
    let (all, kernel) = (time(all_us), time(kernel_us));
    let share = percent(all_us / one.interval_us.max(1e-9));
    Some(match one.cpu_told {
        true => tr!(
            "Processor time of the measuring process: {all} for each I/O ({kernel} in the kernel), {share} of the time from one to the next.",
            all,
            kernel,
            share
        ),
        false => tr!(
            "Processor time of the measuring process: {all} for each I/O, {share} of the time from one to the next.",
            all,
            share
        ),
    })
}

/// Reports the highest processor frequency before and after, over all trials.
fn frequency(one: &Observed<'_>) -> Option<String> {
    let fastest = |cpus: &[CpuState]| cpus.iter().filter_map(|cpu| cpu.khz).max();
    let seen = evidence(one).flat_map(|evidence| {
        [
            fastest(&evidence.before.cpus),
            fastest(&evidence.after.cpus),
        ]
    });
    let seen: BTreeSet<u64> = seen.flatten().collect();
    let (low, high) = (*seen.first()?, *seen.last()?);
    let governors = governors(one);
    let mhz = |khz: u64| khz / 1000;
    Some(tr!(
        "The fastest processor was at {low} .. {high} MHz before and after the trials, governor {governors}.",
        low = mhz(low),
        high = mhz(high),
        governors = if governors.is_empty() {
            "-".to_owned()
        } else {
            governors.join(", ")
        }
    ))
}

/// Reports the time that tasks waited for a processor, if it is more than 10 % of the whole.
fn pressure(one: &Observed<'_>) -> Option<String> {
    const MUCH: f64 = 0.1;
    let (mut waited_us, mut all_us) = (0, 0.0);
    for evidence in evidence(one) {
        let (before, after) = (&evidence.before, &evidence.after);
        let (from, to) = (before.pressure?, after.pressure?);
        waited_us += to.cpu_some_us.saturating_sub(from.cpu_some_us);
        all_us += as_f64(after.at_ns.saturating_sub(before.at_ns)) / 1e3;
    }
    let share = as_f64(waited_us) / f64::max(all_us, 1.0);
    (share > MUCH).then(|| {
        tr!(
            "Some task of the machine waited for a processor during {share} of the time (pressure).",
            share = percent(share)
        )
    })
}

/// Returns the frequency governors in force.
pub fn governors(one: &Observed<'_>) -> Vec<String> {
    let cpus = evidence(one).flat_map(|evidence| &evidence.before.cpus);
    let all: BTreeSet<String> = cpus
        .filter_map(|cpu| cpu.governor.as_deref().map(clean))
        .collect();
    all.into_iter().collect()
}

/// Reports the longest time without a completion, if many I/Os fit into it.
fn gap(one: &Observed<'_>) -> Option<String> {
    const MANY: f64 = 20.0;
    if one.job.pause.is_some() {
        return None;
    }
    let trials = one.judged.iter().filter_map(|trial| trial.measured());
    let moved = trials.filter(|measured| side(measured, one.direction).ios > 0);
    let longest = moved
        .filter_map(|m| m.longest_gap)
        .map(|gap| gap.length_ns)
        .max()?;
    (as_f64(longest) / 1e3 > MANY * one.typical_us()).then(|| {
        tr!(
            "The longest time without any completion: {gap}.",
            gap = Nanos(longest)
        )
    })
}
