//! Stored runs and figures: finding, reading, output formats.

pub mod formats;
pub mod lookup;
pub mod series;

use crate::config::POPULATION_OF_STORE;
use crate::exit::Failure;
use crate::output::admit_output;
use crate::{child, config};
use assay_agent::HeldFolder;
use assay_model::annotation::{Annotation, parse_name, parse_note, parse_tag};
use assay_model::storage::folder_of;
use assay_report::data;
use assay_report::data::{Column, Kind};
use assay_report::population::{Others, Standings};
use assay_report::results::facts;
use assay_store::views::{ColumnType, StoreView};
use assay_store::{Location, Owner, Store, Value};
use clap::Args;
use lookup::{StoreArgs, Stored, replace_file};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{fs, io};

/// Name, tags and note of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct AnnotationArgs {
    /// Name of the run, which other commands take like its id.
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Word to find the run by; may be given several times.
    #[arg(long, value_name = "TAG", value_parser = parse_tag)]
    pub tag: Vec<String>,
    /// Text about the run, shown with it.
    #[arg(long, value_name = "TEXT", value_parser = parse_note)]
    pub note: Option<String>,
}

impl AnnotationArgs {
    /// Returns the annotation.
    pub fn annotation(&self) -> Annotation {
        let mut annotation = Annotation {
            name: self.name.clone(),
            tags: Vec::new(),
            note: self.note.clone().filter(|note| !note.is_empty()),
        };
        for tag in &self.tag {
            annotation.add_tag(tag);
        }
        annotation
    }

    /// Returns the annotation of one of two runs, whose names end with their sides.
    pub fn of_side(&self, side: &str) -> Result<Annotation, Failure> {
        let name = self.name.as_ref();
        let name = name.map(|name| parse_name(&format!("{name}-{side}")));
        let name = name.transpose().map_err(Failure::usage)?;
        Ok(Annotation {
            name,
            ..self.annotation()
        })
    }
}

/// Store of a run, and the name, tags and note that it gets there.
#[derive(Args, Clone, Debug, Default)]
pub struct KeepArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub annotation: AnnotationArgs,
}

impl KeepArgs {
    /// Makes arguments from the options that a drop-in tool has parsed.
    pub fn of(store: Option<PathBuf>, annotation: Annotation) -> Self {
        Self {
            store: StoreArgs {
                store: store.map(|store| Location::parse(store.as_os_str())),
            },
            annotation: AnnotationArgs {
                name: annotation.name,
                tag: annotation.tags,
                note: annotation.note,
            },
        }
    }

    /// Returns the path of the local store file in which the run is recorded
    /// ([`StoreArgs::local_file`]).
    ///
    /// # Errors
    /// If there is no folder for the default file.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        self.store.local_file()
    }

    /// Opens a store for a new run, which gets the annotation.
    ///
    /// # Errors
    /// If the store cannot be opened, or another run has the name.
    pub fn open(&self, at: impl Into<Location>) -> Result<Store, Failure> {
        let mut store = Store::open(at)?;
        if let (Some(name), Some(_)) = (&self.annotation.name, child::this()) {
            return Err(Failure::usage(format!(
                "--name {name} names one run, and there are several targets: name the runs later \
                 with assay store tag RUN --name NAME"
            )));
        }
        store.annotate_next(self.annotation.annotation())?;
        Ok(store)
    }
}

/// Returns the identity of this process.
pub fn this_process() -> Owner {
    owner_of(std::process::id())
}

/// Returns the identity of a running process on this machine.
pub fn owner_of(pid: u32) -> Owner {
    Owner {
        pid,
        boot_id: boot_id(),
        start_ticks: start_ticks(pid).unwrap_or(0),
    }
}

/// `true` if the process still runs. A process on another machine, or from before the last boot,
/// does not run here.
pub fn is_alive(owner: &Owner) -> bool {
    owner.boot_id == boot_id() && start_ticks(owner.pid) == Some(owner.start_ticks)
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Returns field 22 of `/proc/PID/stat`. The name in field 2 may contain anything, so fields are
/// counted after its closing bracket. A zombie counts as ended.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Run that has ended, in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// Store of the run.
    pub store: PathBuf,
    /// Id of the run.
    pub id: String,
}

