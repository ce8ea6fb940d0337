//! Describes results of main memory: the components of its figures, the steps of its latency, and
//! whether it retains written data.

use crate::results::findings::{Sentence, Topic};
use crate::results::summary::{JobSummary, Summary};
use crate::words::quantity;
use assay_lang::{counted, tr};
use assay_model::act::StepDetail;
use assay_model::act::memory::{
    BandwidthStep, BitFlip, Cache, Kernel, LatencyStep, Machine, MemoryStep, MemoryStepResult,
    Pages, Stores, StressStep,
};
use assay_model::evidence::{CpuState, Evidence};
use assay_model::figures::Unit;
use assay_model::units::Bytes;
use assay_stats::figures::{Point, Rise, rises};

/// Returns the findings of a run about main memory; empty for a run of storage.
pub fn topics(summary: &Summary<'_>) -> Vec<Topic> {
    let (bandwidth, latency) = (plain(bandwidth(summary)), plain(latency(summary)));
    let (stress, machine) = (stress_lines(summary), plain(lines(summary)));
    let all = [
        Topic::of_run("bandwidth", tr!("Bandwidth of memory"), bandwidth),
        Topic::of_run("memory-latency", tr!("Latency of memory"), latency),
        Topic::of_run("stress", tr!("Memory under stress"), stress),
        Topic::of_run("machine", tr!("Machine during the run"), machine),
    ];
    all.into_iter().flatten().collect()
}

fn plain(lines: Vec<String>) -> Vec<Sentence> {
    lines.into_iter().map(Sentence::plain).collect()
}

/// Returns the memory steps of a run, in the order in which they were taken.
fn steps<'a>(summary: &Summary<'a>) -> Vec<&'a MemoryStep> {
    let trials = summary.run.trials.iter();
    let details = trials.filter_map(|trial| trial.detail.as_deref());
    details.filter_map(StepDetail::memory).collect()
}

/// Rate of a kernel with a number of threads: the median and the best of all trials.
struct Rate {
    kernel: Kernel,
    stores: Stores,
    threads: usize,
    median: f64,
    best: f64,
}

fn rates(summary: &Summary<'_>) -> Vec<Rate> {
    let rate = |job: &JobSummary<'_>| {
        let step = job
            .completed()
            .find_map(|trial| bandwidth_step(trial.record.detail.as_deref()?))?;
        Some(Rate {
            kernel: step.kernel,
            stores: step.stores,
            threads: step.cpus.len(),
            median: job.figure("memory_bw")?.stats.median,
            best: job.figure("memory_bw_best")?.stats.max,
        })
    };
    summary.jobs.iter().filter_map(rate).collect()
}

fn bandwidth_step(detail: &StepDetail) -> Option<&BandwidthStep> {
    match &detail.memory()?.found {
        MemoryStepResult::Bandwidth(step) => Some(step),
        _ => None,
    }
}

/// Returns the number of threads of a job that copies with plain stores.
pub fn threads_of_copy(job: &JobSummary<'_>) -> Option<usize> {
    let mut trials = job.completed();
    let step = trials.find_map(|trial| bandwidth_step(trial.record.detail.as_deref()?))?;
    let is_plain = step.kernel == Kernel::Copy && step.stores == Stores::Plain;
    is_plain.then_some(step.cpus.len())
}

/// Returns the working set size of a job that measures memory latency.
pub fn latency_set(job: &JobSummary<'_>) -> Option<u64> {
    let mut trials = job.completed();
    let step = trials.find_map(|trial| latency_step(trial.record.detail.as_deref()?))?;
    Some(step.set_bytes)
}

fn bandwidth(summary: &Summary<'_>) -> Vec<String> {
    let rates = rates(summary);
    let first = steps(summary)
        .into_iter()
        .find_map(|step| match &step.found {
            MemoryStepResult::Bandwidth(found) => Some((&step.machine, found)),
            MemoryStepResult::Latency(_) | MemoryStepResult::Stress(_) => None,
        });
    let Some((machine, step)) = first else {
        return Vec::new();
    };
    let mut lines = vec![tr!(
        "copy, scale, add and triad count bytes as STREAM does, what is read and what is written; memset, read and memcpy count each byte once, as mbw does for memcpy"
    )
    .to_owned()];
    lines.extend(best_of(&rates));
    lines.extend(streaming(&rates));
    lines.push(arrays(machine, step));
    lines
}

