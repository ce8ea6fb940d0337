//! Entry of an output: a stream, or several that are reported together.

use super::Member;
use super::Presentation;
use super::evidence::EntryEvidence;
use super::latency::Classes;
use super::samples::Samples;
use crate::fio::JobText;
use assay_model::latency::LatencyRecord;
use assay_model::load::priority::IoPriority;
use assay_model::load::report::{DepthUse, StreamReport};
use assay_model::load::stats::{StatsOptions, Unified};
use assay_model::load::{Ddir, Stream};
use assay_model::trial::CpuUse;
use assay_stats::latency::pooled;
use std::collections::BTreeMap;

/// Scope of figures: one direction, or all directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryDirection {
    One(Ddir),
    Mixed,
}

impl EntryDirection {
    /// Every scope, in fio's order.
    pub(super) const ALL: [Self; 4] = [
        Self::One(Ddir::Read),
        Self::One(Ddir::Write),
        Self::One(Ddir::Trim),
        Self::Mixed,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::One(ddir) => ddir.name(),
            Self::Mixed => "mixed",
        }
    }

    /// Returns true if the scope includes that direction.
    fn covers(self, ddir: Ddir) -> bool {
        self == Self::Mixed || self == Self::One(ddir)
    }
}

/// I/O of an entry in one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    pub bytes: u64,
    pub ios: u64,
    pub short_ios: u64,
    pub dropped_ios: u64,
    /// Run time of the longest-running stream, in milliseconds.
    pub runtime_ms: u64,
    pub submission: LatencyRecord,
    pub completion: LatencyRecord,
    pub total: LatencyRecord,
    /// Latencies by priority of single I/Os; empty if all had the same priority.
    pub priorities: Vec<(IoPriority, LatencyRecord)>,
    pub samples: Samples,
}

impl Traffic {
    pub(super) fn bytes_per_s(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    pub(super) fn iops(&self) -> u64 {
        per_second(self.ios, self.runtime_ms)
    }
}

/// Rate per second over whole milliseconds, as in fio: the bytes of an output divided by its
/// runtime give its bandwidth.
pub(super) fn per_second(number: u64, ms: u64) -> u64 {
    let per_second = (u128::from(number) * 1000).checked_div(u128::from(ms));
    u64::try_from(per_second.unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Number for an error without an errno: an I/O error.
const EIO: i32 = 5;

/// Returns number and text of the error that ended a stream or, if all streams continued after
/// errors, of the first error.
fn first_error<'a>(members: &[Member<'a>]) -> Option<(i32, Option<&'a str>)> {
    let mut reports = members.iter().map(|&(_, _, report)| report);
    if let Some(failed) = reports.clone().find(|report| report.errno != 0) {
        return Some((failed.errno, failed.problem.as_deref()));
    }
    let went_on = reports.find(|report| report.total_errors > 0)?;
    let first = went_on.errors.first.first()?;
    Some((first.errno.unwrap_or(EIO), Some(&first.message)))
}

/// Rounds up to milliseconds, as fio does: any run time is at least one millisecond.
fn whole_ms(ns: u64) -> u64 {
    ns.div_ceil(1_000_000)
}

/// Streams that are reported together, with their sums.
#[derive(Debug)]
pub(super) struct JobEntry<'a> {
    /// First stream, whose name, group and options stand for all.
    pub stream: &'a Stream,
    /// Options of the job as written.
    pub text: Option<&'a JobText>,
    /// Report of the entry's first stream.
    pub first: &'a StreamReport,
    /// Number of streams.
    pub members: usize,
    pub traffic: Vec<(EntryDirection, Traffic)>,
    pub sync: LatencyRecord,
    /// Sum of the run times of all streams, in milliseconds.
    pub total_ms: u64,
    /// Shares of that time, in percent.
    pub user_percent: f64,
    pub system_percent: f64,
    pub switches: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
    pub depths: DepthUse,
    pub classes: Classes,
    pub total_errors: u64,
    /// Number of the first error of any stream; 0: none.
    pub errno: i32,
    /// Text of that error.
    pub problem: Option<&'a str>,
    pub evidence: EntryEvidence,
}

