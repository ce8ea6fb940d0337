//! Derives the metrics of one trial from its raw counters, and selects the deciding ones.
//!
//! Every rate divides by the trial's `elapsed_ns`, from clock start to clock stop. The time
//! includes flush calls, also the one at the end, and both directions of a mixed job share it.
//! Latencies are those of single calls.
//!
//! A metric that cannot be derived is absent, never 0.

mod detail;
mod table;

pub use table::{MetricName, in_words, label_of, measured_of, subject_in_words};

use crate::course::Course;
use crate::histogram::Percentile;
use crate::latency::Distribution;
use crate::steps::stalls;
use crate::summary::Summary;
use assay_model::act::StepDetail;
use assay_model::act::memory::{
    BandwidthStep, LatencyStep, MemoryStep, MemoryStepResult, StressStep,
};
use assay_model::evidence::LatencyRecord;
use assay_model::figures::Metric;
use assay_model::job::{Direction, Job, Purpose};
use assay_model::trial::{CpuUse, DirectionTotals, Measurement, TrialRecord};
use assay_model::units::{KIB, as_f64};

/// Percentiles of reads and writes.
const IO_PERCENTILES: [Percentile; 6] = [
    Percentile::P50,
    Percentile::P90,
    Percentile::P95,
    Percentile::P99,
    Percentile::P99_9,
    Percentile::P99_99,
];
/// Percentiles of flush calls.
const FLUSH_PERCENTILES: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

/// Returns all metrics of a trial; empty if it did not start.
///
/// `docs/json.md` describes them, and the table ([`MetricName`]) has their properties.
///
/// A direction without I/O has no metrics. A percentile is included if [`Percentile::estimable`];
/// the median always, because it needs no tail. Latencies with a damaged record
/// ([`Distribution::of`]) are left out.
pub fn metrics(trial: &TrialRecord) -> Vec<Metric> {
    let measured = trial.measured.as_ref();
    let in_one_direction = measured.filter(|measured| direction_moved(measured).is_some());
    let course = in_one_direction.and_then(Course::of);
    metrics_with(trial, course.as_ref())
}

/// Returns all metrics of a trial whose course is known already.
pub fn metrics_with(trial: &TrialRecord, course: Option<&Course>) -> Vec<Metric> {
    let mut metrics = Metrics::default();
    if let Some(measured) = &trial.measured {
        for (direction, totals) in [
            (Direction::Read, &measured.read),
            (Direction::Write, &measured.write),
        ] {
            metrics.direction(direction, totals, measured.clock_ns(direction));
        }
        if let Some(number) = in_flight(measured, trial.job.numjobs) {
            metrics.push("in_flight", number);
        }
        metrics.flushes(&measured.flush);
        if let Some(durable) = &measured.durable {
            metrics.waits("durable_write_lat", durable);
        }
        metrics.continuity(measured);
        metrics.levels(measured, course);
        metrics.processor(measured);
        if trial
            .detail
            .as_deref()
            .and_then(StepDetail::scenario)
            .is_some()
        {
            metrics.push("act_time", as_f64(measured.elapsed_ns));
        }
    }
    if let Some(step) = trial.detail.as_deref().and_then(StepDetail::database) {
        metrics.transactions(step, trial);
    }
    if let Some(detail) = &trial.detail {
        metrics.detail(detail);
    }
    metrics.list
}

/// Metrics under construction.
#[derive(Default)]
struct Metrics {
    list: Vec<Metric>,
}

impl Metrics {
    /// Adds a metric, if it has a value and a row in the table.
    fn push(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        let name = name.into();
        let known = MetricName::parse(&name).map(|known| known.row.unit);
        debug_assert!(known.is_some(), "{name} is not in the table");
        if let (Some(unit), Some(value)) = (known, value.into()) {
            self.list.push(Metric { name, unit, value });
        }
    }

    fn count(&mut self, name: impl Into<String>, count: u64) {
        self.push(name, as_f64(count));
    }

