//! Entry of an output: a stream, or several that are reported together.

use super::evidence::EntryEvidence;
use super::samples::Samples;
use super::{Member, Presentation};
use crate::fio::JobText;
use assay_model::evidence::LatencyRecord;
use assay_model::load::report::{DepthUse, StatsOptions, StreamReport, Unified};
use assay_model::load::{Ddir, IoPriority, Stream};
use assay_model::trial::CpuUse;
use assay_stats::histogram::bin_bounds;
use assay_stats::latency::{Distribution, pooled};
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

/// Moments of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LatencyMoments {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub stdev_ns: f64,
}

/// Returns the moments; `None` if the record is empty or damaged, to avoid wrong
/// figures.
pub(super) fn moments(record: &LatencyRecord) -> Option<LatencyMoments> {
    let distribution = Distribution::of(record).ok()?;
    Some(LatencyMoments {
        count: distribution.count(),
        min_ns: distribution.min_ns()?,
        max_ns: distribution.max_ns()?,
        mean_ns: distribution.mean_ns()?,
        stdev_ns: distribution.stdev_ns().unwrap_or(0.0),
    })
}

/// Value of a bin in fio: its middle, rounded up.
pub(super) fn bin_value(index: u32) -> u64 {
    bin_bounds(index).map_or(0, |(low, high)| low + (high - low).div_ceil(2))
}

/// Returns the percentiles in `percents`, ascending, each with the value of the
/// first bin at which the cumulative count reaches its share. They are computed as
/// in fio, because programs recompute them from the bins of its output: the rank is
/// a floating-point number, and a value may lie half a bin beyond the extremes.
/// Unlike in fio, values above 17 s are not cut off. All are 0 for an empty record.
pub(super) fn percentiles(record: &LatencyRecord, percents: &[f64]) -> Vec<(f64, u64)> {
    let mut bins = record.bins.iter().peekable();
    let mut cumulative = 0;
    ascending(percents)
        .into_iter()
        .map(|percent| {
            let rank = percent / 100.0 * record.count as f64;
            while let Some((_, operations)) =
                bins.next_if(|(_, operations)| ((cumulative + operations) as f64) < rank)
            {
                cumulative += operations;
            }
            let value = bins.peek().map_or(0, |(index, _)| bin_value(*index));
            (percent, value)
        })
        .collect()
}

/// Returns the list as fio uses it: sorted, and cut at the first zero.
fn ascending(percents: &[f64]) -> Vec<f64> {
    let mut percents: Vec<f64> = percents
        .iter()
        .copied()
        .take_while(|&percent| percent > 0.0)
        .map(|percent| percent.min(100.0))
        .collect();
    percents.sort_by(f64::total_cmp);
    percents
}

/// Upper bounds of the classes of `latency_ns` and `latency_us`, in their unit.
pub(super) const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Upper bounds of the `latency_ms` classes; a class without an upper bound follows.
pub(super) const CLASSES_MS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Number of operations in each of fio's latency classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    /// Below 1 us.
    pub ns: [u64; 10],
    /// Below 1 ms.
    pub us: [u64; 10],
    /// From 1 ms.
    pub ms: [u64; 12],
}

impl Classes {
    /// Adds counts from bins. A bin that spans the end of a class counts for the
    /// class of its middle, at most 1/128 of a latency away.
    pub(super) fn add(&mut self, record: &LatencyRecord) {
        for &(index, operations) in &record.bins {
            let extremes = record.min_ns..=record.max_ns.max(record.min_ns);
            let ns = bin_value(index).clamp(*extremes.start(), *extremes.end());
            let class = match ns {
                0..1_000 => &mut self.ns[place(ns, &CLASSES)],
                1_000..1_000_000 => &mut self.us[place(ns / 1_000, &CLASSES)],
                _ => &mut self.ms[place(ns / 1_000_000, &CLASSES_MS)],
            };
            *class += operations;
        }
    }
}

/// Returns the number of bounds that the value has reached.
fn place(value: u64, ends: &[u64]) -> usize {
    ends.iter().take_while(|&&end| value >= end).count()
}

