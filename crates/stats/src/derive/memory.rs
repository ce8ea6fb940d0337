//! Metrics of main memory.

use super::{Metrics, as_f64};
use crate::summary::Summary;
use assay_model::metric::Unit;
use assay_model::work::memory::{BandwidthStep, Found, LatencyStep, MemoryStep, StressStep};

impl Metrics {
    pub(super) fn memory(&mut self, step: &MemoryStep) {
        match &step.found {
            Found::Bandwidth(found) => self.bandwidth(found),
            Found::Latency(found) => self.load_latency(found),
            Found::Stress(found) => self.stress(found),
        }
    }

    /// The median of the passes is what memory usually gives; the best is STREAM's
    /// figure.
    fn bandwidth(&mut self, step: &BandwidthStep) {
        if let Some(rates) = Summary::of(&step.rates()) {
            self.push("memory_bw", Unit::BytesPerSec, rates.median);
            self.push("memory_bw_best", Unit::BytesPerSec, rates.max);
            self.push("memory_bw_worst", Unit::BytesPerSec, rates.min);
        }
    }

    fn load_latency(&mut self, step: &LatencyStep) {
        if let Some(loads) = Summary::of(&step.per_load_ns()) {
            self.push("memory_lat", Unit::Nanos, loads.median);
            self.push("memory_lat_best", Unit::Nanos, loads.min);
        }
    }

    fn stress(&mut self, step: &StressStep) {
        self.count("memory_flips", step.flips);
        self.push("memory_tested", Unit::Bytes, as_f64(step.tested_bytes));
        if step.elapsed_ns > 0 {
            let rate = as_f64(step.moved_bytes) * 1e9 / as_f64(step.elapsed_ns);
            self.push("memory_stress_bw", Unit::BytesPerSec, rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::memory::{Kernel, Machine, Pages, Stores, Vectors};

    #[test]
    fn the_first_pass_does_not_count_and_the_best_is_streams() {
        let step = MemoryStep {
            machine: Machine::default(),
            throttled_after: None,
            found: Found::Bandwidth(BandwidthStep {
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
}