    fn direction(&mut self, direction: Direction, totals: &DirectionTotals, elapsed_ns: u64) {
        if totals.ios == 0 {
            return;
        }
        if elapsed_ns > 0 {
            let per_second = |amount: u64| amount as f64 * 1e9 / elapsed_ns as f64;
            let bandwidth = per_second(totals.bytes);
            self.push(format!("{direction}_bw"), bandwidth);
            self.push(format!("{direction}_iops"), per_second(totals.ios));
        }
        self.latencies(&format!("{direction}_lat"), &totals.latency);
        let submission = totals.submission.as_ref().map(Distribution::of);
        if let Some(Ok(submission)) = submission {
            self.push(format!("{direction}_slat_mean"), submission.mean_ns());
        }
        if totals.short_ios > 0 {
            self.count(format!("{direction}_short_ios"), totals.short_ios);
        }
    }

    fn latencies(&mut self, name: &str, record: &LatencyRecord) {
        let Ok(latency) = Distribution::of(record) else {
            return;
        };
        self.push(format!("{name}_mean"), latency.mean_ns());
        self.push(format!("{name}_min"), latency.min_ns().map(as_f64));
        self.push(format!("{name}_max"), latency.max_ns().map(as_f64));
        self.push(format!("{name}_stdev"), latency.stdev_ns());
        self.percentiles(name, &latency, &IO_PERCENTILES);
    }

    fn flushes(&mut self, flush: &LatencyRecord) {
        if flush.count == 0 {
            return;
        }
        self.count("flush_count", flush.count);
        self.waits("flush_lat", flush);
    }

    /// Adds the latencies of calls that end with a flush.
    fn waits(&mut self, name: &str, record: &LatencyRecord) {
        let sound = Distribution::of(record);
        if let Some(latency) = sound.ok().filter(|latency| latency.count() > 0) {
            self.push(format!("{name}_mean"), latency.mean_ns());
            self.percentiles(name, &latency, &FLUSH_PERCENTILES);
            self.push(format!("{name}_max"), latency.max_ns().map(as_f64));
        }
    }

    fn percentiles(&mut self, name: &str, latency: &Distribution<'_>, wanted: &[Percentile]) {
        for &percentile in wanted {
            if percentile == Percentile::P50 || percentile.estimable(latency.count()) {
                let ns = latency.percentile_ns(percentile).map(as_f64);
                self.push(format!("{name}_{percentile}"), ns);
            }
        }
    }

    /// Adds stalls and errors.
    fn continuity(&mut self, measured: &Measurement) {
        let gap = measured.longest_gap.map(|gap| as_f64(gap.length_ns));
        self.push("longest_gap", gap);
        if !measured.series.points.is_empty() {
            let stalls = stalls(measured);
            let empty: usize = stalls.iter().map(|stall| stall.intervals).sum();
            self.push("empty_intervals", empty as f64);
        }
        if measured.errors.count > 0 {
            self.count("errors", measured.errors.count);
        }
    }

    /// Adds the first and the last level if the rate changed: their mean is a rate that the device
    /// never had.
    fn levels(&mut self, measured: &Measurement, course: Option<&Course>) {
        let Some(direction) = direction_moved(measured) else {
            return;
        };
        let Some([first, next, others @ ..]) = course.map(|course| course.levels.as_slice()) else {
            return;
        };
        let last = others.last().unwrap_or(next);
        let bytes = next.bytes_before.0;
        self.push(format!("{direction}_first_level_bw"), first.rate);
        self.count(format!("{direction}_first_level_bytes"), bytes);
        self.push(format!("{direction}_last_level_bw"), last.rate);
    }

    fn processor(&mut self, measured: &Measurement) {
        let cpu = &measured.cpu;
        let ios = as_f64(measured.read.ios) + as_f64(measured.write.ios);
        if ios > 0.0 {
            let (user, system) = (as_f64(cpu.user_ns), as_f64(cpu.system_ns));
            self.push("cpu_user_per_io", user / ios);
            self.push("cpu_system_per_io", system / ios);
            self.push("cpu_per_io", (user + system) / ios);
        }
        let switches = cpu
            .voluntary_switches
            .saturating_add(cpu.involuntary_switches);
        self.count("context_switches", switches);
    }
}

