//! What transactions of a database tell.

use super::{Metrics, as_f64};
use assay_model::label::judge;
use assay_model::metric::Unit;
use assay_model::trial::TrialRecord;
use assay_model::work::androbench::DatabaseStep;

impl Metrics {
    /// Rates divide by the time spent in transactions, as AndroBench does, not
    /// by the elapsed time.
    pub(super) fn transactions(&mut self, step: &DatabaseStep, trial: &TrialRecord) {
        if step.transactions == 0 {
            return;
        }
        let transactions = as_f64(step.transactions);
        if step.latency.sum_ns > 0 {
            let rate = transactions * 1e9 / as_f64(step.latency.sum_ns);
            self.push("commit_tps", Unit::Tps, rate);
        }
        self.latencies("commit_lat", &step.latency);
        let written = trial.measured.as_ref().map(|measured| measured.write.bytes);
        if let Some(bytes) = written.filter(|&bytes| bytes > 0) {
            let each = as_f64(bytes) / transactions;
            self.push("commit_write_bytes", Unit::Bytes, each);
        }
        let judged = judge(trial).and_then(|judgement| judgement.write);
        if let Some(flushes) = judged.as_ref().and_then(|write| write.flushes) {
            let each = as_f64(flushes) / transactions;
            self.push("commit_flushes", Unit::Count, each);
        }
        let disk = judged.as_ref().and_then(|write| write.layers.last());
        if let Some((_, bytes)) = disk {
            let each = as_f64(*bytes) / transactions;
            self.push("commit_device_bytes", Unit::Bytes, each);
        }
        self.nanos("checkpoint_time", step.checkpoint_ns.map(as_f64));
    }
}
