//! `assay list`: the stored runs and imports.

use crate::commands::command_of;
use crate::exit::{DONE, Failure};
use crate::output::{print, print_columns, print_json, prints_to_terminal, say, style};
use crate::stored::lookup::StoreArgs;
use crate::ui::parse_since;
use crate::{sharing, stored};
use assay_lang::{in_english, tr};
use assay_model::annotation::Annotation;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::units::Bytes;
use assay_report::json::rfc3339;
use assay_report::key_figure::{KeyFigure, key_job};
use assay_report::terminal::{ListRow, write_list};
use assay_store::{ImportSummary, ListFilter, Listed, RunSummary, RunsFilter, SomeTrials, Store};
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Version of the JSON of a list; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

const AFTER_HELP: &str = "\
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
#[command(after_help = AFTER_HELP)]
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

/// `assay list`; `traits` names what a run of `assay traits` shows.
pub fn run(
    args: &ListArgs,
    traits: impl Fn(&Run) -> Option<KeyFigure>,
) -> Result<ExitCode, Failure> {
    match args.json {
        true => in_english(|| list(args, traits)),
        false => list(args, traits),
    }
}

fn list(args: &ListArgs, traits: impl Fn(&Run) -> Option<KeyFigure>) -> Result<ExitCode, Failure> {
    let store = args.store.open_existing()?;
    let (mut kept, is_whole) = newest(&store, args)?;
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    for entry in &mut kept {
        if abandoned.iter().any(|run| run.id == entry.id) {
            entry.status = RunStatus::Interrupted;
        }
    }
    for entries in kept.chunks_mut(FEW as usize) {
        look_inside(entries, &store, &traits);
    }
    match args.json {
        true => {
            let runs: Vec<Value> = kept.iter().map(ListedResult::json).collect();
            let waiting = sharing::json(&sharing::waiting(&args.store));
            print_json(&json!({ "schema": SCHEMA, "runs": runs, "waiting": waiting }))?;
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
        // The steps of a work may be known only as they run, so that none was planned.
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

/// Adds facts from the records. A damaged record adds none: `assay show` describes the damage.
fn look_inside(
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
