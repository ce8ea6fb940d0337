//! `assay list`: the stored runs and imports.

use crate::exit::{DONE, Failure};
use crate::output::{print, style};
use crate::stored::lookup::{StoreArgs, store_path};
use crate::stored::owner;
use assay_model::run::RunStatus;
use assay_report::terminal::{ListRow, write_list};
use assay_store::{ImportSummary, RunSummary, Store};
use clap::Args;
use std::cmp::Reverse;
use std::process::ExitCode;

/// `assay list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay list`.
pub fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    let store = Store::open_existing(&store_path(&args.store)?)?;
    let abandoned = store.abandoned_runs(owner::is_alive)?;
    let mut rows: Vec<ListRow> = store.runs()?.iter().map(row).collect();
    for row in &mut rows {
        if abandoned.iter().any(|run| run.id == row.id) {
            row.status = RunStatus::Interrupted.word().to_owned();
        }
    }
    rows.extend(store.imports()?.iter().map(import_row));
    // Stable: what is of one millisecond stays as the store has it.
    rows.sort_by_key(|row| Reverse(row.started_unix_ms));
    print(|out| write_list(&rows, style(), out))?;
    Ok(DONE)
}

fn row(run: &RunSummary) -> ListRow {
    ListRow {
        id: run.id.clone(),
        started_unix_ms: run.started_unix_ms,
        path: format!("{}{}", run.target.as_deref().unwrap_or_default(), run.path),
        device: run.device.clone(),
        status: run.status.word().to_owned(),
        trials: run.trials_done.into(),
        // Of a work with steps that only follow from each other, none is known
        // beforehand.
        planned: run.trials_planned.max(run.trials_done).into(),
        data_lost: run.data_lost,
    }
}

/// The files are what tells imports apart, the tool is what made them.
fn import_row(import: &ImportSummary) -> ListRow {
    ListRow {
        id: import.id.clone(),
        started_unix_ms: import.imported_unix_ms,
        path: import.files.join(", "),
        device: import.tool.clone(),
        status: "imported".to_owned(),
        trials: import.figures.into(),
        planned: import.figures.into(),
        data_lost: false,
    }
}
