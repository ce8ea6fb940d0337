//! Metrics of a step of a work, beyond I/Os and latencies.

use super::{Metrics, as_f64};
use crate::latency::Distribution;
use crate::percentile::Percentile;
use assay_model::work::StepDetail;
use assay_model::work::capacity::CapacityStep;
use assay_model::work::extent::{ExtentSample, ExtentStep, SampleKind};
use assay_model::work::powercut::{CutStep, StreamFound};
use assay_model::work::replay::ReplayStep;
use assay_model::work::scenario::ScenarioStep;

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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::capacity::content::Class;
    use assay_model::work::capacity::{CapacityPart, Tally};

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
}
