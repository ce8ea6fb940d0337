//! One trial: job, figures, latencies, series, errors.

use super::evidence::EvidencePart;
use super::{Without, rfc3339};
use crate::results::derived::Derived;
use assay_judge::Judgement;
use assay_model::condition::InForce;
use assay_model::job::{
    CacheState, Content, EngineKind, FileState, FlushCall, Job, OpenSync, Purpose, RateLimit, Rw,
};
use assay_model::latency::LatencyRecord;
use assay_model::metric::{Metric, Unit};
use assay_model::trial::{
    CpuUse, DirectionTotals, Gap, IoErrorRecord, Measurement, Outcome, Series, TrialRecord,
};
use assay_model::work::StepDetail;
use assay_stats::course::{Course, Level, Settled};
use assay_stats::derive::label_of;
use assay_stats::histogram::bucket_bounds;
use assay_stats::latency::{DamagedRecord, Distribution};
use assay_stats::percentile::Percentile;
use serde::{Serialize, Serializer};
use serde_json::Number;

#[derive(Serialize)]
pub struct TrialPart<'a> {
    job: JobPart<'a>,
    trial: u32,
    position: u32,
    started: String,
    seed: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    data_lost: bool,
    metrics: Vec<MetricPart>,
    elapsed_ns: Option<u64>,
    totals: Option<TotalsPart>,
    latency: Option<LatencyParts>,
    series: Option<Vec<IntervalPart>>,
    course: Option<CoursePart>,
    longest_gap: Option<Gap>,
    error_count: Option<u64>,
    errors: Option<&'a [IoErrorRecord]>,
    cpu: Option<CpuUse>,
    evidence: Option<EvidencePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    in_force: &'a [InForce],
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a StepDetail>,
}

