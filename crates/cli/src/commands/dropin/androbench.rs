//! `assay androbench [DIR]`: the figures of AndroBench and Mobibench, each with its label.

use crate::checks::admission;
use crate::checks::admission::Need;
use crate::checks::estimate;
use crate::config;
use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::announce::Announcement;
use crate::driver::runs::Done;
use crate::exit::{EXIT_CODES, Failure};
use crate::output::show;
use crate::ui::one_of;
use assay_dialects::androbench::{AndroBenchOptions, Like, SyncMode, phases};
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::androbench::{AndroBench, Journal, Phase, Statement, Synchronous};
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::units::{Bytes, MIB};
use assay_model::wire::{Feature, Inspection};
use assay_report::document::{Column, Document, Keep, Section, Table, TableRow};
use assay_report::labels::Labels;
use assay_report::summary::{JobSummary, Summary};
use assay_stats::derive::primary_metrics;
use assay_target::Target;
use clap::{Args, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measures a folder on a target.
pub fn run(args: &AndroBenchArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    // Report a mistake before anything is started.
    work(args, &args.folder)?;
    let command = MeasuringCommand {
        needs: Feature::Sqlite,
        path: &args.folder,
        trials: args.trials(),
        destroy_data: false,
        shared: &args.shared,
        stopping: "stopping; finished steps are kept",
    };
    let done = command.carry_out(target, |bench| {
        let place = folder(&bench.inspection)?;
        let (act, steps) = work(args, place.path())?;
        Ok(Planned {
            announced: Some(announcement(args, &act, &steps)),
            place,
            act,
            steps,
        })
    })?;
    if args.shared.json || done.run.trials.is_empty() {
        return done.present(args.shared.json);
    }
    show(&document(args.like, &done))?;
    done.conclude()
}

/// Builds the act that the arguments ask for in this folder, and its steps.
pub fn work(args: &AndroBenchArgs, folder: &Path) -> Result<(Act, Vec<Job>), Failure> {
    let phases = phases(&args.wanted()).map_err(Failure::usage)?;
    let steps = phases.iter().flat_map(Phase::jobs).collect();
    let folder = folder.to_owned();
    let work = Act::AndroBench(Box::new(AndroBench { folder, phases }));
    Ok((work, steps))
}

/// Returns the folder for the test files.
fn folder(inspection: &Inspection) -> Result<Place, Failure> {
    let need = Need {
        simulated: false,
        ..Need::anything(false)
    };
    match admission::admit(inspection, need)? {
        folder @ Place::Directory { .. } => Ok(folder),
        other => Err(Failure::usage(format!(
            "{} is not a folder: give one; test files are made in it and removed",
            other.path().display()
        ))),
    }
}

/// Describes the steps, their writes, and the duration.
fn announcement(args: &AndroBenchArgs, act: &Act, steps: &[Job]) -> Announcement {
    let files = match act {
        Act::AndroBench(work) if work.room().0 > 0 => {
            tr!("files of {size} and ", size = work.room())
        }
        _ => String::new(),
    };
    Announcement {
        first: vec![(tr!("Measures"), args.like.words().to_owned())],
        writes: tr!(
            "{files}databases in a private folder that is removed at the end",
            files
        ),
        steps: steps.len(),
        times: estimate::of_act(act, steps),
    }
}

const EXAMPLES: &str = "\
Examples:
  assay androbench /data/local/tmp
  assay androbench /mnt/emmc --like mobibench --only 'sqlite-*'
";

/// `assay androbench`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct AndroBenchArgs {
    /// Folder to measure: test files are made in it and removed.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Parameters to use: those of AndroBench 3 or 4, Mobibench, or assay's own (modern).
    #[arg(long, value_name = "WHAT", default_value = "modern", value_parser = one_of(&Like::ALL, Like::name))]
    pub like: Like,
    /// Number of repetitions [default: 5].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Only these steps, separated by commas (seq-read, seq-write, rand-read,
    /// rand-write, sqlite-insert, sqlite-update, sqlite-delete; Mobibench also
    /// has append); a name may end in *.
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Size of each test file, for example 64M.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Journal mode of SQLite.
    #[arg(long, value_name = "MODE", value_parser = one_of(&Journal::ALL, Journal::name))]
    pub journal: Option<Journal>,
    /// SQLite's synchronous mode [default: full].
    #[arg(long, value_name = "LEVEL", value_parser = one_of(&Synchronous::ALL, Synchronous::name))]
    pub synchronous: Option<Synchronous>,
    /// Number of transactions for each kind of statement (insert, update, delete).
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=10_000_000))]
    pub transactions: Option<u64>,
    /// Statements to measure, separated by commas [default: all].
    #[arg(long, value_name = "STATEMENTS", value_delimiter = ',', value_parser = one_of(&Statement::ALL, Statement::name))]
    pub operation: Vec<Statement>,
    /// Mobibench: tables in each transaction [default: 3].
    #[arg(long, value_name = "N")]
    pub tables: Option<u32>,
    /// Mobibench: size of a record [default: 4K].
    #[arg(long, value_name = "SIZE")]
    pub record: Option<Bytes>,
    /// Mobibench: how files are read and written [default: normal].
    #[arg(long, value_name = "MODE", value_parser = one_of(&SyncMode::ALL, SyncMode::name))]
    pub sync_mode: Option<SyncMode>,
    /// Mobibench: threads, each with its own file [default: 1].
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl AndroBenchArgs {
    /// Returns the number of repetitions.
    pub fn trials(&self) -> u32 {
        config::trials(self.trials, config::TRIALS)
    }

    /// Returns the options as the dialect's parser takes them.
    pub fn wanted(&self) -> AndroBenchOptions {
        AndroBenchOptions {
            like: self.like,
            only: self.only.clone(),
            size: self.size,
            journal: self.journal,
            synchronous: self.synchronous,
            transactions: self.transactions,
            operations: self.operation.clone(),
            tables: self.tables,
            record: self.record,
            sync_mode: self.sync_mode,
            threads: self.threads,
        }
    }
}

/// Makes the table, with notes that apply to all of it.
fn document(like: Like, done: &Done) -> Document {
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
    let shown_figure = figure_of(of.job);
    let figure = of.figure(shown_figure.name);
    let shown = |value: f64| shown_figure.format(value);
    let cells = match figure {
        None => vec![title(of.job).into(), "none".into()],
        Some(figure) => {
            let (low, high) = (shown(figure.stats.min), shown(figure.stats.max));
            vec![
                title(of.job).into(),
                format!("{} {}", shown(figure.stats.mean), shown_figure.unit).into(),
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
struct ShownFigure {
    name: &'static str,
    unit: &'static str,
    /// Divisor of the metric to get the shown unit.
    scale: f64,
}

impl ShownFigure {
    fn format(&self, value: f64) -> String {
        format!("{:.2}", value / self.scale)
    }
}

fn figure_of(job: &Job) -> ShownFigure {
    let mib = MIB as f64;
    let one = |name, unit| ShownFigure {
        name,
        unit,
        scale: 1.0,
    };
    match primary_metrics(job)[..] {
        ["commit_tps"] => one("commit_tps", "TPS"),
        _ if job.rw.is_random() && job.rw.reads() => one("read_iops", "IOPS"),
        _ if job.rw.is_random() => one("write_iops", "IOPS"),
        _ => ShownFigure {
            name: if job.rw.reads() {
                "read_bw"
            } else {
                "write_bw"
            },
            // AndroBench's MB has 2^20 bytes.
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
            "Stored as run {id}: assay report {id} (what each step did, latencies, evidence).",
            id
        ));
    }
    notes
}