/// Returns the one direction in which bytes were moved; `None` for both or neither.
const fn direction_moved(measured: &Measurement) -> Option<Direction> {
    match (measured.read.bytes, measured.write.bytes) {
        (1.., 0) => Some(Direction::Read),
        (0, 1..) => Some(Direction::Write),
        _ => None,
    }
}

impl Metrics {
    fn memory(&mut self, step: &MemoryStep) {
        match &step.found {
            MemoryStepResult::Bandwidth(found) => self.bandwidth(found),
            MemoryStepResult::Latency(found) => self.load_latency(found),
            MemoryStepResult::Stress(found) => self.stress(found),
        }
    }

    /// Adds the bandwidth: the median of the passes as the usual value, and the best as STREAM's
    /// figure.
    fn bandwidth(&mut self, step: &BandwidthStep) {
        if let Some(rates) = Summary::of(&step.rates()) {
            self.push("memory_bw", rates.median);
            self.push("memory_bw_best", rates.max);
            self.push("memory_bw_worst", rates.min);
        }
    }

    fn load_latency(&mut self, step: &LatencyStep) {
        if let Some(loads) = Summary::of(&step.per_load_ns()) {
            self.push("memory_lat", loads.median);
            self.push("memory_lat_best", loads.min);
        }
    }

    fn stress(&mut self, step: &StressStep) {
        self.count("memory_flips", step.flips);
        self.count("memory_tested", step.tested_bytes);
        if step.elapsed_ns > 0 {
            let rate = as_f64(step.moved_bytes) * 1e9 / as_f64(step.elapsed_ns);
            self.push("memory_stress_bw", rate);
        }
    }
}

/// Returns the mean number of reads and writes in flight on `threads` threads, by Little's law: the
/// sum of their latencies divided by the time in which they could be in flight, without that of
/// flush calls. `None` if nothing moved or a latency record is damaged.
pub fn in_flight(measured: &Measurement, threads: u32) -> Option<f64> {
    let mut sum_ns = 0.0;
    for record in [&measured.read.latency, &measured.write.latency] {
        Distribution::of(record).ok()?;
        sum_ns += record.sum_ns as f64;
    }
    let threads = f64::from(threads.max(1));
    let time_ns = measured.elapsed_ns as f64 - measured.flush.sum_ns as f64 / threads;
    (sum_ns > 0.0 && time_ns > 0.0).then(|| sum_ns / time_ns)
}

/// Processor share from which the tool may have been the limit: the tool waited for the device
/// during less than a tenth of the time, so a device without any latency would hardly differ at the
/// margin that verdicts use.
pub const TOOL_LIMITS_FROM: f64 = 0.9;

/// Returns the processor time of `threads` threads, in user and kernel mode, divided by their
/// elapsed time; `None` where there was none.
///
/// ```
/// use assay_model::trial::CpuUse;
/// use assay_stats::derive::processor_share;
/// let cpu = CpuUse { user_ns: 600, system_ns: 300, ..CpuUse::default() };
/// assert_eq!(processor_share(cpu, 500, 2), Some(0.9));
/// assert_eq!(processor_share(cpu, 0, 2), None);
/// ```
pub fn processor_share(cpu: CpuUse, elapsed_ns: u64, threads: u32) -> Option<f64> {
    let had_ns = elapsed_ns as f64 * f64::from(threads);
    let used_ns = cpu.user_ns as f64 + cpu.system_ns as f64;
    (had_ns > 0.0).then(|| used_ns / had_ns)
}

/// Smallest block size for which bandwidth decides instead of IOPS.
pub const BANDWIDTH_FROM_BYTES: u64 = 64 * KIB;
const DURABLE: &str = "durable_write_lat_p50";
/// Deciding metric of runs from before writes were measured together with their flush.
const FLUSH: &str = "flush_lat_p50";

