//! `assay list`, and of `assay store`: `import`, `tag` and `rm`: the runs and imports in the store.

use crate::commands::command_of;
use crate::driver::runs::{run_id, unix_ms};
use crate::exit::{DONE, Failure};
use crate::output::{print, print_columns, print_json, prints_to_terminal, say, style};
use crate::stored::lookup::{StoreArgs, file_in_words, only_once, read_file};
use crate::stored::{AnnotationArgs, KeepArgs};
use crate::ui::{one_of, parse_since};
use crate::{sharing, stored};
use assay_dialects::import::{Format, together};
use assay_lang::{in_english, tr};
use assay_model::annotation::Annotation;
use assay_model::figures::Import;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::text::clean;
use assay_model::units::Bytes;
use assay_report::import::write_json;
use assay_report::json::rfc3339;
use assay_report::key_figure::{KeyFigure, key_job};
use assay_report::terminal::{ListRow, write_list};
use assay_report::{terminal, views};
use assay_store::{
    ImportSummary, ListFilter, Listed, RunSummary, RunsFilter, SomeTrials, Store, StoredId,
};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Version of the JSON of a list; rises when a field is removed or changes its meaning.
const LIST_SCHEMA: u32 = 1;

const LIST_HELP: &str = "\
Examples:
  assay list --command qualify --since 7d
  assay list --device DG4032 --text nightly
  assay list --limit 500
  assay list --json | jq '.runs[].id'

A terminal shows the newest 50. What is written to a pipe is not shortened. docs/json.md
describes the JSON.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.";

