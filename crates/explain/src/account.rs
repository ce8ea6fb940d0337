//! Breakdown of the time of an I/O into parts that add up to it.

use crate::as_f64;
use crate::costs::{Costs, Kind, Known, Phases, Share};
use crate::observed::{Nothing, Observed, flushes, side};
use crate::on_bus::OnBus;
use assay_lang::{counted, tr, translated};
use assay_model::evidence::{CpuState, Evidence};
use assay_model::job::{OpenSync, Rw};
use assay_model::units::{Bytes, BytesPerSec, Nanos, as_u64, three_digits};
use assay_report::reference::Bus;
use assay_report::words::clean;
use std::collections::BTreeSet;

/// Breakdown of the time of an I/O and its flush.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Total time in microseconds: the mean latency, and the flush calls divided among the writes.
    pub total_us: f64,
    /// Parts of the time, which add up to the total.
    pub shares: Vec<Share>,
    /// Reasons for each part of the time that cannot be determined.
    pub unknown: Vec<String>,
}

/// Largest relative error with which the phases of a fit or a model explain a result.
pub const MOST_OFF: f64 = 0.10;

/// Data of the run that the breakdown of a result needs.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Bus with its ceiling; `None` if it is not known.
    pub bus: Option<&'a Bus>,
    /// Costs of requests.
    pub costs: &'a Costs,
    /// The other results under the same condition.
    pub others: &'a [Observed<'a>],
}

impl Account {
    /// Breaks down the time of a result.
    pub fn of(one: &Observed<'_>, context: Context<'_>) -> Self {
        let mut account = Self {
            total_us: one.mean_us + one.flush_us,
            ..Self::default()
        };
        match one.label {
            Some("page-cache") => account.buffered(one),
            _ if !one.is_past_the_cache() => {
                account.push(Kind::Whole, one.mean_us, Known::Measured, mean_basis(one));
                account.unknown.push(why_not_divided(one));
            }
            _ if !(one.job.direct || one.is_simulated()) => account.buffered(one),
            _ => account.past_the_cache(one, context),
        }
        account.flushed(one);
        account.settle();
        account
    }

    fn push(&mut self, kind: Kind, us: f64, known: Known, basis: String) {
        if us > 0.0 {
            self.shares.push(Share {
                kind,
                us,
                known,
                basis,
            });
        }
    }

    fn note_unknown(&mut self, what: &str) {
        self.unknown.push(what.to_owned());
    }

    /// Returns the microseconds of one kind.
    pub fn of_kind(&self, kind: Kind) -> f64 {
        let own = self.shares.iter().filter(|share| share.kind == kind);
        own.map(|share| share.us).sum()
    }

    fn past_the_cache(&mut self, one: &Observed<'_>, context: Context<'_>) {
        if context.costs.is_truth() {
            match context.costs.truth(one) {
                Some(phases) if self.by_phases(one, one.mean_us, &phases, context) => return,
                Some(_) => {}
                None => self.note_unknown(tr!(
                    "what the model spent on it: its I/Os have an order, a mix or a pace of their own"
                )),
            }
        }
        let stalls_us = one.mean_us - one.typical_us();
        let basis = tr!(
            "mean {mean} less median {median}",
            mean = time(one.mean_us),
            median = time(one.median_us)
        );
        self.push(Kind::Stalls, stalls_us, Known::Measured, basis);
        let left_us = one.typical_us() - self.synchronous_flush(one, one.typical_us());
        if one.depth > 1 {
            self.crowded(one, left_us, context);
        } else {
            self.alone(one, left_us, context);
        }
    }

    /// Adds the kernel's processor time of I/O through the page cache, and the remainder as
    /// waiting.
    fn buffered(&mut self, one: &Observed<'_>) {
        let flush_us = self.synchronous_flush(one, one.mean_us);
        let unknown = match one {
            one if !one.cpu_told => Some(tr!(
                "how much of it is the processor's work: too little processor time was counted"
            )),
            one if one.flush_calls > 0 => Some(tr!(
                "how much of it is the processor's work: its time is that of writes and flush calls together"
            )),
            _ => None,
        };
        if let Some(why) = unknown {
            let left_us = one.mean_us - flush_us;
            self.push(Kind::Whole, left_us, Known::Measured, mean_basis(one));
            self.note_unknown(why);
            return;
        }
        let kernel_us = one.cpu_us.1.min(one.mean_us - flush_us);
        let basis = tr!(
            "{kernel} of processor time in the kernel for each I/O",
            kernel = time(one.cpu_us.1)
        );
        self.push(Kind::Processor, kernel_us, Known::Measured, basis);
        let left_us = one.mean_us - flush_us - kernel_us;
        self.push(Kind::Waiting, left_us, Known::Rest, rest_basis());
    }

