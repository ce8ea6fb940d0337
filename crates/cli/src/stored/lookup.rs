//! Stores and their content: opening stores, loading runs and imports, writing files, and the
//! sources of figures (stored runs, imports, and files of other tools).

use crate::checks::input;
use crate::config;
use crate::exit::Failure;
use crate::output::{admit_output, say};
use crate::ui::store_location;
use assay_dialects::import::{Format, Taken, read};
use assay_model::figures::{Figure, Import, Results};
use assay_model::run::{Run, RunStatus};
use assay_model::text::meant;
use assay_report::names;
use assay_report::words::enumerate;
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_store::{Location, Store, StoredId};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
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

    /// Returns the local store file in which runs are recorded, so that no measurement waits for a
    /// network: the store if it is a file, else the default file, from which runs are pushed to the
    /// store.
    ///
    /// # Errors
    /// If there is no folder for the default file.
    pub fn local_file(&self) -> Result<PathBuf, Failure> {
        match self.location()? {
            Location::File(path) => Ok(path),
            server @ Location::Server(_) => {
                super::set_push_target(server);
                default_file()
            }
        }
    }

    /// Opens an existing store.
    pub fn open_existing(&self) -> Result<Store, Failure> {
        Ok(Store::open_existing(&self.location()?)?)
    }

    /// Opens the local store file ([`Self::local_file`]), which must exist.
    pub fn open_local(&self) -> Result<Store, Failure> {
        Ok(Store::open_existing(&self.local_file()?)?)
    }

    /// Opens the local store file, which must exist, for writing.
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
            .abandoned_runs(super::is_alive)?
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

/// Returns the options for verdicts on these sources: the strictest significance level, with the
/// margin of that source unless `margin` is given.
pub fn held_to<'a>(
    sources: impl IntoIterator<Item = &'a FigureSource>,
    margin: Option<f64>,
) -> Options {
    let usual = Options {
        margin: config::margin(),
        ..Options::default()
    };
    let mut held = usual;
    for source in sources {
        let of_run = source.run.as_ref();
        let own = of_run.map_or(usual, |run| Options::of_run(&run.header.stopping));
        let min_trials = held.min_trials.min(source.fewest_trials());
        if own.alpha < held.alpha {
            held = own;
        }
        held.min_trials = min_trials;
    }
    Options {
        margin: margin.unwrap_or(held.margin),
        ..held
    }
}

/// Storage location of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Id of a run or an import.
    Stored(String),
    /// Path of a file, with links resolved.
    File(PathBuf),
}

/// Figures and their origin.
#[derive(Clone, Debug)]
pub struct FigureSource {
    /// Origin of the source; sources with the same origin are the same.
    pub origin: Origin,
    /// Name as the user gave it, with the condition if one was given.
    pub name: String,
    /// Permanent name, independent of the user's reference: the name of a stored run or import, else
    /// its id; for a file, its name.
    pub lasting_name: String,
    /// Figures of one condition, or of all if none was given.
    pub figures: Vec<Figure>,
    /// Parts of the source that were not understood, a sentence each.
    pub notes: Vec<String>,
    /// Circumstances in results of other tools, such as the tool, the kernel and the command, a line
    /// each.
    pub circumstances: Vec<String>,
    /// Run of the figures; `None` for imported results.
    pub run: Option<Box<Run>>,
    /// Condition of the figures, if one was chosen.
    pub condition: Option<String>,
}

/// Splits `SOURCE@CONDITION`; the name of an existing file may contain an @.
pub fn split_condition(word: &str) -> (&str, Option<&str>) {
    let split = word.rsplit_once('@').filter(|_| !Path::new(word).exists());
    match split {
        Some((name, condition)) => (name, Some(condition)),
        None => (word, None),
    }
}

