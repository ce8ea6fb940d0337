//! Runs and imports.

use crate::asked::Asked;
use crate::files;
use crate::reply::{JSON, Problem, Reply};
use crate::stored::listed;
use crate::wanted;
use assay_model::run::RunStatus;
use assay_report::described;
use assay_report::json::rfc3339;
use assay_store::{ImportSummary, Listed, RunSummary};
use serde::Serialize;

/// Rows of a page, unless fewer are asked for.
const ROWS: u32 = 100;

described! {
    /// Runs and imports, newest first.
    pub struct RunPage {
        /// The runs.
        pub runs: Vec<RunEntry>,
        /// Results that were made elsewhere, of the same time.
        pub imports: Vec<ImportEntry>,
        /// Value of `after` for older ones; null: there are none.
        pub next: Option<String>,
    }

    /// A run in a list.
    pub struct RunEntry {
        /// Id of the run.
        pub id: String,
        /// Name that its user gave it.
        pub name: Option<String>,
        /// Tags of its user.
        pub tags: Vec<String>,
        /// Note of its user.
        pub note: Option<String>,
        /// Start of the run, RFC 3339.
        pub started: String,
        /// End of the run; null: it is not known.
        pub finished: Option<String>,
        /// running, finished, interrupted or failed.
        pub status: String,
        /// Reason of the failure.
        pub error: Option<String>,
        /// Machine that was measured, as its user called it; null: the one where assay ran.
        pub target: Option<String>,
        /// Measured path.
        pub path: String,
        /// Measured device in a few words.
        pub device: String,
        /// Trials that are stored.
        pub trials_done: u32,
        /// Trials of the plan.
        pub trials_planned: u32,
        /// True if a trial found that data was not kept.
        pub data_lost: bool,
    }

    /// An import in a list.
    pub struct ImportEntry {
        /// Id of the import.
        pub id: String,
        /// Name that its user gave it.
        pub name: Option<String>,
        /// Time of the import, RFC 3339.
        pub imported: String,
        /// Program that measured.
        pub tool: String,
        /// Files that were read.
        pub files: Vec<String>,
        /// Number of figures.
        pub figures: u32,
    }
}

/// A page of runs and imports.
pub fn list(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = wanted::runs(&asked.query)?;
    let page = listed(asked, &filter, wanted::after_run(&asked.query)?, ROWS)?;
    let (mut runs, mut imports) = (Vec::new(), Vec::new());
    for entry in page.entries {
        match entry {
            Listed::Run(run) => runs.push(RunEntry::of(run)),
            Listed::Import(import) => imports.push(ImportEntry::of(import)),
        }
    }
    json(&RunPage {
        runs,
        imports,
        next: page.next.map(|key| key.to_string()),
    })
}

/// A run with all its trials.
pub fn one(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let reply = files::json(asked)?;
    Ok(Reply {
        file: None,
        ..reply
    })
}

impl RunEntry {
    fn of(run: RunSummary) -> Self {
        let status = run.status.word().to_owned();
        Self {
            id: run.id,
            name: run.annotation.name,
            tags: run.annotation.tags,
            note: run.annotation.note,
            started: rfc3339(run.started_unix_ms),
            finished: run.finished_unix_ms.map(rfc3339),
            status,
            error: match run.status {
                RunStatus::Failed { error } => Some(error),
                _ => None,
            },
            target: run.target,
            path: run.path,
            device: run.device,
            trials_done: run.trials_done,
            trials_planned: run.trials_planned,
            data_lost: run.data_lost,
        }
    }
}

impl ImportEntry {
    fn of(import: ImportSummary) -> Self {
        Self {
            id: import.id,
            name: import.annotation.name,
            imported: rfc3339(import.imported_unix_ms),
            tool: import.tool,
            files: import.files,
            figures: import.figures,
        }
    }
}

/// JSON as an answer.
pub fn json(value: &impl Serialize) -> Result<Reply, Problem> {
    let text = serde_json::to_vec_pretty(value).map_err(|_| Problem::Broken)?;
    Ok(Reply::new(JSON, text))
}
