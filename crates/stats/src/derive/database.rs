//! Metrics of database transactions.

use super::{Metrics, as_f64};
use assay_judge::judge;
use assay_model::trial::TrialRecord;
use assay_model::work::androbench::DatabaseStep;

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
    use crate::histogram::Histogram;
    use assay_model::evidence::{DeviceCounters, Evidence, Snapshot};
    use assay_model::job::{Job, RateLimit, Rw};
    use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole, Storage};
    use assay_model::trial::{DirectionTotals, Measurement, Outcome, TrialRecord};
    use assay_model::units::Bytes;
    use assay_model::work::StepDetail;
    use assay_model::work::androbench::DatabaseStep;

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
