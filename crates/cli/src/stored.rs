//! `assay list`, `show` and `report`: what the store has.

use crate::args::{ListArgs, ReportArgs, ShowArgs, StoreArgs};
use crate::exit::{DONE, Failure};
use crate::formats::Format;
use crate::output::{admit_output, print, say, style};
use crate::{compare, owner, rank};
use assay_model::figures::Import;
use assay_model::run::{Run, RunStatus};
use assay_report::document::Document;
use assay_report::gate::{Suite, junit, kcidb, lava, tap};
use assay_report::import::{write_csv, write_json};
use assay_report::render::{Form, write_mail};
use assay_report::sweep::by_condition;
use assay_report::terminal::{self, ListRow, write_list, write_summary};
use assay_report::{csv, html, json, views, xlsx};
use assay_store::{Found, ImportSummary, RunSummary, Store};
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The store to use: by default `runs.sqlite` in [`data_folder`].
pub fn store_path(args: &StoreArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.store {
        return Ok(path.clone());
    }
    let folder = data_folder().ok_or_else(|| {
        Failure::usage("neither XDG_DATA_HOME nor HOME is set: name a file with --store")
    })?;
    Ok(folder.join("runs.sqlite"))
}

/// Where assay keeps what is its own: `assay` under `$XDG_DATA_HOME`, which itself
/// defaults to `~/.local/share` (XDG Base Directory Specification).
pub fn data_folder() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .map(|data| data.join("assay"))
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
    rows.extend(store.imports()?.iter().map(import_row));
    // Stable: what is of one millisecond stays as the store has it.
    rows.sort_by_key(|row| Reverse(row.started_unix_ms));
    print(|out| write_list(&rows, style(), out))?;
    Ok(DONE)
}

fn row(run: &RunSummary) -> ListRow {
    ListRow {
        id: run.id.clone(),
        started_unix_ms: run.started_unix_ms,
        path: format!("{}{}", run.target.as_deref().unwrap_or_default(), run.path),
        device: run.device.clone(),
        status: run.status.word().to_owned(),
        trials: run.trials_done.into(),
        // Of a work with steps that only follow from each other, none is known
        // beforehand.
        planned: run.trials_planned.max(run.trials_done).into(),
        data_lost: run.data_lost,
    }
}

/// The files are what tells imports apart, the tool is what made them.
fn import_row(import: &ImportSummary) -> ListRow {
    ListRow {
        id: import.id.clone(),
        started_unix_ms: import.imported_unix_ms,
        path: import.files.join(", "),
        device: import.tool.clone(),
        status: "imported".to_owned(),
        trials: import.figures.into(),
        planned: import.figures.into(),
        data_lost: false,
    }
}

/// `assay show`.
pub fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let stored = load(&args.store, &args.run)?;
    print(|out| match (&stored, args.json) {
        (Stored::Run(run), true) => json::write(run, out),
        (Stored::Run(run), false) => write_summary(run, style(), &[], out),
        (Stored::Import(import), true) => write_json(import, out),
        (Stored::Import(import), false) => {
            terminal::write(&views::import::document(import), style(), &[], out)
        }
    })?;
    Ok(DONE)
}

/// `assay report` of one run or import, or of two that are compared.
pub fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let (Some(format), Some(first)) = (args.output.wanted()?, args.runs.first()) else {
        return Err(Failure::usage("missing: RUN, and --output or --format"));
    };
    if let [a, b] = args.runs.as_slice() {
        let to = (format, &args.output);
        return compare::report([a, b], &args.store, &args.terms, to);
    }
    if args.terms.qualify {
        return Err(Failure::usage("--qualify is asked of two runs"));
    }
    match load(&args.store, first)? {
        Stored::Run(run) => {
            let write = writer_for(format)?;
            args.output.write(format, |out| write(*run, args, out))?;
        }
        Stored::Import(import) => {
            let write = import_writer_for(format)?;
            args.output.write(format, |out| write(&import, args, out))?;
        }
    }
    Ok(DONE)
}

type ImportWriter = fn(&Import, &ReportArgs, &mut dyn Write) -> io::Result<()>;

/// What an import can be written as. Gates ask for evidence.
const OF_IMPORTS: [Format; 6] = [
    Format::Html,
    Format::Json,
    Format::Csv,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
];

fn import_writer_for(format: Format) -> Result<ImportWriter, Failure> {
    Ok(match format {
        Format::Html => |import, args, out| {
            let verdicts = rank::verdicts_of_import(import, args.terms.margin);
            html::write_import(import, verdicts.as_ref(), out)
        },
        Format::Json => |import, _, out| write_json(import, out),
        Format::Csv => |import, _, out| write_csv(import, out),
        Format::Xlsx => |import, args, out| {
            let judged = rank::Judged::of_import(import, args.terms.margin);
            let ranked = judged.as_ref().map(rank::Judged::ranked);
            xlsx::write_import(import, ranked.as_ref(), out)
        },
        Format::Text => {
            |import, args, out| write_mail(&mail_of_import(import, args), Form::Text, out)
        }
        Format::Markdown => {
            |import, args, out| write_mail(&mail_of_import(import, args), Form::Markdown, out)
        }
        Format::Junit | Format::Tap | Format::Lava | Format::Kcidb => {
            let what = "an import, which has no evidence to judge,";
            return Err(format.refused(what, &OF_IMPORTS));
        }
    })
}