/// `assay list`.
#[derive(Args, Debug)]
#[command(after_help = LIST_HELP)]
pub struct ListArgs {
    /// List only runs on devices whose description contains this text, such as DG4032 or nvme.
    #[arg(long, value_name = "TEXT")]
    pub device: Option<String>,
    /// List only runs of this command, such as qualify or import.
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,
    /// List only runs that began since a day (2026-03-14, UTC) or within a time (7d, 12h, 30min).
    #[arg(long, value_name = "DATE|TIME", value_parser = parse_since)]
    pub since: Option<u64>,
    /// List only runs whose name, path, device, tag or note contains this text.
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// List at most this many, the newest [default: 50 in a terminal, else all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// List all, also in a terminal.
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Print the list as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A run or an import as it is listed.
struct ListedResult {
    kind: &'static str,
    id: String,
    annotation: Annotation,
    command: String,
    started_unix_ms: u64,
    finished_unix_ms: Option<u64>,
    status: RunStatus,
    target: Option<String>,
    path: String,
    files: Vec<String>,
    device: String,
    trials: u32,
    planned: u32,
    data_lost: bool,
    size: Option<Bytes>,
    figure: Option<KeyFigure>,
}

/// `assay list`; `traits` names what a run of `assay model traits` shows.
pub fn list_results(
    args: &ListArgs,
    traits: impl Fn(&Run) -> Option<KeyFigure>,
) -> Result<ExitCode, Failure> {
    match args.json {
        true => in_english(|| show_list(args, traits)),
        false => show_list(args, traits),
    }
}

fn show_list(
    args: &ListArgs,
    traits: impl Fn(&Run) -> Option<KeyFigure>,
) -> Result<ExitCode, Failure> {
    let store = args.store.open_existing()?;
    let (mut kept, is_whole) = newest(&store, args)?;
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    for entry in &mut kept {
        if abandoned.iter().any(|run| run.id == entry.id) {
            entry.status = RunStatus::Interrupted;
        }
    }
    for entries in kept.chunks_mut(FEW as usize) {
        add_facts_of_records(entries, &store, &traits);
    }
    match args.json {
        true => {
            let runs: Vec<Value> = kept.iter().map(ListedResult::json).collect();
            let waiting = sharing::json(&sharing::waiting(&args.store));
            print_json(&json!({ "schema": LIST_SCHEMA, "runs": runs, "waiting": waiting }))?;
        }
        false => {
            let others = match kept.is_empty() {
                true => store.count(&ListFilter::default())?,
                false => 0,
            };
            if others > 0 {
                say(&tr!("No run matches: assay list shows all {n}", n = others));
            } else {
                let rows: Vec<ListRow> = kept.iter().map(ListedResult::row).collect();
                print(|out| write_list(&rows, style(), print_columns(), out))?;
            }
            let waiting = sharing::waiting_in_words(&sharing::waiting(&args.store));
            waiting.iter().for_each(|line| say(line));
        }
    }
    if !is_whole && !args.json {
        let (n, all) = (kept.len(), store.count(&args.filter())?);
        // The store cannot count the runs of a command.
        say(&match args.command {
            None => tr!("the newest {n} of {all}; --all lists all", n, all),
            Some(_) => tr!("the newest {n}; --all lists all", n),
        });
    }
    Ok(DONE)
}

/// Default limit of a list in a terminal.
const FEW: u32 = 50;
/// Number of entries that are read at a time.
const PAGE: u32 = 500;

/// Returns the newest entries that match, and `true` if these are all.
fn newest(store: &Store, args: &ListArgs) -> Result<(Vec<ListedResult>, bool), Failure> {
    let few = (!args.all && !args.json && prints_to_terminal()).then_some(FEW);
    let limit = args
        .limit
        .or(few)
        .map_or(usize::MAX, |limit| limit as usize);
    let filter = args.filter();
    let mut kept = Vec::new();
    let mut after = None;
    loop {
        let missing = limit - kept.len();
        let enough = u32::try_from(missing).unwrap_or(PAGE).clamp(FEW, PAGE);
        let page = store.page(&filter, after, enough)?;
        let entries = page.entries.into_iter().map(|entry| match entry {
            Listed::Run(run) => of_run(run),
            Listed::Import(import) => of_import(import),
        });
        kept.extend(entries.filter(|entry| {
            let wanted = args.command.as_ref();
            wanted.is_none_or(|wanted| *wanted == entry.command)
        }));
        let is_more = kept.len() > limit;
        kept.truncate(limit);
        match page.next {
            None => return Ok((kept, !is_more)),
            Some(_) if kept.len() >= limit => return Ok((kept, false)),
            next => after = next,
        }
    }
}

impl ListArgs {
    fn filter(&self) -> ListFilter {
        ListFilter {
            since_unix_ms: self.since,
            // A text match can be another command's: a path can contain the command's name.
            command: self.command.clone(),
            device: self.device.clone(),
            text: self.text.clone(),
            of_runs: RunsFilter::default(),
        }
    }
}

fn of_run(run: RunSummary) -> ListedResult {
    ListedResult {
        kind: "run",
        id: run.id,
        annotation: run.annotation,
        command: command_of(&run.command).to_owned(),
        started_unix_ms: run.started_unix_ms,
        finished_unix_ms: run.finished_unix_ms,
        status: run.status,
        target: run.target,
        path: run.path,
        files: Vec::new(),
        device: run.device,
        trials: run.trials_done,
        // The steps of an act may be known only as they run, so that none was planned.
        planned: run.trials_planned.max(run.trials_done),
        data_lost: run.data_lost,
        size: None,
        figure: None,
    }
}

/// Makes the entry of an import: its files identify it, and its tool stands for the command.
fn of_import(import: ImportSummary) -> ListedResult {
    ListedResult {
        kind: "import",
        id: import.id,
        annotation: import.annotation,
        command: "import".to_owned(),
        started_unix_ms: import.imported_unix_ms,
        finished_unix_ms: Some(import.imported_unix_ms),
        status: RunStatus::Finished,
        target: None,
        path: import.files.join(", "),
        files: import.files,
        device: import.tool,
        trials: import.figures,
        planned: import.figures,
        data_lost: false,
        size: None,
        figure: None,
    }
}

/// Adds facts from the records. A damaged record adds none: `assay report` describes the damage.
fn add_facts_of_records(
    entries: &mut [ListedResult],
    store: &Store,
    traits: impl Fn(&Run) -> Option<KeyFigure>,
) {
    let runs = entries.iter().filter(|entry| entry.kind != "import");
    let ids: Vec<&str> = runs.map(|entry| entry.id.as_str()).collect();
    let mut runs = store.load_several(&ids, trials_for).unwrap_or_default();
    for entry in entries {
        match runs.remove(&entry.id) {
            Some(Ok(some)) => entry.take_from(&some.run, store, &traits),
            None if entry.kind == "import" => {
                let import = store.load_import(&entry.id).ok();
                entry.figure = import.and_then(|import| KeyFigure::of_import(&import));
            }
            _ => {}
        }
    }
}

impl ListedResult {
    /// Adds facts from the record of a run, which contains only some of its trials.
    fn take_from(&mut self, some: &Run, store: &Store, traits: impl Fn(&Run) -> Option<KeyFigure>) {
        let size = some.header.plan.file_size;
        self.size = (size.0 > 0).then_some(size);
        if self.command == "traits" {
            self.figure = traits(some);
            return;
        }
        self.figure = KeyFigure::of_run(some);
        if self.figure.is_none() && some.trials.len() < self.trials as usize {
            let whole = store.load(&self.id).ok();
            self.figure = whole.and_then(|whole| KeyFigure::of_run(&whole.run));
        }
    }

