//! Figures of a run as OpenMetrics, for the textfile collector of node_exporter
//! (<https://github.com/prometheus/node_exporter#textfile-collector>). The collector reads the
//! older text format of Prometheus, so that only the common part of both is used: gauges, and `#
//! UNIT` and `# EOF`, which are comments in the older format. Samples have no times, because the
//! collector refuses them.

use assay_lang::in_english;
use assay_model::figures::{Figure, Sample};
use assay_model::run::{Run, Unit};
use assay_stats::figures::of_trials;
use assay_stats::summary::Summary;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Label and its value.
type Label = (&'static str, String);

/// Gauges with the same name.
struct Family {
    help: String,
    unit: &'static str,
    samples: Vec<(Vec<Label>, f64)>,
}

/// Writes the medians of a run's figures. A name ends in the unit. The label `measured` separates
/// series of the page cache from series of the device.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
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
        write(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run_in_base_units_with_labels() {
        let mut run = fixture::run();
        run.trials.retain(|trial| trial.job.name == "rand-rw-4k");
        insta::assert_snapshot!(written(&run));
    }

    #[test]
    fn each_name_has_one_block_and_names_of_others_stay_inside_their_quotation_marks() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            trial.job.name = "a\"} 1\n# EOF\nb\\".to_owned();
        }
        let text = written(&run);
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