impl<'a> JobEntry<'a> {
    /// Returns all entries, in the order of their first streams. Leaves out streams that are not
    /// to be shown.
    pub(super) fn all(p: &Presentation<'a>) -> Vec<Self> {
        let mut groups: Vec<Vec<Member<'a>>> = Vec::new();
        let reports = p.load.streams.iter().zip(&p.report.streams);
        for (index, (stream, report)) in reports.enumerate() {
            if !stream.stats.shown {
                continue;
            }
            let same = |group: &&mut Vec<Member<'_>>| {
                group
                    .first()
                    .is_some_and(|(_, s, _)| s.report == stream.report)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push((index, stream, report)),
                None => groups.push(vec![(index, stream, report)]),
            }
        }
        let sum = |group: &Vec<Member<'a>>| Self::sum(p, group);
        groups.iter().filter_map(sum).collect()
    }

    fn sum(p: &Presentation<'a>, members: &[Member<'a>]) -> Option<Self> {
        let &(index, stream, first) = members.first()?;
        let reports = || members.iter().map(|&(_, _, report)| report);
        let traffic = traffic(stream.stats.unified, members);
        let cpu: CpuUse = reports().map(|report| report.cpu).sum();
        let total_ms = reports().map(|r| r.runtime_ns / 1_000_000).sum();
        let (errno, problem) = first_error(members).unwrap_or_default();
        let mut classes = Classes::default();
        for ddir in Ddir::ALL {
            let measured = members.iter().filter(|(_, stream, _)| stream.stats.clat);
            measured.for_each(|(_, _, r)| classes.add(&r.directions[ddir].completion));
        }
        Some(Self {
            stream,
            text: p.jobs.get(index),
            first,
            members: members.len(),
            sync: pooled(reports().map(|report| &report.sync)),
            total_ms,
            user_percent: percent_of_ms(cpu.user_ns, total_ms),
            system_percent: percent_of_ms(cpu.system_ns, total_ms),
            switches: cpu.voluntary_switches + cpu.involuntary_switches,
            major_faults: reports().map(|report| report.major_faults).sum(),
            minor_faults: reports().map(|report| report.minor_faults).sum(),
            depths: depths(reports()),
            classes,
            total_errors: reports().map(|report| report.total_errors).sum(),
            errno,
            problem,
            evidence: EntryEvidence::of(p, members),
            traffic,
        })
    }

    pub(super) fn stats(&self) -> &'a StatsOptions {
        &self.stream.stats
    }

    pub(super) fn way(&self, wanted: EntryDirection) -> Option<&Traffic> {
        let found = self.traffic.iter().find(|(way, _)| *way == wanted);
        found.map(|(_, traffic)| traffic)
    }

    /// Returns the I/O of a direction as fio lists it: if all directions are reported together,
    /// they count as reads.
    pub(super) fn direction(&self, ddir: Ddir) -> Option<&Traffic> {
        let as_one = (ddir == Ddir::Read)
            .then(|| self.way(EntryDirection::Mixed))
            .flatten();
        self.way(EntryDirection::One(ddir)).or(as_one)
    }

    /// Returns true if the entry has I/O or an error to report.
    pub(super) fn did_anything(&self) -> bool {
        self.errno != 0 || self.traffic.iter().any(|(_, t)| t.ios > 0 || t.bytes > 0)
    }

    /// I/Os of all directions.
    pub(super) fn ios(&self) -> u64 {
        let apart = Ddir::ALL.map(|ddir| self.direction(ddir).map_or(0, |t| t.ios));
        apart.iter().sum()
    }

    /// Returns true if the job continues after errors, which are then counted in the output.
    pub(super) const fn goes_on_after_errors(&self) -> bool {
        let errors = &self.stream.errors;
        errors.continue_on_read || errors.continue_on_write || errors.continue_on_verify
    }

    /// Depth that a latency target reached; without a target, the configured depth.
    pub(super) fn latency_depth(&self) -> u32 {
        let reached = self.first.latency_target;
        reached.map_or(self.stream.engine.iodepth, |reached| reached.depth)
    }
}