    /// Returns the status, `imported` for an import.
    fn status_word(&self) -> &'static str {
        match self.kind {
            "import" => "imported",
            _ => self.status.word(),
        }
    }

    fn row(&self) -> ListRow {
        let figure = self.figure.as_ref();
        ListRow {
            id: self.id.clone(),
            name: self.annotation.name.clone().unwrap_or_default(),
            started_unix_ms: self.started_unix_ms,
            command: self.command.clone(),
            path: format!(
                "{}{}",
                self.target.as_deref().unwrap_or_default(),
                self.path
            ),
            device: self.device.clone(),
            status: self.status_word().to_owned(),
            trials: self.trials.into(),
            planned: self.planned.into(),
            data_lost: self.data_lost,
            figure: figure.map_or_else(String::new, |figure| figure.text.clone()),
            measured: figure.map_or_else(String::new, |figure| {
                let value = figure.value.is_some();
                let unknown = value.then(|| "unknown".to_owned());
                figure.measured.clone().or(unknown).unwrap_or_default()
            }),
            size: self.size.map_or_else(String::new, |size| size.to_string()),
            tags: self.annotation.tags.join(", "),
        }
    }

    fn json(&self) -> Value {
        let error = match &self.status {
            RunStatus::Failed { error } => Some(error),
            _ => None,
        };
        json!({
            "kind": self.kind,
            "id": self.id,
            "name": self.annotation.name,
            "tags": self.annotation.tags,
            "note": self.annotation.note,
            "command": self.command,
            "started": rfc3339(self.started_unix_ms),
            "finished": self.finished_unix_ms.map(rfc3339),
            "status": self.status_word(),
            "error": error,
            "target": self.target,
            "path": self.path,
            "files": self.files,
            "device": self.device,
            "trials_done": self.trials,
            "trials_planned": self.planned,
            "data_lost": self.data_lost,
            "file_size_bytes": self.size,
            "key_figure": self.figure,
        })
    }
}

/// Returns the trials of a run that a list needs: those of its key job, or those with its finding.
fn trials_for(header: &RunHeader) -> SomeTrials {
    match command_of(&header.command) {
        "soak" => SomeTrials::Last,
        "capacity" | "powercut" | "traits" => SomeTrials::All,
        _ => {
            key_job(&header.plan).map_or(SomeTrials::All, |job| SomeTrials::OfJob(job.name.clone()))
        }
    }
}

const IMPORT_HELP: &str = "\
Examples:
  assay store import before.json                  fio's JSON
  assay store import --condition bfq bfq-*.json   three files, three trials
  fio job.fio | assay store import -              its normal output
  assay store import --condition A iozone.txt     its tables and -R blocks
  assay store import androbench.csv               condition,metric,unit,n, ...

Facts that the files do not contain are unknown: above all, whether the device or the
page cache was measured.

Exit codes: 0 done, 1 failed, 2 a file cannot be read or
understood; nothing is stored then.";

/// `assay store import`.
#[derive(Args, Debug)]
#[command(after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// Files written by fio, iozone, dd or vmstat, or tables (CSV); - is standard input. The
    /// same metric in several files gives several trials.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the files, if it is not detected.
    #[arg(long, value_name = "FORMAT", value_parser = one_of(&Format::ALL, Format::name))]
    pub format: Option<Format>,
    /// Condition of all figures, such as bfq or 'unit A'.
    #[arg(long, value_name = "NAME")]
    pub condition: Option<String>,
    /// Print the import as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
}

/// Imports all files, or none of them if one fails.
pub fn import_files(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let location = args.store.store.location()?;
    let import = import_of_files(args)?;
    let mut store = args.store.open(&location)?;
    store.save_import(&import)?;
    if args.json {
        print(|out| write_json(&import, out))?;
        return Ok(DONE);
    }
    let id = &import.id;
    let closing = [tr!("Stored as import {id}: assay report {id}", id)];
    print(|out| terminal::write(&views::import::document(&import), style(), &closing, out))?;
    Ok(DONE)
}

