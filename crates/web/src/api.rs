//! Data for programs under `/api/v1`, and downloads of a run or an import.

use crate::asked::{
    Asked, Stored, after, after_run, found, listed, load, only_open, runs_filter, series_filter,
    tag,
};
use crate::pages::series::one;
use crate::reply::{JSON, Problem, Reply};
use assay_lang::in_english;
use assay_model::figures::{SeriesChange, StoredSeries};
use assay_model::run::RunStatus;
use assay_report::json::{ChangeEntry, PointEntry, SeriesEntry, rfc3339};
use assay_report::{described, import, json as run_json, machine, xlsx as workbook};
use assay_store::{ImportSummary, Listed, RunSummary};
use serde::Serialize;
use std::io;
use std::io::Write;

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
pub fn list_runs(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = runs_filter(&asked.query)?;
    let page = listed(asked, &filter, after_run(&asked.query)?, ROWS)?;
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
pub fn one_run(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let reply = json_file(asked)?;
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

described! {
    /// Series, the one with the newest run first.
    pub struct SeriesPage {
        /// The series.
        pub series: Vec<SeriesEntry>,
        /// Value of `after` for further series; null: there are none.
        pub next: Option<String>,
    }

    /// A series with all its runs, the oldest first.
    pub struct PointList {
        /// The series.
        pub series: SeriesEntry,
        /// Runs of the series.
        pub points: Vec<PointEntry>,
    }

    /// Changes, the newest first.
    pub struct ChangePage {
        /// The changes.
        pub changes: Vec<ChangeOfSeries>,
        /// Value of `after` for older changes; null: there are none.
        pub next: Option<String>,
    }

    /// A change and its series.
    pub struct ChangeOfSeries {
        /// The series.
        pub series: SeriesEntry,
        /// The change.
        pub change: ChangeEntry,
    }
}

/// Answers with a page of series.
pub fn list_series(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = series_filter(&asked.query)?;
    let after = after(&asked.query)?;
    let page = asked.store.series_page(&filter, after.as_ref(), ROWS)?;
    json(&SeriesPage {
        series: page.rows.iter().map(SeriesEntry::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

/// Answers with one series and all its runs.
pub fn list_points(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let series = one(asked)?;
    let points = asked.store.points(&series.key)?;
    json(&PointList {
        series: SeriesEntry::of(&series),
        points: points.iter().map(PointEntry::of).collect(),
    })
}

/// Answers with a page of changes.
pub fn list_changes(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = series_filter(&asked.query)?;
    let open = only_open(&asked.query, false)?;
    let after = after(&asked.query)?;
    let page = asked
        .store
        .change_page(&filter, open, after.as_ref(), ROWS)?;
    let entries = page.rows.iter();
    json(&ChangePage {
        changes: entries.map(ChangeOfSeries::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

impl ChangeOfSeries {
    fn of((series, change): &(StoredSeries, SeriesChange)) -> Self {
        Self {
            series: SeriesEntry::of(series),
            change: ChangeEntry::of(change),
        }
    }
}

/// Answers with the whole run or import, as `assay report --json` prints it.
pub fn json_file(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(asked, "json", JSON, |stored, out| {
        in_english(|| match stored {
            Stored::Run(run) => run_json::write(run, out),
            Stored::Import(of) => import::write_json(of, out),
        })
    })
}

/// Answers with CSV: a row for each trial and metric.
pub fn csv_file(asked: &Asked<'_>) -> Result<Reply, Problem> {
    file(asked, "csv", "text/csv; charset=utf-8", |stored, out| {
        in_english(|| match stored {
            Stored::Run(run) => machine::write_csv(run, out),
            Stored::Import(of) => import::write_csv(of, out),
        })
    })
}

/// Answers with an Excel workbook.
pub fn xlsx_file(asked: &Asked<'_>) -> Result<Reply, Problem> {
    const KIND: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    file(asked, "xlsx", KIND, |stored, out| match stored {
        Stored::Run(run) => asked.served.program.workbook(run, out),
        Stored::Import(of) => workbook::write_import(of, None, out),
    })
}

fn file(
    asked: &Asked<'_>,
    ending: &str,
    kind: &'static str,
    write: impl Fn(&Stored, &mut dyn Write) -> io::Result<()>,
) -> Result<Reply, Problem> {
    let found = found(asked)?;
    let tag = tag(asked, &found, ending)?;
    let mut bytes = Vec::new();
    let written = write(&load(asked, &found)?, &mut bytes);
    written.map_err(|error| Problem::Wrong(error.to_string()))?;
    let mut reply = Reply::new(kind, bytes).tagged(tag);
    reply.file = Some(format!("assay-{}.{ending}", found.id.id()));
    Ok(reply)
}
