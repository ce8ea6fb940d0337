//! Metrics of a step of a work, beyond I/Os and latencies.

use super::{Metrics, as_f64};
use crate::histogram::Percentile;
use crate::latency::Distribution;
use assay_judge::judge;
use assay_model::act::androbench::DatabaseStep;
use assay_model::act::capacity::CapacityStep;
use assay_model::act::powercut::{CutStep, StreamFound};
use assay_model::act::scenario::ScenarioStep;
use assay_model::act::{ExtentSample, ExtentStep, ReplayStep, SampleKind, StepDetail};
use assay_model::trial::TrialRecord;

impl Metrics {
    pub(super) fn detail(&mut self, detail: &StepDetail) {
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
    pub(super) fn transactions(&mut self, step: &DatabaseStep, trial: &TrialRecord) {
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
mod tests {
    use super::super::metrics;
    use super::*;
    use crate::histogram::Histogram;
    use assay_model::act::StepDetail;
    use assay_model::act::androbench::DatabaseStep;
    use assay_model::act::capacity::{CapacityPart, Class, Tally};
    use assay_model::evidence::{DeviceCounters, Evidence, Snapshot};
    use assay_model::job::{Job, RateLimit, Rw};
    use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole, Storage};
    use assay_model::trial::{DirectionTotals, Measurement, Outcome, TrialRecord};
    use assay_model::units::Bytes;

    fn derived(detail: &StepDetail) -> Vec<(String, f64)> {
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
            derived(&StepDetail::Extent(ExtentStep {
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
        assert_eq!(derived(&step(vec![part(None)])), []);
        let metrics = derived(&step(vec![part(Some(found.clone())), part(Some(found))]));
        assert_eq!(metrics[0], ("sectors_ok".to_owned(), 2.0));
        assert_eq!(metrics[1], ("sectors_changed".to_owned(), 2.0));
        assert_eq!(metrics.len(), 5);
    }

    /// Returns a trial of ten transactions of 2 ms that took 50 ms in total, with 40 flushes.
    fn trial() -> TrialRecord {
        let mut latency = Histogram::new();
        (0..10).for_each(|_| latency.record(2_000_000));
        let step = DatabaseStep {
            transactions: 10,
            latency: latency.to_record(),
            checkpoint_ns: Some(7),
            ..DatabaseStep::default()
        };
        TrialRecord {
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

    fn value(trial: &TrialRecord, name: &str) -> Option<f64> {
        let found = metrics(trial).into_iter().find(|m| m.name == name);
        found.map(|metric| metric.value)
    }

    #[test]
    fn a_rate_divides_by_the_time_in_transactions() {
        assert_eq!(value(&trial(), "commit_tps"), Some(500.0));
        assert_eq!(value(&trial(), "commit_lat_mean"), Some(2_000_000.0));
        assert_eq!(value(&trial(), "checkpoint_time"), Some(7.0));
    }

    #[test]
    fn the_rate_of_a_given_pace_divides_by_the_elapsed_time() {
        let mut paced = trial();
        paced.job.rate = Some(RateLimit::Iops(200));
        assert_eq!(value(&paced, "commit_tps"), Some(200.0));
    }

    #[test]
    fn what_a_transaction_costs_is_absent_without_evidence() {
        assert_eq!(value(&trial(), "commit_flushes"), Some(4.0));
        assert_eq!(value(&trial(), "commit_write_bytes"), Some(8_000.0));
        assert_eq!(value(&trial(), "commit_device_bytes"), Some(12_000.0));
        let mut without = trial();
        without.evidence = None;
        assert_eq!(value(&without, "commit_flushes"), None);
        assert_eq!(value(&without, "commit_device_bytes"), None);
        assert_eq!(value(&without, "commit_tps"), Some(500.0));
    }
}
