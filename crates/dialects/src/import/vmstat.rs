//! `vmstat` with an interval: transfers from and to block devices.

use super::ImportError;
use super::collect::{Collector, Key};
use assay_model::figures::Results;

/// Columns to read, with their meaning.
const COLUMNS: [(&str, &str); 2] = [("bi", "read from"), ("bo", "written to")];

/// Returns true if a line names vmstat's columns.
pub(super) fn is_head(line: &str) -> bool {
    let has = |name| line.split_whitespace().any(|word| word == name);
    has("bi") && has("bo") && has("free")
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("vmstat");
    let rows = rows(text)?;
    // The first line is a mean since boot.
    let rows = match rows.len() {
        0 | 1 => {
            return Err(ImportError::at(
                None,
                "vmstat without an interval has only the means since boot: take the lines of \
                 vmstat 1",
            ));
        }
        _ => &rows[1..],
    };
    all.circumstance(format!("{} intervals", rows.len()));
    for (at, (name, what)) in COLUMNS.into_iter().enumerate() {
        let values: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let most = values.iter().copied().fold(0.0, f64::max);
        for (statistic, value, primary) in [("mean", mean, true), ("max", most, false)] {
            let key = Key {
                metric: format!("{name}_{statistic}"),
                unit: "KiB/s".to_owned(),
                primary,
                ..Key::default()
            };
            all.value(key, value, None, None)?;
        }
        let idle = values.iter().filter(|value| **value == 0.0).count();
        if idle > 0 {
            all.note(format!(
                "In {idle} of {} intervals nothing was {what} a device.",
                values.len()
            ));
        }
    }
    all.note("The first line is since boot and was left out; all others count alike.");
    all.note(
        "A log is one trial: its intervals follow from each other and are no trials. What was \
         written, and by whom, is not recorded.",
    );
    Ok(all.finish())
}

/// Returns the figures of [`COLUMNS`] in each line.
fn rows(text: &str) -> Result<Vec<[f64; 2]>, ImportError> {
    let mut places: Option<[usize; 2]> = None;
    let mut rows = Vec::new();
    for line in super::unquoted(text) {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if is_head(line.text) {
            let place = |name| words.iter().position(|word| *word == name);
            places = place(COLUMNS[0].0)
                .zip(place(COLUMNS[1].0))
                .map(|(bi, bo)| [bi, bo]);
            continue;
        }
        let starts_as_row = words
            .first()
            .is_some_and(|word| word.parse::<f64>().is_ok());
        let (Some(places), true) = (places, starts_as_row) else {
            continue;
        };
        let mut row = [0.0; 2];
        for (value, place) in row.iter_mut().zip(places) {
            *value = figure(&words, place, line.number)?;
        }
        rows.push(row);
    }
    Ok(rows)
}

fn figure(words: &[&str], place: usize, line: usize) -> Result<f64, ImportError> {
    let Some(word) = words.get(place) else {
        let problem = "it has fewer figures than columns: the log may be cut off here";
        return Err(ImportError::at(Some(line), problem));
    };
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(ImportError::at(
            Some(line),
            format!("'{word}' is not a rate of vmstat"),
        )),
    }
}
