//! The evidence of one trial: conclusions, states, raw counters.

use assay_judge::hindrances::Hindrance;
use assay_judge::{DirectionEvidence, ForeignIo, Judgement, Measured, Quantity};
use assay_model::evidence::{
    CpuState, DeviceCounters, Evidence, FileCache, Glance, MemoryCounters, OwnIo, Pressure,
    ProcessIo, QueueSettings, Snapshot, ThermalZone,
};
use serde::Serialize;

#[derive(Serialize)]
pub struct EvidencePart<'a> {
    write: Option<DirectionPart>,
    read: Option<DirectionPart>,
    foreign: Option<ForeignPart<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hindrances: Vec<Hindrance>,
    queues: &'a [QueueSettings],
    file_cache: Around<Option<FileCache>>,
    memory: Around<Option<MemoryCounters>>,
    cpus: Around<&'a [CpuState]>,
    thermal: Around<&'a [ThermalZone]>,
    pressure_delta: Option<Pressure>,
    context_switches: Option<u64>,
    before: CountersPart<'a>,
    after: CountersPart<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    during: &'a [Glance],
}

impl<'a> EvidencePart<'a> {
    pub fn of(evidence: &'a Evidence, judgement: Option<Judgement>) -> Self {
        let (read, write, foreign, hindrances) = judgement
            .map_or((None, None, None, Vec::new()), |j| {
                (j.read, j.write, j.foreign, j.hindrances)
            });
        Self {
            write: write.map(DirectionPart::of),
            read: read.map(DirectionPart::of),
            foreign: foreign.map(|foreign| ForeignPart::of(&foreign, evidence)),
            hindrances,
            queues: &evidence.queues,
            file_cache: Around::of(evidence, |snapshot| snapshot.file_cache),
            memory: Around::of(evidence, |snapshot| snapshot.memory),
            cpus: Around::of(evidence, |snapshot| snapshot.cpus.as_slice()),
            thermal: Around::of(evidence, |snapshot| snapshot.thermal.as_slice()),
            pressure_delta: pressure_delta(evidence),
            context_switches: context_switches(evidence),
            before: CountersPart::of(&evidence.before),
            after: CountersPart::of(&evidence.after),
            during: &evidence.during,
        }
    }
}

/// A state just before the clock started and just after it stopped.
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

#[derive(Serialize)]
struct DirectionPart {
    label: &'static str,
    latency_label: &'static str,
    because: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    device_share: Option<f64>,
    job_bytes: u64,
    layers: Vec<LayerBytes>,
    flushes: Option<u64>,
    volatile_cache: Option<bool>,
    dirty_bytes_at_stop: Option<u64>,
}

#[derive(Serialize)]
struct LayerBytes {
    name: String,
    bytes: u64,
}

impl DirectionPart {
    fn of(judged: DirectionEvidence) -> Self {
        let latency_label = judged.of(Quantity::Call).label();
        let layers = judged.layers.into_iter();
        Self {
            label: judged.measured.label(),
            latency_label,
            because: judged.because,
            why: match judged.measured {
                Measured::Unknown { why } => Some(why),
                _ => None,
            },
            device_share: judged.device_share,
            job_bytes: judged.job_bytes,
            layers: layers
                .map(|(name, bytes)| LayerBytes { name, bytes })
                .collect(),
            flushes: judged.flushes,
            volatile_cache: judged.volatile_cache,
            dirty_bytes_at_stop: judged.dirty_bytes_at_stop,
        }
    }
}

#[derive(Serialize)]
struct ForeignPart<'a> {
    read_bytes: u64,
    write_bytes: u64,
    processes: Option<&'a [ProcessIo]>,
}

impl<'a> ForeignPart<'a> {
    /// The processes are those of the evidence, which tells "none" from "may
    /// not be looked at".
    fn of(foreign: &ForeignIo, evidence: &'a Evidence) -> Self {
        Self {
            read_bytes: foreign.read_bytes,
            write_bytes: foreign.write_bytes,
            processes: evidence.other_processes.as_deref(),
        }
    }
}

/// Raw counters, from which the conclusions can be drawn again.
#[derive(Serialize)]
struct CountersPart<'a> {
    at_ns: u64,
    devices: &'a [DeviceCounters],
    own_io: Option<OwnIo>,
    pressure: Option<Pressure>,
    context_switches: Option<u64>,
}

impl<'a> CountersPart<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        Self {
            at_ns: snapshot.at_ns,
            devices: &snapshot.devices,
            own_io: snapshot.own_io,
            pressure: snapshot.pressure,
            context_switches: snapshot.context_switches,
        }
    }
}

/// `None` when a counter is missing or ran backwards.
fn pressure_delta(evidence: &Evidence) -> Option<Pressure> {
    let (before, after) = (evidence.before.pressure?, evidence.after.pressure?);
    Some(Pressure {
        io_some_us: after.io_some_us.checked_sub(before.io_some_us)?,
        io_full_us: after.io_full_us.checked_sub(before.io_full_us)?,
        cpu_some_us: after.cpu_some_us.checked_sub(before.cpu_some_us)?,
        memory_some_us: after.memory_some_us.checked_sub(before.memory_some_us)?,
    })
}

/// `None` when the counter is missing or ran backwards.
fn context_switches(evidence: &Evidence) -> Option<u64> {
    let before = evidence.before.context_switches?;
    evidence.after.context_switches?.checked_sub(before)
}
