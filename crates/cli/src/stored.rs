//! `assay list`, `show` and `report`: what the store has.

use crate::args::{ListArgs, ReportArgs, ShowArgs, StoreArgs};
use crate::exit::{DONE, Failure};
use crate::output::{print, say, style};
use crate::owner;
use assay_model::run::{Run, RunStatus};
use assay_report::sweep::by_condition;
use assay_report::terminal::{ListRow, write_list, write_summary};
use assay_report::{csv, html, json, xlsx};
use assay_store::{RunSummary, Store};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The store to use.
///
/// The default is `assay/runs.sqlite` under `$XDG_DATA_HOME`, which itself
/// defaults to `~/.local/share` (XDG Base Directory Specification).
pub fn store_path(args: &StoreArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.store {
        return Ok(path.clone());
    }
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .map(|data| data.join("assay/runs.sqlite"))
        .ok_or_else(|| {
            Failure::usage("neither XDG_DATA_HOME nor HOME is set: name a file with --store")
        })
}

/// `assay list`.
pub fn list(args: &ListArgs) -> Result<ExitCode, Failure> {
    let store = Store::open_existing(&store_path(&args.store)?)?;
    let abandoned = store.abandoned_runs(owner::is_alive)?;
    let mut rows: Vec<ListRow> = store.runs()?.iter().map(row).collect();
    for row in &mut rows {
        if abandoned.iter().any(|run| run.id == row.id) {
            row.status = RunStatus::Interrupted.word().to_owned();
        }
    }
    print(|out| write_list(&rows, style(), out))?;
    Ok(DONE)
}

fn row(run: &RunSummary) -> ListRow {
    ListRow {
        id: run.id.clone(),
        started_unix_ms: run.started_unix_ms,
        path: run.path.clone(),
        device: run.device.clone(),
        status: run.status.word().to_owned(),
        trials: run.trials_done.into(),
        // Of a work with steps that only follow from each other, none is known
        // beforehand.
        planned: run.trials_planned.max(run.trials_done).into(),
    }
}

/// `assay show`.
pub fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let run = load(&args.store, &args.run)?;
    if args.json {
        print(|out| json::write(&run, out))?;
    } else {
        print(|out| write_summary(&run, style(), &[], out))?;
    }
    Ok(DONE)
}

/// `assay report`.
pub fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let write = writer_for(&args.output)?;
    let run = load(&args.store, &args.run)?;
    write_file(&args.output, |out| write(&run, out))?;
    say(&format!("wrote {}", args.output.display()));
    Ok(DONE)
}

type Writer = fn(&Run, &mut dyn Write) -> io::Result<()>;

fn writer_for(path: &Path) -> Result<Writer, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Ok(|run, out| html::write(&by_condition(run.clone()), out)),
        Some("json") => Ok(json::write),
        Some("csv") => Ok(csv::write),
        Some("xlsx") => Ok(|run, out| xlsx::write(&by_condition(run.clone()), out)),
        _ => Err(Failure::usage(format!(
            "{}: the name must end in .html, .json, .csv or .xlsx",
            path.display()
        ))),
    }
}

/// A run by its name; trials that cannot be read are named and left out.
fn load(args: &StoreArgs, name: &str) -> Result<Run, Failure> {
    let store = Store::open_existing(&store_path(args)?)?;
    let loaded = store.load(&store.find(name)?)?;
    for damage in &loaded.damaged {
        say(&format!("assay: warning: {damage}"));
    }
    Ok(loaded.run)
}

/// Writes a file as a whole or not at all: beside it first, then renamed.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let result = File::create_new(&beside).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        fs::rename(&beside, path)
    });
    result.map_err(|error| {
        let _ = fs::remove_file(&beside);
        let message = format!("cannot write {}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem => Failure::usage(message),
            _ => Failure::failed(message),
        }
    })
}
