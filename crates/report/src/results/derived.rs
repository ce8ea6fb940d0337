//! What follows from the record of a trial. Where the levels of a long series are
//! takes a while to find, so it is done once and handed to all that show it.

use assay_judge::{Judgement, judge};
use assay_model::metric::Metric;
use assay_model::run::Run;
use assay_model::trial::TrialRecord;
use assay_stats::course::Course;
use assay_stats::derive;
use std::rc::Rc;

/// Everything that is derived from one trial.
#[derive(Debug)]
pub struct Derived {
    /// Its figures.
    pub metrics: Vec<Metric>,
    /// What its evidence says; `None` when it has none.
    pub judgement: Option<Judgement>,
    /// Its rate over time; `None` when it has no series.
    pub course: Option<Course>,
}

impl Derived {
    /// Of one trial.
    #[must_use]
    pub fn of(record: &TrialRecord) -> Self {
        let course = record.measured.as_ref().and_then(Course::of);
        Self {
            metrics: derive::metrics_with(record, course.as_ref()),
            judgement: judge(record),
            course,
        }
    }

    /// Of all trials of a run, in the order of its records.
    #[must_use]
    pub fn all(run: &Run) -> Vec<Rc<Self>> {
        let trials = run.trials.iter();
        trials.map(|record| Rc::new(Self::of(record))).collect()
    }
}