/// Returns STREAM's figures, with the kind of stores.
fn best_of(rates: &[Rate]) -> Vec<String> {
    let mut threads: Vec<usize> = rates.iter().map(|rate| rate.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let line = |threads: usize| {
        let own = rates
            .iter()
            .filter(|rate| rate.threads == threads && rate.stores == Stores::Plain);
        let words: Vec<String> = own
            .map(|rate| {
                format!(
                    "{} {}",
                    rate.kernel.name(),
                    quantity(Unit::BytesPerSec, rate.best)
                )
            })
            .collect();
        tr!(
            "best pass with {threads} and plain stores (as STREAM says it): {words}",
            threads = counted!(threads, "{n} thread", "{n} threads"),
            words = words.join(", ")
        )
    };
    threads.into_iter().map(line).collect()
}

/// Describes the kernels for which stores past the caches are faster.
fn streaming(rates: &[Rate]) -> Option<String> {
    let wins = rates.iter().filter(|rate| rate.stores == Stores::Streaming);
    let wins = wins.filter_map(|rate| {
        let of_same = |other: &&Rate| {
            other.kernel == rate.kernel
                && other.threads == rate.threads
                && other.stores == Stores::Plain
        };
        let ratio = rate.median / rates.iter().find(of_same)?.median;
        (ratio > 1.0).then(|| format!("{}-nt-{}t x{ratio:.2}", rate.kernel.name(), rate.threads))
    });
    let words: Vec<String> = wins.collect();
    let any = rates.iter().any(|rate| rate.stores == Stores::Streaming);
    any.then(|| match words.is_empty() {
        true => tr!("stores past the caches (non-temporal, -nt) are nowhere faster").to_owned(),
        false => tr!(
            "stores past the caches (non-temporal, -nt) are faster for {words}",
            words = words.join(", ")
        ),
    })
}

/// Describes the size of the arrays.
fn arrays(machine: &Machine, step: &BandwidthStep) -> String {
    let times = machine.last_level_bytes().map_or_else(
        || tr!("the caches are not known").to_owned(),
        |last| {
            let times = step.array_bytes as f64 / last.max(1) as f64;
            tr!(
                "{times} times the last-level caches of {last}",
                times = format!("{times:.1}"),
                last = Bytes(last)
            )
        },
    );
    tr!(
        "each array has {bytes}, {times}; {vectors}, {passes} of each kernel in a trial, the first of which does not count; {pages}",
        bytes = Bytes(step.array_bytes),
        times,
        vectors = step.vectors,
        passes = counted!(step.passes_ns.len(), "{n} pass", "{n} passes"),
        pages = pages(&step.pages, 3 * step.array_bytes)
    )
}

/// Describes the pages that backed `of` bytes.
fn pages(pages: &Pages, of: u64) -> String {
    match (pages.huge_asked, pages.huge_bytes) {
        (false, _) => tr!("the kernel refuses huge pages").to_owned(),
        (true, None) => {
            tr!("huge pages were asked for; whether they were given is unknown").to_owned()
        }
        (true, Some(0)) => tr!("huge pages were asked for and not given").to_owned(),
        (true, Some(huge)) => tr!(
            "{huge} of {all} are in huge pages",
            huge = Bytes(huge.min(of)),
            all = Bytes(of)
        ),
    }
}

/// Returns the median latency of each working set.
pub fn points(summary: &Summary<'_>) -> Vec<Point> {
    let point = |job: &JobSummary<'_>| {
        let figure = job.figure("memory_lat")?;
        let step = job
            .completed()
            .find_map(|trial| latency_step(trial.record.detail.as_deref()?))?;
        Some(Point {
            set_bytes: step.set_bytes,
            load_ns: figure.stats.median,
        })
    };
    let mut points: Vec<Point> = summary.jobs.iter().filter_map(point).collect();
    points.sort_by_key(|point| point.set_bytes);
    points
}

