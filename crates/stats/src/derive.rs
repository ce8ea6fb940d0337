//! Derives the metrics of one trial from its raw counters, and selects the deciding ones.
//!
//! Every rate divides by the trial's `elapsed_ns`, from clock start to clock stop. The time
//! includes flush calls, also the one at the end, and both directions of a mixed job share it.
//! Latencies are those of single calls.
//!
//! A metric that cannot be derived is absent, never 0.

mod table;

pub use table::{MetricName, in_words, label_of, measured_of, subject_in_words};

use crate::course::Course;
use crate::histogram::Percentile;
use crate::latency::Distribution;
use crate::steps::stalls;
use crate::summary::Summary;
use assay_judge::judge;
use assay_model::act::androbench::DatabaseStep;
use assay_model::act::capacity::CapacityStep;
use assay_model::act::memory::{
    BandwidthStep, LatencyStep, MemoryStep, MemoryStepResult, StressStep,
};
use assay_model::act::powercut::{CutStep, StreamFound};
use assay_model::act::scenario::ScenarioStep;
use assay_model::act::{ExtentSample, ExtentStep, ReplayStep, SampleKind, StepDetail};
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

impl Metrics {
    fn detail(&mut self, detail: &StepDetail) {
        match detail {
            StepDetail::Extent(step) => self.samples(step),
            StepDetail::Capacity(step) => self.sectors(step),
            StepDetail::Memory(step) => self.memory(step),
            StepDetail::Scenario(step) => self.act(step),
            StepDetail::Replay(step) => self.lateness(step),
            StepDetail::Powercut(step) => self.cut(step),
            StepDetail::Iozone(_)
            | StepDetail::Database(_)
            | StepDetail::Copy(_)
            | StepDetail::Soak(_) => {}
        }
    }

    /// Adds the rates of samples. Each sample has the same weight, regardless of its length and
    /// duration, as in GNOME Disks.
    fn samples(&mut self, step: &ExtentStep) {
        let rates = || step.samples.iter().filter_map(ExtentSample::rate).collect();
        let (name, values): (_, Vec<f64>) = match step.of {
            SampleKind::Read => ("read_sample_bw", rates()),
            SampleKind::Write => ("write_sample_bw", rates()),
            SampleKind::Access => {
                let times = step.samples.iter().map(|sample| as_f64(sample.elapsed_ns));
                ("access_time", times.collect())
            }
        };
        if values.is_empty() {
            return;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        self.push(format!("{name}_mean"), mean);
        self.push(format!("{name}_min"), least);
        self.push(format!("{name}_max"), most);
    }

    /// Adds counts and times of an act of a scenario. `metrics_with` adds its duration.
    fn act(&mut self, step: &ScenarioStep) {
        if let Some(latency) = &step.latency {
            self.latencies("operation_lat", latency);
        }
        if let Some(kept) = &step.deadlines {
            self.count("deadline_misses", kept.missed);
            self.count("deadline_operations", kept.operations);
            let late = (kept.missed > 0).then(|| as_f64(kept.worst_late_ns));
            self.push("lateness_max", late);
        }
    }

    /// Adds the start delays of a replay's I/Os.
    fn lateness(&mut self, step: &ReplayStep) {
        let Some(record) = &step.lateness else { return };
        let Ok(late) = Distribution::of(record) else {
            return;
        };
        for percentile in [Percentile::P50, Percentile::P99] {
            let ns = late.percentile_ns(percentile).map(as_f64);
            self.push(format!("lateness_{percentile}"), ns);
        }
        self.push("lateness_max", late.max_ns().map(as_f64));
    }

    /// Adds the result of a power cut, summed over all streams.
    fn cut(&mut self, step: &CutStep) {
        let sum = |of: fn(&StreamFound) -> u64| step.found.streams.iter().map(of).sum();
        self.count("writes_acknowledged", sum(|stream| stream.acknowledged));
        self.count("writes_checked", sum(|stream| stream.checked));
        self.count("writes_lost", sum(|stream| stream.lost));
        self.count("writes_torn", sum(|stream| stream.torn));
        self.count("writes_misordered", sum(|stream| stream.misordered));
        self.count("places_garbage", sum(|stream| stream.garbage));
    }

    fn sectors(&mut self, step: &CapacityStep) {
        let Some(found) = step.total() else {
            return;
        };
        let sectors = found.sectors;
        self.count("sectors_ok", sectors.ok);
        self.count("sectors_changed", sectors.changed);
        self.count("sectors_overwritten", sectors.overwritten);
        self.count("sectors_corrupted", sectors.corrupted);
        self.count("sectors_unreadable", sectors.unreadable);
    }
}

impl Metrics {
    /// Adds the metrics of transactions. Rates divide by the time spent in transactions, as
    /// AndroBench does. With a limited pace they divide by the elapsed time: without the waits the
    /// rate would be one that never occurred.
    fn transactions(&mut self, step: &DatabaseStep, trial: &TrialRecord) {
        if step.transactions == 0 {
            return;
        }
        let transactions = as_f64(step.transactions);
        let elapsed_ns = trial.measured.as_ref().map(|measured| measured.elapsed_ns);
        let paced_ns = elapsed_ns.filter(|_| trial.job.rate.is_some());
        let time_ns = paced_ns.unwrap_or(step.latency.sum_ns);
        if time_ns > 0 {
            let rate = transactions * 1e9 / as_f64(time_ns);
            self.push("commit_tps", rate);
        }
        self.latencies("commit_lat", &step.latency);
        let written = trial.measured.as_ref().map(|measured| measured.write.bytes);
        if let Some(bytes) = written.filter(|&bytes| bytes > 0) {
            let each = as_f64(bytes) / transactions;
            self.push("commit_write_bytes", each);
        }
        let judged = judge(trial).and_then(|judgement| judgement.write);
        if let Some(flushes) = judged.as_ref().and_then(|write| write.flushes) {
            let each = as_f64(flushes) / transactions;
            self.push("commit_flushes", each);
        }
        // Layers below the top may be shared, such as the disk behind a loop device.
        let top = judged.as_ref().and_then(|write| write.layers.first());
        if let Some((_, bytes)) = top {
            let each = as_f64(*bytes) / transactions;
            self.push("commit_device_bytes", each);
        }
        self.push("checkpoint_time", step.checkpoint_ns.map(as_f64));
    }
}

#[cfg(test)]
mod tests;
