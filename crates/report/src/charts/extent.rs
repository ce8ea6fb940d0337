//! Charts of samples by position: rates as a line, access times as dots.

use super::as_f64;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Point, Scale, Series, SeriesStyle, Tint, slug,
};
use crate::results::extent::{jobs, metric, name, of};
use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::words::{quantity, trial_named};
use assay_lang::{in_english, tr};
use assay_model::act::{ExtentSample, ExtentStep, SampleKind};
use assay_model::figures::Unit;

/// Draws the samples of all trials that took any.
pub fn charts(summary: &Summary<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (kind, job) in jobs(summary) {
        for trial in &job.trials {
            charts.extend(of(trial).map(|step| chart(kind, job, trial, step)));
        }
    }
    charts
}

fn chart(
    kind: SampleKind,
    job: &JobSummary<'_>,
    trial: &JudgedTrial<'_>,
    step: &ExtentStep,
) -> Chart {
    let number = trial.record.trial;
    let (unit, mark) = match step.of {
        SampleKind::Read | SampleKind::Write => (Unit::BytesPerSec, SeriesStyle::Line),
        SampleKind::Access => (Unit::Nanos, SeriesStyle::Dots),
    };
    let tint = if job.job.rw.writes() {
        Tint::Write
    } else {
        Tint::Read
    };
    Chart {
        name: format!("extent-{}-{number}", slug(in_english(|| name(kind)))),
        title: tr!(
            "{kind} over the extent, {trial}",
            kind = name(kind),
            trial = trial_named(number)
        ),
        description: words(kind, trial),
        body: Body::plane(
            Axis::new(tr!("place"), Measure::Size, Scale::Span),
            Axis::new(name(kind), Measure::Of(unit), Scale::Linear),
            vec![bounds(step), samples(step, tint, mark)],
        ),
    }
}

/// Makes the axis cover the whole extent, also where there are no samples.
fn bounds(step: &ExtentStep) -> Series {
    Series {
        name: String::new(),
        tint: Tint::Ink,
        mark: SeriesStyle::Line,
        points: [0, step.extent_bytes]
            .map(|place| Point::at(as_f64(place), 0.0))
            .to_vec(),
    }
}

fn samples(step: &ExtentStep, tint: Tint, mark: SeriesStyle) -> Series {
    let value = |sample: &ExtentSample| match step.of {
        SampleKind::Read | SampleKind::Write => sample.rate(),
        SampleKind::Access => Some(as_f64(sample.elapsed_ns)),
    };
    let samples = step.samples.iter();
    Series {
        name: tr!("sample").to_owned(),
        tint,
        mark,
        points: samples
            .filter_map(|s| Some(Point::at(as_f64(s.offset), value(s)?)))
            .collect(),
    }
}

/// Formats a summary: `lowest 1 MB/s, average 2 MB/s, highest 3 MB/s; measured device`.
fn words(kind: SampleKind, trial: &JudgedTrial<'_>) -> String {
    let figure = |word: &str, statistic: &str| {
        let name = format!("{}_{statistic}", metric(kind));
        let found = trial
            .derived
            .metrics
            .iter()
            .find(|metric| metric.name == name)?;
        Some(format!("{word} {}", quantity(found.unit, found.value)))
    };
    let all = [
        (tr!("lowest"), "min"),
        (tr!("mean of samples"), "mean"),
        (tr!("highest"), "max"),
    ];
    let words = all
        .into_iter()
        .filter_map(|(word, statistic)| figure(word, statistic));
    let labels: Vec<String> = trial.labels(None).iter().map(ToString::to_string).collect();
    tr!(
        "{samples}; measured {labels}",
        samples = words.collect::<Vec<_>>().join(", "),
        labels = labels.join(", ")
    )
}
