//! A small run made by hand: one eMMC, eight jobs of three trials, every
//! outcome and every label. Tests of all outputs share it.

use assay_model::condition::Restore;
use assay_model::evidence::{
    CacheSource, CpuState, DeviceCounters, Evidence, FileCache, LatencyRecord, MemoryCounters,
    OwnIo, Pressure, ProcessIo, QueueSettings, Snapshot, ThermalZone, WriteCache,
};
use assay_model::job::{CacheState, EngineKind, FileState, Flush, FlushCall, Job, Purpose, Rw};
use assay_model::plan::{Place, Plan, PlannedJob, Slot, interleave};
use assay_model::rng::SplitMix64;
use assay_model::run::{Builds, Run, RunHeader, RunStatus, Stopping};
use assay_model::storage::{
    Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Mount, Storage, System,
};
use assay_model::trial::{
    CpuUse, DirectionTotals, Gap, Interval, IoErrorRecord, IoErrors, Measurement, Outcome, Series,
    TrialRecord,
};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_stats::histogram::Histogram;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Start of the run: 2026-03-14T09:26:53.589Z.
pub const STARTED_UNIX_MS: u64 = 1_773_480_413_589;
const SEED: u64 = 42;
const TRIALS: u32 = 3;
const INTERVAL_MS: u64 = 100;

/// The finished run. Its trials, by job:
///
/// | job | labels | special |
/// |---|---|---|
/// | `dd-plain` | write `page-cache` | |
/// | `dd-fdatasync` | write `device` | trial 3 failed with EIO |
/// | `dd-direct` | write `device-unflushed` | trial 2 stalls for 1.2 s |
/// | `seq-read-1m` | read `device` | |
/// | `rand-read-4k` | read `mixed` | |
/// | `rand-rw-4k` | read `device`, write `device-unflushed` | |
/// | `fsync-append-4k` | write `unknown` | |
/// | `rand-read-4k-qd8` | none | all trials skipped |
pub fn run() -> Run {
    let shapes = shapes();
    let order = interleave(&[TRIALS; 8], SEED);
    let trials = order
        .iter()
        .zip(0..)
        .map(|(slot, position)| trial(&shapes[slot.job], *slot, position))
        .collect();
    let plan = Plan {
        run_id: "k3v9d2ma".to_owned(),
        seed: SEED,
        place: Place::Directory {
            path: PathBuf::from("/data/assay"),
        },
        file_size: Bytes::mib(32),
        jobs: shapes
            .into_iter()
            .map(|shape| PlannedJob {
                job: shape.job,
                trials: TRIALS,
            })
            .collect(),
        conditions: Vec::new(),
        restore: Restore::default(),
        order,
    };
    Run {
        header: RunHeader {
            id: plan.run_id.clone(),
            started_unix_ms: STARTED_UNIX_MS,
            assay_version: "0.1.0".to_owned(),
            builds: None,
            command: ["assay", "qualify", "/data/assay", "--quick"]
                .map(str::to_owned)
                .to_vec(),
            target: None,
            plan,
            system: system(),
            storage: storage(),
            stopping: Stopping::default(),
            paired: None,
            claims: None,
            acts: None,
            unit: None,
            project: None,
        },
        status: RunStatus::Finished,
        finished_unix_ms: Some(STARTED_UNIX_MS + 61_250),
        trials,
        annotation: assay_model::annotation::Annotation::default(),
    }
}

/// Programs of a run that an agent of that build measured.
pub fn builds(agent: &str) -> Builds {
    Builds {
        host: "0.1.0".to_owned(),
        agent: agent.to_owned(),
        protocol: 1,
    }
}

/// Shape of a job's trials.
struct Shape {
    job: Job,
    /// Typical latency of one I/O.
    latency_ns: u64,
    /// Share of the bytes that the device moved while the clock ran.
    device_percent: u64,
    /// Flushes the device completed.
    flushes: u64,
    special: Special,
}

enum Special {
    None,
    Stalls {
        trial: u32,
    },
    Fails {
        trial: u32,
    },
    Skipped,
    /// Another process writes, and the kernel does not tell whose bytes.
    Crowded,
}