/// Returns the names of the deciding metrics of a job, reads first. Summaries show them, and
/// comparisons use them.
///
/// - `durable_write_lat_p50` instead of the write side if the job flushes after every small write:
///   the application waits for both;
/// - the mean latency if the pace is limited, by a rate or by a pause after each I/O, since the
///   rate is then the requested one;
/// - transactions per second for a job of transactions;
/// - the rate or the latency of memory for jobs that measure memory; none for a stress test;
/// - the duration of an act of a scenario, if its pace is not limited;
/// - bandwidth for blocks of 64 KiB and more, IOPS below.
///
/// ```
/// use assay_model::job::{Job, Rw};
/// use assay_model::units::Bytes;
/// use assay_stats::derive::primary_metrics;
/// let job = Job::new("mixed", Rw::RandRw, Bytes::kib(4), Bytes::mib(64));
/// assert_eq!(primary_metrics(&job), ["read_iops", "write_iops"]);
/// ```
pub fn primary_metrics(job: &Job) -> Vec<&'static str> {
    match job.purpose {
        Some(Purpose::Transactions) if job.rate.is_some() => return vec!["commit_lat_mean"],
        Some(Purpose::Transactions) => return vec!["commit_tps"],
        Some(Purpose::MemoryBandwidth) => return vec!["memory_bw"],
        Some(Purpose::MemoryLatency) => return vec!["memory_lat"],
        Some(Purpose::MemoryStress) => return Vec::new(),
        Some(Purpose::Act) if job.rate.is_none() => return vec!["act_time"],
        _ => {}
    }
    let pauses = job.pause.is_some_and(|pause| pause.after == 1);
    let (read, write) = if job.rate.is_some() || pauses {
        ("read_lat_mean", "write_lat_mean")
    } else if job.bs.0 >= BANDWIDTH_FROM_BYTES {
        ("read_bw", "write_bw")
    } else {
        ("read_iops", "write_iops")
    };
    let write = match job.flush.every {
        Some((1, _)) if job.bs.0 < BANDWIDTH_FROM_BYTES => DURABLE,
        _ => write,
    };
    let sides = [(job.rw.reads(), read), (job.rw.writes(), write)];
    let wanted = sides.into_iter().filter(|(does, _)| *does);
    wanted.map(|(_, name)| name).collect()
}

/// Returns the deciding metrics of a job among those it has: a job that was stored before writes
/// were measured together with their flush is decided by `flush_lat_p50`.
pub fn deciding_metrics(job: &Job, has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let names = primary_metrics(job).into_iter();
    let known = names.map(|name| match name {
        DURABLE if !has(DURABLE) => FLUSH,
        name => name,
    });
    known.collect()
}

