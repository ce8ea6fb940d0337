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

/// The whole id of what a part of the path names, and the tag of its contents: nothing of it is
/// read yet.
///
/// # Errors
/// When the store has no such run or import, or the client has it already.
pub fn named(asked: &Asked<'_>, form: &str) -> Result<(StoredId, String), Problem> {
    let found = asked.store.find(asked.part("id"))?;
    let id = found.id();
    let state = asked.store.state_of(id)?;
    let alive = state
        .owner
        .is_none_or(|owner| asked.served.program.is_alive(&owner));
    let tag = asked.tag(&[form, id, &state.text, if alive { "" } else { "abandoned" }])?;
    Ok((found, tag))
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
        let alive = |owner: &Owner| asked.served.program.is_alive(owner);
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
pub fn load(asked: &Asked<'_>, id: &StoredId) -> Result<Stored, Problem> {
    let id = match id {
        StoredId::Import(id) => return Ok(Stored::Import(Box::new(asked.store.load_import(id)?))),
        StoredId::Run(id) => id,
    };
    let LoadedRun { mut run, .. } = asked.store.load(id)?;
    let owner = asked.store.state_of(id)?.owner;
    let alive = |owner| asked.served.program.is_alive(&owner);
    // As lists say it.
    if run.status == RunStatus::Running && !owner.is_some_and(alive) {
        run.status = RunStatus::Interrupted;
    }
    Ok(Stored::Run(Box::new(run)))
}
