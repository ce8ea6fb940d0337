//! Samples over an extent: the curves of rates, and the access times.

use super::charts::extent;
use crate::extent::{jobs, metric, name, of};
use crate::format::quantity;
use crate::summary::{JobSummary, JudgedTrial, Summary};
use assay_model::work::extent::{ExtentStep, SampleKind};
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let mut figures = Vec::new();
    for (kind, job) in jobs(summary) {
        for trial in &job.trials {
            if let Some(step) = of(trial) {
                figures.push(figure(kind, job, trial, step));
            }
        }
    }
    (!figures.is_empty()).then(|| {
        html! {
            p.soft {
                "Each sample where it was taken, from the begin of the device or file to its end. The average "
                "counts all samples alike, as GNOME Disks does; the rate of the trial divides all bytes by all time."
            }
            div.charts { @for figure in &figures { (figure) } }
        }
    })
}

fn figure(
    kind: SampleKind,
    job: &JobSummary<'_>,
    trial: &JudgedTrial<'_>,
    step: &ExtentStep,
) -> Markup {
    let words = words(kind, trial);
    let labels = trial.labels(None);
    let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
    let title = format!("{}, trial {}", name(kind), trial.record.trial);
    let class = if job.job.rw.writes() { "write" } else { "read" };
    let description = format!("{title} over the extent: {words}");
    html! {
        figure {
            (extent::draw(step, class, &description))
            figcaption { b { (title) } ": " (words) "; measured " (labels.join(", ")) }
        }
    }
}

/// `lowest 1 MB/s, average 2 MB/s, highest 3 MB/s`.
fn words(kind: SampleKind, trial: &JudgedTrial<'_>) -> String {
    let figure = |word: &str, statistic: &str| {
        let name = format!("{}_{statistic}", metric(kind));
        let found = trial.metrics.iter().find(|metric| metric.name == name)?;
        Some(format!("{word} {}", quantity(found.unit, found.value)))
    };
    let all = [("lowest", "min"), ("average", "mean"), ("highest", "max")];
    let words = all
        .into_iter()
        .filter_map(|(word, statistic)| figure(word, statistic));
    words.collect::<Vec<_>>().join(", ")
}