/// Finds the condition of that name, or the only one that has these settings, among the `known`
/// ones of a `source`.
pub fn one_condition(source: &str, known: &[&str], wanted: &str) -> Result<String, Failure> {
    let has_all = |name: &&str| {
        let has = |setting| name.split(',').any(|own| own == setting);
        wanted.split(',').all(has)
    };
    let matching: Vec<&str> = match known.contains(&wanted) {
        true => vec![wanted],
        false => known.iter().copied().filter(has_all).collect(),
    };
    let why = match (matching.as_slice(), known) {
        ([one], _) => return Ok((*one).to_owned()),
        ([], [] | [""]) => format!("{source} has no condition {wanted}: it has none"),
        ([], known) => format!(
            "{source} has no condition {wanted}{}: it has {}",
            meant(wanted, known.iter().copied()),
            enumerate(known)
        ),
        (several, _) => format!(
            "{source} has several conditions with {wanted}: name one of {}",
            enumerate(several)
        ),
    };
    Err(Failure::usage(why))
}

/// Loads the run or import that `word` (`RUN` or `RUN@CONDITION`) names, and finds the condition.
pub fn load_with_condition(
    store: &StoreArgs,
    word: &str,
) -> Result<(Stored, Option<String>), Failure> {
    let (name, wanted) = split_condition(word);
    let stored = load(store, name)?;
    let known: BTreeSet<&str> = match &stored {
        Stored::Run(run) => {
            let of_trials = run
                .trials
                .iter()
                .filter_map(|trial| trial.condition.as_deref());
            of_trials.collect()
        }
        Stored::Import(import) => {
            let figures = import.results.figures.iter();
            figures.map(|figure| figure.condition.as_str()).collect()
        }
    };
    let known: Vec<&str> = known.into_iter().collect();
    let condition = wanted.map(|wanted| one_condition(name, &known, wanted));
    let condition = condition.transpose()?;
    Ok((stored, condition))
}

impl FigureSource {
    /// Finds the source that `word` names: `SOURCE` or `SOURCE@CONDITION`.
    pub fn find(word: &str, store: &StoreArgs) -> Result<Self, Failure> {
        let (name, condition) = split_condition(word);
        let mut source = if Path::new(name).is_file() {
            Self::of_file(name)?
        } else {
            Self::of_store(name, store)?
        };
        if let Some(condition) = condition {
            source.keep(condition)?;
        }
        word.clone_into(&mut source.name);
        Ok(source)
    }

    /// Finds the source that `word` names in a store only, never a file.
    pub fn find_stored(word: &str, store: &Store) -> Result<Self, Failure> {
        let (name, condition) = match word.rsplit_once('@') {
            Some((name, condition)) => (name, Some(condition)),
            None => (word, None),
        };
        let mut source = Self::of_stored(load_from(store, name)?);
        if let Some(condition) = condition {
            source.keep(condition)?;
        }
        word.clone_into(&mut source.name);
        Ok(source)
    }

    fn of_stored(stored: Stored) -> Self {
        match stored {
            Stored::Import(import) => Self::of_import(*import),
            Stored::Run(run) => Self::of_run(*run),
        }
    }

