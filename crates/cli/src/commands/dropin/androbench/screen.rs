//! Figures on standard output, in the layout of AndroBench's result screen, each with its label.

use crate::driver::runs::Done;
use assay_dialects::androbench::Like;
use assay_lang::tr;
use assay_model::job::Job;
use assay_model::units::MIB;
use assay_report::document::{Column, Document, Keep, Section, Table, TableRow};
use assay_report::labels::Labels;
use assay_report::summary::{JobSummary, Summary};
use assay_report::text::clean;
use assay_stats::derive::primary_metrics;

/// Makes the table, with notes that apply to all of it.
pub fn document(like: Like, done: &Done) -> Document {
    let summary = Summary::of(&done.run);
    let header = &done.run.header;
    let storage = header.storage.words();
    let path = header.plan.place.path().display();
    let title = format!("{path} on {storage}, {}", like.words());
    let steps = header.plan.jobs.iter().map(|planned| &planned.job);
    let rows = steps
        .filter_map(|job| summary.jobs.iter().find(|of| of.job.name == job.name))
        .map(row);
    let mut section = Section::new("results", "");
    section.table(Table {
        rows: rows.collect(),
        columns: vec![
            Column::text(""),
            Column::number("mean"),
            Column::number("lowest .. highest"),
            Column::text("measured").keep(Keep::IfRoom),
        ],
    });
    for note in notes(&summary, done) {
        section.say(clean(&note), None);
    }
    let mut document = Document::new(clean(&title));
    document.push(section);
    document
}

fn row(of: &JobSummary<'_>) -> TableRow {
    let deciding = figure_of(of.job);
    let figure = of.figure(deciding.name);
    let shown = |value: f64| deciding.shown(value);
    let cells = match figure {
        None => vec![title(of.job).into(), "none".into()],
        Some(figure) => {
            let (low, high) = (shown(figure.stats.min), shown(figure.stats.max));
            vec![
                title(of.job).into(),
                format!("{} {}", shown(figure.stats.mean), deciding.unit).into(),
                format!("{low} .. {high}").into(),
                words(&figure.labels).into(),
            ]
        }
    };
    TableRow {
        note: Some(per_transaction(of)).filter(|cost| !cost.is_empty()),
        ..TableRow::new(cells)
    }
}

/// Figure that AndroBench shows for a step.
struct Deciding {
    name: &'static str,
    unit: &'static str,
    /// Divisor of the metric to get the shown unit.
    scale: f64,
}

impl Deciding {
    fn shown(&self, value: f64) -> String {
        format!("{:.2}", value / self.scale)
    }
}

fn figure_of(job: &Job) -> Deciding {
    let mib = MIB as f64;
    let one = |name, unit| Deciding {
        name,
        unit,
        scale: 1.0,
    };
    match primary_metrics(job)[..] {
        ["commit_tps"] => one("commit_tps", "TPS"),
        _ if job.rw.is_random() && job.rw.reads() => one("read_iops", "IOPS"),
        _ if job.rw.is_random() => one("write_iops", "IOPS"),
        _ => Deciding {
            name: if job.rw.reads() {
                "read_bw"
            } else {
                "write_bw"
            },
            unit: "MB/s",
            scale: mib,
        },
    }
}

/// Returns AndroBench's name of a step.
fn title(job: &Job) -> String {
    match job.name.as_str() {
        "seq-read" => "Sequential Read",
        "seq-write" => "Sequential Write",
        "rand-read" => "Random Read",
        "rand-write" => "Random Write",
        "append" => "Append",
        "sqlite-insert" => "SQLite Insert",
        "sqlite-update" => "SQLite Update",
        "sqlite-delete" => "SQLite Delete",
        other => other,
    }
    .to_owned()
}

/// Formats labels, such as `device` or `2 device, 1 unknown`.
fn words(labels: &Labels) -> String {
    match labels.agreed() {
        Some(label) => label.to_owned(),
        None => {
            let counts = labels.counts();
            let counts: Vec<String> = counts
                .iter()
                .map(|(label, count)| format!("{count} {label}"))
                .collect();
            match counts.is_empty() {
                true => "unknown".to_owned(),
                false => counts.join(", "),
            }
        }
    }
}

/// Describes the device's cost of a transaction: its flushes, and bytes.
fn per_transaction(of: &JobSummary<'_>) -> String {
    let mean = |name: &str| of.figure(name).map(|figure| figure.stats.mean);
    let kib = |bytes: f64| format!("{:.1} KiB", bytes / 1024.0);
    let parts = [
        mean("commit_flushes").map(|flushes| format!("{flushes:.2} flushes")),
        mean("commit_write_bytes").map(|bytes| format!("{} written", kib(bytes))),
        mean("commit_device_bytes").map(|bytes| format!("{} by the device", kib(bytes))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{} per transaction", parts.join(", ")),
    }
}

/// Returns notes on the figures, and on where to find more.
fn notes(summary: &Summary<'_>, done: &Done) -> Vec<String> {
    let mut notes = vec!["MB are MiB; the mean is arithmetic, as AndroBench has it.".to_owned()];
    let steps = done.run.trials.iter();
    let database = steps
        .filter_map(|trial| trial.detail.as_deref()?.database())
        .next();
    if let Some(step) = database {
        notes.push(format!(
            "SQLite {}: journal {}, synchronous {}, {} transactions of each kind.",
            step.sqlite_version, step.journal, step.synchronous, step.transactions
        ));
    }
    for job in &summary.jobs {
        for why in job.labels(None).unknown_reasons() {
            notes.push(format!("{}: unknown: {why}.", title(job.job)));
        }
    }
    notes.extend(done.run.header.storage.caveats());
    if done.stored {
        let id = &done.run.header.id;
        notes.push(tr!(
            "Stored as run {id}: assay show {id} (what each step did, latencies, evidence).",
            id
        ));
    }
    notes
}
