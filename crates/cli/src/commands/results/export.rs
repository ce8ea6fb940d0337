//! `assay store export --tidy`: writes a file for each view of the store. `assay store share`: figures of a
//! device for others, without what identifies a person or a machine.

use crate::exit::{DONE, Failure};
use crate::output::{print, say};
use crate::stored;
use crate::stored::lookup::{StoreArgs, Stored, load};
use crate::stored::{OutputFolder, series};
use crate::ui::parse_time;
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_report::data::{Form, HAS_PARQUET, NO_PARQUET, fit};
use assay_report::population::SharedRun;
use assay_report::results::facts;
use assay_store::views::{StoreView, VIEWS};
use assay_store::{Question, Store, StoreError};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Number of rows that are buffered before they are written: a row group of Parquet.
const BATCH: usize = 50_000;

/// `assay store export`.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes runs, devices, units, jobs, trials, figures, evidence of runs and of trials, series and
changes, one row an observation, one column a variable. docs/query.md describes the columns;
examples/series.ipynb loads the folder with polars.

Examples:
  assay store export --tidy data
  assay store export --tidy data --format csv,parquet

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

/// `assay store export`.
pub fn export_views(args: &ExportArgs) -> Result<ExitCode, Failure> {
    if args.format.contains(&TidyFormat::Parquet) && !HAS_PARQUET {
        return Err(Failure::usage(NO_PARQUET));
    }
    let store = series::open(&args.store)?;
    let folder = OutputFolder::open(&args.tidy)?;
    let mut files = 0;
    for view in &VIEWS {
        for format in &args.format {
            let time = Duration::from_nanos(args.time_limit.0);
            write_view(&store, view, (*format, time), &folder)?;
            files += 1;
        }
    }
    let files = counted!(files, "{n} file", "{n} files");
    let folder = clean(&args.tidy.display().to_string());
    say(&tr!("wrote {files} to {folder}", files, folder));
    Ok(DONE)
}

fn write_view(
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

/// `assay store share`.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes one JSON file for each run: model of the device, mode of its bus, kernel version, and each
figure of the device with its label, number of trials and the hash of its job. Serial numbers and
ids are replaced by keyed hashes (HMAC-SHA-256); the key, share.key in the data folder, stays here.
No host names, paths, users, commands, names, tags or notes. Nothing is sent anywhere: give the
folder to others, such as by git. docs/population.md describes the file.

Examples:
  assay store share last --dry-run
  assay store share last --to devices
  assay report last --population devices

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub struct ShareArgs {
    /// Name or id of a run, the beginning of its id, or `last`.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Print exactly what the files would hold, and share nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for the files; the file of a run that is there already is replaced.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay store share`.
pub fn share_runs(args: &ShareArgs) -> Result<ExitCode, Failure> {
    let secret = series::secret()?;
    let all: Result<Vec<SharedRun>, Failure> = args
        .runs
        .iter()
        .map(|word| match load(&args.store, word)? {
            Stored::Run(run) => SharedRun::of(&facts::of(&run), &secret)
                .map_err(|why| Failure::usage(format!("{word} cannot be shared: {why}"))),
            Stored::Import(import) => Err(Failure::usage(format!(
                "{} is an import: only runs of assay can be shared",
                import.id
            ))),
        })
        .collect();
    match &args.to {
        Some(folder) if !args.dry_run => write_shared_runs(&all?, folder)?,
        _ => {
            let all = all?;
            print(|out| all.iter().try_for_each(|run| write_shared_run(run, out)))?;
            say(tr!("Dry run: nothing was shared; this would be."));
        }
    }
    Ok(DONE)
}

fn write_shared_runs(all: &[SharedRun], folder: &Path) -> Result<(), Failure> {
    let output = OutputFolder::open(folder)?;
    for run in all {
        let file = run.file_name();
        output.write(&file, |out| write_shared_run(run, out))?;
        say(&tr!(
            "wrote {path}",
            path = clean(&folder.join(file).display().to_string())
        ));
    }
    Ok(())
}

fn write_shared_run(run: &SharedRun, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, run)?;
    writeln!(out)
}