static ENDED: Mutex<Vec<EndedRun>> = Mutex::new(Vec::new());

/// Database of this command, to which runs are pushed.
static STORE: OnceLock<Location> = OnceLock::new();

/// Sets the store to which runs are pushed when they have ended.
pub fn set_push_target(store: Location) {
    // A command has one store, so the first call counts.
    let _ = STORE.set(store);
}

/// Returns the store to which runs are pushed; `None` if they stay in the local file.
pub fn push_target() -> Option<&'static Location> {
    STORE.get()
}

/// Notes that a run has ended.
pub fn note_ended(store: &Path, id: &str) {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    ended.push(EndedRun {
        store: store.to_owned(),
        id: id.to_owned(),
    });
}

/// Returns the runs that have ended since the last call.
pub fn take_ended() -> Vec<EndedRun> {
    std::mem::take(&mut ENDED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Suffixes of SQLite's files: the write-ahead log with its index, and the rollback journal
/// (<https://sqlite.org/tempfiles.html>).
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Checks that none of the written paths is a file of the store. Called before the store is opened,
/// which may create it.
///
/// # Errors
/// If one of the paths that would be written is the store.
pub fn keep_apart(store: &Path, written: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let files = BESIDE.map(|ending| {
        let mut file = store.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    });
    let is_store = |path: &PathBuf| files.iter().any(|file| is_same(path, file));
    match written.into_iter().find(is_store) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "{} is the store that keeps the runs ({}): write another file, or keep the run \
             elsewhere with --store",
            path.display(),
            store.display()
        ))),
    }
}

/// Returns `true` if two paths resolve to one file; for files that do not exist yet, if they
/// would.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(_), Err(_)) => place(one).is_some_and(|one| Some(one) == place(other)),
        _ => false,
    }
}

/// Returns the resolved folder of a file that does not exist, and its name.
fn place(path: &Path) -> Option<(PathBuf, PathBuf)> {
    Some((
        fs::canonicalize(folder_of(path)).ok()?,
        path.file_name()?.into(),
    ))
}

/// Maximum number of runs of the store among which a run is placed; more would take over a second.
const MOST_RUNS: u32 = 5_000;

/// Population that a run is placed among.
#[derive(Args, Clone, Debug, Default)]
pub struct PopulationArgs {
    /// Place the run among other units of its model: those of a folder of shared runs (assay
    /// store share), or `store` for those of the store.
    #[arg(long, value_name = "DIR")]
    pub population: Option<PathBuf>,
}

impl PopulationArgs {
    /// Finds the ranks of a run; `None` for an import, or without a population.
    pub fn standings(
        &self,
        stored: &Stored,
        store: &StoreArgs,
    ) -> Result<Option<Standings>, Failure> {
        let configured = self.population.as_ref();
        let population = configured.or(config::values().population.as_ref());
        let (Stored::Run(run), Some(population)) = (stored, population) else {
            return Ok(None);
        };
        let facts = facts::of(run);
        if population == Path::new(POPULATION_OF_STORE) {
            let store = series::open(store)?;
            return Ok(Some(assay_series::standings(&store, &facts, MOST_RUNS)?));
        }
        let secret = series::known_secret()?;
        let own = secret.and_then(|secret| secret.unit_of(&facts));
        let others = Others::of(&facts, own.as_deref(), series::read(population)?);
        Ok(Some(others.place(&facts)))
    }
}

/// Converts a row for outputs.
pub fn row(values: Vec<Value>) -> Vec<data::Value> {
    values.into_iter().map(value).collect()
}

