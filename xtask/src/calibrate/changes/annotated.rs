//! Published series with annotations by people, in the format of the Turing Change Point
//! Dataset: a folder with `annotations.json` and a `datasets/NAME/NAME.json` for each series.

use anyhow::{Context, Result};
use assay_model::figures::Better;
use assay_stats::changes::{RunPoint, RunSeries};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Distance up to which annotations of two people count as one, in points.
const SAME: u64 = 5;

/// Series and its changes.
pub struct Annotated {
    /// Series in which each run has one trial.
    pub series: RunSeries,
    /// Indices that more than half of the annotators give.
    pub changes: Vec<usize>,
}

/// Reads all series of one dimension whose values are positive.
pub fn read(folder: &Path) -> Result<Vec<Annotated>> {
    let all = json(&folder.join("annotations.json"))?;
    let all: BTreeMap<String, BTreeMap<String, Vec<u64>>> = serde_json::from_value(all)?;
    let mut found = Vec::new();
    for (name, annotations) in all {
        let file = folder
            .join("datasets")
            .join(&name)
            .join(format!("{name}.json"));
        if !file.exists() {
            continue;
        }
        let Some(values) = positive_values(&json(&file)?) else {
            continue;
        };
        let annotations: Vec<Vec<u64>> = annotations.into_values().collect();
        let changes = named_by_most(&annotations);
        println!(
            "annotated: {name}: {} values, changes {changes:?}",
            values.len()
        );
        found.push(Annotated {
            series: series(&values),
            changes,
        });
    }
    Ok(found)
}

fn json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

fn positive_values(file: &Value) -> Option<Vec<f64>> {
    let [only] = &file["series"].as_array()?[..] else {
        return None;
    };
    let values = only["raw"].as_array()?.iter();
    let values = values.map(|value| value.as_f64().filter(|value| *value > 0.0));
    values.collect()
}

/// Returns places that more than half of the annotators give, each by its first annotation.
fn named_by_most(annotations: &[Vec<u64>]) -> Vec<usize> {
    let mut all: Vec<u64> = annotations.iter().flatten().copied().collect();
    all.sort_unstable();
    let mut found: Vec<u64> = Vec::new();
    for place in all {
        let names = |by: &&Vec<u64>| by.iter().any(|other| other.abs_diff(place) <= SAME);
        let votes = annotations.iter().filter(names).count();
        let is_new = found.iter().all(|other| other.abs_diff(place) > SAME);
        if 2 * votes > annotations.len() && is_new {
            found.push(place);
        }
    }
    let found = found.into_iter().filter_map(|at| usize::try_from(at).ok());
    found.collect()
}

fn series(values: &[f64]) -> RunSeries {
    let point = |(index, value): (usize, &f64)| RunPoint {
        run_id: format!("run{index}"),
        started_unix_ms: index as u64,
        trials: vec![*value],
    };
    RunSeries {
        points: values.iter().enumerate().map(point).collect(),
        better: Better::Higher,
        tail: false,
        margin: None,
    }
}
