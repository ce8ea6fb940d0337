//! Whole texts.

mod broken;
mod fio;
mod fuzz;
mod others;
mod reports;
mod tables;

use super::{ImportError, read, together};
use assay_model::figures::{Figure, Results, Sample};

/// What a text has.
fn results(text: &str) -> Results {
    read(text, None)
        .unwrap_or_else(|error| panic!("{error}: {text}"))
        .results
}

/// Several texts as one, each a trial.
fn of_all(texts: &[&str], condition: Option<&str>) -> Result<Results, ImportError> {
    let taken = texts.iter().map(|text| read(text, None));
    together(taken.collect::<Result<_, _>>()?, condition)
}

fn figure<'a>(results: &'a Results, condition: &str, metric: &str) -> &'a Figure {
    let found = results
        .figures
        .iter()
        .find(|figure| figure.condition == condition && figure.metric == metric);
    found.unwrap_or_else(|| {
        let names: Vec<_> = results
            .figures
            .iter()
            .map(|figure| (&figure.condition, &figure.metric))
            .collect();
        panic!("no {metric} under '{condition}': {names:#?}")
    })
}

/// Values and unit of a figure without a condition.
fn values(results: &Results, metric: &str) -> (Vec<f64>, String) {
    let figure = figure(results, "", metric);
    (trials(figure), figure.unit.clone())
}

fn trials(figure: &Figure) -> Vec<f64> {
    match &figure.sample {
        Sample::Values { values, .. } => values.clone(),
        Sample::Moments { .. } => panic!("no values: {figure:?}"),
    }
}

fn error(text: &str) -> String {
    read(text, None).map_or_else(
        |error| error.to_string(),
        |taken| panic!("it was read: {taken:#?}"),
    )
}