/// Returns shares in percent. A count above zero gets at least `least`, so that one
/// slow I/O among a million does not appear as zero.
fn percent<const N: usize>(counts: &[u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (100.0 * count as f64 / total as f64).max(least),
    })
}

/// Shares of queue depths, in percent of all counts.
pub(super) fn depth_shares(counts: &[u64; 7]) -> [f64; 7] {
    percent(counts, counts.iter().sum(), 0.1)
}

/// Shares of latency classes, in percent of all I/Os.
pub(super) fn class_shares<const N: usize>(counts: &[u64; N], ios: u64) -> [f64; N] {
    percent(counts, ios, 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_stats::histogram::{BINS, Histogram, bin_index};

    fn record(values: &[u64]) -> LatencyRecord {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram.to_record()
    }

    /// Checks maxima against the p99.99 that fio 3.33 printed for them.
    #[test]
    fn a_bin_has_the_value_that_fio_gives_it() {
        for (max_ns, p99_99) in [
            (257_012, 257_024),
            (3_697, 3_696),
            (29_479, 29_568),
            (206_878, 207_872),
            (641_835, 643_072),
            (1_328_200, 1_335_296),
            (339_629, 337_920),
            (40, 40),
        ] {
            assert_eq!(bin_value(bin_index(max_ns)), p99_99);
        }
        assert!(bin_value(BINS - 1) > u64::MAX / 128 * 127);
    }

    #[test]
    fn percentiles_are_sorted_and_never_saturate() {
        let mut values = vec![100; 99];
        values.push(60_000_000_000);
        let found = percentiles(&record(&values), &[99.5, 1.0, 99.0, 0.0, 50.0]);
        assert_eq!(found.len(), 3, "a zero ends the list");
        assert_eq!(found[..2], [(1.0, 100), (99.0, 100)]);
        assert!(found[2].1.abs_diff(60_000_000_000) <= 60_000_000_000 / 128);
        assert_eq!(percentiles(&record(&[]), &[50.0]), [(50.0, 0)]);
    }

    /// Checks the rule of fio's `t/latency_percentiles.py`: the value at rank ceil(p
    /// / 100 * n), at most 1/128 off.
    #[test]
    fn the_rank_is_the_one_that_fios_test_computes() {
        let values: Vec<u64> = (1..=1000).map(|n| n * 100_000).collect();
        let record = record(&values);
        for (percent, rank) in [(1.0, 10), (30.0, 300), (99.95, 1000), (100.0, 1000)] {
            let truth = values[rank - 1];
            let (_, found) = percentiles(&record, &[percent])[0];
            assert!(found.abs_diff(truth) * 128 <= truth, "{percent}: {found}");
        }
    }

    /// In binary, 99.9 / 100 * 1000 is above 999, for fio as for its test.
    #[test]
    fn the_rank_of_a_binary_fraction_is_rounded_up() {
        let mut values = vec![100; 999];
        values.push(1_000_000);
        assert_eq!(percentiles(&record(&values), &[99.9])[0].1, 1_003_520);
    }

    #[test]
    fn classes_end_where_fios_do() {
        let mut classes = Classes::default();
        for ns in [
            0,
            1,
            2,
            999,
            1_999,
            2_000,
            999_999,
            1_000_000,
            1_999_999_999,
        ] {
            classes.add(&record(&[ns]));
        }
        classes.add(&record(&[2_000_000_000, 90_000_000_000]));
        assert_eq!(classes.ns, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(classes.us, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(classes.ms, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_damaged_record_gives_no_figures() {
        let mut damaged = record(&[1, 2, 3]);
        damaged.count = 4;
        assert_eq!(moments(&damaged), None);
        assert_eq!(moments(&LatencyRecord::default()), None);
        assert_eq!(moments(&record(&[5])).unwrap().stdev_ns, 0.0);
    }

    #[test]
    fn a_rare_case_is_not_shown_as_none() {
        assert_eq!(
            class_shares(&[0, 1, 999_999], 1_000_000),
            [0.0, 0.01, 99.9999]
        );
        assert_eq!(depth_shares(&[1, 9_999, 0, 0, 0, 0, 0])[0], 0.1);
        assert_eq!(class_shares(&[0, 0], 0), [0.0, 0.0]);
    }
}