    /// Adds the device's flush within a synchronous write, from the device's counters. Returns its
    /// microseconds.
    fn synchronous_flush(&mut self, one: &Observed<'_>, most_us: f64) -> f64 {
        if one.job.sync == OpenSync::None || one.is_simulated() {
            return 0.0;
        }
        let Some((us, basis)) = device_flush(one, most_us) else {
            self.note_unknown(tr!(
                "how much of a synchronous write is the device's flush: flushes were not counted, took too few milliseconds, or have those of others among them"
            ));
            return 0.0;
        };
        self.push(Kind::FlushDevice, us, Known::Measured, basis);
        us
    }

    /// Breaks down the time of an I/O that has others in flight: the time that it takes alone, and
    /// the wait.
    fn crowded(&mut self, one: &Observed<'_>, left_us: f64, context: Context<'_>) {
        let like = context
            .others
            .iter()
            .find(|other| one.is_like(other) && other.job.bs == one.job.bs && other.depth == 1);
        if let Some(like) = like.filter(|like| like.typical_us() < left_us) {
            let alone_us = like.typical_us();
            let basis = tr!(
                "{job} takes {time}, one at a time",
                job = clean(&like.job.name),
                time = time(alone_us)
            );
            self.push(Kind::Wait, left_us - alone_us, Known::Measured, basis);
            self.alone(like, alone_us, context);
            return;
        }
        let interval_us = one.interval_us.min(left_us);
        let basis = tr!("one ended every {time}", time = time(one.interval_us));
        let behind_us = left_us - interval_us;
        self.push(Kind::Overlap, behind_us, Known::Measured, basis.clone());
        self.push(Kind::Device, interval_us, Known::Measured, basis);
        self.note_unknown(tr!(
            "whether an I/O waits or is worked on while others end: no job of this run does the same one at a time"
        ));
    }

    /// Breaks down the time of one I/O at a time.
    fn alone(&mut self, one: &Observed<'_>, left_us: f64, context: Context<'_>) {
        match context.costs.fitted(one) {
            Some(Ok(phases)) if self.by_phases(one, left_us, &phases, context) => return,
            Some(Err(why)) => self.unknown.push(why),
            _ => {}
        }
        let left_us = left_us - self.software(one, left_us);
        let wire_us = self.wire(one, left_us, context);
        self.push(Kind::Device, left_us - wire_us, Known::Rest, rest_basis());
    }

    /// Adds the phases of a fit or a model. Returns false if their sum differs too much from the
    /// time.
    fn by_phases(
        &mut self,
        one: &Observed<'_>,
        left_us: f64,
        phases: &Phases,
        context: Context<'_>,
    ) -> bool {
        let off = phases.total_us() / left_us - 1.0;
        if off.abs() > MOST_OFF {
            self.unknown.push(why_no_phases(phases.known, off));
            return false;
        }
        let with_data = match phases.us(Kind::Data) > 0.0 {
            true => Kind::Data,
            false => Kind::Fixed,
        };
        let wire_us = self.wire(one, phases.us(with_data), context);
        let software_us = match phases.known {
            Known::Model => 0.0,
            _ => self.software(one, phases.us(Kind::Command)),
        };
        for (kind, us) in &phases.parts {
            let taken = match kind {
                kind if *kind == with_data => wire_us,
                Kind::Command => software_us,
                _ => 0.0,
            };
            // A fit that cannot separate the phases has no number for this one.
            let (known, basis) = match (kind, phases.known) {
                (Kind::Fixed, Known::Fit) => (Known::Rest, rest_basis()),
                (Kind::Command, known) if software_us > 0.0 => {
                    let less = tr!(
                        "{fitted}, less {software} above the block layer",
                        fitted = phases.basis(*kind, one.direction),
                        software = time(software_us)
                    );
                    (known, less)
                }
                (_, known) => (known, phases.basis(*kind, one.direction)),
            };
            self.push(*kind, us - taken, known, basis);
        }
        true
    }

