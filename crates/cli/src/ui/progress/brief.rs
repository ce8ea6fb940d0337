//! A trial in one line, for logs.

use assay_judge::{Judgement, judge};
use assay_lang::tr;
use assay_model::metric::{Metric, Unit};
use assay_model::trial::{Outcome, TrialRecord};
use assay_report::format::quantity;
use assay_report::{describe, text::clean};
use assay_stats::derive;
use assay_stats::derive::{label_of, measured_of};
use assay_stats::figures::measured_in_words;

/// The deciding figures of a trial, each with what it measured, or how the
/// trial ended.
pub fn in_brief(record: &TrialRecord) -> String {
    match &record.outcome {
        Outcome::Completed => {}
        Outcome::Skipped { reasons } => {
            return clean(&tr!("skipped: {reasons}", reasons = reasons.join("; ")));
        }
        Outcome::Failed { error } => return clean(&tr!("failed: {error}", error)),
        Outcome::Interrupted => return tr!("interrupted").to_owned(),
    }
    let metrics = derive::metrics(record);
    let judgement = judge(record);
    let has = |name: &str| metrics.iter().any(|metric| metric.name == name);
    let figures: Vec<&Metric> = derive::deciding_metrics(&record.job, has)
        .into_iter()
        .filter_map(|name| metrics.iter().find(|metric| metric.name == name))
        .collect();
    let several = figures.len() > 1;
    let words: Vec<String> = figures
        .into_iter()
        .map(|metric| figure(metric, several, judgement.as_ref()))
        .collect();
    words.join("; ")
}

fn figure(metric: &Metric, several: bool, judgement: Option<&Judgement>) -> String {
    let value = quantity(metric.unit, metric.value);
    let is_rate = matches!(metric.unit, Unit::BytesPerSec | Unit::Iops);
    let subject = if several || !is_rate {
        format!("{} ", describe::metric(&metric.name))
    } else {
        String::new()
    };
    let sides = judgement.map_or_else(Vec::new, |judgement| measured_of(&metric.name, judgement));
    let label = match &sides[..] {
        [side] => side.to_string(),
        _ => measured_in_words(&label_of(&metric.name, judgement)),
    };
    format!("{subject}{value}, {label}")
}
