//! Evidence of one trial as JSON: conclusions, states, raw counters.

use crate::machine::parts::parts;
use assay_judge::hindrances::Hindrance;
use assay_judge::{DirectionEvidence, ForeignIo, Judgement, Measured, Quantity};
use assay_model::evidence::{
    CpuState, DeviceCounters, Evidence, FileCache, Glance, MemoryCounters, OwnIo, Pressure,
    ProcessIo, QueueSettings, Snapshot, ThermalZone,
};
use serde::Serialize;

parts! {
    pub struct EvidencePart<'a> of (evidence: &'a Evidence, judgement: Option<Judgement>) {
        {
            let (read, write, foreign, hindrances) = judgement
                .map(|j| (j.read, j.write, j.foreign, j.hindrances))
                .unwrap_or_default();
        }
        write: Option<DirectionPart> = write.map(DirectionPart::of),
        read: Option<DirectionPart> = read.map(DirectionPart::of),
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

    struct DirectionPart of (judged: DirectionEvidence) {
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
