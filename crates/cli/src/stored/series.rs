//! Series of the store: updated before they are read, and found by their names. Users add their
//! opinions on changes with `--accept`, `--false` and `--withdraw`.

use crate::checks::input;
use crate::exit::Failure;
use crate::output::say;
use crate::stored::lookup::{StoreArgs, data_folder};
use assay_lang::{counted, tr};
use assay_model::annotation::parse_note;
use assay_model::figures::{Opinion, OpinionState, StoredSeries};
use assay_report::population::{Secret, SharedRun};
use assay_report::words::clean;
use assay_series::Refreshed;
use assay_store::{Location, SeriesFilter, Store, StoreError, StoredId};
use clap::Args;
use jiff::Timestamp;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::HashSet;
use std::fs::{DirEntry, File};
use std::io::{ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Number of new runs from which a message is printed, because deriving them takes a while.
const MANY: usize = 200;

/// Opens an existing store, and updates its series. A read-only store keeps its series, and a
/// message is printed if they are not up to date.
pub fn open(args: &StoreArgs) -> Result<Store, Failure> {
    let (store, is_current) = brought_up_to_date(args)?;
    if !is_current {
        say(tr!(
            "assay: the store may only be read, and some of its series are not up to date: they are as they were last"
        ));
    }
    Ok(store)
}

/// Opens an existing store for a gate, and updates its series: a gate must not pass runs that are
/// in no series.
///
/// # Errors
/// If the store is read-only and runs are missing in its series.
pub fn open_for_gate(args: &StoreArgs) -> Result<Store, Failure> {
    let (store, is_current) = brought_up_to_date(args)?;
    match is_current {
        true => Ok(store),
        false => Err(Failure::failed(
            "no verdict: some series are not up to date, and this store may only be read: let a user \
             who may write run assay series, or run the gate as one",
        )),
    }
}

/// Returns the store, and `false` if it is read-only and its series are not up to date.
fn brought_up_to_date(args: &StoreArgs) -> Result<(Store, bool), Failure> {
    let there = args.open_existing()?;
    let mut store = match there.location() {
        Location::File(_) => Store::open(there.location()).unwrap_or(there),
        Location::Server(_) => there,
    };
    let is_current = refresh(&mut store)?;
    Ok((store, is_current))
}

/// Updates series; returns `false` if they are not up to date and the store is read-only.
pub fn refresh(store: &mut Store) -> Result<bool, Failure> {
    match assay_series::refresh(store, progress_printer()) {
        Err(StoreError::ReadOnly { .. } | StoreError::Forbidden { .. }) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(done) => {
            report_damaged(done);
            Ok(true)
        }
    }
}

/// Time limit for the update of series after a push; the rest is done when they are read.
const BEHIND_A_PUSH: Duration = Duration::from_secs(2);

/// Updates the series after a push, for users who can only read the store. A failure here is no
/// failure of the push.
pub fn refresh_after_push(location: &Location) {
    let begun = Instant::now();
    let go_on = |_, runs| match runs > MANY || begun.elapsed() > BEHIND_A_PUSH {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let _ = Store::open_existing(location)
        .and_then(|mut store| assay_series::refresh(&mut store, go_on));
}

/// Removes all derived data and derives it again.
pub fn rebuild(args: &StoreArgs) -> Result<(), Failure> {
    let mut store = args.open_to_change()?;
    let done = assay_series::rebuild(&mut store, progress_printer())?;
    report_damaged(done);
    let runs = counted!(done.runs, "{n} run", "{n} runs");
    let jobs = counted!(done.jobs, "{n} job", "{n} jobs");
    say(&tr!("derived again: {runs}, series of {jobs}", runs, jobs));
    Ok(())
}

/// Returns a progress callback that prints one message if there is much to do.
fn progress_printer() -> impl FnMut(Refreshed, usize) -> ControlFlow<()> {
    let mut told = false;
    move |_, runs| {
        if runs >= MANY && !told {
            let runs = counted!(runs, "{n} run", "{n} runs");
            say(&tr!("assay: figures of {runs} are added to series", runs));
            told = true;
        }
        ControlFlow::Continue(())
    }
}

fn report_damaged(done: Refreshed) {
    if done.damaged > 0 {
        let runs = counted!(done.damaged, "{n} run", "{n} runs");
        let text = tr!("assay: {runs} cannot be read and are in no series", runs);
        say(&text);
    }
}

/// Finds the series that `text` names: a key, its first digits, or words that occur in the
/// description of the series. If several match, the only deciding one is taken.
pub fn find(store: &Store, text: &str) -> Result<StoredSeries, Failure> {
    let is_key = text.len() >= 4 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    if is_key {
        let filter = SeriesFilter {
            key: Some(text.to_ascii_lowercase()),
            ..SeriesFilter::default()
        };
        if let [only] = store.series(&filter)?.as_slice() {
            return Ok(only.clone());
        }
    }
    let mut found = store.series(&SeriesFilter::default())?;
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    found.retain(|series| {
        let of = described(series);
        words.iter().all(|word| of.contains(word))
    });
    let mut deciding = found.iter().filter(|series| series.primary);
    match (found.as_slice(), deciding.next(), deciding.next()) {
        ([only], _, _) => Ok(only.clone()),
        (_, Some(only), None) => Ok(only.clone()),
        ([], _, _) => Err(Failure::usage(format!(
            "no series '{}': assay series --all lists those that there are",
            clean(text)
        ))),
        (several, _, _) => Err(Failure::usage(ambiguous(text, several))),
    }
}

/// Returns the text that is searched for the user's words.
fn described(series: &StoredSeries) -> String {
    let parts = [
        &series.key,
        &series.project,
        &series.model,
        &series.unit,
        &series.target,
        &series.job,
        &series.condition,
        &series.metric,
        &series.label,
    ];
    let parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    parts.join(" ")
}

/// Maximum number of series that are listed if several match.
const NAMED: usize = 6;

fn ambiguous(text: &str, several: &[StoredSeries]) -> String {
    let mut sorted: Vec<&StoredSeries> = several.iter().collect();
    sorted.sort_by_key(|series| !series.primary);
    let shown = sorted
        .iter()
        .take(NAMED)
        .map(|series| format!("{} ({})", series.key, identify(series)));
    let shown: Vec<String> = shown.collect();
    let more = match several.len() > NAMED {
        true => ", ...",
        false => "",
    };
    format!(
        "'{}' fits {} series: give more words, or a key: {}{more}",
        clean(text),
        several.len(),
        shown.join(", ")
    )
}

/// Returns the words that identify this series: one device has several metrics of a job.
fn identify(series: &StoredSeries) -> String {
    let parts = [
        &series.target,
        &series.job,
        &series.condition,
        &series.metric,
    ];
    let parts = parts.iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| clean(part)).collect();
    parts.join(" ")
}

/// File of the secret in the data folder.
const SECRET: &str = "share.key";
/// Mode of the secret's file: only the user may read it.
const OWN: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// Maximum number of files that are read.
const MAX_FILES: usize = 100_000;
/// Depth of nested folders that are searched.
const DEPTH: usize = 4;

/// Returns the secret, which is created if it does not exist.
pub fn secret() -> Result<Secret, Failure> {
    let path = secret_path()?;
    if let Some(secret) = read_secret(&path)? {
        return Ok(secret);
    }
    make_secret(&path)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
    // Another command may have created it first: use the secret in the file.
    read_secret(&path)?.ok_or_else(|| Failure::failed(format!("{} is gone", path.display())))
}

/// Returns the secret if it exists: a user who never shared a run has no unit in the population.
pub fn known_secret() -> Result<Option<Secret>, Failure> {
    read_secret(&secret_path()?)
}

fn secret_path() -> Result<PathBuf, Failure> {
    let folder = data_folder().ok_or_else(|| {
        Failure::usage("neither XDG_DATA_HOME nor HOME is set: there is no place for the secret")
    })?;
    Ok(folder.join(SECRET))
}

fn read_secret(path: &Path) -> Result<Option<Secret>, Failure> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::in_file(path, error)),
    };
    let unusable = |error: io::Error| Failure::in_file(path, error);
    let meta = file.metadata().map_err(unusable)?;
    if meta.mode() & OTHERS != 0 {
        let why = "other users can read this secret: chmod 600 it, if none has";
        return Err(Failure::in_file(path, why));
    }
    let mut bytes = Vec::new();
    file.take(64).read_to_end(&mut bytes).map_err(unusable)?;
    let secret = bytes.try_into().map_err(|_| {
        Failure::in_file(
            path,
            "it is no secret of assay store share, which has 32 bytes",
        )
    })?;
    Ok(Some(Secret(secret)))
}

