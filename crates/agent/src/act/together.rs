//! Conversion of simultaneous steps of a work into streams of a load, as which they are
//! judged: the kernel's counters are those of all steps together.

use assay_model::evidence::Evidence;
use assay_model::job::Job;
use assay_model::load::blocks::{BlockSizes, Blocks, RwPattern};
use assay_model::load::report::{
    DirectionReport, LoadReport, StreamReport, WaveEvidence, WaveRecord,
};
use assay_model::load::{Durability, Engine, Extent, Load, PerDirection, Stream};
use assay_model::trial::{DirectionTotals, Measurement, Outcome};
use assay_workloads::Together;

/// Builds the record of works that ran together, from the side of one of them.
pub(super) fn wave(
    all: &[Together],
    index: u32,
    evidence: &Evidence,
    started_unix_ms: u64,
) -> WaveRecord {
    let streams: Vec<Stream> = all.iter().map(stream).collect();
    let reports = all.iter().map(|one| report(one, started_unix_ms));
    WaveRecord {
        load: Load {
            streams,
            ..Load::default()
        },
        report: LoadReport {
            streams: reports.collect(),
            evidence: vec![WaveEvidence {
                wave: 0,
                streams: (0..).take(all.len()).collect(),
                evidence: evidence.clone(),
                stops: Vec::new(),
            }],
            stopped: all.iter().any(|one| one.outcome == Outcome::Interrupted),
            ..LoadReport::default()
        },
        members: vec![index],
    }
}

fn stream(one: &Together) -> Stream {
    let job: &Job = &one.job;
    let block = u32::try_from(job.bs.0).unwrap_or(u32::MAX);
    let mut stream = Stream::new(&job.name);
    stream.blocks = Blocks {
        rw: RwPattern {
            read: job.rw.reads(),
            write: job.rw.writes(),
            random: job.rw.is_random(),
            ..RwPattern::default()
        },
        sizes: PerDirection::all(BlockSizes::fixed(block)),
        ..Blocks::default()
    };
    stream.region.size = Some(Extent::Bytes(job.size.0));
    stream.engine = Engine {
        kind: job.ioengine,
        ..Engine::default()
    };
    stream.durability = Durability::of_job(job.direct, job.sync, job.flush);
    stream
}

fn report(one: &Together, started_unix_ms: u64) -> StreamReport {
    let none = Measurement::default();
    let measured = one.came.measured.as_ref().unwrap_or(&none);
    let way = |totals: &DirectionTotals| DirectionReport {
        ios: totals.ios,
        bytes: totals.bytes,
        runtime_ns: measured.elapsed_ns,
        ..DirectionReport::default()
    };
    let (problem, errors) = match &one.outcome {
        Outcome::Failed { error } => (Some(error.clone()), 1),
        _ => (None, 0),
    };
    let completed = one.outcome == Outcome::Completed;
    StreamReport {
        started: one.came.measured.is_some(),
        started_unix_ms,
        errno: measured
            .errors
            .first
            .first()
            .and_then(|e| e.errno)
            .unwrap_or(0),
        total_errors: errors,
        problem,
        runtime_ns: measured.elapsed_ns,
        elapsed_ns: measured.elapsed_ns,
        directions: PerDirection {
            read: way(&measured.read),
            write: way(&measured.write),
            ..PerDirection::default()
        },
        moved_bytes: PerDirection {
            read: measured.read.bytes,
            write: measured.write.bytes,
            trim: 0,
        },
        sync: measured.flush.clone(),
        unflushed_bytes: measured.unflushed_bytes,
        flushed_at_end: completed && one.job.flush.at_end.is_some(),
        errors: measured.errors.clone(),
        cpu: measured.cpu,
        ..StreamReport::default()
    }
}