fn percent_of_ms(ns: u64, ms: u64) -> f64 {
    if ms == 0 {
        return 0.0;
    }
    ns as f64 / 1e4 / ms as f64
}

fn depths<'a>(reports: impl Iterator<Item = &'a StreamReport>) -> DepthUse {
    let mut sum = DepthUse::default();
    for report in reports {
        let pairs = [
            (&mut sum.level, &report.depths.level),
            (&mut sum.submit, &report.depths.submit),
            (&mut sum.complete, &report.depths.complete),
        ];
        for (sums, counts) in pairs {
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
    }
    sum
}

/// Sums the I/O of all members for each scope of their output.
fn traffic(unified: Unified, members: &[Member<'_>]) -> Vec<(EntryDirection, Traffic)> {
    let shown = |way: &EntryDirection| match unified {
        Unified::Split => *way != EntryDirection::Mixed,
        Unified::Mixed => *way == EntryDirection::Mixed,
        Unified::Both => true,
    };
    let ways = EntryDirection::ALL.into_iter().filter(shown);
    ways.map(|way| (way, traffic_of(way, members))).collect()
}

fn traffic_of(way: EntryDirection, members: &[Member<'_>]) -> Traffic {
    let mut sum = Traffic::default();
    // Uses the load's own clock: a board's wall clock may be set during the run.
    let start_ns = |r: &StreamReport| r.elapsed_ns.saturating_sub(r.runtime_ns);
    let ran = members.iter().filter(|(_, _, r)| r.runtime_ns > 0);
    let begin_ns = ran.map(|(_, _, r)| start_ns(r)).min().unwrap_or(0);
    let (mut submission, mut completion, mut total) = (Vec::new(), Vec::new(), Vec::new());
    for &(_, stream, report) in members {
        let later_ns = start_ns(report).saturating_sub(begin_ns);
        for ddir in Ddir::ALL.into_iter().filter(|&ddir| way.covers(ddir)) {
            let part = &report.directions[ddir];
            sum.bytes += part.bytes;
            sum.ios += part.ios;
            sum.short_ios += part.short_ios;
            sum.dropped_ios += part.dropped_ios;
            if part.ios > 0 || part.bytes > 0 {
                sum.runtime_ms = sum.runtime_ms.max(whole_ms(part.runtime_ns));
            }
            let samples = Samples::of(stream, report, ddir);
            sum.samples.add(&samples, later_ns);
            submission.extend(stream.stats.slat.then_some(&part.submission));
            completion.extend(stream.stats.clat.then_some(&part.completion));
            let whole = part.total.as_ref().unwrap_or(&part.completion);
            total.extend(stream.stats.lat.then_some(whole));
        }
    }
    sum.submission = pooled(submission);
    sum.completion = pooled(completion);
    sum.total = pooled(total);
    sum.priorities = by_priority(way, members);
    sum
}

/// Returns the latencies of each priority, if there are several.
fn by_priority(way: EntryDirection, members: &[Member<'_>]) -> Vec<(IoPriority, LatencyRecord)> {
    let mut apart: BTreeMap<IoPriority, Vec<&LatencyRecord>> = BTreeMap::new();
    for (_, _, report) in members {
        for ddir in Ddir::ALL.into_iter().filter(|&ddir| way.covers(ddir)) {
            for (priority, record) in &report.directions[ddir].priorities {
                apart.entry(*priority).or_default().push(record);
            }
        }
    }
    if apart.len() < 2 {
        return Vec::new();
    }
    let pooled = apart
        .into_iter()
        .map(|(priority, records)| (priority, pooled(records)));
    pooled.collect()
}