/// Writes the secret to a temporary file first, so that no process reads half of it.
fn make_secret(path: &Path) -> io::Result<()> {
    let mut bytes = [0; 32];
    if getrandom(&mut bytes, GetRandomFlags::empty())? != bytes.len() {
        return Err(io::Error::other("the kernel gave too few random bytes"));
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let mut new = File::options();
    let mut file = new.write(true).create_new(true).mode(OWN).open(&beside)?;
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&beside, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&beside)?;
    linked
}

/// Reads all shared runs below a folder, and prints a warning for other files.
pub fn read(folder: &Path) -> Result<Vec<SharedRun>, Failure> {
    let mut files = Vec::new();
    search(folder, DEPTH, &mut files)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", folder.display())))?;
    files.sort();
    let mut runs = Vec::with_capacity(files.len());
    let mut damaged = Vec::new();
    for file in &files {
        match read_one(file) {
            Ok(run) => runs.push(run),
            Err(why) => damaged.push(format!("{}: {why}", file.display())),
        }
    }
    if let Some(first) = damaged.first() {
        say(&clean(&format!(
            "assay: warning: {} of {} files are no shared runs and do not count, such as {first}",
            damaged.len(),
            files.len()
        )));
    }
    Ok(runs)
}

/// Finds files that end in .json; hidden folders, such as git's own, and links are skipped.
fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry: DirEntry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        if kind.is_dir() && !hidden && depth > 0 {
            search(&path, depth - 1, files)?;
        } else if kind.is_file() && !hidden && is_json {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            let why = format!("it has more than {MAX_FILES} files");
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

fn read_one(path: &Path) -> Result<SharedRun, String> {
    let text = input::small_text(path).map_err(|error| error.to_string())?;
    let run: SharedRun = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match run.is_sound() {
        true => Ok(run),
        false => Err("it is of another version".to_owned()),
    }
}

/// Options for outputs, which conflict with storing an opinion.
const OUTPUT: [&str; 3] = ["json", "output", "format"];

/// An opinion on the changes that begin with a run.
#[derive(Args, Clone, Debug, Default)]
pub struct OpinionArgs {
    /// Accept the changes that begin with this run: they are real and known. The series begin anew
    /// there.
    #[arg(long, value_name = "RUN", group = "opinion", conflicts_with_all = OUTPUT)]
    pub accept: Option<String>,
    /// Mark the changes that begin with this run as none: they are not shown again.
    #[arg(long = "false", value_name = "RUN", group = "opinion", conflicts_with_all = OUTPUT)]
    pub no_change: Option<String>,
    /// Withdraw the opinion on the changes that begin with this run.
    #[arg(long, value_name = "RUN", group = "opinion", conflicts_with = "note", conflicts_with_all = OUTPUT)]
    pub withdraw: Option<String>,
    /// Reason, kept with the opinion.
    #[arg(long, value_name = "TEXT", requires = "opinion", value_parser = parse_note)]
    pub note: Option<String>,
}

impl OpinionArgs {
    /// Returns the run that the opinion is on, and the opinion; `None` withdraws it.
    fn wanted(&self) -> Option<(&str, Option<OpinionState>)> {
        let accepted = self.accept.as_deref();
        let accepted = accepted.map(|run| (run, Some(OpinionState::Accepted)));
        let none = self.no_change.as_deref();
        let none = none.map(|run| (run, Some(OpinionState::False)));
        let withdrawn = self.withdraw.as_deref().map(|run| (run, None));
        accepted.or(none).or(withdrawn)
    }

    /// Stores the opinion on each series of a filter that changed with the run; returns `false` if no
    /// opinion was given.
    ///
    /// # Errors
    /// If no series changed there, or the store cannot be written.
    pub fn apply(&self, store: &mut Store, filter: &SeriesFilter) -> Result<bool, Failure> {
        let Some((name, state)) = self.wanted() else {
            return Ok(false);
        };
        let run = match store.find(name)? {
            StoredId::Run(id) => id,
            StoredId::Import(id) => {
                return Err(Failure::usage(format!(
                    "{id} is an import: series are of runs of assay"
                )));
            }
        };
        let opinions = store.opinions(None)?.into_iter();
        let opinions = opinions.filter(|opinion| opinion.run == run);
        let mut concerned: HashSet<String> = opinions.map(|opinion| opinion.series).collect();
        if state.is_some() {
            let changes = store.changes(filter)?.into_iter();
            let changes = changes.filter(|(_, change)| change.run == run);
            concerned.extend(changes.map(|(series, _)| series.key));
        }
        let mut meant = store.series(filter)?;
        meant.retain(|series| concerned.contains(&series.key));
        if meant.is_empty() {
            return Err(Failure::usage(match state {
                Some(_) => format!(
                    "no change of these series begins with run {run}: assay series SERIES names the \
                     run of each change"
                ),
                None => format!("no opinion is stored on a change that begins with run {run}"),
            }));
        }
        for series in &meant {
            match state {
                Some(state) => store.save_opinion(&self.opinion(series, &run, state))?,
                None => store.remove_opinion(&series.key, &run)?,
            }
        }
        // Update the series for users who can only read the store.
        refresh(store)?;
        let series = counted!(meant.len(), "{n} series", "{n} series");
        say(&match state {
            Some(OpinionState::Accepted) => tr!("accepted at run {run}: {series}", run, series),
            Some(OpinionState::False) => {
                tr!("marked as no change at run {run}: {series}", run, series)
            }
            None => tr!("withdrawn at run {run}: {series}", run, series),
        });
        Ok(true)
    }

    fn opinion(&self, series: &StoredSeries, run: &str, state: OpinionState) -> Opinion {
        let at = u64::try_from(Timestamp::now().as_millisecond());
        Opinion {
            series: series.key.clone(),
            run: run.to_owned(),
            state,
            note: self.note.clone().unwrap_or_default(),
            author: author(),
            at_unix_ms: at.unwrap_or(0),
        }
    }
}

/// Maximum length of an author's name, in characters.
const LONGEST_NAME: usize = 60;

/// Returns the name of the user, for others who read the opinion.
fn author() -> String {
    let names = ["USER", "LOGNAME"].into_iter();
    let mut names = names.filter_map(|name| std::env::var(name).ok());
    let name = names.find(|name| !name.is_empty());
    let name = name.map_or_else(|| "unknown".to_owned(), |name| clean(&name));
    name.chars().take(LONGEST_NAME).collect()
}
