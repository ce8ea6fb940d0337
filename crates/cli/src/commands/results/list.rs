//! `assay list`: the stored runs and imports.

use crate::commands::command_of;
use crate::exit::{DONE, Failure};
use crate::output::{print, print_columns, print_json, say, style};
use crate::sharing::queue;
use crate::stored::lookup::StoreArgs;
use crate::stored::owner;
use crate::ui::since::parse_since;
use assay_lang::{in_english, tr};
use assay_model::annotation::Annotation;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::units::Bytes;
use assay_report::json::rfc3339;
use assay_report::key_figure::{KeyFigure, key_job};
use assay_report::terminal::{ListRow, write_list};
use assay_store::{ImportSummary, RunSummary, SomeTrials, Store};
use clap::Args;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::process::ExitCode;

/// Version of the JSON of a list: rises when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

const AFTER_HELP: &str = "\
Examples:
  assay list --command qualify --since 7d
  assay list --device DG4032 --text nightly
  assay list --json | jq '.runs[].id'

What is written to a pipe is not shortened. docs/json.md describes the JSON.

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
    let abandoned = store.abandoned_runs(owner::is_alive)?;
    let mut entries: Vec<ListedResult> = store.runs()?.into_iter().map(of_run).collect();
    for entry in &mut entries {
        if abandoned.iter().any(|run| run.id == entry.id) {
            entry.status = RunStatus::Interrupted;
        }
    }
    entries.extend(store.imports()?.into_iter().map(of_import));
    // Stable: what is of one millisecond stays as the store has it.
    entries.sort_by_key(|entry| Reverse(entry.started_unix_ms));
    let all = entries.len();
    entries.retain(|entry| {
        args.since
            .is_none_or(|since| entry.started_unix_ms >= since)
    });
    let mut kept = Vec::new();
    for mut entry in entries {
        entry.look_inside(&store, &traits);
        if entry.is_wanted(args) {
            kept.push(entry);
        }
    }
    if kept.is_empty() && !args.json && all > 0 {
        say(&tr!("No run matches: assay list shows all {n}", n = all));
        return Ok(DONE);
    }
    match args.json {
        true => {
            let runs: Vec<Value> = kept.iter().map(ListedResult::json).collect();
            let waiting = queue::json(&queue::waiting(&args.store));
            print_json(&json!({ "schema": SCHEMA, "runs": runs, "waiting": waiting }))?;
        }
        false => {
            let rows: Vec<ListRow> = kept.iter().map(ListedResult::row).collect();
            print(|out| write_list(&rows, style(), print_columns(), out))?;
            let waiting = queue::in_words(&queue::waiting(&args.store));
            waiting.iter().for_each(|line| say(line));
        }
    }
    Ok(DONE)
}

fn of_run(run: RunSummary) -> ListedResult {
    ListedResult {
        kind: "run",
        id: run.id,
        annotation: run.annotation,
        command: String::new(),
        started_unix_ms: run.started_unix_ms,
        finished_unix_ms: run.finished_unix_ms,
        status: run.status,
        target: run.target,
        path: run.path,
        files: Vec::new(),
        device: run.device,
        trials: run.trials_done,
        // Of a work with steps that only follow from each other, none is known
        // beforehand.
        planned: run.trials_planned.max(run.trials_done),
        data_lost: run.data_lost,
        size: None,
        figure: None,
    }
}

/// The files are what tells imports apart, the tool is what made them.
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

impl ListedResult {
    /// Adds what stands in the records. A damaged one is listed without it: `assay show`
    /// says what is wrong.
    fn look_inside(&mut self, store: &Store, traits: impl Fn(&Run) -> Option<KeyFigure>) {
        if self.kind == "import" {
            let import = store.load_import(&self.id).ok();
            self.figure = import.and_then(|import| KeyFigure::of_import(&import));
            return;
        }
        let some = store.load_some(&self.id, trials_for);
        let Ok(some) = some else { return };
        let header = &some.run.header;
        command_of(&header.command).clone_into(&mut self.command);
        let size = header.plan.file_size;
        self.size = (size.0 > 0).then_some(size);
        if self.command == "traits" {
            self.figure = traits(&some.run);
            return;
        }
        self.figure = KeyFigure::of_run(&some.run);
        if self.figure.is_none() && some.run.trials.len() < self.trials as usize {
            let whole = store.load(&self.id).ok();
            self.figure = whole.and_then(|whole| KeyFigure::of_run(&whole.run));
        }
    }

    fn is_wanted(&self, args: &ListArgs) -> bool {
        let has = |text: &str, wanted: &str| text.to_lowercase().contains(&wanted.to_lowercase());
        let words = [&self.id, &self.path, &self.device].into_iter();
        let words = words
            .chain(&self.annotation.name)
            .chain(&self.annotation.tags);
        let words = words.chain(&self.annotation.note).chain(&self.target);
        let words: Vec<&String> = words.chain(&self.files).collect();
        args.command
            .as_ref()
            .is_none_or(|wanted| *wanted == self.command)
            && args
                .device
                .as_ref()
                .is_none_or(|wanted| has(&self.device, wanted))
            && args
                .text
                .as_ref()
                .is_none_or(|wanted| words.iter().any(|word| has(word, wanted)))
    }

    /// `imported` where nothing ran.
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

/// Trials that a list needs of a run: those of its key job, or what its finding stands in.
fn trials_for(header: &RunHeader) -> SomeTrials {
    match command_of(&header.command) {
        "soak" => SomeTrials::Last,
        "capacity" | "powercut" | "traits" => SomeTrials::All,
        _ => {
            key_job(&header.plan).map_or(SomeTrials::All, |job| SomeTrials::OfJob(job.name.clone()))
        }
    }
}