    fn of_file(name: &str) -> Result<Self, Failure> {
        let path = Path::new(name);
        let results = read_file(path, None)?.results;
        let origin = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self {
            origin: Origin::File(origin),
            ..Self::of_results(name.to_owned(), results)
        })
    }

    /// Returns all figures of a run.
    pub fn of_run(run: Run) -> Self {
        Self {
            origin: Origin::Stored(run.header.id.clone()),
            name: run.header.id.clone(),
            lasting_name: run
                .annotation
                .name
                .as_ref()
                .unwrap_or(&run.header.id)
                .clone(),
            figures: of_trials(&run.header, &run.trials),
            notes: Vec::new(),
            circumstances: Vec::new(),
            run: Some(Box::new(run)),
            condition: None,
        }
    }

    /// Returns all figures of imported results.
    pub fn of_import(import: Import) -> Self {
        let given = import.annotation.name;
        Self {
            lasting_name: given.unwrap_or_else(|| import.id.clone()),
            ..Self::of_results(import.id, import.results)
        }
    }

    fn of_results(name: String, results: Results) -> Self {
        let mut circumstances = results.circumstances;
        if !results.tool.is_empty() {
            circumstances.insert(0, format!("tool: {}", results.tool));
        }
        Self {
            origin: Origin::Stored(name.clone()),
            lasting_name: name.clone(),
            name,
            figures: results.figures,
            notes: results.notes,
            circumstances,
            run: None,
            condition: None,
        }
    }

    fn of_store(name: &str, args: &StoreArgs) -> Result<Self, Failure> {
        let location = args.location()?;
        let store = Store::open_existing(&location).map_err(|error| {
            Failure::usage(format!(
                "{name} is not a file, and no run can be looked up: {error}"
            ))
        })?;
        let loaded = load_from(&store, name).map_err(|failure| match failure.is_usage() {
            true => Failure::usage(format!("{name} is not a file, and {failure}")),
            false => failure,
        })?;
        Ok(Self::of_stored(loaded))
    }

    /// Returns the source in the form for reports.
    pub fn shown(&self) -> names::ComparedSource<'_> {
        names::ComparedSource {
            name: &self.name,
            lasting_name: &self.lasting_name,
            figures: &self.figures,
            run: self.run.as_deref(),
            circumstances: &self.circumstances,
        }
    }

    /// Returns `true` if both are the same trials: of one run, import or file, under one condition.
    /// Equal figures are not compared.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.origin == other.origin && self.condition == other.condition
    }

    /// Returns the minimum number of trials per side for a verdict. Three suffice for imported results,
    /// which cannot be repeated.
    pub fn fewest_trials(&self) -> usize {
        match self.run {
            Some(_) => Options::default().min_trials,
            None => 3,
        }
    }

    /// Returns the names of the conditions, in their order.
    pub fn conditions(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.figures.iter().map(|figure| figure.condition.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the figures under one condition.
    pub fn under(&self, condition: &str) -> Vec<Figure> {
        let these = self
            .figures
            .iter()
            .filter(|figure| figure.condition == condition);
        these.cloned().collect()
    }

    /// Returns the run with only the trials of the figures.
    pub fn run_of_figures(&self) -> Option<Run> {
        let mut run = Run::clone(self.run.as_deref()?);
        if let Some(condition) = &self.condition {
            run.trials
                .retain(|trial| trial.condition.as_ref() == Some(condition));
        }
        Some(run)
    }

    /// Keeps only the figures of one condition.
    fn keep(&mut self, wanted: &str) -> Result<(), Failure> {
        let condition = one_condition(&self.name, &self.conditions(), wanted)?;
        self.figures = self.under(&condition);
        self.condition = Some(condition);
        Ok(())
    }

    /// Returns the source; fails unless it has figures, and all of one condition.
    pub fn single(self) -> Result<Self, Failure> {
        match self.conditions().as_slice() {
            [] => Err(Failure::usage(format!("{} has no figures", self.name))),
            [_] => Ok(self),
            several => Err(Failure::usage(format!(
                "{} has several conditions: name one behind an @, such as {}@{} (there are {})",
                self.name,
                self.name,
                several[0],
                enumerate(several)
            ))),
        }
    }
}

/// Name that stands for standard input.
const STDIN: &str = "-";
/// Maximum size of a file, in bytes: results are smaller, but a device is not.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Checks that standard input is given at most once.
pub fn only_once(files: &[PathBuf]) -> Result<(), Failure> {
    let count = files
        .iter()
        .filter(|file| *file == Path::new(STDIN))
        .count();
    if count > 1 {
        return Err(Failure::usage(
            "standard input (-) is named twice, and can be read once",
        ));
    }
    Ok(())
}

/// Reads the text of a file; returns a note if it had to be converted.
fn read_text(file: &Path) -> Result<(String, Option<String>), Failure> {
    let bytes = read_bytes(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file_in_words(file))))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::usage(format!(
            "{} is larger than 1 GiB: results are not",
            file_in_words(file)
        )));
    }
    Ok(decode_text(bytes, &file_in_words(file)))
}