fn latency_step(detail: &StepDetail) -> Option<&LatencyStep> {
    match &detail.memory()?.found {
        MemoryStepResult::Latency(step) => Some(step),
        _ => None,
    }
}

fn latency(summary: &Summary<'_>) -> Vec<String> {
    let points = points(summary);
    let latencies = steps(summary)
        .into_iter()
        .filter_map(|step| match &step.found {
            MemoryStepResult::Latency(found) => Some((&step.machine, found)),
            MemoryStepResult::Bandwidth(_) | MemoryStepResult::Stress(_) => None,
        });
    let Some((machine, largest)) = latencies.max_by_key(|(_, found)| found.set_bytes) else {
        return Vec::new();
    };
    let rises = rises(&points);
    let mut lines: Vec<String> = rises
        .iter()
        .map(|rise| of_rise(rise, &machine.caches))
        .collect();
    let unseen = machine.caches.iter().filter(|cache| {
        let within = points
            .last()
            .is_some_and(|last| cache.bytes < last.set_bytes);
        within && !rises.iter().any(|rise| rise.fits(cache.bytes))
    });
    lines.extend(unseen.map(|cache| {
        tr!(
            "the {cache} that the kernel reports does not show: latency does not rise there",
            cache = cache_words(cache)
        )
    }));
    if machine.hypervisor.is_some() {
        let text = tr!(
            "this is a virtual machine: the caches that the kernel reports are those that its host claims"
        );
        lines.push(text.to_owned());
    }
    lines.push(tr!(
        "the largest working set: {pages}; lines of {line} bytes in random order, each load waits for the one before",
        pages = pages(&largest.pages, largest.set_bytes),
        line = largest.line_bytes
    ));
    lines
}

fn of_rise(rise: &Rise, caches: &[Cache]) -> String {
    let step = tr!(
        "latency rises from {from} at {small} to {to} at {large}",
        from = quantity(Unit::Nanos, rise.from.load_ns),
        small = Bytes(rise.from.set_bytes),
        to = quantity(Unit::Nanos, rise.to.load_ns),
        large = Bytes(rise.to.set_bytes)
    );
    let fitting: Vec<String> = caches
        .iter()
        .filter(|cache| rise.fits(cache.bytes))
        .map(cache_words)
        .collect();
    match fitting.is_empty() {
        false => format!("{step}: {}", fitting.join(", ")),
        true => tr!(
            "{step}: the kernel reports no cache of that size; it can be the reach of the TLB, or a cache that others use too",
            step
        ),
    }
}

/// Formats a cache: `L2 of 512 KiB`.
fn cache_words(cache: &Cache) -> String {
    tr!(
        "L{level} of {size}",
        level = cache.level,
        size = Bytes(cache.bytes)
    )
}

fn lines(summary: &Summary<'_>) -> Vec<String> {
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

/// Maximum number of flips to list.
const FLIPS_LISTED: usize = 10;

fn stressed<'a>(summary: &Summary<'a>) -> Vec<&'a StressStep> {
    let steps = steps(summary).into_iter();
    let stressed = steps.filter_map(|step| match &step.found {
        MemoryStepResult::Stress(found) => Some(found),
        MemoryStepResult::Bandwidth(_) | MemoryStepResult::Latency(_) => None,
    });
    stressed.collect()
}

/// Answers whether the memory retains written data; `None` if it was not stressed.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let all = stressed(summary);
    let tested = Bytes(all.iter().map(|step| step.tested_bytes).max()?);
    let flips: u64 = all.iter().map(|step| step.flips).sum();
    let text = match flips {
        0 => tr!(
            "No errors: {tested} of memory hold what is written to them",
            tested
        ),
        _ => tr!(
            "MEMORY IS FAULTY: {words} of {tested} did not hold what had been written",
            words = counted!(flips, "{n} word", "{n} words"),
            tested
        ),
    };
    Some(Sentence {
        bad: flips > 0,
        text,
    })
}

