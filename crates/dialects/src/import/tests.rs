//! Whole texts.

mod broken;
mod fio;
mod fuzz;
mod others;
mod reports;
mod tables;

use super::{ImportError, read, together, *};
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

#[test]
fn numbers_end_where_their_unit_begins() {
    assert_eq!(leading(" 275MiB/s (1"), Some((275.0, "MiB/s (1")));
    assert_eq!(leading("3.6067e-05 s"), Some((3.6067e-5, " s")));
    assert_eq!(leading("5e"), Some((5.0, "e")));
    assert_eq!(leading("-1,"), Some((-1.0, ",")));
    assert!(leading("nan").is_some_and(|(value, _)| value.is_nan()));
    assert_eq!(leading("x"), None);
    assert_eq!(leading("."), None);
    assert_eq!(with_suffix("19.1k,"), Some((19_100.0, ",")));
}

#[test]
fn keys_are_whole_words() {
    let line = "read: IOPS=275, bw=1, max_bw = 3";
    assert_eq!(after(line, "IOPS"), Some("275, bw=1, max_bw = 3"));
    assert_eq!(after(line, "max_bw"), Some(" 3"));
    assert_eq!(after("xbw=1", "bw"), None);
}

#[test]
fn units_tell_which_way_is_good() {
    for unit in [
        "MB/s",
        "IOPS",
        "KB/s",
        "KiB/s",
        "TPS",
        "ops/s",
        "kBytes/sec",
        "MiB/sec",
        "ops/sec",
    ] {
        assert_eq!(better(unit), Some(Better::Higher), "{unit}");
    }
    for unit in [
        "s",
        "ms",
        "us",
        "usec",
        "ns",
        "µs",
        "us/op",
        "microseconds/op",
    ] {
        assert_eq!(better(unit), Some(Better::Lower), "{unit}");
    }
    for unit in ["", "%", "°C", "W", "errors/s", "points"] {
        assert_eq!(better(unit), None, "{unit}");
    }
}