fn shapes() -> Vec<Shape> {
    let job = |name, rw, bs, size| Job::new(name, rw, bs, size);
    let direct = |name, rw, bs, size| Job {
        direct: true,
        ..job(name, rw, bs, size)
    };
    let (small, large) = (Bytes::kib(4), Bytes::mib(1));
    let fdatasync = Flush {
        every: None,
        at_end: Some(FlushCall::Fdatasync),
    };
    let plain = Job {
        file_state: FileState::Fresh,
        cache_state: CacheState::AsIs,
        purpose: Some(Purpose::WriteLadder),
        ..job("dd-plain", Rw::Write, large, Bytes::mib(32))
    };
    let shape = |job, latency_ns, device_percent, flushes, special| Shape {
        job,
        latency_ns,
        device_percent,
        flushes,
        special,
    };
    let synced = Job {
        flush: fdatasync,
        name: "dd-fdatasync".to_owned(),
        ..plain.clone()
    };
    let dd_direct = Job {
        direct: true,
        name: "dd-direct".to_owned(),
        ..plain.clone()
    };
    let mixed = Job {
        read_percent: 70,
        ..direct("rand-rw-4k", Rw::RandRw, small, Bytes::mib(1))
    };
    let append = Job {
        flush: Flush {
            every: Some((1, FlushCall::Fsync)),
            at_end: None,
        },
        file_state: FileState::Fresh,
        ..job("fsync-append-4k", Rw::Write, small, Bytes::kib(256))
    };
    let deep = Job {
        ioengine: EngineKind::IoUring,
        iodepth: 8,
        runtime: Some(Nanos::secs(5)),
        time_based: true,
        ..direct("rand-read-4k-qd8", Rw::RandRead, small, Bytes::mib(32))
    };
    let read = direct("seq-read-1m", Rw::Read, large, Bytes::mib(32));
    let rand_read = job("rand-read-4k", Rw::RandRead, small, Bytes::mib(1));
    vec![
        shape(plain, 18_000_000, 0, 0, Special::None),
        shape(synced, 64_000_000, 100, 2, Special::Fails { trial: 3 }),
        shape(dd_direct, 64_500_000, 100, 0, Special::Stalls { trial: 2 }),
        shape(read, 6_200_000, 100, 0, Special::None),
        shape(rand_read, 180_000, 60, 0, Special::None),
        shape(mixed, 410_000, 100, 0, Special::None),
        shape(append, 95_000, 100, 64, Special::Crowded),
        shape(deep, 0, 0, 0, Special::Skipped),
    ]
}

fn trial(shape: &Shape, slot: Slot, position: u32) -> TrialRecord {
    let record = TrialRecord {
        job: shape.job.clone(),
        trial: slot.trial,
        position,
        started_unix_ms: STARTED_UNIX_MS + 900 + 2_500 * u64::from(position),
        seed: SEED + u64::from(position),
        outcome: Outcome::Completed,
        measured: None,
        evidence: None,
        wave: None,
        detail: None,
        slot: None,
        condition: None,
        in_force: Vec::new(),
    };
    if matches!(shape.special, Special::Skipped) {
        return TrialRecord {
            outcome: Outcome::Skipped {
                reasons: vec![
                    "this kernel has io_uring turned off (kernel.io_uring_disabled is 2)"
                        .to_owned(),
                ],
            },
            ..record
        };
    }
    let measured = measurement(shape, record.seed, stall_of(shape, slot.trial));
    let evidence = evidence(shape, &measured);
    let record = TrialRecord {
        measured: Some(measured),
        evidence: Some(evidence),
        ..record
    };
    match shape.special {
        Special::Fails { trial } if trial == slot.trial => with_io_error(record),
        _ => record,
    }
}

fn stall_of(shape: &Shape, trial: u32) -> u64 {
    match shape.special {
        Special::Stalls { trial: stalling } if stalling == trial => 1_200_000_000,
        _ => 0,
    }
}

fn with_io_error(mut record: TrialRecord) -> TrialRecord {
    let error = IoErrorRecord {
        direction: Some(assay_model::job::Direction::Write),
        offset: 17 * MIB,
        length: MIB,
        errno: Some(5),
        message: "Input/output error".to_owned(),
        at_ns: 1_088_000_000,
    };
    record.outcome = Outcome::Failed {
        error: "write of 1 MiB at offset 17825792 of /data/assay/assay.tmp failed: Input/output \
                error: look for the device's errors in dmesg"
            .to_owned(),
    };
    if let Some(measured) = &mut record.measured {
        measured.errors = IoErrors {
            count: 1,
            first: vec![error],
        };
    }
    record
}

