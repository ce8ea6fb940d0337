//! Loads stored runs and imports for pages.

use crate::asked::Asked;
use crate::reply::Problem;
use assay_model::figures::Import;
use assay_model::run::{Run, RunStatus};
use assay_store::{ListFilter, ListKey, ListPage, Listed, LoadedRun, Owner, StoredId};

/// A run or an import with all its data.
pub enum Stored {
    /// A run measured by assay.
    Run(Box<Run>),
    /// Results measured by another program.
    Import(Box<Import>),
}

/// Run or import named by a path. Its record is not loaded yet.
pub struct Named {
    /// Complete id.
    pub id: StoredId,
    /// State of the record in the store; determines the contents.
    state: String,
    /// True unless the process that makes the run is alive.
    abandoned: bool,
}

/// Finds the run or the import that the path names.
///
/// # Errors
/// If the store has no such run or import.
pub fn found(asked: &Asked<'_>) -> Result<Named, Problem> {
    let id = asked.store.find(asked.part("id"))?;
    let state = asked.store.state_of(id.id())?;
    let alive = |owner| asked.is_alive(&owner);
    let abandoned = !state.owner.is_some_and(alive);
    Ok(Named {
        id,
        state: state.text,
        abandoned,
    })
}

/// Returns the tag of a run or an import in one form, such as `json`.
///
/// # Errors
/// [`Problem::Unchanged`] if the client has these contents.
pub fn tag(asked: &Asked<'_>, of: &Named, form: &str) -> Result<String, Problem> {
    let word = if of.abandoned { "abandoned" } else { "" };
    asked.tag(&[form, of.id.id(), &of.state, word])
}

/// Returns a part of the list of runs and imports. An unfinished run whose process has ended is
/// shown as interrupted.
pub fn listed(
    asked: &Asked<'_>,
    filter: &ListFilter,
    after: Option<ListKey>,
    most: u32,
) -> Result<ListPage, Problem> {
    let mut page = asked.store.page(filter, after, most)?;
    let running =
        |entry: &Listed| matches!(entry, Listed::Run(run) if run.status == RunStatus::Running);
    if page.entries.iter().any(running) {
        let alive = |owner: &Owner| asked.is_alive(owner);
        let abandoned = asked.store.abandoned_runs(alive)?;
        for entry in &mut page.entries {
            if let Listed::Run(run) = entry
                && abandoned.iter().any(|one| one.id == run.id)
            {
                run.status = RunStatus::Interrupted;
            }
        }
    }
    Ok(page)
}

/// Loads a run or an import.
pub fn load(asked: &Asked<'_>, of: &Named) -> Result<Stored, Problem> {
    let id = match &of.id {
        StoredId::Import(id) => return Ok(Stored::Import(Box::new(asked.store.load_import(id)?))),
        StoredId::Run(id) => id,
    };
    let LoadedRun { mut run, .. } = asked.store.load(id)?;
    // Lists show it as interrupted too.
    if run.status == RunStatus::Running && of.abandoned {
        run.status = RunStatus::Interrupted;
    }
    Ok(Stored::Run(Box::new(run)))
}
