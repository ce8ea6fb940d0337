//! `assay export --tidy`: writes a file for each view of the store.

use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored;
use crate::stored::lookup::StoreArgs;
use crate::stored::{OutputFolder, series};
use crate::ui::parse_time;
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_report::data::{Form, HAS_PARQUET, NO_PARQUET, fit};
use assay_store::views::{StoreView, VIEWS};
use assay_store::{Question, Store, StoreError};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Number of rows that are buffered before they are written: a row group of Parquet.
const BATCH: usize = 50_000;

/// `assay export`.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes runs, devices, units, jobs, trials, figures, evidence of runs and of trials, series and
changes, one row an observation, one column a variable. docs/query.md describes the columns;
examples/series.ipynb loads the folder with polars.

Examples:
  assay export --tidy data
  assay export --tidy data --format csv,parquet

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub struct ExportArgs {
    /// Folder for the files; those of an earlier export are replaced.
    #[arg(long, value_name = "DIR", required = true)]
    pub tidy: PathBuf,
    /// Formats of the files, separated by commas.
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        value_delimiter = ',',
        default_value = "csv"
    )]
    pub format: Vec<TidyFormat>,
    /// Time limit for each view.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_time)]
    pub time_limit: Nanos,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TidyFormat {
    /// A line for each row.
    Csv,
    /// Typed columns.
    Parquet,
}

/// `assay export`.
pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    if args.format.contains(&TidyFormat::Parquet) && !HAS_PARQUET {
        return Err(Failure::usage(NO_PARQUET));
    }
    let store = series::open(&args.store)?;
    let folder = OutputFolder::open(&args.tidy)?;
    let mut files = 0;
    for view in &VIEWS {
        for format in &args.format {
            let time = Duration::from_nanos(args.time_limit.0);
            write(&store, view, (*format, time), &folder)?;
            files += 1;
        }
    }
    let files = counted!(files, "{n} file", "{n} files");
    let folder = clean(&args.tidy.display().to_string());
    say(&tr!("wrote {files} to {folder}", files, folder));
    Ok(DONE)
}

fn write(
    store: &Store,
    view: &StoreView,
    (format, time): (TidyFormat, Duration),
    folder: &OutputFolder,
) -> Result<(), Failure> {
    let (form, ending) = match format {
        TidyFormat::Csv => (Form::Csv, "csv"),
        TidyFormat::Parquet => (Form::Parquet, "parquet"),
    };
    let name = view.name.trim_start_matches("assay_");
    let sql = format!("SELECT * FROM {} ORDER BY {}", view.versioned(), view.order);
    let question = Question { sql: &sql, time };
    let mut refused = None;
    let written = folder.write(&format!("{name}.{ending}"), |out| {
        write_rows(store, view, (form, &question), out).map_err(|error| match error {
            RowError::Output(error) => error,
            RowError::Store(error) => {
                refused = Some(error);
                io::Error::other("the store cannot be read")
            }
        })
    });
    match refused {
        Some(error) => Err(error.into()),
        None => written,
    }
}

/// Reason why rows could not be copied.
enum RowError {
    Store(StoreError),
    Output(io::Error),
}

impl From<io::Error> for RowError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn write_rows(
    store: &Store,
    view: &StoreView,
    (form, question): (Form, &Question<'_>),
    out: &mut dyn Write,
) -> Result<(), RowError> {
    let columns = stored::columns(view);
    let mut sink = form.begin(columns.clone(), out)?;
    let mut rows = Vec::new();
    let mut failed = None;
    let asked = store.ask(question, &mut |values| {
        if failed.is_none() {
            rows.push(fit(&columns, stored::row(values)));
        }
        if rows.len() >= BATCH {
            failed = sink.rows(&rows).err();
            rows.clear();
        }
        Ok(())
    });
    asked.map_err(RowError::Store)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    sink.rows(&rows)?;
    Ok(sink.end()?)
}
