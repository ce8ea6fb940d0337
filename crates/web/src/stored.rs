//! Stored runs and imports as pages need them.

use crate::asked::Asked;
use crate::reply::Problem;
use assay_model::figures::Import;
use assay_model::run::{Run, RunStatus};
use assay_store::{ListFilter, ListKey, ListPage, Listed, LoadedRun, Owner, StoredId};

/// A run or an import with all its data.
pub enum Stored {
    /// A run of assay's own.
    Run(Box<Run>),
    /// Results that were made elsewhere.
    Import(Box<Import>),
}

/// A run or an import that a part of the path names: no record of it is read yet.
pub struct Named {
    /// Its whole id.
    pub id: StoredId,
    /// Everything that decides its contents.
    state: String,
    /// True if the process that made the run is gone.
    abandoned: bool,
}

/// Finds the run or the import of the path.
///
/// # Errors
/// When the store has no such run or import.
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

/// Tag of a run or an import in one form.
///
/// # Errors
/// When the client has it already.
pub fn tag(asked: &Asked<'_>, of: &Named, form: &str) -> Result<String, Problem> {
    let word = if of.abandoned { "abandoned" } else { "" };
    asked.tag(&[form, of.id.id(), &of.state, word])
}

/// A part of the list of runs and imports. A run whose process is gone is shown as interrupted.
///
/// # Errors
/// When the store cannot be read.
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
///
/// # Errors
/// When it cannot be read.
pub fn load(asked: &Asked<'_>, of: &Named) -> Result<Stored, Problem> {
    let id = match &of.id {
        StoredId::Import(id) => return Ok(Stored::Import(Box::new(asked.store.load_import(id)?))),
        StoredId::Run(id) => id,
    };
    let LoadedRun { mut run, .. } = asked.store.load(id)?;
    // As lists say it.
    if run.status == RunStatus::Running && of.abandoned {
        run.status = RunStatus::Interrupted;
    }
    Ok(Stored::Run(Box::new(run)))
}
