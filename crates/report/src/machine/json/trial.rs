//! One trial as JSON: job, figures, latencies, series, errors; its evidence with conclusions,
//! states and raw counters.

use super::{Without, parts, rfc3339};
use crate::results::derived::Derived;
use assay_judge::hindrances::Hindrance;
use assay_judge::{DirectionEvidence, ForeignIo, Judgement, Measured, Quantity};
use assay_model::act::StepDetail;
use assay_model::condition::InForce;
use assay_model::evidence::{
    CpuState, DeviceCounters, Evidence, FileCache, Glance, LatencyRecord, MemoryCounters, OwnIo,
    Pressure, ProcessIo, QueueSettings, Snapshot, ThermalZone,
};
use assay_model::figures::{Metric, Unit};
use assay_model::job::{
    CacheState, Content, EngineKind, FileState, FlushCall, Job, OpenSync, Purpose, RateLimit, Rw,
};
use assay_model::trial::{
    CpuUse, DirectionTotals, Gap, Interval, IoErrorRecord, Measurement, Outcome, Series,
    TrialRecord,
};
use assay_stats::course::{Course, Level, Settled};
use assay_stats::derive::label_of;
use assay_stats::histogram::{Percentile, bin_bounds};
use assay_stats::latency::{DamagedRecord, Distribution};
use serde::{Serialize, Serializer};
use serde_json::Number;

