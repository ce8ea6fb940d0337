//! Rate over time: of sequential and sustained jobs, and of every other trial
//! in which something stood still.

use super::charts::rate;
use crate::describe;
use crate::summary::{Group, JobSummary, JudgedTrial, Summary};
use crate::text::clean;
use assay_stats::course::Course;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let figures: Vec<Markup> = summary
        .jobs
        .iter()
        .filter(|job| !job.is_cell())
        .flat_map(|job| job.trials.iter().map(move |trial| (job, trial)))
        .filter_map(|(job, trial)| {
            let course = Course::of(trial.measured()?)?;
            is_shown(job, &course).then(|| figure(job, trial, &course))
        })
        .collect();
    (!figures.is_empty()).then(|| {
        html! {
            p.soft {
                "Reads and writes together, in intervals of the trial's series. The lane below the curve marks \
                 every interval in which nothing completed. Dashed lines are steady levels, drawn where the \
                 rate changed for good. A long curve is thinned out to the smallest and the largest rate of \
                 each stretch, so that no dip is lost."
            }
            div.charts { @for figure in &figures { (figure) } }
        }
    })
}

/// Shorter trials have no course to speak of, unless something stood still.
const LONG_ENOUGH: usize = 5;

fn is_shown(job: &JobSummary<'_>, course: &Course) -> bool {
    let is_told = matches!(
        job.group,
        Group::WriteLadder | Group::ReadLadder | Group::Sequential
    );
    let is_long = course.rates.values.len() >= LONG_ENOUGH;
    job.group == Group::Sustained || (is_told && is_long) || !course.stalls.is_empty()
}

fn figure(job: &JobSummary<'_>, trial: &JudgedTrial<'_>, course: &Course) -> Markup {
    let name = format!("{}, trial {}", clean(&job.job.name), trial.record.trial);
    let words = describe::course(trial, course);
    let class = if job.job.rw.reads() { "read" } else { "write" };
    let levels: Vec<(usize, usize, f64)> = match course.levels.as_slice() {
        [_] => Vec::new(),
        levels => levels.iter().map(|l| (l.start, l.end, l.rate)).collect(),
    };
    let description = format!("Rate over time of {name}: {words}");
    html! {
        figure {
            (rate::draw(&course.rates, &levels, class, &description))
            figcaption { b { (name) } ": " (words) }
        }
    }
}
