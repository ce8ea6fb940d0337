//! Imported results as JSON and as CSV. Both contain every digit; the CSV can be imported again.

#[cfg(test)]
mod tests;

use crate::machine::harmless;
use crate::machine::json::{SCHEMA, rfc3339};
use crate::machine::parts::parts;
use crate::words::clean;
use assay_lang::key;
use assay_model::figures::{Better, Figure, Import, Sample};
use assay_stats::figures::measured_in_words;
use assay_stats::summary::Moments;
use std::io::{self, Write};

/// Columns of the CSV. A trial has `trial` and `value`; a mean has `n`, `mean` and optionally
/// `stdev`. Other columns are empty.
const COLUMNS: [&str; 10] = [
    "condition",
    "metric",
    "unit",
    "trial",
    "value",
    "position",
    "n",
    "mean",
    "stdev",
    "measured",
];

/// Table headings for a figure.
pub(crate) const HEADER: [&str; 7] = [
    key!("condition"),
    key!("metric"),
    "n",
    key!("mean"),
    key!("stdev"),
    key!("unit"),
    key!("measured"),
];
/// Significant digits of computed values, such as a mean of several trials.
const DIGITS: usize = 6;
/// Maximum number of digits of a value that is shown unrounded.
const EXACT: usize = 9;

/// Formats a figure, one cell for each of [`HEADER`]; safe to display.
pub(crate) fn cells(figure: &Figure) -> [String; HEADER.len()] {
    let Moments { n, mean, stdev } = moments(&figure.sample);
    [
        clean(&figure.condition),
        clean(&figure.metric),
        n.to_string(),
        number(mean),
        stdev.map_or_else(String::new, number),
        clean(&figure.unit),
        figure
            .measured
            .as_deref()
            .map_or_else(String::new, |labels| clean(&measured_in_words(labels))),
    ]
}

/// Formats a number without rounding if it has few digits.
fn number(value: f64) -> String {
    let exact = value.to_string();
    let digits = exact.bytes().filter(u8::is_ascii_digit).count();
    let whole = exact.split('.').next().map_or(0, str::len);
    match digits {
        0..=EXACT => exact,
        _ => format!("{value:.places$}", places = DIGITS.saturating_sub(whole)),
    }
}

/// Returns the arithmetic mean, and the standard deviation (n - 1) if there is one.
pub(crate) fn moments(sample: &Sample) -> Moments {
    match sample {
        Sample::Moments { mean, stdev, .. } => Moments {
            n: sample.n(),
            mean: *mean,
            stdev: *stdev,
        },
        Sample::Values { values, .. } => Moments::of(values),
    }
}

/// Writes the figures as CSV with a header line. Quoting follows RFC 4180; lines end in a line
/// feed. A name that a spreadsheet would take for a formula gets an apostrophe, which the import of
/// such a table removes.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(import: &Import, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for figure in &import.results.figures {
        for row in rows(figure) {
            csv.write_record(row)?;
        }
    }
    csv.flush()
}

fn rows(figure: &Figure) -> Vec<[String; 10]> {
    let name = |text: &str| harmless(text).into_owned();
    let row = |trial: [String; 6]| {
        let [number, value, position, n, mean, stdev] = trial;
        [
            name(&figure.condition),
            name(&figure.metric),
            name(&figure.unit),
            number,
            value,
            position,
            n,
            mean,
            stdev,
            name(figure.measured.as_deref().unwrap_or_default()),
        ]
    };
    let none = String::new;
    match &figure.sample {
        Sample::Moments { n, mean, stdev } => {
            let stdev = stdev.map_or_else(none, |stdev| stdev.to_string());
            vec![row([
                none(),
                none(),
                none(),
                n.to_string(),
                mean.to_string(),
                stdev,
            ])]
        }
        Sample::Values { values, positions } => values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let position = positions.get(at).map_or_else(none, ToString::to_string);
                let number = (at + 1).to_string();
                row([number, value.to_string(), position, none(), none(), none()])
            })
            .collect(),
    }
}

/// Writes the import as one indented JSON object that ends in a line feed.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(import: &Import, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &ImportDocument::of(import))?;
    writeln!(out)
}

parts! {
    struct ImportDocument<'a> of (import: &'a Import) {
        schema: u32 = SCHEMA,
        import: ImportPart<'a> = ImportPart::of(import),
        figures: Vec<FigurePart<'a>> = import.results.figures.iter().map(FigurePart::of).collect(),
    }

    struct ImportPart<'a> of (import: &'a Import) {
        id: &'a str = &import.id,
        imported: String = rfc3339(import.imported_unix_ms),
        assay_version: &'a str = &import.assay_version,
        files: &'a [String] = &import.files,
        tool: &'a str = &import.results.tool,
        circumstances: &'a [String] = &import.results.circumstances,
        notes: &'a [String] = &import.results.notes,
    }

    struct FigurePart<'a> of (figure: &'a Figure) {
        {
            let Moments { n, mean, stdev } = moments(&figure.sample);
            let (values, positions) = match &figure.sample {
                Sample::Moments { .. } => (None, None),
                Sample::Values { values, positions } => (Some(&**values), Some(&**positions)),
            };
        }
        condition: &'a str = &figure.condition,
        metric: &'a str = &figure.metric,
        unit: &'a str = &figure.unit,
        better: Option<Better> = figure.better,
        primary: bool = figure.primary,
        measured: Option<&'a str> = figure.measured.as_deref(),
        n: usize = n,
        mean: f64 = mean,
        stdev: Option<f64> = stdev,
        /// Values of the trials; `None` if only the mean is known.
        values: Option<&'a [f64]> = values,
        /// Positions of the trials in the session; `None` if their order is not known.
        positions: Option<&'a [f64]> = positions.filter(|positions| !positions.is_empty()),
    }
}
