//! Figure over the conditions of a sweep: its range, and the conditions of its ends. A run without
//! conditions has a single value.

use crate::results::summary::{Figure, JobSummary, Summary};
use crate::results::sweep::{Verdicts, plain_name};
use crate::words::format::{quantity, range};
use crate::words::labels::Labels;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use std::rc::Rc;

/// Jobs of a run with their trials under one condition.
#[derive(Debug)]
pub struct View<'a> {
    /// The condition; `None` if all trials ran under the same one.
    condition: Option<&'a str>,
    /// Jobs with such trials, in reading order.
    pub jobs: Vec<JobSummary<'a>>,
    /// Verdicts on all conditions.
    verdicts: Option<Rc<Verdicts>>,
}

impl<'a> View<'a> {
    /// Returns the name of a job without the condition.
    pub fn name_of(&self, job: &JobSummary<'a>) -> &'a str {
        plain_name(&job.job.name, self.condition.unwrap_or_default())
    }
}

/// Returns a view for each condition, in the order of the plan; a single view for a run without
/// conditions, or with trials under only one.
pub fn views<'a>(summary: &Summary<'a>) -> Vec<View<'a>> {
    let planned = &summary.run.header.plan.conditions;
    let verdicts = Verdicts::of(summary.run).map(Rc::new);
    let under = |condition: &'a str| {
        let jobs = summary.jobs.iter().map(|job| job.under(condition));
        View {
            condition: Some(condition),
            jobs: jobs.filter(|job| !job.trials.is_empty()).collect(),
            verdicts: verdicts.clone(),
        }
    };
    let each = planned.iter().map(|condition| under(&condition.name));
    let mut views: Vec<View<'a>> = each.filter(|view| !view.jobs.is_empty()).collect();
    if views.len() < 2 {
        views = vec![View {
            condition: None,
            jobs: summary.jobs.clone(),
            verdicts: None,
        }];
    }
    views
}

/// Figure under a condition.
type ConditionFigure<'a> = (Option<&'a str>, Figure);

/// Figure under each condition that has it.
#[derive(Debug)]
pub struct Over<'a> {
    figures: Vec<ConditionFigure<'a>>,
    views: usize,
    verdicts: Option<Rc<Verdicts>>,
}

impl<'a> Over<'a> {
    /// Collects a figure; `None` if no condition has it.
    pub fn of(views: &[View<'a>], figure: impl Fn(&View<'a>) -> Option<Figure>) -> Option<Self> {
        let found = views
            .iter()
            .filter_map(|view| Some((view.condition, figure(view)?)));
        let figures: Vec<_> = found.collect();
        let verdicts = views.first().and_then(|view| view.verdicts.clone());
        let views = views.len();
        (!figures.is_empty()).then_some(Self {
            figures,
            views,
            verdicts,
        })
    }

    /// Returns the median, or the range of medians: `110 .. 166 MB/s`.
    pub fn value(&self) -> String {
        let (low, high) = self.ends();
        range(low.1.unit, low.1.stats.median, high.1.stats.median)
    }

    /// Returns true if the figure is about reads.
    pub fn is_read(&self) -> bool {
        self.figures
            .iter()
            .any(|(_, figure)| figure.name.starts_with("read"))
    }

    /// Returns the labels over all conditions.
    pub fn labels(&self) -> Labels {
        let labels = self
            .figures
            .iter()
            .flat_map(|(_, figure)| figure.labels.iter());
        labels.cloned().collect()
    }

    /// Names the conditions of the ends in brackets, if a verdict shows that they differ; empty if
    /// there is one condition.
    pub fn under(&self) -> String {
        if self.views < 2 {
            return String::new();
        }
        let (low, high) = self.ends();
        let name = |(condition, _): &ConditionFigure<'_>| clean(condition.unwrap_or_default());
        let alike = |(_, figure): &ConditionFigure<'_>| quantity(figure.unit, figure.stats.median);
        if self.figures.len() == 1 {
            format!(" ({})", name(low))
        } else if alike(low) == alike(high) {
            format!(
                " ({})",
                counted!(self.figures.len(), "{n} condition", "{n} conditions")
            )
        } else if !self.are_apart(low, high) {
            tr!(" (no difference found)").to_owned()
        } else {
            tr!(
                " (least {low}, most {high})",
                low = name(low),
                high = name(high)
            )
        }
    }

    fn are_apart(&self, low: &ConditionFigure<'_>, high: &ConditionFigure<'_>) -> bool {
        let conditions = [low.0.unwrap_or_default(), high.0.unwrap_or_default()];
        let verdicts = self.verdicts.as_ref();
        verdicts.is_some_and(|found| found.tells_apart((&low.1.job, &low.1.name), conditions))
    }

    /// Returns the smallest and the largest figure; a single figure is both.
    fn ends(&self) -> (&ConditionFigure<'a>, &ConditionFigure<'a>) {
        let median = |at: &usize| self.figures[*at].1.stats.median;
        let by_median = |a: &usize, b: &usize| median(a).total_cmp(&median(b));
        let places = 0..self.figures.len();
        let low = places.clone().min_by(by_median).unwrap_or(0);
        let high = places.max_by(by_median).unwrap_or(0);
        (&self.figures[low], &self.figures[high])
    }
}