parts! {
    pub struct TrialPart<'a> of (record: &'a TrialRecord, derived: &Derived, without: Without) {
        {
            let judgement = derived.judgement.as_ref();
            let measured = record.measured.as_ref();
            let in_detail = measured.filter(|_| without != Without::Details);
            let in_full = measured.filter(|_| without == Without::Nothing);
            let metrics = derived.metrics.iter();
            let course = measured.zip(derived.course.as_ref());
            let evidence = record.evidence.as_ref().filter(|_| without != Without::Details);
            let (reasons, error) = match &record.outcome {
                Outcome::Skipped { reasons } => (Some(reasons.as_slice()), None),
                Outcome::Failed { error } => (None, Some(error.as_str())),
                Outcome::Completed | Outcome::Interrupted => (None, None),
            };
        }
        job: JobPart<'a> = JobPart::of(&record.job),
        trial: u32 = record.trial,
        position: u32 = record.position,
        started: String = rfc3339(record.started_unix_ms),
        seed: String = record.seed.to_string(),
        outcome: &'static str = record.outcome.word(),
        #[serde(skip_serializing_if = "Option::is_none")]
        reasons: Option<&'a [String]> = reasons,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str> = error,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        data_lost: bool = record.lost_data(),
        metrics: Vec<MetricPart> = metrics.map(|it| MetricPart::of(it, judgement)).collect(),
        elapsed_ns: Option<u64> = measured.map(|m| m.elapsed_ns),
        totals: Option<TotalsPart> = measured.map(TotalsPart::of),
        latency: Option<LatencyParts> = in_detail.map(LatencyParts::of),
        series: Option<Vec<IntervalPart>> = in_full.map(|m| intervals(&m.series)),
        course: Option<CoursePart> = course.map(|(m, course)| CoursePart::of(m, course)),
        longest_gap: Option<Gap> = measured.and_then(|m| m.longest_gap),
        error_count: Option<u64> = measured.map(|m| m.errors.count),
        errors: Option<&'a [IoErrorRecord]> = measured.map(|m| m.errors.first.as_slice()),
        cpu: Option<CpuUse> = measured.map(|m| m.cpu),
        evidence: Option<EvidencePart<'a>> =
            evidence.map(|evidence| EvidencePart::of(evidence, derived.judgement.clone())),
        #[serde(skip_serializing_if = "Option::is_none")]
        condition: Option<&'a str> = record.condition.as_deref(),
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        in_force: &'a [InForce] = &record.in_force,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a StepDetail> = record.detail.as_deref(),
    }

    struct JobPart<'a> of (job: &'a Job) {
        { let flush = job.flush; }
        name: &'a str = &job.name,
        rw: Rw = job.rw,
        read_percent: u8 = job.read_percent,
        bs: u64 = job.bs.0,
        ioengine: EngineKind = job.ioengine,
        iodepth: u32 = job.iodepth,
        numjobs: u32 = job.numjobs,
        direct: bool = job.direct,
        sync: OpenSync = job.sync,
        flush_every: Option<FlushEveryPart> =
            flush.every.map(|(writes, call)| FlushEveryPart::of(writes, call)),
        flush_at_end: Option<FlushCall> = flush.at_end,
        offset_bytes: u64 = job.offset.0,
        size_bytes: u64 = job.size.0,
        io_size_bytes: Option<u64> = job.io_size.map(|bytes| bytes.0),
        runtime_ns: Option<u64> = job.runtime.map(|time| time.0),
        time_based: bool = job.time_based,
        ramp_time_ns: u64 = job.ramp_time.0,
        rate: Option<RateLimit> = job.rate,
        file_state: FileState = job.file_state,
        cache_state: CacheState = job.cache_state,
        interval_ns: u64 = job.interval.0,
        content: Content = job.content,
        purpose: Option<Purpose> = job.purpose,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str> = job.description.as_deref(),
    }

    struct FlushEveryPart of (every: u32, by: FlushCall) {
        writes: u32 = every,
        call: FlushCall = by,
    }

    struct MetricPart of (metric: &Metric, judgement: Option<&Judgement>) {
        name: String = metric.name.clone(),
        unit: Unit = metric.unit,
        value: f64 = metric.value,
        label: String = label_of(&metric.name, judgement),
    }

    struct TotalsPart of (measured: &Measurement) {
        read: DirectionPart = DirectionPart::of(&measured.read),
        write: DirectionPart = DirectionPart::of(&measured.write),
    }

    struct DirectionPart of (totals: &DirectionTotals) {
        ios: u64 = totals.ios,
        bytes: u64 = totals.bytes,
        short_ios: u64 = totals.short_ios,
    }

    struct LatencyParts of (measured: &Measurement) {
        read: Option<LatencyPart> = LatencyPart::of(&measured.read.latency),
        write: Option<LatencyPart> = LatencyPart::of(&measured.write.latency),
        flush: Option<LatencyPart> = LatencyPart::of(&measured.flush),
        durable_write: Option<LatencyPart> = measured.durable.as_ref().and_then(LatencyPart::of),
        submission: SubmissionParts = SubmissionParts::of(measured),
    }

    struct SubmissionParts of (measured: &Measurement) {
        read: Option<LatencyPart> = measured.read.submission.as_ref().and_then(LatencyPart::of),
        write: Option<LatencyPart> = measured.write.submission.as_ref().and_then(LatencyPart::of),
    }

    struct CoursePart of (measured: &Measurement, course: &Course) {
        {
            let interval_ns = measured.series.interval_ns;
            let levels = course.levels.iter();
        }
        levels: Vec<LevelPart> = levels.map(|level| LevelPart::of(level, interval_ns)).collect(),
        warm_up_ns: Option<u64> = course.warm_up.map(|time| time.0),
        settled: Option<SettledPart> = course.settled.map(SettledPart::of),
    }

    struct LevelPart of (level: &Level, interval_ns: u64) {
        start_ns: u64 = interval_ns.saturating_mul(level.start as u64),
        bytes_before: u64 = level.bytes_before.0,
        bytes_per_sec: f64 = level.rate,
    }

    struct SettledPart of (settled: Settled) {
        { let found = settled.steadiness; }
        from_ns: u64 = settled.from.0,
        drift_pct: f64 = 100.0 * found.drift,
        error_pct: f64 = 100.0 * found.error,
        steady: bool = found.steady,
        snia: bool = found.snia,
    }

    struct IntervalPart of (start_ns: u64, point: &Interval) {
        start_ms: Option<Number> = milliseconds(start_ns),
        read_bytes: u64 = point.read_bytes,
        write_bytes: u64 = point.write_bytes,
        read_ios: u64 = point.read_ios,
        write_ios: u64 = point.write_ios,
        max_latency_ns: u64 = point.max_latency_ns,
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum LatencyPart {
    Sound(SoundLatency),
    /// The stored record contradicts itself, so that no figure is derived from it.
    Damaged {
        damaged: String,
    },
}

#[derive(Serialize)]
struct SoundLatency {
    count: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    mean_ns: Option<f64>,
    stdev_ns: Option<f64>,
    percentiles_ns: Percentiles,
    bins: Vec<(u64, u64)>,
}

impl LatencyPart {
    /// Returns the latencies; `None` without any operation.
    fn of(record: &LatencyRecord) -> Option<Self> {
        if *record == LatencyRecord::default() {
            return None;
        }
        Some(match SoundLatency::of(record) {
            Ok(sound) => Self::Sound(sound),
            Err(damage) => Self::Damaged {
                damaged: damage.to_string(),
            },
        })
    }
}

impl SoundLatency {
    fn of(record: &LatencyRecord) -> Result<Self, DamagedRecord> {
        let latency = Distribution::of(record)?;
        let bins = record.bins.iter().filter_map(|&(index, operations)| {
            let (low_ns, _) = bin_bounds(index)?;
            Some((low_ns, operations))
        });
        Ok(Self {
            count: latency.count(),
            min_ns: latency.min_ns(),
            max_ns: latency.max_ns(),
            mean_ns: latency.mean_ns(),
            stdev_ns: latency.stdev_ns(),
            percentiles_ns: Percentiles::of(&latency),
            bins: bins.collect(),
        })
    }
}

/// Percentiles backed by enough operations, ascending; always with the median, as among the
/// metrics.
struct Percentiles(Vec<(Percentile, u64)>);

impl Percentiles {
    fn of(latency: &Distribution<'_>) -> Self {
        let shown = [
            Percentile::P50,
            Percentile::P90,
            Percentile::P95,
            Percentile::P99,
            Percentile::P99_9,
            Percentile::P99_99,
        ];
        let estimable = shown
            .into_iter()
            .filter(|&p| p == Percentile::P50 || p.estimable(latency.count()));
        Self(
            estimable
                .filter_map(|percentile| Some((percentile, latency.percentile_ns(percentile)?)))
                .collect(),
        )
    }
}

/// Serializes as `{"50": …, "99.9": …}`.
impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(percentile, ns)| {
            let name = percentile.to_string();
            (name.trim_start_matches('p').to_owned(), ns)
        }))
    }
}

