//! Metrics of trials and steps.

use super::*;
use crate::histogram::Histogram;
use assay_model::act::capacity::{CapacityPart, Class, Tally};
use assay_model::act::memory::{Kernel, Machine, Pages, Stores, Vectors};
use assay_model::evidence::{DeviceCounters, Evidence, Snapshot};
use assay_model::job::{FlushCall, Pause, RateLimit, Rw};
use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole, Storage};
use assay_model::trial::{Gap, Interval, IoErrors, Outcome, Series};
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
        slot: None,
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

fn step_metrics(detail: &StepDetail) -> Vec<(String, f64)> {
    let mut metrics = Metrics::default();
    metrics.detail(detail);
    let list = metrics.list.into_iter();
    list.map(|metric| (metric.name, metric.value)).collect()
}

#[test]
fn each_sample_counts_alike() {
    let sample = |bytes, elapsed_ns| ExtentSample {
        offset: 0,
        bytes,
        elapsed_ns,
    };
    let of = |of| {
        step_metrics(&StepDetail::Extent(ExtentStep {
            of,
            extent_bytes: 1 << 30,
            samples: vec![
                sample(100, 1_000_000_000),
                sample(300, 1_000_000_000),
                sample(50, 0),
            ],
        }))
    };
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        of(SampleKind::Write),
        [
            named("write_sample_bw_mean", 200.0),
            named("write_sample_bw_min", 100.0),
            named("write_sample_bw_max", 300.0)
        ]
    );
    assert_eq!(of(SampleKind::Access)[2], named("access_time_max", 1e9));
}

#[test]
fn sectors_are_counted_only_where_they_were_checked() {
    let mut found = Tally::default();
    found.count(Class::Ok, 0);
    found.count(Class::Changed, 512);
    let part = |found| CapacityPart {
        found,
        ..CapacityPart::default()
    };
    let step = |parts| {
        StepDetail::Capacity(CapacityStep {
            parts,
            ..CapacityStep::default()
        })
    };
    assert_eq!(step_metrics(&step(vec![part(None)])), []);
    let metrics = step_metrics(&step(vec![part(Some(found.clone())), part(Some(found))]));
    assert_eq!(metrics[0], ("sectors_ok".to_owned(), 2.0));
    assert_eq!(metrics[1], ("sectors_changed".to_owned(), 2.0));
    assert_eq!(metrics.len(), 5);
}

/// Returns a trial of ten transactions of 2 ms that took 50 ms in total, with 40 flushes.
fn database_trial() -> TrialRecord {
    let mut latency = Histogram::new();
    (0..10).for_each(|_| latency.record(2_000_000));
    let step = DatabaseStep {
        transactions: 10,
        latency: latency.to_record(),
        checkpoint_ns: Some(7),
        ..DatabaseStep::default()
    };
    TrialRecord {
        slot: None,
        job: Job::new("sqlite-insert", Rw::RandWrite, Bytes::kib(4), Bytes(0)),
        trial: 1,
        position: 0,
        started_unix_ms: 0,
        seed: 0,
        outcome: Outcome::Completed,
        measured: Some(Measurement {
            elapsed_ns: 50_000_000,
            write: DirectionTotals {
                ios: 30,
                bytes: 80_000,
                ..DirectionTotals::default()
            },
            ..Measurement::default()
        }),
        evidence: Some(evidence()),
        wave: None,
        detail: Some(Box::new(StepDetail::Database(step))),
        condition: None,
        in_force: Vec::new(),
    }
}

fn evidence() -> Evidence {
    let device = |name: &str, write_bytes, flush_ios| DeviceCounters {
        name: name.to_owned(),
        write_bytes,
        flush_ios: Some(flush_ios),
        ..DeviceCounters::default()
    };
    let counters = |write_bytes, flush_ios| Snapshot {
        devices: vec![
            device("sda1", write_bytes, 0),
            device("sda", write_bytes * 9, flush_ios),
        ],
        ..Snapshot::default()
    };
    let layer = |name: &str, role, parent: Option<&str>| Layer {
        name: name.to_owned(),
        major: 8,
        minor: 0,
        role,
        parent: parent.map(str::to_owned),
        other_parents: Vec::new(),
        size: None,
        backing_file: None,
        identity: DeviceIdentity::default(),
    };
    Evidence {
        storage: Storage {
            path: "/mnt".into(),
            mount: None,
            backing: Backing::Device {
                name: "sda".to_owned(),
            },
            layers: vec![
                layer("sda1", LayerRole::Top, None),
                layer("sda", LayerRole::Disk, Some("sda1")),
            ],
            total: None,
            available: None,
        },
        queues: Vec::new(),
        before: counters(5, 3),
        after: counters(120_005, 43),
        during: Vec::new(),
        other_processes: None,
    }
}

fn value_of(trial: &TrialRecord, name: &str) -> Option<f64> {
    let found = metrics(trial).into_iter().find(|m| m.name == name);
    found.map(|metric| metric.value)
}

#[test]
fn a_rate_divides_by_the_time_in_transactions() {
    assert_eq!(value_of(&database_trial(), "commit_tps"), Some(500.0));
    assert_eq!(
        value_of(&database_trial(), "commit_lat_mean"),
        Some(2_000_000.0)
    );
    assert_eq!(value_of(&database_trial(), "checkpoint_time"), Some(7.0));
}

#[test]
fn the_rate_of_a_given_pace_divides_by_the_elapsed_time() {
    let mut paced = database_trial();
    paced.job.rate = Some(RateLimit::Iops(200));
    assert_eq!(value_of(&paced, "commit_tps"), Some(200.0));
}

#[test]
fn what_a_transaction_costs_is_absent_without_evidence() {
    assert_eq!(value_of(&database_trial(), "commit_flushes"), Some(4.0));
    assert_eq!(
        value_of(&database_trial(), "commit_write_bytes"),
        Some(8_000.0)
    );
    assert_eq!(
        value_of(&database_trial(), "commit_device_bytes"),
        Some(12_000.0)
    );
    let mut without = database_trial();
    without.evidence = None;
    assert_eq!(value_of(&without, "commit_flushes"), None);
    assert_eq!(value_of(&without, "commit_device_bytes"), None);
    assert_eq!(value_of(&without, "commit_tps"), Some(500.0));
}