fn value(value: Value) -> data::Value {
    match value {
        Value::Null => data::Value::Null,
        Value::Int(number) => data::Value::Integer(number),
        Value::Real(number) => data::Value::Real(number),
        Value::Text(text) => data::Value::Text(text),
        Value::Blob(bytes) => data::Value::Text(hex(&bytes)),
        Value::Reals(numbers) => data::Value::Text(format!("{numbers:?}")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the columns of a view.
pub fn columns(view: &StoreView) -> Vec<Column> {
    let columns = view.columns.iter();
    columns
        .map(|(name, kind)| Column {
            name: (*name).to_owned(),
            kind: match kind {
                ColumnType::Text => Kind::Text,
                ColumnType::Integer => Kind::Integer,
                ColumnType::Real => Kind::Real,
                ColumnType::Time => Kind::Time,
            },
        })
        .collect()
}

/// Folder for files with known names. Symbolic links in it are not followed.
pub struct OutputFolder {
    /// Path, as the user gave it.
    name: PathBuf,
    /// Open folder; set only if root writes where another user could create a link.
    held: Option<HeldFolder>,
}

impl OutputFolder {
    /// Opens a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created or opened, or root would follow a link that another user can change.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let held = make(path).and_then(|()| HeldFolder::if_open_to_others(path));
        let held = held.map_err(|error| {
            Failure::usage(format!("cannot write into {}: {error}", path.display()))
        })?;
        Ok(Self {
            name: path.to_owned(),
            held,
        })
    }

    /// Writes a file as a whole or not at all. It replaces a regular file with the name, but nothing
    /// else.
    ///
    /// # Errors
    /// If the file cannot be written, or something else has the name.
    pub fn write(
        &self,
        file: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let shown = self.name.join(file);
        admit_output(&shown)?;
        let held = self.held.as_ref().map(HeldFolder::path);
        let real = held.unwrap_or(&self.name).join(file);
        if real.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Err(Failure::usage(format!(
                "{} is a link or no file: it is left alone; remove it, or name another folder",
                shown.display()
            )));
        }
        replace_file(&real, &shown, write)
    }
}

/// Creates the missing part of a path in its existing parent folder.
fn make(path: &Path) -> io::Result<()> {
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
    let there = path.ancestors().find(is_there).unwrap_or(path);
    let held = HeldFolder::if_open_to_others(there)?;
    let within = held.as_ref().map_or(there, HeldFolder::path);
    match path.strip_prefix(there) {
        Ok(missing) if !missing.as_os_str().is_empty() => fs::create_dir_all(within.join(missing)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn this_process_lives_and_a_reused_number_does_not() {
        let mut owner = this_process();
        assert!(is_alive(&owner));
        owner.start_ticks += 1;
        assert!(!is_alive(&owner));
    }

    #[test]
    fn a_process_before_the_last_boot_is_gone() {
        let mut owner = this_process();
        owner.boot_id = "another".to_owned();
        assert!(!is_alive(&owner));
    }

    #[test]
    fn the_store_is_known_by_any_name() {
        let folder = Scratch::new().unwrap();
        let store = folder.join("runs.sqlite");
        let kept_apart = |path: &str| keep_apart(&store, [folder.join(path)]).is_ok();
        fs::create_dir(folder.join("sub")).unwrap();
        assert!(!kept_apart("runs.sqlite"), "it will be made");
        assert!(!kept_apart("sub/../runs.sqlite"));
        assert!(!kept_apart("sub/../runs.sqlite-wal"));
        assert!(kept_apart("sub/runs.sqlite"));
        fs::write(&store, "kept").unwrap();
        symlink(&store, folder.join("link")).unwrap();
        fs::hard_link(&store, folder.join("second")).unwrap();
        for path in ["runs.sqlite", "link", "second", "runs.sqlite-journal"] {
            assert!(!kept_apart(path), "{path}");
        }
        assert!(kept_apart("runs.sqlite-old"));
        let refusal = keep_apart(&store, [folder.join("link")]).unwrap_err();
        assert!(
            refusal.to_string().contains("link is the store"),
            "{refusal}"
        );
    }

    #[test]
    fn a_file_is_replaced_and_a_link_of_its_name_is_refused() {
        let scratch = Scratch::new().unwrap();
        let (folder, other) = (scratch.join("new/pages"), scratch.join("other"));
        let output = OutputFolder::open(&folder).unwrap();
        for text in ["first", "second"] {
            output
                .write("a", |out| out.write_all(text.as_bytes()))
                .unwrap();
            assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), text);
        }
        fs::write(&other, "kept").unwrap();
        symlink(&other, folder.join("b")).unwrap();
        symlink(scratch.join("none"), folder.join("c")).unwrap();
        for name in ["b", "c"] {
            let refused = output.write(name, |out| out.write_all(b"x")).unwrap_err();
            assert!(refused.to_string().contains("is a link"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert!(!scratch.join("none").exists());
        let names = fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 3, "nothing is left beside them");
    }
}
