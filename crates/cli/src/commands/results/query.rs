//! `assay store query`: runs a SELECT on the views of the store.

use crate::checks::input;
use crate::exit::{DONE, Failure};
use crate::output::{print, say, show};
use crate::stored;
use crate::stored::lookup::{StoreArgs, write_file};
use crate::stored::series;
use crate::ui::parse_time;
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_report::data::{self, Form, HAS_PARQUET, Kind, NO_PARQUET, typed};
use assay_report::document::{Cell, Column, Document, Section, Table, TableRow};
use assay_store::Question;
use assay_store::views::{StoreView, VIEWS};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// `assay store query`.
#[derive(Args, Debug)]
#[command(after_help = "\
Views: assay_runs, assay_devices, assay_units, assay_jobs, assay_trials, assay_figures,
assay_evidence, assay_trial_evidence, assay_series and assay_changes. --views lists their
columns; docs/query.md describes them. One SELECT, which can neither write nor read files.
While a statement reads a store that is a file, a run that measures into it waits before it
stores its next trial.

Examples:
  assay store query --views
  assay store query 'SELECT model, units, runs FROM assay_devices'
  assay store query 'SELECT * FROM assay_figures' --out figures.parquet

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub struct QueryArgs {
    /// A single SELECT; - reads it from standard input.
    #[arg(value_name = "SQL", required_unless_present = "views")]
    pub sql: Option<String>,
    /// List the views with their columns.
    #[arg(long, conflicts_with_all = ["sql", "out", "format"])]
    pub views: bool,
    /// Output file; its ending decides the format: .csv, .json or .parquet.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The format, whatever the file's name [default: table].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<QueryFormat>,
    /// Time limit of the statement.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = parse_time)]
    pub time_limit: Nanos,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Columns for people.
    Table,
    /// A line for each row (.csv).
    Csv,
    /// An array with an object for each row (.json).
    Json,
    /// Typed columns (.parquet).
    Parquet,
}

impl QueryFormat {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    const fn form(self) -> Option<Form> {
        match self {
            Self::Table => None,
            Self::Csv => Some(Form::Csv),
            Self::Json => Some(Form::Json),
            Self::Parquet => Some(Form::Parquet),
        }
    }
}

/// `assay store query`.
pub fn run(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let Some(sql) = &args.sql else {
        show(&of_views())?;
        return Ok(DONE);
    };
    let format = wanted(args)?;
    let (columns, rows) = ask(args, &statement(sql)?)?;
    match (format.form(), &args.out) {
        (None, _) => show(&table(&columns, &rows))?,
        (Some(form), None) => print(|out| form.write(columns, &rows, out))?,
        (Some(form), Some(path)) => {
            write_file(path, |out| form.write(columns, &rows, out))?;
            say(&tr!(
                "wrote {path}",
                path = clean(&path.display().to_string())
            ));
        }
    }
    Ok(DONE)
}

fn wanted(args: &QueryArgs) -> Result<QueryFormat, Failure> {
    let format = match (args.format, &args.out) {
        (Some(QueryFormat::Table), Some(_)) => {
            return Err(Failure::usage(
                "a table goes to standard output, not to a file",
            ));
        }
        (Some(format), _) => format,
        (None, None) => QueryFormat::Table,
        (None, Some(path)) => QueryFormat::of(path).ok_or_else(|| {
            let why = "the name must end in .csv, .json or .parquet, or give --format";
            Failure::in_file(path, why)
        })?,
    };
    if format == QueryFormat::Parquet && !HAS_PARQUET {
        return Err(Failure::usage(NO_PARQUET));
    }
    if format == QueryFormat::Parquet && args.out.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "Parquet is nothing for a terminal: name a file with --out",
        ));
    }
    Ok(format)
}

fn statement(words: &str) -> Result<String, Failure> {
    let sql = match words {
        "-" => input::all(io::stdin().lock())
            .and_then(|text| String::from_utf8(text).map_err(io::Error::other))
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?,
        words => words.to_owned(),
    };
    match sql.trim().is_empty() {
        true => Err(Failure::usage("the statement is empty")),
        false => Ok(sql),
    }
}

type Answer = (Vec<data::Column>, Vec<Vec<data::Value>>);

fn ask(args: &QueryArgs, sql: &str) -> Result<Answer, Failure> {
    let store = series::open(&args.store)?;
    let question = Question {
        sql,
        time: Duration::from_nanos(args.time_limit.0),
    };
    let mut rows = Vec::new();
    let names = store.ask(&question, &mut |values| {
        rows.push(stored::row(values));
        Ok(())
    })?;
    let columns = typed(names, &mut rows);
    Ok((columns, rows))
}

fn table(columns: &[data::Column], rows: &[Vec<data::Value>]) -> Document {
    let mut section = Section::new("rows", "");
    section.table(Table {
        columns: columns
            .iter()
            .map(|column| Column {
                right: matches!(column.kind, Kind::Integer | Kind::Real),
                ..Column::text(clean(&column.name))
            })
            .collect(),
        rows: rows
            .iter()
            .map(|row| {
                let cells = row.iter().map(|value| Cell::Text(clean(&value.text())));
                TableRow::new(cells.collect())
            })
            .collect(),
    });
    section.say(counted!(rows.len(), "{n} row", "{n} rows"), None);
    let mut document = Document::default();
    document.push(section);
    document
}

fn of_views() -> Document {
    let mut document = Document::new(tr!("Views of the store").to_owned());
    for StoreView { name, columns, .. } in &VIEWS {
        let mut section = Section::new("view", *name);
        let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
        section.say(names.join(", "), None);
        document.push(section);
    }
    document
}