fn import_of_files(args: &ImportArgs) -> Result<Import, Failure> {
    only_once(&args.files)?;
    let mut taken = Vec::new();
    for file in &args.files {
        taken.push(read_file(file, args.format)?);
    }
    let results = together(taken, args.condition.as_deref())
        .map_err(|error| Failure::usage(format!("the files together: {error}")))?;
    Ok(Import {
        id: run_id(),
        imported_unix_ms: unix_ms(),
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
        files: args.files.iter().map(|file| file_in_words(file)).collect(),
        results,
        annotation: args.store.annotation.annotation(),
    })
}

/// Group of the options for changes, of which at least one is required.
fn annotation_changes() -> ArgGroup {
    let group = ArgGroup::new("changes").args(["name", "no_name", "tag", "untag", "note"]);
    group.required(true).multiple(true)
}

/// `assay store tag`.
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  assay store tag last --name baseline --tag nightly
  assay store tag baseline --note 'kernel 6.12, before the patch'
  assay compare baseline last

Names, tags and notes can change; the measured record cannot.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.",
    group(annotation_changes())
)]
pub struct TagArgs {
    /// Name, id, beginning of an id, or `last`.
    pub run: String,
    #[command(flatten)]
    pub annotation: AnnotationArgs,
    /// Remove its name.
    #[arg(long, conflicts_with = "name")]
    pub no_name: bool,
    /// Remove a tag; may be given several times.
    #[arg(long, value_name = "TAG")]
    pub untag: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay store tag`.
pub fn tag_result(args: &TagArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_to_change()?;
    let found = store.find(&args.run)?;
    let before = store.annotation(found.id())?;
    if let Some(missing) = args.untag.iter().find(|tag| !before.tags.contains(tag)) {
        let id = found.id();
        return Err(Failure::usage(format!("{id} has no tag '{missing}'")));
    }
    let after = store.annotate(found.id(), |annotation| change_annotation(annotation, args))?;
    let shown =
        annotation_in_words(&after).unwrap_or_else(|| tr!("no name, no tags, no note").to_owned());
    say(&format!("{}: {shown}", clean(found.id())));
    Ok(DONE)
}

fn change_annotation(annotation: &mut Annotation, args: &TagArgs) {
    if args.no_name {
        annotation.name = None;
    }
    if let Some(name) = &args.annotation.name {
        annotation.name = Some(name.clone());
    }
    annotation.tags.retain(|tag| !args.untag.contains(tag));
    for tag in &args.annotation.tag {
        annotation.add_tag(tag);
    }
    if let Some(note) = &args.annotation.note {
        annotation.note = Some(note.clone()).filter(|note| !note.is_empty());
    }
}

/// Formats an annotation in one line; `None` if it is empty.
fn annotation_in_words(annotation: &Annotation) -> Option<String> {
    let name = annotation.name.iter().map(|name| tr!("name {name}", name));
    let tags = (!annotation.tags.is_empty()).then(|| annotation.tags.join(", "));
    let tags = tags.map(|tags| tr!("tags {tags}", tags));
    let note = annotation.note.iter().map(|note| tr!("note {note}", note));
    let parts: Vec<String> = name.chain(tags).chain(note).collect();
    (!parts.is_empty()).then(|| clean(&parts.join("; ")))
}

/// `assay store rm`.
#[derive(Args, Debug)]
#[command(after_help = "\
Removes without a question, and of several all or none. Later runs use the space in the
store again; its file does not shrink.

Examples:
  assay store rm last
  assay store rm 3f2a 9b1c

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.")]
pub struct RmArgs {
    /// Name, id, beginning of an id, or `last`; a run under way is refused.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay store rm`.
pub fn remove_results(args: &RmArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_to_change()?;
    let mut found: Vec<StoredId> = Vec::new();
    for word in &args.runs {
        let one = store.find(word)?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    let mut names = Vec::new();
    for one in &found {
        names.push(store.annotation(one.id())?.name);
    }
    store.remove(&found, stored::is_alive)?;
    for (one, name) in found.iter().zip(names) {
        let name = name.map_or_else(String::new, |name| format!(" ({})", clean(&name)));
        let id = clean(one.id());
        say(&match one {
            StoredId::Run(_) => tr!("removed run {id}{name}", id, name),
            StoredId::Import(_) => tr!("removed import {id}{name}", id, name),
        });
    }
    Ok(DONE)
}
