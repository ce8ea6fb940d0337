//! Formats for programs; their exact bytes are a stable interface. CSV of a run is here, the others
//! are in one file or folder each.
//!
//! CSV has one row per trial and metric, for spreadsheets and scripts. A trial without figures has
//! one row with its outcome; its columns from metric to device_share are empty.

pub mod data;
pub mod described;
pub mod gate;
pub mod import;
pub mod json;
pub mod openmetrics;
mod parts;

use assay_judge::{Judgement, judge};
use assay_lang::in_english;
use assay_model::figures::Metric;
use assay_model::job::{Direction, Job};
use assay_model::run::Run;
use assay_model::trial::TrialRecord;
use assay_stats::derive;
use assay_stats::derive::{MetricName, label_of};
use std::borrow::Cow;
use std::io;
use std::io::Write;

/// Names of the columns. `bs` is in bytes; `label` and `device_share` (0 to 1) belong to the
/// metric.
pub const COLUMNS: [&str; 17] = [
    "run",
    "job",
    "rw",
    "bs",
    "ioengine",
    "iodepth",
    "numjobs",
    "direct",
    "trial",
    "position",
    "outcome",
    "metric",
    "unit",
    "value",
    "label",
    "device_share",
    "condition",
];

/// Writes the run with a header line. Quoting follows RFC 4180; lines end in
/// a line feed.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    in_english(|| write_records(run, out))
}

fn write_records(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for row in csv_rows(run) {
        let cells = row.iter().zip(COLUMNS);
        csv.write_record(cells.map(|(cell, column)| match column {
            "run" | "job" | "condition" => harmless(cell).into_owned(),
            _ => cell.clone(),
        }))?;
    }
    csv.flush()
}

/// Returns a row for each metric of each trial, and one for a trial without metrics.
pub(crate) fn csv_rows(run: &Run) -> impl Iterator<Item = [String; COLUMNS.len()]> {
    run.trials.iter().flat_map(move |record| {
        let judgement = judge(record);
        let metrics = derive::metrics(record);
        let metrics: Vec<[String; 5]> = match metrics.as_slice() {
            [] => vec![Default::default()],
            metrics => metrics
                .iter()
                .map(|metric| metric_columns(metric, judgement.as_ref()))
                .collect(),
        };
        let condition = record.condition.clone().unwrap_or_default();
        metrics.into_iter().map(move |metric| {
            let trial = trial_columns(&run.header.id, record).into_iter();
            let mut cells = trial.chain(metric).chain([condition.clone()]);
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        })
    })
}

fn trial_columns(run: &str, record: &TrialRecord) -> [String; 11] {
    let Job {
        name,
        rw,
        bs,
        ioengine,
        iodepth,
        numjobs,
        direct,
        ..
    } = &record.job;
    [
        run.to_owned(),
        name.clone(),
        rw.to_string(),
        bs.0.to_string(),
        ioengine.to_string(),
        iodepth.to_string(),
        numjobs.to_string(),
        direct.to_string(),
        record.trial.to_string(),
        record.position.to_string(),
        record.outcome.word().to_owned(),
    ]
}

fn metric_columns(metric: &Metric, judgement: Option<&Judgement>) -> [String; 5] {
    [
        metric.name.clone(),
        metric.unit.to_string(),
        metric.value.to_string(),
        label_of(&metric.name, judgement),
        device_share(&metric.name, judgement).map_or_else(String::new, |share| share.to_string()),
    ]
}

/// Returns the device share of a metric; `None` for a metric of the whole trial, because two
/// directions have two shares, and for single calls whose label differs from their direction's.
fn device_share(metric: &str, judgement: Option<&Judgement>) -> Option<f64> {
    let metric = MetricName::parse(metric)?;
    let evidence = match metric.direction? {
        Direction::Read => judgement?.read.as_ref(),
        Direction::Write => judgement?.write.as_ref(),
    };
    let evidence = evidence?;
    let same = *evidence.of(metric.quantity()) == evidence.measured;
    evidence.device_share.filter(|_| same)
}

/// Prefixes cells that a spreadsheet would run as a formula with an apostrophe, which makes them
/// text (<https://owasp.org/www-community/attacks/CSV_Injection>).
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    fn written(run: &Run) -> String {
        let mut out = Vec::new();
        write_csv(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Rows by column name.
    fn rows(csv: &str) -> Vec<Vec<(String, String)>> {
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let columns = reader.headers().unwrap().clone();
        let named = |row: csv::StringRecord| {
            let cells = columns.iter().zip(&row);
            cells.map(|(c, v)| (c.to_owned(), v.to_owned())).collect()
        };
        reader.records().map(|row| named(row.unwrap())).collect()
    }

    #[test]
    fn one_job_of_each_kind() {
        let mut run = fixture::run();
        run.trials.retain(|trial| {
            trial.trial == 2 && ["rand-rw-4k", "rand-read-4k-qd8"].contains(&&*trial.job.name)
        });
        insta::assert_snapshot!(written(&run));
    }

    #[test]
    fn each_trial_and_metric_has_its_row() {
        let run = fixture::run();
        let metrics = run.trials.iter().map(|t| derive::metrics(t).len().max(1));
        let expected = metrics.sum::<usize>();
        let rows = rows(&written(&run));
        assert_eq!(rows.len(), expected);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()));
        let skipped = rows
            .iter()
            .filter(|row| row.contains(&("outcome".to_owned(), "skipped".to_owned())));
        assert_eq!(skipped.count(), 3, "a skipped trial is not silent");
    }

    #[test]
    fn text_of_a_person_is_neither_a_formula_nor_a_separator() {
        let mut run = fixture::run();
        run.trials.truncate(5);
        let names = ["=1+1", "-x", "@SUM(A1)", "+a", "a,\"b\"\nc"];
        for (trial, name) in run.trials.iter_mut().zip(names) {
            trial.job.name = name.to_owned();
        }
        let rows = rows(&written(&run));
        let mut jobs: Vec<&str> = rows.iter().map(|row| row[1].1.as_str()).collect();
        jobs.dedup();
        assert_eq!(jobs, ["'=1+1", "'-x", "'@SUM(A1)", "'+a", "a,\"b\"\nc"]);
    }
}
