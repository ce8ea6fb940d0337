//! Formats for programs; their exact bytes are a stable interface. CSV and OpenMetrics of a run are
//! here, the others are in one file or folder each.
//!
//! CSV has one row per trial and metric, for spreadsheets and scripts. A trial without figures has
//! one row with its outcome; its columns from metric to device_share are empty.

pub mod data;
pub mod gate;
pub mod import;
pub mod json;

use assay_judge::{Judgement, judge};
use assay_lang::in_english;
use assay_model::figures::{Figure, Metric, Sample};
use assay_model::job::{Direction, Job};
use assay_model::run::{Run, Unit};
use assay_model::trial::TrialRecord;
use assay_stats::derive;
use assay_stats::derive::{MetricName, label_of};
use assay_stats::figures::of_trials;
use assay_stats::summary::Summary;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

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

/// Label and its value.
type Label = (&'static str, String);

/// Gauges with the same name.
struct Family {
    help: String,
    unit: &'static str,
    samples: Vec<(Vec<Label>, f64)>,
}

/// Writes the medians of a run's figures as OpenMetrics, for the textfile collector of
/// node_exporter (<https://github.com/prometheus/node_exporter#textfile-collector>). The collector
/// reads the older text format of Prometheus, so that only the common part of both is used: gauges,
/// and `# UNIT` and `# EOF`, which are comments in the older format. Samples have no times, because
/// the collector refuses them.
///
/// A name ends in the unit. The label `measured` separates series of the page cache from series of
/// the device.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_openmetrics(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    in_english(|| {
        for (name, family) in families(run) {
            write_family(&name, &family, out)?;
        }
        writeln!(out, "# EOF")
    })
}

fn families(run: &Run) -> BTreeMap<String, Family> {
    let storage = of_storage(run);
    let mut families = BTreeMap::from(about(run, &storage));
    for figure in of_trials(&run.header, &run.trials) {
        let Sample::Values { values, .. } = &figure.sample else {
            continue;
        };
        let Some(median) = Summary::of(values).map(|summary| summary.median) else {
            continue;
        };
        let (unit, factor) = base_unit(&figure.unit);
        let (job, metric) = job_and_metric(&figure);
        let family = families
            .entry(name_of(metric, unit))
            .or_insert_with(|| Family {
                help: format!("Median of {metric} over the trials of a job."),
                unit,
                samples: Vec::new(),
            });
        let labels = storage.iter().cloned().chain([
            ("job", job.to_owned()),
            ("condition", figure.condition.clone()),
            ("measured", figure.measured.clone().unwrap_or_default()),
        ]);
        family.samples.push((labels.collect(), median / factor));
    }
    families
}

/// Returns the labels that identify the storage of a figure.
fn of_storage(run: &Run) -> [Label; 2] {
    [
        ("device", run.header.storage.words()),
        ("unit", Unit::of(&run.header).to_string()),
    ]
}

/// Describes the run. Its id and other texts are labels of a separate gauge, so that a new run does
/// not begin new series of all figures.
fn about(run: &Run, storage: &[Label]) -> [(String, Family); 2] {
    let header = &run.header;
    let device = header.storage.device().map(|layer| &layer.identity);
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let more = [
        ("run", header.id.clone()),
        ("status", run.status.word().to_owned()),
        (
            "firmware",
            text(device.and_then(|device| device.firmware.as_ref())),
        ),
        ("bus", text(device.and_then(|device| device.bus.as_ref()))),
        ("kernel", header.system.kernel.clone()),
        ("target", text(header.target.as_ref())),
        ("version", header.assay_version.clone()),
    ];
    let info = Family {
        help: "The run that the figures are of.".to_owned(),
        unit: "",
        samples: vec![(storage.iter().cloned().chain(more).collect(), 1.0)],
    };
    let started = Family {
        help: "When the run began, in seconds since 1970.".to_owned(),
        unit: "seconds",
        samples: vec![(storage.to_vec(), header.started_unix_ms as f64 / 1e3)],
    };
    [
        ("assay_run_info".to_owned(), info),
        ("assay_run_start_time_seconds".to_owned(), started),
    ]
}

/// Splits the name of a figure, `JOB: METRIC`.
fn job_and_metric(figure: &Figure) -> (&str, &str) {
    figure
        .metric
        .rsplit_once(": ")
        .unwrap_or(("", figure.metric.as_str()))
}

/// Returns the unit that Prometheus prefers, and the number of assay's units in it.
fn base_unit(unit: &str) -> (&'static str, f64) {
    match unit {
        "B/s" => ("bytes_per_second", 1.0),
        "IOPS" => ("iops", 1.0),
        "TPS" => ("tps", 1.0),
        "B" => ("bytes", 1.0),
        "ns" => ("seconds", 1e9),
        "ratio" => ("ratio", 1.0),
        _ => ("", 1.0),
    }
}

/// Returns the name of a family, which must end in its unit.
fn name_of(metric: &str, unit: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '_',
    };
    let mut name = format!("assay_{}", metric.chars().map(plain).collect::<String>());
    let end = format!("_{unit}");
    if !unit.is_empty() && !name.ends_with(&end) {
        name.push_str(&end);
    }
    name
}

fn write_family(name: &str, family: &Family, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# TYPE {name} gauge")?;
    if !family.unit.is_empty() {
        writeln!(out, "# UNIT {name} {}", family.unit)?;
    }
    writeln!(out, "# HELP {name} {}", escaped(&family.help))?;
    for (labels, value) in &family.samples {
        let labels = labels.iter();
        let labels = labels.map(|(label, text)| format!("{label}=\"{}\"", escaped(text)));
        let labels: Vec<String> = labels.collect();
        writeln!(out, "{name}{{{}}} {value}", labels.join(","))?;
    }
    Ok(())
}

/// Escapes a text for quotation marks.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n").replace('\r', " ")
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

    fn written_openmetrics(run: &Run) -> String {
        let mut out = Vec::new();
        write_openmetrics(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run_in_base_units_with_labels() {
        let mut run = fixture::run();
        run.trials.retain(|trial| trial.job.name == "rand-rw-4k");
        insta::assert_snapshot!(written_openmetrics(&run));
    }

    #[test]
    fn each_name_has_one_block_and_names_of_others_stay_inside_their_quotation_marks() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            trial.job.name = "a\"} 1\n# EOF\nb\\".to_owned();
        }
        let text = written_openmetrics(&run);
        assert!(text.contains("job=\"a\\\"} 1\\n# EOF\\nb\\\\\""), "{text}");
        assert_eq!(text.matches("\n# EOF\n").count(), 1);
        let types = text.lines().filter(|line| line.starts_with("# TYPE"));
        let mut names: Vec<&str> = types.collect();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_name_ends_in_its_unit_once() {
        assert_eq!(
            name_of("read_bw", "bytes_per_second"),
            "assay_read_bw_bytes_per_second"
        );
        assert_eq!(name_of("read_iops", "iops"), "assay_read_iops");
        assert_eq!(name_of("lat_p99.9", "seconds"), "assay_lat_p99_9_seconds");
        assert_eq!(name_of("errors", ""), "assay_errors");
    }
}