    /// Adds the transfer time on the bus and returns it, at most `most_us`. Returns 0 if the
    /// ceiling is not known, or if the ceiling is too slow to be that of the bus used.
    fn wire(&mut self, one: &Observed<'_>, most_us: f64, context: Context<'_>) -> f64 {
        let Some(us) = wire(one, context.bus) else {
            return 0.0;
        };
        if us > most_us * (1.0 + MOST_OFF) {
            self.unknown.push(tr!(
                "what is data on the bus: at its ceiling they would take {wire}, and all that may be data takes {most}. Another bus carried them, or none",
                wire = time(us),
                most = time(most_us)
            ));
            return 0.0;
        }
        let us = us.min(most_us);
        let basis = wire_basis(one, context.bus);
        self.push(Kind::Bus, us, Known::Ceiling, basis);
        us
    }

    /// Adds the time above the block layer and returns it. Returns 0 if it cannot be determined or
    /// is no part of `most_us`. Slow I/Os that have their own part of the time may have been slow
    /// above or below the block layer.
    fn software(&mut self, one: &Observed<'_>, most_us: f64) -> f64 {
        let requests = one.requests.as_ref().ok();
        let Some(requests) = requests.filter(|all| all.is_one_each()) else {
            return 0.0;
        };
        let us = one.mean_us - requests.mean_us;
        if us <= 0.0 || us >= most_us {
            return 0.0;
        }
        let slow_us = one.mean_us - one.typical_us();
        if slow_us > 0.1 * us.min(requests.mean_us) {
            self.unknown.push(tr!(
                "how much is above the block layer: slow I/Os, {slow} on average, may have been slow above or below it",
                slow = time(slow_us)
            ));
            return 0.0;
        }
        let basis = tr!(
            "mean {mean} less {request} of a request ({count} counted by the kernel)",
            mean = time(one.mean_us),
            request = time(requests.mean_us),
            count = requests.count
        );
        self.push(Kind::Software, us, Known::Measured, basis);
        us
    }

    /// Adds the flush calls after the writes.
    fn flushed(&mut self, one: &Observed<'_>) {
        if one.flush_us <= 0.0 {
            return;
        }
        let calls = counted!(
            one.flush_calls,
            "{n} call for {ios} writes",
            "{n} calls for {ios} writes",
            ios = one.ios
        );
        let device = device_flush(one, one.flush_us).filter(|_| one.job.sync == OpenSync::None);
        match device {
            Some((us, basis)) => {
                self.push(Kind::FlushDevice, us, Known::Measured, basis);
                self.push(Kind::FlushRest, one.flush_us - us, Known::Rest, calls);
            }
            None => self.push(Kind::Flush, one.flush_us, Known::Measured, calls),
        }
    }

    /// Adds the unexplained remainder, so that the parts add up to the total.
    fn settle(&mut self) {
        let known: f64 = self.shares.iter().map(|share| share.us).sum();
        let left_us = self.total_us - known;
        if left_us.abs() > self.total_us * 1e-9 {
            self.shares.push(Share {
                kind: Kind::Unexplained,
                us: left_us,
                known: Known::Rest,
                basis: rest_basis(),
            });
        }
    }
}

/// Returns the time of an I/O's data at the ceiling of the bus, in microseconds.
pub fn wire(one: &Observed<'_>, bus: Option<&Bus>) -> Option<f64> {
    let ceiling = &bus?.ceiling;
    Some(as_f64(one.job.bs.0) / ceiling.rate(one.direction) * 1e6)
}

/// Returns the time of the device's own flushes per write, in microseconds, and its basis.
fn device_flush(one: &Observed<'_>, most_us: f64) -> Option<(f64, String)> {
    const FEWEST_MS: u64 = 20;
    let (count, ms) = flushes(&one.judged).filter(|(count, ms)| *count > 0 && *ms >= FEWEST_MS)?;
    let us = as_f64(ms) * 1e3 / as_f64(one.ios.max(1));
    let basis = counted!(
        count,
        "{n} flush in {ms} ms, counted by the kernel",
        "{n} flushes in {ms} ms, counted by the kernel",
        ms
    );
    (us <= most_us).then_some((us, basis))
}