/// `true` if a metric decides between two sides; `a` and `b` are true if it may decide on each
/// side. Runs from before writes were measured together with their flush have only the flush
/// metric, which is used to compare them with newer ones.
pub(crate) fn decides_between(metric: &str, a: bool, b: bool) -> bool {
    let older = (a || b) && metric.rsplit(' ').next() == Some(FLUSH);
    a && b || older
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use assay_model::act::memory::{Kernel, Machine, Pages, Stores, Vectors};
    use assay_model::job::{FlushCall, Job, Pause, RateLimit, Rw};
    use assay_model::trial::{CpuUse, Gap, Interval, IoErrors, Outcome, Series};
    use assay_model::units::{Bytes, Nanos};

    /// `count` latencies of 1 µs, 2 µs, 3 µs …
    fn staircase(count: u64) -> LatencyRecord {
        let mut histogram = Histogram::new();
        (1..=count).for_each(|us| histogram.record(us * 1_000));
        histogram.to_record()
    }

    fn trial(measured: Option<Measurement>) -> TrialRecord {
        TrialRecord {
            job: Job::new("job", Rw::RandRw, Bytes::kib(4), Bytes::mib(1)),
            trial: 1,
            position: 0,
            started_unix_ms: 0,
            seed: 0,
            outcome: Outcome::Completed,
            measured,
            evidence: None,
            wave: None,
            detail: None,
            condition: None,
            in_force: Vec::new(),
        }
    }

    fn reads(count: u64) -> Measurement {
        Measurement {
            elapsed_ns: 2_000_000_000,
            read: DirectionTotals {
                ios: count,
                bytes: count * 4_096,
                latency: staircase(count),
                ..DirectionTotals::default()
            },
            ..Measurement::default()
        }
    }

    fn derived(measured: Measurement) -> Vec<Metric> {
        metrics(&trial(Some(measured)))
    }

    fn value(metrics: &[Metric], name: &str) -> Option<f64> {
        metrics.iter().find(|m| m.name == name).map(|m| m.value)
    }

    fn names(metrics: &[Metric]) -> Vec<&str> {
        metrics.iter().map(|m| m.name.as_str()).collect()
    }

    #[test]
    fn a_trial_that_did_not_start_has_no_metrics() {
        assert_eq!(metrics(&trial(None)), []);
    }

    #[test]
    fn rates_divide_by_the_elapsed_time() {
        let found = derived(reads(1_000));
        assert_eq!(value(&found, "read_bw"), Some(2_048_000.0));
        assert_eq!(value(&found, "read_iops"), Some(500.0));
        let mut stopped = reads(10);
        stopped.elapsed_ns = 0;
        let found = derived(stopped);
        assert_eq!(value(&found, "read_bw"), None);
        assert_eq!(value(&found, "read_lat_min"), Some(1_000.0));
    }

    #[test]
    fn a_read_job_has_exactly_these_metrics() {
        assert_eq!(
            names(&derived(reads(1_000))),
            [
                "read_bw",
                "read_iops",
                "read_lat_mean",
                "read_lat_min",
                "read_lat_max",
                "read_lat_stdev",
                "read_lat_p50",
                "read_lat_p90",
                "read_lat_p95",
                "read_lat_p99",
                "in_flight",
                "cpu_user_per_io",
                "cpu_system_per_io",
                "cpu_per_io",
                "context_switches",
            ]
        );
    }

    #[test]
    fn the_number_in_flight_is_that_of_the_time_between_flushes() {
        let mut measured = reads(100);
        measured.write = measured.read.clone();
        // Twice 5.05 ms of latencies.
        measured.elapsed_ns = 3_000_000;
        measured.flush = staircase(40);
        // The flushes of two threads took 0.82 ms together.
        let found = in_flight(&measured, 2).unwrap();
        assert!((found - 10.1 / (3.0 - 0.41)).abs() < 1e-9, "{found}");
        assert_eq!(in_flight(&Measurement::default(), 1), None);
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it_but_the_median_none() {
        let has = |count, name| value(&derived(reads(count)), name).is_some();
        assert!(has(1, "read_lat_p50"));
        assert!(!has(1, "read_lat_stdev"));
        assert!(!has(999, "read_lat_p99"));
        assert!(has(1_000, "read_lat_p99"));
        assert!(!has(9_999, "read_lat_p99.9"));
        assert!(has(10_000, "read_lat_p99.9"));
        assert!(has(100_000, "read_lat_p99.99"));
    }

    #[test]
    fn a_damaged_latency_record_is_left_out() {
        let mut measured = reads(1_000);
        measured.read.latency.count += 1;
        let found = derived(measured);
        assert!(value(&found, "read_iops").is_some());
        assert!(names(&found).iter().all(|name| !name.contains("_lat_")));
    }

    #[test]
    fn writes_flushes_and_submission_have_their_own_names() {
        let mut measured = reads(5);
        measured.write = measured.read.clone();
        measured.write.submission = Some(staircase(3));
        measured.write.short_ios = 2;
        measured.flush = staircase(1_000);
        let found = derived(measured);
        assert_eq!(value(&found, "write_lat_mean"), Some(3_000.0));
        assert_eq!(value(&found, "write_slat_mean"), Some(2_000.0));
        assert_eq!(value(&found, "read_slat_mean"), None);
        assert_eq!(value(&found, "write_short_ios"), Some(2.0));
        assert_eq!(value(&found, "read_short_ios"), None);
        assert_eq!(value(&found, "flush_count"), Some(1_000.0));
        assert_eq!(value(&found, "flush_lat_max"), Some(1_000_000.0));
        let p99 = value(&found, "flush_lat_p99").unwrap();
        assert!((p99 / 990_000.0 - 1.0).abs() < 0.01);
        assert!(
            names(&found)
                .iter()
                .all(|name| !name.starts_with("durable"))
        );
    }

    #[test]
    fn writes_with_their_flush_have_a_latency_of_their_own() {
        let mut measured = reads(1);
        measured.durable = Some(staircase(1_000));
        let found = derived(measured);
        let own = names(&found).into_iter();
        let own: Vec<&str> = own.filter(|name| name.starts_with("durable")).collect();
        let stats = ["mean", "p50", "p95", "p99", "max"];
        assert_eq!(own, stats.map(|stat| format!("durable_write_lat_{stat}")));
        let max = value(&found, "durable_write_lat_max");
        assert_eq!(max, Some(1_000_000.0));
    }

    #[test]
    fn stalls_errors_and_processor_time_are_metrics() {
        let moved = Interval {
            read_bytes: 4_096,
            ..Interval::default()
        };
        let idle = Interval::default();
        let mut measured = reads(4);
        measured.series = Series {
            interval_ns: 100_000_000,
            points: vec![moved, idle, idle, moved, idle, moved, idle],
        };
        measured.longest_gap = Some(Gap {
            start_ns: 0,
            length_ns: 250_000_000,
        });
        measured.errors = IoErrors {
            count: 3,
            first: Vec::new(),
        };
        measured.cpu = CpuUse {
            user_ns: 400,
            system_ns: 4_000,
            voluntary_switches: 4,
            involuntary_switches: 1,
            ..CpuUse::default()
        };
        let found = derived(measured);
        assert_eq!(value(&found, "empty_intervals"), Some(3.0));
        assert_eq!(value(&found, "longest_gap"), Some(250_000_000.0));
        assert_eq!(value(&found, "errors"), Some(3.0));
        assert_eq!(value(&found, "cpu_user_per_io"), Some(100.0));
        assert_eq!(value(&found, "cpu_system_per_io"), Some(1_000.0));
        assert_eq!(value(&found, "cpu_per_io"), Some(1_100.0));
        assert_eq!(value(&found, "context_switches"), Some(5.0));
    }

    #[test]
    fn a_cliff_makes_figures_of_both_levels() {
        let mut measured = reads(1_000);
        let point = |read_bytes| Interval {
            read_bytes,
            ..Interval::default()
        };
        measured.series = Series {
            interval_ns: 100_000_000,
            points: [vec![point(8_000_000); 50], vec![point(1_000_000); 51]].concat(),
        };
        let found = derived(measured.clone());
        assert_eq!(value(&found, "read_first_level_bw"), Some(80e6));
        assert_eq!(value(&found, "read_first_level_bytes"), Some(400e6));
        assert_eq!(value(&found, "read_last_level_bw"), Some(10e6));
        measured.write.bytes = 1;
        let mixed = names(&derived(measured)).join(" ");
        assert!(!mixed.contains("level"), "{mixed}");
    }

    #[test]
    fn nothing_done_is_not_zero_speed() {
        let found = derived(Measurement {
            elapsed_ns: 1_000,
            ..Measurement::default()
        });
        assert_eq!(names(&found), ["context_switches"]);
    }

    #[test]
    fn the_first_pass_does_not_count_and_the_best_is_streams() {
        let step = MemoryStep {
            machine: Machine::default(),
            throttled_after: None,
            found: MemoryStepResult::Bandwidth(BandwidthStep {
                kernel: Kernel::Triad,
                stores: Stores::Plain,
                vectors: Vectors::Portable,
                cpus: vec![None],
                array_bytes: 8,
                counted_bytes: 1_000,
                passes_ns: vec![1, 1_000, 500, 2_000],
                pages: Pages::default(),
            }),
        };
        let mut metrics = Metrics::default();
        metrics.memory(&step);
        let found: Vec<(&str, f64)> = metrics
            .list
            .iter()
            .map(|metric| (metric.name.as_str(), metric.value))
            .collect();
        assert_eq!(
            found,
            [
                ("memory_bw", 1e9),
                ("memory_bw_best", 2e9),
                ("memory_bw_worst", 0.5e9)
            ]
        );
    }

    fn deciding(rw: Rw, bs: Bytes, edit: fn(&mut Job)) -> Vec<&'static str> {
        let mut job = Job::new("job", rw, bs, Bytes::mib(64));
        edit(&mut job);
        let found = primary_metrics(&job);
        for name in &found {
            assert!(
                MetricName::parse(name).is_some_and(MetricName::may_decide),
                "{name}"
            );
        }
        found
    }

    #[test]
    fn transactions_decide_where_they_are_what_is_done() {
        let found = deciding(Rw::RandWrite, Bytes::kib(4), |job| {
            job.purpose = Some(Purpose::Transactions);
        });
        assert_eq!(found, ["commit_tps"]);
    }

    #[test]
    fn how_long_an_act_takes_decides_unless_its_pace_is_given() {
        let act = |job: &mut Job| job.purpose = Some(Purpose::Act);
        assert_eq!(deciding(Rw::Write, Bytes::kib(4), act), ["act_time"]);
        let paced = |job: &mut Job| {
            job.purpose = Some(Purpose::Act);
            job.rate = Some(RateLimit::Iops(10));
        };
        assert_eq!(
            deciding(Rw::Write, Bytes::kib(64), paced),
            ["write_lat_mean"]
        );
    }

    #[test]
    fn block_size_decides_between_bandwidth_and_iops() {
        let plain = |rw, bs| deciding(rw, bs, |_| {});
        assert_eq!(plain(Rw::Read, Bytes::kib(64)), ["read_bw"]);
        assert_eq!(plain(Rw::RandRead, Bytes(65_535)), ["read_iops"]);
        assert_eq!(plain(Rw::Write, Bytes::mib(1)), ["write_bw"]);
        assert_eq!(plain(Rw::RandWrite, Bytes::kib(4)), ["write_iops"]);
        assert_eq!(plain(Rw::Rw, Bytes::mib(1)), ["read_bw", "write_bw"]);
    }

    #[test]
    fn a_flush_after_every_write_decides_the_write_side() {
        let every = |job: &mut Job| job.flush.every = Some((1, FlushCall::Fsync));
        let kib = Bytes::kib(4);
        assert_eq!(deciding(Rw::Write, kib, every), ["durable_write_lat_p50"]);
        assert_eq!(
            deciding(Rw::RandRw, kib, every),
            ["read_iops", "durable_write_lat_p50"]
        );
        assert_eq!(deciding(Rw::Read, kib, every), ["read_iops"]);
        let seldom = |job: &mut Job| job.flush.every = Some((8, FlushCall::Fsync));
        assert_eq!(deciding(Rw::Write, kib, seldom), ["write_iops"]);
        assert_eq!(deciding(Rw::Write, Bytes::mib(10), every), ["write_bw"]);
    }

    #[test]
    fn what_was_stored_before_is_decided_by_its_flush() {
        let mut job = Job::new("job", Rw::RandRw, Bytes::kib(4), Bytes::mib(64));
        job.flush.every = Some((1, FlushCall::Fsync));
        let of = |has: bool| deciding_metrics(&job, |_| has);
        assert_eq!(of(true), ["read_iops", DURABLE]);
        assert_eq!(of(false), ["read_iops", FLUSH]);
        assert!(decides_between("log: flush_lat_p50", true, false));
        assert!(!decides_between("log: flush_lat_p50", false, false));
        assert!(!decides_between("log: write_bw", true, false));
    }

    #[test]
    fn with_a_pause_after_each_io_latency_decides() {
        let paused = |after| {
            let mut job = Job::new("job", Rw::RandRead, Bytes::kib(4), Bytes::mib(64));
            let time = Nanos::millis(200);
            job.pause = Some(Pause { after, time });
            primary_metrics(&job)
        };
        assert_eq!(paused(1), ["read_lat_mean"]);
        assert_eq!(paused(4), ["read_iops"], "a burst has a rate");
    }

    #[test]
    fn under_a_rate_limit_latency_decides() {
        let limited = |job: &mut Job| job.rate = Some(RateLimit::Iops(100));
        let found = deciding(Rw::RandRw, Bytes::kib(4), limited);
        assert_eq!(found, ["read_lat_mean", "write_lat_mean"]);
    }
}