fn stress_lines(summary: &Summary<'_>) -> Vec<Sentence> {
    let all = stressed(summary);
    let Some(last) = all.last() else {
        return Vec::new();
    };
    let flips: u64 = all.iter().map(|step| step.flips).sum();
    let line = |bad, text| Sentence { bad, text };
    let mut lines = vec![line(flips > 0, stress_verdict(&all, flips))];
    let found = all
        .iter()
        .flat_map(|step| step.first.iter().map(move |flip| (step, flip)));
    lines.extend(
        found
            .take(FLIPS_LISTED)
            .map(|(step, flip)| line(true, describe_flip(step, flip))),
    );
    if flips > FLIPS_LISTED as u64 {
        let more = flips - FLIPS_LISTED as u64;
        let more = counted!(more, "{n} word", "{n} words");
        lines.push(line(true, tr!("and {more} more", more)));
    }
    if all.iter().any(|step| step.flipped_on_purpose.is_some()) {
        let text = tr!(
            "a bit was flipped on purpose, for a test of assay itself: that is no fault of this memory"
        );
        lines.push(line(false, text.to_owned()));
    }
    lines.push(line(false, describe_untested(last)));
    lines
}

/// Describes the flips of a step in a sentence; `None` without any.
pub fn flips(step: &MemoryStep) -> Option<String> {
    match &step.found {
        MemoryStepResult::Stress(found) if found.flips > 0 => {
            Some(stress_verdict(&[found], found.flips))
        }
        _ => None,
    }
}

fn stress_verdict(all: &[&StressStep], flips: u64) -> String {
    let moved = Bytes(all.iter().map(|step| step.moved_bytes).sum());
    let tested = Bytes(all.iter().map(|step| step.tested_bytes).max().unwrap_or(0));
    let whole = |step: &&&StressStep| step.end_phase == step.pattern.phases();
    let patterns = counted!(
        all.iter().filter(whole).count(),
        "{n} pattern",
        "{n} patterns"
    );
    match flips {
        0 => tr!(
            "no bit flip in {tested} of memory: {patterns} done, {moved} written and read",
            tested,
            patterns,
            moved
        ),
        _ => tr!(
            "MEMORY IS FAULTY: {words} of {tested} did not hold what had been written; {patterns} done, {moved} written and read",
            words = counted!(flips, "{n} word", "{n} words"),
            tested,
            patterns,
            moved
        ),
    }
}

fn describe_flip(step: &StressStep, flip: &BitFlip) -> String {
    let bits: Vec<String> = flip.bits().map(|bit| bit.to_string()).collect();
    let physical = flip.physical.map_or_else(
        || tr!("physical address unknown").to_owned(),
        |address| tr!("physical {address}", address = format!("{address:#x}")),
    );
    let cpu = step.cpus.get(flip.thread as usize).copied().flatten();
    let cpu = cpu.map_or_else(|| "?".to_owned(), |cpu| cpu.to_string());
    tr!(
        "{pattern}: address {address} ({physical}): expected {expected}, found {found} (bits {bits}) on CPU {cpu}; wrong in {wrong} of {reads} further reads",
        pattern = step.pattern.name(),
        address = format!("{:#x}", flip.address),
        physical,
        expected = format!("{:#018x}", flip.expected),
        found = format!("{:#018x}", flip.found),
        bits = bits.join(" "),
        cpu,
        wrong = flip.wrong_reads,
        reads = flip.reads
    )
}

/// Describes the memory that was not tested.
fn describe_untested(step: &StressStep) -> String {
    let locked = match step.locked_bytes {
        0 => tr!("none of it was locked").to_owned(),
        locked => tr!("{locked} of it were locked", locked = Bytes(locked)),
    };
    step.untested.bytes.map_or_else(
        || locked.clone(),
        |untested| {
            tr!(
                "{untested} of the machine were not tested: the kernel and other processes have them, or they are left to them; {locked}",
                untested = Bytes(untested),
                locked
            )
        },
    )
}
