//! Figures and findings derived from the record of a trial. Finding the levels of a long series is
//! slow, so that it is done once for all outputs.

use assay_judge::{Judgement, judge};
use assay_model::figures::Metric;
use assay_model::run::Run;
use assay_model::trial::TrialRecord;
use assay_stats::course::Course;
use assay_stats::derive;
use std::rc::Rc;

/// Data derived from one trial.
#[derive(Debug)]
pub struct Derived {
    /// Figures of the trial.
    pub metrics: Vec<Metric>,
    /// Judgement of the evidence; `None` without evidence.
    pub judgement: Option<Judgement>,
    /// Rate over time; `None` without a series.
    pub course: Option<Course>,
}

impl Derived {
    /// Derives the data of one trial.
    pub fn of(record: &TrialRecord) -> Self {
        let course = record.measured.as_ref().and_then(Course::of);
        Self {
            metrics: derive::metrics_with(record, course.as_ref()),
            judgement: judge(record),
            course,
        }
    }

    /// Derives the data of all trials of a run, in the order of its records.
    pub fn all(run: &Run) -> Vec<Rc<Self>> {
        let trials = run.trials.iter();
        trials.map(|record| Rc::new(Self::of(record))).collect()
    }
}