/// Returns a measurement of consecutive I/Os, each about as long as in the shape; the one in the
/// middle takes `stall_ns` longer.
fn measurement(shape: &Shape, seed: u64, stall_ns: u64) -> Measurement {
    let job = &shape.job;
    let mut rng = SplitMix64::new(seed);
    let mut clock_ns = 0;
    let mut gap = Gap::default();
    let (mut reads, mut writes, mut flushes) =
        (Histogram::new(), Histogram::new(), Histogram::new());
    let mut points: Vec<Interval> = Vec::new();
    let ios = job.size.0 / job.bs.0;
    for io in 0..ios {
        let stalled = if io == ios / 2 { stall_ns } else { 0 };
        let took = shape.latency_ns * (90 + rng.below(25)) / 100 + stalled;
        if took > gap.length_ns {
            gap = Gap {
                start_ns: clock_ns,
                length_ns: took,
            };
        }
        clock_ns += took;
        let is_read = job.rw.reads() && (!job.rw.writes() || rng.below(100) < 70);
        if is_read { &mut reads } else { &mut writes }.record(took);
        count(&mut points, clock_ns, is_read, job.bs.0, took);
        if job.flush.every.is_some() {
            let took = 4_200_000 + rng.below(900_000);
            flushes.record(took);
            clock_ns += took;
        }
    }
    if job.flush.at_end.is_some() {
        flushes.record(38_000_000);
        clock_ns += 38_000_000;
    }
    Measurement {
        elapsed_ns: clock_ns,
        read: totals(&reads, job.bs.0),
        write: totals(&writes, job.bs.0),
        flush: flushes.to_record(),
        durable: None,
        unflushed_bytes: None,
        series: Series {
            interval_ns: INTERVAL_MS * 1_000_000,
            points,
        },
        longest_gap: Some(gap),
        errors: IoErrors::default(),
        cpu: CpuUse {
            user_ns: clock_ns / 200,
            system_ns: clock_ns / 40,
            voluntary_switches: ios,
            involuntary_switches: 3,
            run_delay_ns: 0,
        },
    }
}

fn count(points: &mut Vec<Interval>, at_ns: u64, is_read: bool, bytes: u64, latency_ns: u64) {
    let index = usize::try_from(at_ns / (INTERVAL_MS * 1_000_000)).expect("a short trial");
    if points.len() <= index {
        points.resize(index + 1, Interval::default());
    }
    let point = &mut points[index];
    if is_read {
        point.read_ios += 1;
        point.read_bytes += bytes;
    } else {
        point.write_ios += 1;
        point.write_bytes += bytes;
    }
    point.max_latency_ns = point.max_latency_ns.max(latency_ns);
}

fn totals(histogram: &Histogram, bs: u64) -> DirectionTotals {
    let latency: LatencyRecord = histogram.to_record();
    DirectionTotals {
        ios: latency.count,
        bytes: latency.count * bs,
        latency,
        ..DirectionTotals::default()
    }
}

fn evidence(shape: &Shape, measured: &Measurement) -> Evidence {
    let crowded = matches!(shape.special, Special::Crowded);
    let before = snapshot(7_000_000_000, crowded);
    let mut after = snapshot(7_000_000_000 + measured.elapsed_ns, crowded);
    let reached = |bytes: u64| bytes / 4096 * shape.device_percent / 100 * 4096;
    let (read, written) = (reached(measured.read.bytes), reached(measured.write.bytes));
    let foreign = if crowded { 6 * MIB } else { 0 };
    for device in &mut after.devices {
        device.read_bytes += read;
        device.read_ios += read.div_ceil(512 << 10).max(measured.read.ios.min(read));
        device.write_bytes += written + foreign;
        device.write_ios += measured.write.ios.min(written);
        device.busy_ms += measured.elapsed_ns / 1_000_000;
        device.flush_ios = device.flush_ios.map(|flushes| flushes + shape.flushes);
    }
    if let Some(own) = &mut after.own_io {
        own.read_bytes += read;
        own.write_bytes += measured.write.bytes;
    }
    if let Some(cache) = &mut after.file_cache {
        let buffered = if shape.job.direct {
            0
        } else {
            shape.job.size.0
        };
        cache.cached_bytes = buffered;
        cache.dirty_bytes = Some(measured.write.bytes - written);
    }
    if let Some(pressure) = &mut after.pressure {
        pressure.io_some_us += measured.elapsed_ns / 2_000;
        pressure.io_full_us += measured.elapsed_ns / 4_000;
    }
    after.context_switches = after
        .context_switches
        .map(|n| n + 5 * measured.cpu.voluntary_switches);
    let logger = ProcessIo {
        pid: 612,
        name: "logger=\"daemon\"".to_owned(),
        read_bytes: 0,
        write_bytes: foreign,
    };
    Evidence {
        storage: storage(),
        queues: vec![queue()],
        before,
        after,
        during: Vec::new(),
        other_processes: Some(if crowded { vec![logger] } else { Vec::new() }),
    }
}