fn intervals(series: &Series) -> Vec<IntervalPart> {
    let points = (0_u64..).zip(&series.points);
    points
        .map(|(index, point)| IntervalPart::of(index.saturating_mul(series.interval_ns), point))
        .collect()
}

/// Returns milliseconds, as a whole number if possible: intervals may be shorter than 1 ms.
fn milliseconds(ns: u64) -> Option<Number> {
    const MILLISECOND: u64 = 1_000_000;
    if ns.is_multiple_of(MILLISECOND) {
        return Some(Number::from(ns / MILLISECOND));
    }
    let ms = ns as f64 / 1e6;
    Number::from_f64(ms)
}

parts! {
    struct EvidencePart<'a> of (evidence: &'a Evidence, judgement: Option<Judgement>) {
        {
            let (read, write, foreign, hindrances) = judgement
                .map(|j| (j.read, j.write, j.foreign, j.hindrances))
                .unwrap_or_default();
        }
        write: Option<DirectionEvidencePart> = write.map(DirectionEvidencePart::of),
        read: Option<DirectionEvidencePart> = read.map(DirectionEvidencePart::of),
        foreign: Option<ForeignPart<'a>> = foreign.map(|io| ForeignPart::of(&io, evidence)),
        #[serde(skip_serializing_if = "Vec::is_empty")]
        hindrances: Vec<Hindrance> = hindrances,
        queues: &'a [QueueSettings] = &evidence.queues,
        file_cache: Around<Option<FileCache>> = Around::of(evidence, |at| at.file_cache),
        memory: Around<Option<MemoryCounters>> = Around::of(evidence, |at| at.memory),
        cpus: Around<&'a [CpuState]> = Around::of(evidence, |at| at.cpus.as_slice()),
        thermal: Around<&'a [ThermalZone]> = Around::of(evidence, |at| at.thermal.as_slice()),
        pressure_delta: Option<Pressure> = pressure_delta(evidence),
        context_switches: Option<u64> = context_switches(evidence),
        before: CountersPart<'a> = CountersPart::of(&evidence.before),
        after: CountersPart<'a> = CountersPart::of(&evidence.after),
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        during: &'a [Glance] = &evidence.during,
    }

    struct DirectionEvidencePart of (judged: DirectionEvidence) {
        {
            let latency_label = judged.of(Quantity::Call).label();
            let layers = judged.layers.into_iter();
        }
        label: &'static str = judged.measured.label(),
        latency_label: &'static str = latency_label,
        because: String = judged.because,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String> = match judged.measured {
            Measured::Unknown { why } => Some(why),
            _ => None,
        },
        device_share: Option<f64> = judged.device_share,
        job_bytes: u64 = judged.job_bytes,
        layers: Vec<LayerBytes> = layers.map(LayerBytes::of).collect(),
        flushes: Option<u64> = judged.flushes,
        volatile_cache: Option<bool> = judged.volatile_cache,
        dirty_bytes_at_stop: Option<u64> = judged.dirty_bytes_at_stop,
    }

    struct LayerBytes of (layer: (String, u64)) {
        name: String = layer.0,
        bytes: u64 = layer.1,
    }

    struct ForeignPart<'a> of (foreign: &ForeignIo, evidence: &'a Evidence) {
        read_bytes: u64 = foreign.read_bytes,
        write_bytes: u64 = foreign.write_bytes,
        // The processes of the evidence, which distinguishes "none" from "no permission".
        processes: Option<&'a [ProcessIo]> = evidence.other_processes.as_deref(),
    }

    /// Raw counters, from which the conclusions can be derived again.
    struct CountersPart<'a> of (snapshot: &'a Snapshot) {
        at_ns: u64 = snapshot.at_ns,
        devices: &'a [DeviceCounters] = &snapshot.devices,
        own_io: Option<OwnIo> = snapshot.own_io,
        pressure: Option<Pressure> = snapshot.pressure,
        context_switches: Option<u64> = snapshot.context_switches,
    }
}

/// State just before the clock started and just after it stopped.
#[derive(Serialize)]
struct Around<T> {
    before: T,
    after: T,
}

impl<T> Around<T> {
    fn of<'a>(evidence: &'a Evidence, state: impl Fn(&'a Snapshot) -> T) -> Self {
        Self {
            before: state(&evidence.before),
            after: state(&evidence.after),
        }
    }
}

/// Returns the change of pressure; `None` if a counter is missing or ran backwards.
fn pressure_delta(evidence: &Evidence) -> Option<Pressure> {
    let (before, after) = (evidence.before.pressure?, evidence.after.pressure?);
    Some(Pressure {
        io_some_us: after.io_some_us.checked_sub(before.io_some_us)?,
        io_full_us: after.io_full_us.checked_sub(before.io_full_us)?,
        cpu_some_us: after.cpu_some_us.checked_sub(before.cpu_some_us)?,
        memory_some_us: after.memory_some_us.checked_sub(before.memory_some_us)?,
    })
}

/// Returns the number of context switches; `None` if the counter is missing or ran backwards.
fn context_switches(evidence: &Evidence) -> Option<u64> {
    let before = evidence.before.context_switches?;
    evidence.after.context_switches?.checked_sub(before)
}