/// Describes the basis of a time that is not divided.
fn mean_basis(one: &Observed<'_>) -> String {
    counted!(one.ios, "mean of {n} I/O", "mean of {n} I/Os")
}

/// Describes the basis of the transfer time: the ceiling of the bus.
fn wire_basis(one: &Observed<'_>, bus: Option<&Bus>) -> String {
    let Some(bus) = bus else {
        return String::new();
    };
    let rate = BytesPerSec(bus.ceiling.rate(one.direction));
    tr!(
        "{bytes} at {rate}, the ceiling of {bus}",
        bytes = one.job.bs,
        rate,
        bus = clean(&bus.ceiling.mode)
    )
}

/// Describes the basis of a remainder.
fn rest_basis() -> String {
    tr!("the remainder").to_owned()
}

/// Explains that a figure belongs neither to the device nor to the page cache.
fn why_not_divided(one: &Observed<'_>) -> String {
    match one.label {
        Some(label) => tr!(
            "where the time went: the figure is {label}, and its parts would be of two things or of none",
            label = translated(label)
        ),
        None => tr!("where the time went: the trials measured different things").to_owned(),
    }
}

/// Explains that the phases of the model or the fit do not add up to the time of a result.
fn why_no_phases(known: Known, off: f64) -> String {
    let off = percent(off);
    match known {
        Known::Model => tr!(
            "what the model spent on it: simulated again, it is {off} off",
            off
        ),
        Known::Given => tr!(
            "what is command and what is data: the part that was named is {off} off here",
            off
        ),
        _ => tr!(
            "what is command and what is data: the fit is {off} off here",
            off
        ),
    }
}

/// Returns the name of a part of the time. Only `flash` devices have one for programming.
pub fn title(kind: Kind, flash: bool, on_bus: bool) -> &'static str {
    match kind {
        Kind::Bus => tr!("data on the bus"),
        Kind::Data if on_bus => tr!("data, beyond the bus"),
        Kind::Data => tr!("data"),
        Kind::Command => tr!("command"),
        Kind::Ramp => tr!("first blocks of a read"),
        Kind::Program if flash => tr!("programming"),
        Kind::Program => tr!("end of a write"),
        Kind::Break => tr!("ending an open transfer"),
        Kind::Map => tr!("loading addresses"),
        Kind::Reclaim => tr!("garbage collection"),
        Kind::Queue => tr!("waiting for the device"),
        Kind::Fixed => tr!("command and device"),
        Kind::Software => tr!("above the block layer"),
        Kind::Device => tr!("request, driver and device"),
        Kind::Wait => tr!("because of others in flight"),
        Kind::Overlap => tr!("while others ended"),
        Kind::Stalls => tr!("slow I/Os"),
        Kind::FlushDevice => tr!("the device's flush"),
        Kind::FlushRest => tr!("rest of flush calls"),
        Kind::Flush => tr!("flush calls"),
        Kind::Processor => tr!("kernel on the processor"),
        Kind::Waiting => tr!("waiting"),
        Kind::Whole => tr!("no breakdown"),
        Kind::Unexplained => tr!("not explained"),
    }
}

/// Returns the reason why a job is not explained.
pub fn nothing(why: Nothing) -> &'static str {
    match why {
        Nothing::NotRun => tr!("no trial of it ran to its end: there is nothing to explain"),
        Nothing::Memory => tr!("main memory was measured, no storage"),
        Nothing::NoTimes => tr!("no times of single I/Os were recorded, or they are damaged"),
    }
}

/// Formats a time in microseconds.
pub fn time(us: f64) -> String {
    match us.abs() < 1.0 {
        true => format!("{} µs", three_digits(us)),
        false => {
            let ns = as_u64((us.abs() * 1e3).round());
            let sign = if us < 0.0 { "-" } else { "" };
            format!("{sign}{}", Nanos(ns))
        }
    }
}

/// Formats a share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

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
            tr!("Other jobs ran at the same time: their effect on these times is unknown.")
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
            "Time in the block layer and its scheduler: unknown ({why}).",
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
