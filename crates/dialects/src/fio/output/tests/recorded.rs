//! A run of fio 3.33, written in all formats at once. What its JSON+ says is
//! made a report; written in each format that must be what fio wrote.

use super::*;
use assay_stats::histogram::{bin_bounds, bin_index};
use serde_json::Value;
use std::collections::BTreeMap;

const FIO_JSON: &str = include_str!("recorded/fio.json");

/// fio counts the depth at flushes too, and divides by reads and writes: here
/// the shares are of what was counted. Its share, and ours.
const DEPTH_WITH_FLUSHES: (&str, &str) = ("111.7%", "100.0%");

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn real(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies and counts of a short run"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// Bins, extremes and moments as written. Where fio wrote no bins, three that
/// allow the same extremes and mean.
fn latency(fio: &Value) -> LatencyRecord {
    let count = whole(&fio["N"]);
    if count == 0 {
        return LatencyRecord::default();
    }
    let (min_ns, max_ns, mean) = (whole(&fio["min"]), whole(&fio["max"]), real(&fio["mean"]));
    let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
    if let Some(written) = fio.get("bins").and_then(Value::as_object) {
        for (ns, operations) in written {
            bins.insert(bin_index(ns.parse().unwrap()), whole(operations));
        }
    } else {
        for (ns, operations) in [(min_ns, 1), (rounded(mean), count - 2), (max_ns, 1)] {
            *bins.entry(bin_index(ns)).or_default() += operations;
        }
    }
    assert!(bins.keys().all(|index| bin_bounds(*index).is_some()));
    let n = count as f64;
    let squares = real(&fio["stddev"]).powi(2) * (n - 1.0) + mean * mean * n;
    LatencyRecord {
        count,
        min_ns,
        max_ns,
        sum_ns: rounded(mean * n),
        sum_sq_ns2: u128::from(rounded(squares)),
        bins: bins.into_iter().collect(),
    }
}

fn direction(fio: &Value) -> DirectionReport {
    DirectionReport {
        ios: whole(&fio["total_ios"]),
        bytes: whole(&fio["io_bytes"]),
        short_ios: whole(&fio["short_ios"]),
        dropped_ios: whole(&fio["drop_ios"]),
        runtime_ns: whole(&fio["runtime"]) * 1_000_000,
        submission: latency(&fio["slat_ns"]),
        completion: latency(&fio["clat_ns"]),
        total: Some(latency(&fio["lat_ns"])),
        priorities: Vec::new(),
    }
}

fn depth_counts(fio: &Value, names: [&str; 7]) -> [u64; 7] {
    names.map(|name| rounded(real(&fio[name]) * 1e6))
}

/// Processor time that makes fio's percentages.
fn cpu(job: &Value) -> CpuUse {
    let ns = |percent: &Value| rounded(real(percent) * whole(&job["job_runtime"]) as f64 * 1e4);
    CpuUse {
        user_ns: ns(&job["usr_cpu"]),
        system_ns: ns(&job["sys_cpu"]),
        voluntary_switches: whole(&job["ctx"]),
        ..CpuUse::default()
    }
}

fn stream_report(job: &Value, tid: u32, elapsed_s: u64) -> StreamReport {
    let handed = ["0", "4", "8", "16", "32", "64", ">=64"];
    let level = ["1", "2", "4", "8", "16", "32", ">=64"];
    StreamReport {
        tid,
        started: true,
        runtime_ns: whole(&job["job_runtime"]) * 1_000_000,
        elapsed_ns: elapsed_s * 1_000_000_000,
        directions: PerDirection {
            read: direction(&job["read"]),
            write: direction(&job["write"]),
            trim: direction(&job["trim"]),
        },
        sync: latency(&job["sync"]["lat_ns"]),
        cpu: cpu(job),
        major_faults: whole(&job["majf"]),
        minor_faults: whole(&job["minf"]),
        depths: DepthUse {
            level: depth_counts(&job["iodepth_level"], level),
            submit: depth_counts(&job["iodepth_submit"], handed),
            complete: depth_counts(&job["iodepth_complete"], handed),
        },
        ..StreamReport::default()
    }
}

/// The pid is in the normal output alone.
fn pids() -> [u32; 2] {
    let normal = include_str!("recorded/fio.normal");
    let pids = normal
        .lines()
        .filter_map(|line| line.split_once(" pid=")?.1.split(':').next());
    let pids: Vec<u32> = pids.map(|pid| pid.parse().unwrap()).collect();
    pids.try_into().unwrap()
}

fn disk_use(fio: &Value) -> DiskUse {
    DiskUse {
        name: fio["name"].as_str().unwrap().to_owned(),
        read_ios: whole(&fio["read_ios"]),
        write_ios: whole(&fio["write_ios"]),
        read_merges: whole(&fio["read_merges"]),
        write_merges: whole(&fio["write_merges"]),
        read_ms: whole(&fio["read_ticks"]),
        write_ms: whole(&fio["write_ticks"]),
        queue_ms: whole(&fio["in_queue"]),
        busy_ms: rounded(real(&fio["util"]) * 1e6),
        over_ms: 100_000_000,
        ..DiskUse::default()
    }
}

fn recorded() -> (Case, Value) {
    let fio: Value = serde_json::from_str(FIO_JSON).unwrap();
    let mut first = Stream::new("real");
    first.description = Some("a real run".to_owned());
    first.engine.iodepth = 4;
    first.stats.lat_percentiles = true;
    first.stats.slat_percentiles = true;
    // Two streams as one: all figures stand in one of them.
    let copy = Stream {
        clone: 1,
        ..first.clone()
    };
    let mut second = Stream::new("second");
    (second.group, second.wave, second.report) = (1, 1, 1);
    second.stats.percentiles = vec![50.0, 99.0, 99.9];
    second.stats.significant_figures = 5;
    let [first_pid, second_pid] = pids();
    let elapsed_s = whole(&fio["jobs"][0]["elapsed"]);
    let mut first_report = stream_report(&fio["jobs"][0], first_pid, elapsed_s);
    // What is shown as 0.1 % is less: of 4096, 99.853516 % are 4090.
    first_report.depths.level = [2, 4, 4090, 0, 0, 0, 0];
    let mut case = Case::new(vec![
        (first, first_report),
        (copy, StreamReport::default()),
        (
            second,
            stream_report(&fio["jobs"][1], second_pid, elapsed_s),
        ),
    ]);
    case.report.disks = fio["disk_util"]
        .as_array()
        .unwrap()
        .iter()
        .map(disk_use)
        .collect();
    (case, fio)
}

/// Bins do not tell on which side of the end of a class an I/O was, so that
/// the first job's classes are a little off; those of the second are not.
#[test]
fn normal_is_what_fio_wrote() {
    let (case, fio) = recorded();
    let ours = case.normal();
    assert!(ours.contains("  lat (usec)   : 10=8.59%, 20=82.03%, 50=9.38%\n"));
    let ours = ours.replace("Fri Nov 20 18:32:38 2026", fio["time"].as_str().unwrap());
    let (fios, own) = DEPTH_WITH_FLUSHES;
    let theirs = include_str!("recorded/fio.normal").replace(fios, own);
    let compared = |text: &str| {
        let apart = |line: &&str| line.starts_with("  evidence ") || line.starts_with("  lat (");
        let lines = text.lines().filter(|line| !apart(line));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(compared(&ours), compared(&theirs));
}

#[test]
fn terse_is_what_fio_wrote() {
    const CLASSES: std::ops::Range<usize> = 99..121;
    let (case, _) = recorded();
    let ours = case.terse(TerseVersion::V3).replace(VERSION, "fio-3.33");
    let (fios, own) = DEPTH_WITH_FLUSHES;
    let theirs = include_str!("recorded/fio.terse").replace(fios, own);
    let fields = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.split(';').map(str::to_owned).collect());
        let mut lines: Vec<Vec<String>> = lines.collect();
        lines[0].drain(CLASSES);
        lines
    };
    assert_eq!(fields(&ours), fields(&theirs));
}

/// Figures that this report cannot have: when it was, and what was asked for.
const APART: [&str; 6] = [
    "fio version",
    "timestamp",
    "timestamp_ms",
    "time",
    "eta",
    "job options",
];

fn compare(ours: &Value, theirs: &Value, path: &str) {
    match theirs {
        Value::Object(map) => {
            let compared = map.iter().filter(|(key, _)| !APART.contains(&key.as_str()));
            compared
                .for_each(|(key, theirs)| compare(&ours[key], theirs, &format!("{path}/{key}")));
        }
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(n, theirs)| compare(&ours[n], theirs, &format!("{path}/{n}"))),
        Value::Number(number) if number.is_f64() => {
            let apart = (real(ours) - real(theirs)).abs();
            let class = path.starts_with("/jobs/0/latency_");
            let allowed = if class { 0.3 } else { 2e-6 };
            assert!(apart <= allowed, "{path}: {ours}, fio {theirs}");
        }
        _ => assert_eq!(ours, theirs, "{path}"),
    }
}

#[test]
fn json_says_what_fio_said() {
    let (case, mut fio) = recorded();
    fio["jobs"][1]["iodepth_level"]["1"] = 100.0.into();
    compare(&case.json(true), &fio, "");
}