fn read_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file == Path::new(STDIN) {
        io::stdin()
            .lock()
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)?;
    } else {
        input::open(file)?
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Decodes UTF-8, or UTF-16, which some spreadsheets write.
fn decode_text(bytes: Vec<u8>, name: &str) -> (String, Option<String>) {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes.chunks_exact(2);
        pairs.map(|pair| unit([pair[0], pair[1]])).collect()
    };
    let wide = match &bytes[..] {
        [0xff, 0xfe, rest @ ..] => Some(units(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Some(units(rest, u16::from_be_bytes)),
        _ => None,
    };
    if let Some(wide) = wide {
        return (String::from_utf16_lossy(&wide), None);
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => (
            String::from_utf8_lossy(error.as_bytes()).into_owned(),
            Some(format!(
                "{name} is not UTF-8: characters that are not known are shown as \u{fffd}."
            )),
        ),
    }
}

/// Reads the results of one file. With `format` `None`, the format is detected.
pub fn read_file(file: &Path, format: Option<Format>) -> Result<Taken, Failure> {
    let (text, note) = read_text(file)?;
    let mut taken = read(&text, format)
        .map_err(|error| Failure::usage(format!("{}: {error}", file_in_words(file))))?;
    taken.results.notes.extend(note);
    Ok(taken)
}

/// Returns the name of a file for messages.
pub fn file_in_words(file: &Path) -> String {
    if file == Path::new(STDIN) {
        return "standard input".to_owned();
    }
    file.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Sample;

    fn source(conditions: &[&str]) -> FigureSource {
        let figure = |condition: &&str| Figure {
            condition: (*condition).to_owned(),
            metric: "read_bw".to_owned(),
            unit: "B/s".to_owned(),
            better: None,
            primary: true,
            sample: Sample::Moments {
                n: 3,
                mean: 1.0,
                stdev: None,
            },
            measured: None,
            waited: None,
        };
        let figures = conditions.iter().map(figure).collect();
        FigureSource::of_results(
            "r".to_owned(),
            Results {
                figures,
                ..Results::default()
            },
        )
    }

    #[test]
    fn a_setting_names_the_only_condition_that_has_it_or_all_are_listed() {
        let all = [
            "scheduler=none,read_ahead_kb=128",
            "scheduler=none,read_ahead_kb=512",
            "scheduler=bfq,read_ahead_kb=512",
        ];
        let kept = |wanted| {
            let mut source = source(&all);
            let kept = source.keep(wanted).map_err(|failure| failure.to_string());
            kept.map(|()| source.condition.unwrap_or_default())
        };
        assert_eq!(kept(all[0]).as_deref(), Ok(all[0]));
        assert_eq!(kept("scheduler=bfq").as_deref(), Ok(all[2]));
        assert_eq!(
            kept("read_ahead_kb=512,scheduler=none").as_deref(),
            Ok(all[1])
        );
        let several = kept("scheduler=none").unwrap_err();
        assert!(
            several.contains(all[0]) && several.contains(all[1]),
            "{several}"
        );
        assert!(!several.contains(all[2]), "{several}");
        assert!(kept("bfq").unwrap_err().contains("has no condition bfq"));
    }

    #[test]
    fn texts_of_spreadsheets_are_read() {
        let wide: Vec<u8> = "\u{feff}a;µ\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decode_text(wide, "f").0, "a;µ\n");
        let latin = decode_text(b"a;\xb5s\n".to_vec(), "f");
        assert_eq!(latin.0, "a;\u{fffd}s\n");
        assert!(
            latin
                .1
                .is_some_and(|note| note.starts_with("f is not UTF-8"))
        );
    }
}