fn snapshot(at_ns: u64, crowded: bool) -> Snapshot {
    let counters = |name: &str| DeviceCounters {
        name: name.to_owned(),
        read_ios: 48_211,
        read_bytes: 1_903_165_440,
        read_ms: 91_200,
        write_ios: 20_117,
        write_bytes: 802_160_640,
        write_ms: 310_450,
        in_flight: 0,
        busy_ms: 204_900,
        discard_bytes: Some(0),
        flush_ios: Some(0),
        flush_ms: Some(0),
    };
    Snapshot {
        at_ns,
        devices: vec![counters("mmcblk0p2"), counters("mmcblk0")],
        own_io: (!crowded).then(OwnIo::default),
        file_cache: Some(FileCache {
            source: CacheSource::Cachestat,
            cached_bytes: 0,
            dirty_bytes: Some(0),
            writeback_bytes: Some(0),
        }),
        region_cache: None,
        synchronous_files: None,
        memory: Some(MemoryCounters {
            total_bytes: 958 * MIB,
            available_bytes: Some(705 * MIB),
            cached_bytes: 196 * MIB,
            buffers_bytes: 9 * MIB,
            dirty_bytes: 0,
            writeback_bytes: 0,
        }),
        cpus: (0..4)
            .map(|cpu| CpuState {
                cpu,
                khz: Some(1_200_000),
                governor: Some("schedutil".to_owned()),
            })
            .collect(),
        thermal: vec![ThermalZone {
            name: "cpu-thermal".to_owned(),
            millicelsius: 51_250,
        }],
        pressure: Some(Pressure::default()),
        context_switches: Some(1_804_322),
        queues: Vec::new(),
        holes: None,
        file_change: None,
        hindrances: None,
    }
}

fn queue() -> QueueSettings {
    QueueSettings {
        name: "mmcblk0".to_owned(),
        scheduler: Some("mq-deadline".to_owned()),
        schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
        read_ahead_kib: Some(128),
        nr_requests: Some(64),
        max_request_kib: Some(512),
        write_cache: Some(WriteCache::Back),
        fua: Some(false),
        iostats: Some(true),
    }
}

fn system() -> System {
    System {
        hostname: Some("bench-4".to_owned()),
        boot_id: None,
        kernel: "6.6.63".to_owned(),
        machine: "aarch64".to_owned(),
        os: Some("Poky (Yocto Project Reference Distro) 5.0".to_owned()),
        board: Some("Example Board rev. C".to_owned()),
        cpu_model: Some("Cortex-A53".to_owned()),
        cpus: 4,
        memory: Bytes::mib(958),
        page_size: Bytes::kib(4),
        clocksource: Some("arch_sys_counter".to_owned()),
        root: true,
    }
}

fn storage() -> Storage {
    let partition = Layer {
        name: "mmcblk0p2".to_owned(),
        major: 179,
        minor: 2,
        role: LayerRole::Top,
        parent: None,
        other_parents: Vec::new(),
        size: Some(Bytes::gib(27)),
        backing_file: None,
        identity: DeviceIdentity {
            kind: DeviceKind::Partition,
            ..DeviceIdentity::default()
        },
    };
    let disk = Layer {
        name: "mmcblk0".to_owned(),
        minor: 0,
        role: LayerRole::Disk,
        parent: Some("mmcblk0p2".to_owned()),
        size: Some(Bytes(31_268_536_320)),
        identity: emmc(),
        ..partition.clone()
    };
    Storage {
        path: PathBuf::from("/data/assay"),
        mount: Some(Mount {
            point: PathBuf::from("/data"),
            fs_type: "ext4".to_owned(),
            source: "/dev/mmcblk0p2".to_owned(),
            options: ["rw", "noatime"].map(str::to_owned).to_vec(),
            super_options: ["rw", "commit=30"].map(str::to_owned).to_vec(),
        }),
        backing: Backing::Device {
            name: "mmcblk0p2".to_owned(),
        },
        layers: vec![partition, disk],
        total: Some(Bytes(28_185_722_880)),
        available: Some(Bytes(21_474_836_480)),
    }
}

fn emmc() -> DeviceIdentity {
    DeviceIdentity {
        kind: DeviceKind::Emmc,
        model: Some("DG4032".to_owned()),
        vendor: Some("SanDisk".to_owned()),
        serial: Some("0x2f1c8e50".to_owned()),
        firmware: Some("0x4532323031343830".to_owned()),
        date: Some("05/2024".to_owned()),
        cid: Some("45010044473430333201 2f1c8e505b00".replace(' ', "")),
        life_time: Some("type A 0 to 10 % used, type B 10 to 20 % used".to_owned()),
        pre_eol: Some("normal".to_owned()),
        bus: Some("HS400, 8 bit, 200 MHz".to_owned()),
        rotational: Some(false),
        removable: Some(false),
        logical_block: Some(Bytes(512)),
        physical_block: Some(Bytes(512)),
        raw: BTreeMap::from([
            ("life_time".to_owned(), "0x01 0x02".to_owned()),
            ("pre_eol_info".to_owned(), "0x01".to_owned()),
        ]),
    }
}
