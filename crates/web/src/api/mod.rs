//! Data for programs under `/api/v1`.

pub mod series;

use crate::asked::Asked;
use crate::reply::{JSON, Problem, Reply};
use crate::stored::listed;
use crate::{files, wanted};
use assay_model::run::RunStatus;
use assay_report::described;
use assay_report::json::rfc3339;
use assay_store::{ImportSummary, Listed, RunSummary};
use serde::Serialize;

/// Rows of a page, unless the request asks for fewer.
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
}

described! {
    /// A run in a list.
    pub struct RunEntry of (run: RunSummary) {
        /// Id of the run.
        pub id: String = run.id,
        /// Name that its user gave it.
        pub name: Option<String> = run.annotation.name,
        /// Tags of its user.
        pub tags: Vec<String> = run.annotation.tags,
        /// Note of its user.
        pub note: Option<String> = run.annotation.note,
        /// Start of the run, RFC 3339.
        pub started: String = rfc3339(run.started_unix_ms),
        /// End of the run; null: it is not known.
        pub finished: Option<String> = run.finished_unix_ms.map(rfc3339),
        /// running, finished, interrupted or failed.
        pub status: String = run.status.word().to_owned(),
        /// Reason of the failure.
        pub error: Option<String> = match run.status {
            RunStatus::Failed { error } => Some(error),
            _ => None,
        },
        /// Machine that was measured, as its user called it; null: the one where assay ran.
        pub target: Option<String> = run.target,
        /// Measured path.
        pub path: String = run.path,
        /// Measured device in a few words.
        pub device: String = run.device,
        /// Trials that are stored.
        pub trials_done: u32 = run.trials_done,
        /// Trials of the plan.
        pub trials_planned: u32 = run.trials_planned,
        /// True if a trial found that data was not kept.
        pub data_lost: bool = run.data_lost,
    }

    /// An import in a list.
    pub struct ImportEntry of (import: ImportSummary) {
        /// Id of the import.
        pub id: String = import.id,
        /// Name that its user gave it.
        pub name: Option<String> = import.annotation.name,
        /// Time of the import, RFC 3339.
        pub imported: String = rfc3339(import.imported_unix_ms),
        /// Program that measured.
        pub tool: String = import.tool,
        /// Files that were read.
        pub files: Vec<String> = import.files,
        /// Number of figures.
        pub figures: u32 = import.figures,
    }
}

/// Answers with a page of runs and imports.
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

/// Answers with a run and all its trials.
pub fn one(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let reply = files::json(asked)?;
    Ok(Reply {
        file: None,
        ..reply
    })
}

/// Serializes a value as a JSON answer.
pub fn json(value: &impl Serialize) -> Result<Reply, Problem> {
    let text = serde_json::to_vec_pretty(value).map_err(|_| Problem::Broken)?;
    Ok(Reply::new(JSON, text))
}