fn mail_of_import(import: &Import, args: &ReportArgs) -> Document {
    let judged = rank::Judged::of_import(import, args.terms.margin);
    let ranked = judged.as_ref().map(rank::Judged::ranked);
    views::import::mail(import, ranked.as_ref())
}

type Writer = fn(Run, &ReportArgs, &mut dyn Write) -> io::Result<()>;

fn writer_for(format: Format) -> Result<Writer, Failure> {
    Ok(match format {
        Format::Html => |run, _, out| html::write(&run, out),
        Format::Json => |run, _, out| json::write(&run, out),
        Format::Csv => |run, _, out| csv::write(&run, out),
        Format::Xlsx => |run, args, out| match rank::Judged::of_run(&run, args.terms.margin) {
            Some(judged) => xlsx::write_sweep(&run, &judged.ranked(), out),
            None => xlsx::write(&run, out),
        },
        Format::Text => |run, args, out| write_mail(&mail_of_run(&run, args), Form::Text, out),
        Format::Markdown => {
            |run, args, out| write_mail(&mail_of_run(&run, args), Form::Markdown, out)
        }
        Format::Junit => |run, _, out| junit::write(&Suite::of_run(&by_condition(run)), out),
        Format::Tap => |run, _, out| tap::write(&Suite::of_run(&by_condition(run)), out),
        Format::Lava => |run, _, out| lava::write(&Suite::of_run(&by_condition(run)), out),
        Format::Kcidb => |run, args, out| {
            let suite = Suite::of_run(&by_condition(run));
            kcidb::write(&suite, &args.output.submission(), out)
        },
    })
}

/// A sweep with what came of its conditions.
fn mail_of_run(run: &Run, args: &ReportArgs) -> Document {
    match rank::Judged::of_run(run, args.terms.margin) {
        Some(judged) => views::ranking::mail(run, &judged.ranked()),
        None => views::run::mail(run),
    }
}

/// The id of a run of assay's own.
pub fn run_id(store: &Store, name: &str) -> Result<String, Failure> {
    match store.find(name)? {
        Found::Run(id) => Ok(id),
        Found::Import(id) => Err(Failure::usage(format!(
            "{id} is an import: results that were made elsewhere cannot be gone on with"
        ))),
    }
}

/// A run that is to be gone on with: all of it must be there.
pub fn whole_run(store: &Store, id: &str) -> Result<Run, Failure> {
    let loaded = store.load(id)?;
    match loaded.damaged.first() {
        None => Ok(loaded.run),
        Some(damage) => Err(Failure::failed(format!(
            "run {id} cannot be gone on with: {damage}"
        ))),
    }
}

/// What an id stands for, with all that the store has of it.
pub enum Stored {
    /// A run of assay's own.
    Run(Box<Run>),
    /// Results that were made elsewhere.
    Import(Box<Import>),
}

/// A run or an import by its name, from the store that the arguments name.
pub fn load(args: &StoreArgs, name: &str) -> Result<Stored, Failure> {
    load_from(&Store::open_existing(&store_path(args)?)?, name)
}

/// A run or an import by its name; trials that cannot be read are named and
/// left out.
pub fn load_from(store: &Store, name: &str) -> Result<Stored, Failure> {
    let id = match store.find(name)? {
        Found::Import(id) => return Ok(Stored::Import(Box::new(store.load_import(&id)?))),
        Found::Run(id) => id,
    };
    let loaded = store.load(&id)?;
    for damage in &loaded.damaged {
        say(&format!("assay: warning: {damage}"));
    }
    let mut run = loaded.run;
    // As the list says it.
    let abandoned = run.status == RunStatus::Running
        && store
            .abandoned_runs(owner::is_alive)?
            .iter()
            .any(|r| r.id == id);
    if abandoned {
        run.status = RunStatus::Interrupted;
    }
    Ok(Stored::Run(Box::new(run)))
}

/// Where a link leads, also one to a file that is not there yet; all else is its
/// own place.
fn behind_links(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match fs::read_link(path) {
        Ok(to) => path.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => path.to_owned(),
    }
}

/// Writes a file as a whole or not at all: beside it first, then renamed. A link
/// stays one.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    admit_output(path)?;
    let real = behind_links(path);
    let special = |there: fs::Metadata| !there.is_file() && !there.is_dir();
    if fs::metadata(&real).is_ok_and(special) {
        // A pipe, a terminal, /dev/null: nothing could take its place.
        let written = File::options().write(true).open(&real).and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        });
        return written
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())));
    }
    let mut beside = real.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let result = File::create_new(&beside).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        fs::rename(&beside, &real)
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
