//! Stores and their content: opening stores, loading runs and imports, writing files.

use crate::config;
use crate::exit::Failure;
use crate::output::{admit_output, say};
use crate::stored::{ended, owner};
use crate::ui::destination::store_location;
use assay_model::figures::Import;
use assay_model::run::{Run, RunStatus};
use assay_store::{Location, Store, StoredId};
use clap::Args;
use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Store of the runs.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// File or database that keeps the runs, such as runs.sqlite or postgres://USER@HOST/DB
    /// [default: assay/runs.sqlite in the XDG data folder].
    #[arg(long, value_name = "STORE", value_parser = store_value(), value_hint = ValueHint::FilePath)]
    pub store: Option<Location>,
}

/// Parser of a store argument.
fn store_value() -> impl TypedValueParser<Value = Location> {
    OsStringValueParser::new().try_map(|text| store_location(&text))
}

impl StoreArgs {
    /// Returns the store: by default that of the settings, else `runs.sqlite` in [`data_folder`].
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn location(&self) -> Result<Location, Failure> {
        match self.store.as_ref().or(config::values().store.as_ref()) {
            Some(location) => Ok(location.clone()),
            None => Ok(Location::File(default_file()?)),
        }
    }

    /// Returns the file that is measured into, so that no measurement waits for a network: the store if
    /// it is a file, else the default file, from which runs are pushed to the store.
    ///
    /// # Errors
    /// If there is no folder for the default file.
    pub fn local_file(&self) -> Result<PathBuf, Failure> {
        match self.location()? {
            Location::File(path) => Ok(path),
            server @ Location::Server(_) => {
                ended::go_on_to(server);
                default_file()
            }
        }
    }

    /// Opens an existing store.
    pub fn open_existing(&self) -> Result<Store, Failure> {
        Ok(Store::open_existing(&self.location()?)?)
    }

    /// Opens the file that is measured into ([`Self::local_file`]), which must exist.
    pub fn open_local(&self) -> Result<Store, Failure> {
        Ok(Store::open_existing(&self.local_file()?)?)
    }

    /// Opens the file that is measured into, which must exist, for writing.
    pub fn open_local_to_change(&self) -> Result<Store, Failure> {
        Ok(Store::open(self.open_local()?.location())?)
    }

    /// Opens an existing store for writing; a missing one is not created.
    pub fn open_to_change(&self) -> Result<Store, Failure> {
        let there = self.open_existing()?;
        match there.location() {
            Location::File(_) => Ok(Store::open(there.location())?),
            Location::Server(_) => Ok(there),
        }
    }
}

fn default_file() -> Result<PathBuf, Failure> {
    let folder = data_folder().ok_or_else(|| {
        Failure::usage("neither XDG_DATA_HOME nor HOME is set: name a file with --store")
    })?;
    Ok(folder.join("runs.sqlite"))
}

/// Returns the folder of assay's own data: `assay` under `$XDG_DATA_HOME`, which itself defaults to
/// `~/.local/share` (XDG Base Directory Specification).
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

/// Returns the id of a run; fails for an import.
pub fn run_id(store: &Store, name: &str) -> Result<String, Failure> {
    match store.find(name)? {
        StoredId::Run(id) => Ok(id),
        StoredId::Import(id) => Err(Failure::usage(format!(
            "{id} is an import: only runs of assay can be resumed"
        ))),
    }
}

/// Loads a run that is to be resumed: it must not be damaged.
pub fn whole_run(store: &Store, id: &str) -> Result<Run, Failure> {
    let loaded = store.load(id)?;
    match loaded.damaged.first() {
        None => Ok(loaded.run),
        Some(damage) => Err(Failure::failed(format!(
            "run {id} cannot be resumed: {damage}"
        ))),
    }
}

/// Record of an id, with all its stored data.
pub enum Stored {
    /// A run of assay.
    Run(Box<Run>),
    /// Imported results.
    Import(Box<Import>),
}

/// Loads a run or an import by its name, from the store of the arguments.
pub fn load(args: &StoreArgs, name: &str) -> Result<Stored, Failure> {
    load_from(&args.open_existing()?, name)
}

/// Loads a run or an import by its name; trials that cannot be read are reported and left out.
pub fn load_from(store: &Store, name: &str) -> Result<Stored, Failure> {
    let id = match store.find(name)? {
        StoredId::Import(id) => return Ok(Stored::Import(Box::new(store.load_import(&id)?))),
        StoredId::Run(id) => id,
    };
    let loaded = store.load(&id)?;
    for damage in &loaded.damaged {
        say(&format!("assay: warning: {damage}"));
    }
    let mut run = loaded.run;
    // A run whose owner is gone counts as interrupted, as in the list.
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

/// Resolves a link, even to a file that does not exist yet; returns any other path unchanged.
fn behind_links(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match fs::read_link(path) {
        Ok(to) => path.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => path.to_owned(),
    }
}

/// Writes a file as a whole or not at all: into a temporary file beside it, which is renamed. A link
/// remains, and its target is replaced.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    admit_output(path)?;
    let real = behind_links(path);
    let special = |there: fs::Metadata| !there.is_file() && !there.is_dir();
    if fs::metadata(&real).is_ok_and(special) {
        // A pipe, a terminal or /dev/null is written directly: it cannot be replaced.
        let opened = File::options().write(true).open(&real);
        return opened
            .and_then(|file| fill(file, write))
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())));
    }
    replace_file(&real, path, write)
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

/// Writes a temporary file beside `real` and renames it to `real`. A link with that name is replaced,
/// not followed. Messages call the file `shown`.
pub fn replace_file(
    real: &Path,
    shown: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut beside = real.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let created = File::create_new(&beside);
    let filled = created.and_then(|file| fill(file, write));
    let result = filled.and_then(|()| fs::rename(&beside, real));
    result.map_err(|error| {
        let _ = fs::remove_file(&beside);
        let message = format!("cannot write {}: {error}", shown.display());
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