impl<'a> TrialPart<'a> {
    pub fn of(record: &'a TrialRecord, derived: &Derived, without: Without) -> Self {
        let judgement = derived.judgement.as_ref();
        let measured = record.measured.as_ref();
        let in_detail = measured.filter(|_| without != Without::Details);
        let in_full = measured.filter(|_| without == Without::Nothing);
        let (reasons, error) = match &record.outcome {
            Outcome::Skipped { reasons } => (Some(reasons.as_slice()), None),
            Outcome::Failed { error } => (None, Some(error.as_str())),
            Outcome::Completed | Outcome::Interrupted => (None, None),
        };
        Self {
            job: JobPart::of(&record.job),
            trial: record.trial,
            position: record.position,
            started: rfc3339(record.started_unix_ms),
            seed: record.seed.to_string(),
            outcome: record.outcome.word(),
            reasons,
            error,
            data_lost: record.lost_data(),
            metrics: derived
                .metrics
                .iter()
                .map(|metric| MetricPart::of(metric, judgement))
                .collect(),
            elapsed_ns: measured.map(|m| m.elapsed_ns),
            totals: measured.map(TotalsPart::of),
            latency: in_detail.map(LatencyParts::of),
            series: in_full.map(|m| intervals(&m.series)),
            course: measured
                .zip(derived.course.as_ref())
                .map(|(measured, course)| CoursePart::of(measured, course)),
            longest_gap: measured.and_then(|m| m.longest_gap),
            error_count: measured.map(|m| m.errors.count),
            errors: measured.map(|m| m.errors.first.as_slice()),
            cpu: measured.map(|m| m.cpu),
            evidence: record
                .evidence
                .as_ref()
                .filter(|_| without != Without::Details)
                .map(|evidence| EvidencePart::of(evidence, derived.judgement.clone())),
            condition: record.condition.as_deref(),
            in_force: &record.in_force,
            detail: record.detail.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct JobPart<'a> {
    name: &'a str,
    rw: Rw,
    read_percent: u8,
    bs: u64,
    ioengine: EngineKind,
    iodepth: u32,
    numjobs: u32,
    direct: bool,
    sync: OpenSync,
    flush_every: Option<FlushEveryPart>,
    flush_at_end: Option<FlushCall>,
    offset_bytes: u64,
    size_bytes: u64,
    io_size_bytes: Option<u64>,
    runtime_ns: Option<u64>,
    time_based: bool,
    ramp_time_ns: u64,
    rate: Option<RateLimit>,
    file_state: FileState,
    cache_state: CacheState,
    interval_ns: u64,
    content: Content,
    purpose: Option<Purpose>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Serialize)]
struct FlushEveryPart {
    writes: u32,
    call: FlushCall,
}

impl<'a> JobPart<'a> {
    fn of(job: &'a Job) -> Self {
        Self {
            name: &job.name,
            rw: job.rw,
            read_percent: job.read_percent,
            bs: job.bs.0,
            ioengine: job.ioengine,
            iodepth: job.iodepth,
            numjobs: job.numjobs,
            direct: job.direct,
            sync: job.sync,
            flush_every: job
                .flush
                .every
                .map(|(writes, call)| FlushEveryPart { writes, call }),
            flush_at_end: job.flush.at_end,
            offset_bytes: job.offset.0,
            size_bytes: job.size.0,
            io_size_bytes: job.io_size.map(|bytes| bytes.0),
            runtime_ns: job.runtime.map(|time| time.0),
            time_based: job.time_based,
            ramp_time_ns: job.ramp_time.0,
            rate: job.rate,
            file_state: job.file_state,
            cache_state: job.cache_state,
            interval_ns: job.interval.0,
            content: job.content,
            purpose: job.purpose,
            description: job.description.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct MetricPart {
    name: String,
    unit: Unit,
    value: f64,
    label: String,
}

impl MetricPart {
    fn of(metric: &Metric, judgement: Option<&Judgement>) -> Self {
        Self {
            label: label_of(&metric.name, judgement),
            name: metric.name.clone(),
            unit: metric.unit,
            value: metric.value,
        }
    }
}

#[derive(Serialize)]
struct TotalsPart {
    read: DirectionPart,
    write: DirectionPart,
}

#[derive(Serialize)]
struct DirectionPart {
    ios: u64,
    bytes: u64,
    short_ios: u64,
}

impl TotalsPart {
    fn of(measured: &Measurement) -> Self {
        let part = |totals: &DirectionTotals| DirectionPart {
            ios: totals.ios,
            bytes: totals.bytes,
            short_ios: totals.short_ios,
        };
        Self {
            read: part(&measured.read),
            write: part(&measured.write),
        }
    }
}

#[derive(Serialize)]
struct LatencyParts {
    read: Option<LatencyPart>,
    write: Option<LatencyPart>,
    flush: Option<LatencyPart>,
    durable_write: Option<LatencyPart>,
    submission: SubmissionParts,
}

#[derive(Serialize)]
struct SubmissionParts {
    read: Option<LatencyPart>,
    write: Option<LatencyPart>,
}

impl LatencyParts {
    fn of(measured: &Measurement) -> Self {
        let submission = |totals: &DirectionTotals| {
            let record = totals.submission.as_ref();
            record.and_then(LatencyPart::of)
        };
        Self {
            read: LatencyPart::of(&measured.read.latency),
            write: LatencyPart::of(&measured.write.latency),
            flush: LatencyPart::of(&measured.flush),
            durable_write: measured.durable.as_ref().and_then(LatencyPart::of),
            submission: SubmissionParts {
                read: submission(&measured.read),
                write: submission(&measured.write),
            },
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum LatencyPart {
    Sound(SoundLatency),
    /// The stored record contradicts itself: no figure is drawn from it.
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
    /// `None` when there was no operation.
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
            let (low_ns, _) = bucket_bounds(index)?;
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

/// Percentiles backed by enough operations, ascending; the median always, as among the metrics.
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

/// `{"50": …, "99.9": …}`
impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(percentile, ns)| {
            let name = percentile.to_string();
            (name.trim_start_matches('p').to_owned(), ns)
        }))
    }
}

#[derive(Serialize)]
struct CoursePart {
    levels: Vec<LevelPart>,
    warm_up_ns: Option<u64>,
    settled: Option<SettledPart>,
}

#[derive(Serialize)]
struct LevelPart {
    start_ns: u64,
    bytes_before: u64,
    bytes_per_sec: f64,
}

#[derive(Serialize)]
struct SettledPart {
    from_ns: u64,
    drift_pct: f64,
    error_pct: f64,
    steady: bool,
    snia: bool,
}

impl CoursePart {
    fn of(measured: &Measurement, course: &Course) -> Self {
        let interval_ns = measured.series.interval_ns;
        let level = |level: &Level| LevelPart {
            start_ns: interval_ns.saturating_mul(level.start as u64),
            bytes_before: level.bytes_before.0,
            bytes_per_sec: level.rate,
        };
        Self {
            levels: course.levels.iter().map(level).collect(),
            warm_up_ns: course.warm_up.map(|time| time.0),
            settled: course.settled.map(SettledPart::of),
        }
    }
}

impl SettledPart {
    fn of(settled: Settled) -> Self {
        let found = settled.steadiness;
        Self {
            from_ns: settled.from.0,
            drift_pct: 100.0 * found.drift,
            error_pct: 100.0 * found.error,
            steady: found.steady,
            snia: found.snia,
        }
    }
}

#[derive(Serialize)]
struct IntervalPart {
    start_ms: Option<Number>,
    read_bytes: u64,
    write_bytes: u64,
    read_ios: u64,
    write_ios: u64,
    max_latency_ns: u64,
}

fn intervals(series: &Series) -> Vec<IntervalPart> {
    let points = (0_u64..).zip(&series.points);
    points
        .map(|(index, point)| IntervalPart {
            start_ms: milliseconds(index.saturating_mul(series.interval_ns)),
            read_bytes: point.read_bytes,
            write_bytes: point.write_bytes,
            read_ios: point.read_ios,
            write_ios: point.write_ios,
            max_latency_ns: point.max_latency_ns,
        })
        .collect()
}

/// A whole number where it is one: intervals may be shorter than 1 ms.
fn milliseconds(ns: u64) -> Option<Number> {
    const MILLISECOND: u64 = 1_000_000;
    if ns.is_multiple_of(MILLISECOND) {
        return Some(Number::from(ns / MILLISECOND));
    }
    let ms = ns as f64 / 1e6;
    Number::from_f64(ms)
}
