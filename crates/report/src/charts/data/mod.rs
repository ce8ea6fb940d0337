//! Which charts a run, a sweep or a comparison has: data in, [`Chart`] out.

pub mod comparison;
pub mod course;
pub mod extent;
pub mod import;
pub mod latency;
pub mod matrix;
pub mod ranking;
pub mod session;
mod soak;
pub mod trend;
pub mod trials;

use crate::charts::draw::Chart;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use assay_model::figures::Import;
use assay_model::number::as_f64;
use assay_model::run::Run;
use std::collections::HashMap;

/// The charts of a run, by the part of its report that they belong to.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// The conditions of a sweep against its first one, a chart a metric.
    pub ranking: Vec<Chart>,
    /// Metrics with all their trials.
    pub trials: Vec<Chart>,
    /// iozone's matrices: a map and a surface a test.
    pub matrices: Vec<Chart>,
    /// Samples over an extent.
    pub extents: Vec<Chart>,
    /// Rate over time: of a whole soak first.
    pub courses: Vec<Chart>,
    /// Number of trials whose course is not drawn.
    pub courses_left_out: usize,
    /// Latency by percentile, a chart a job.
    pub latencies: Vec<Chart>,
    /// Distribution of latency, a chart a job.
    pub distributions: Vec<Chart>,
    /// Chart of the machine's state around the trials.
    pub session: Option<Chart>,
}

impl Gallery {
    /// The charts of a run; of a sweep each job is shown under each condition.
    pub fn of(run: &Run) -> Self {
        let split = by_condition(run.clone());
        Self::of_parts(&Summary::of(&split), Verdicts::of(run).as_ref())
    }

    /// The charts of results that were made elsewhere; `verdicts` where they have several
    /// conditions.
    pub fn of_import(import: &Import, verdicts: Option<&Verdicts>) -> Self {
        let mut gallery = Self {
            ranking: verdicts.map_or_else(Vec::new, ranking::charts),
            trials: import::charts(&import.results.figures),
            ..Self::default()
        };
        gallery.tell_names_apart();
        gallery
    }

    /// The same from what is derived already.
    pub fn of_parts(summary: &Summary<'_>, verdicts: Option<&Verdicts>) -> Self {
        let (told, courses_left_out) = course::told(summary);
        let timed = latency::timed(summary);
        let mut gallery = Self {
            ranking: verdicts.map_or_else(Vec::new, ranking::charts),
            trials: trials::charts(summary),
            matrices: matrix::charts(summary.run),
            extents: extent::charts(summary),
            courses: soak::chart(summary)
                .into_iter()
                .chain(told.iter().map(course::chart))
                .collect(),
            courses_left_out,
            latencies: timed.iter().map(|job| latency::percentiles(job)).collect(),
            distributions: timed.iter().map(|job| latency::distribution(job)).collect(),
            session: session::chart(summary.run),
        };
        gallery.tell_names_apart();
        gallery
    }

    /// Jobs whose names differ only by what a chart's name cannot have get numbers.
    fn tell_names_apart(&mut self) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let lists = [
            &mut self.ranking,
            &mut self.trials,
            &mut self.matrices,
            &mut self.extents,
            &mut self.courses,
            &mut self.latencies,
            &mut self.distributions,
        ];
        for chart in lists.into_iter().flatten() {
            let count = seen.entry(chart.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                chart.name.push_str(&format!(".{count}"));
            }
        }
    }

    /// Iterates over all charts, in the order of the report.
    pub fn iter(&self) -> impl Iterator<Item = &Chart> {
        let lists = [
            &self.ranking,
            &self.trials,
            &self.matrices,
            &self.extents,
            &self.courses,
            &self.latencies,
            &self.distributions,
        ];
        lists.into_iter().flatten().chain(&self.session)
    }
}

/// A row's place on an axis of names.
fn row(index: usize) -> f64 {
    index as f64
}

#[cfg(test)]
mod tests;
