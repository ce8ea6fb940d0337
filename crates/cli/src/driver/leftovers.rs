//! What killed runs left behind: reported, and cleaned up, by the next start.

use crate::driver::host::Host;
use crate::driver::loads;
use crate::exit::Failure;
use crate::output::say;
use crate::stored::owner;
use assay_model::condition::Undone;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::wire::{Leftover, LoadNote, NoteWeight};
use assay_store::{RunSummary, Store};
use assay_target::Target;
use std::path::PathBuf;

/// Removes leftover test files where this run and the unfinished ones worked,
/// and marks unfinished runs as what they are.
pub fn clear(host: &mut Host, store: &mut Store, place: &Place) -> Result<(), Failure> {
    let abandoned = store.abandoned_runs(owner::is_alive)?;
    let mut leftovers = Vec::new();
    let is_here = |run: &&RunSummary| run.target.as_deref() == host.target();
    let here: Vec<&RunSummary> = abandoned.iter().filter(is_here).collect();
    for directory in directories(place, &here) {
        leftovers.extend(host.sweep(&directory)?);
    }
    // What runs elsewhere now is none of this start's business.
    let is_ours = |leftover: &Leftover| here.iter().any(|run| run.id == leftover.run_id);
    leftovers.retain(|leftover| !leftover.locked || is_ours(leftover));
    for run in &abandoned {
        let locked = |leftover: &Leftover| leftover.locked && leftover.run_id == run.id;
        // The next start looks again at what this one could not touch.
        if !leftovers.iter().any(locked) {
            store.mark_interrupted(&run.id)?;
        }
        say(&format!(
            "assay: run {} on {} was cut off: its {} finished trials are kept (assay show {})",
            run.id, run.path, run.trials_done, run.id
        ));
        if !here.iter().any(|known| known.id == run.id) {
            say(&clean(&format!(
                "assay: run {} was on {}: what it may have left there goes with the next run in \
                 the same place",
                run.id,
                run.target.as_deref().unwrap_or("this machine")
            )));
        } else if !leftovers.iter().any(|leftover| leftover.run_id == run.id) {
            say(&format!(
                "assay: no test file of run {} had to be removed",
                run.id
            ));
        }
    }
    for leftover in &leftovers {
        say(&in_words(leftover));
    }
    Ok(())
}

/// Removes the test files of an agent that ended before it could; another one
/// does it, and what it cannot do the next start will. What was found, but for the files of
/// other runs that are in use.
pub fn clear_after_loss(target: &mut dyn Target, place: &Place, run_id: &str) -> Vec<Leftover> {
    // Its start alone undoes what the lost one had set.
    let host = Host::start(target);
    let Place::Directory { path } = place else {
        return Vec::new();
    };
    let swept = host.and_then(|mut host| host.sweep(path));
    let mut swept = swept.unwrap_or_default();
    swept.retain(|leftover| !leftover.locked || leftover.run_id == run_id);
    swept
}

/// Where test files may be.
fn directories(place: &Place, abandoned: &[&RunSummary]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = abandoned
        .iter()
        .map(|run| run.path.as_str().into())
        .collect();
    if let Place::Directory { path } = place {
        all.push(path.clone());
    }
    all.sort();
    all.dedup();
    all
}

/// One line about a setting that was left behind.
pub fn undone_in_words(undone: &Undone) -> String {
    let Undone {
        run_id,
        knob,
        old,
        problem,
    } = undone;
    let done = old.as_ref().map_or_else(
        || format!("undid {knob}"),
        |old| format!("put {knob} back to '{old}'"),
    );
    match problem {
        None => format!("assay: run {run_id} was cut off under a condition: {done}"),
        Some(problem) => format!(
            "assay: warning: run {run_id} was cut off under a condition; {knob} stays as it is: \
             {problem}{}",
            old.as_ref().map_or_else(String::new, |old| format!(
                " (before the run it was '{old}')"
            ))
        ),
    }
}

/// One line about what was left behind.
pub fn in_words(leftover: &Leftover) -> String {
    loads::in_words(&note(leftover))
}

/// The same for whoever follows a work.
pub fn note(leftover: &Leftover) -> LoadNote {
    let folder = leftover.folder.display();
    let text = match &leftover.problem {
        None => format!(
            "removed the leftover test file of run {}: {folder} ({})",
            leftover.run_id, leftover.size
        ),
        Some(_) if leftover.locked => format!(
            "the test file of run {} in {folder} is locked: a process still uses it, as its agent \
             does while it ends; the next start looks again",
            leftover.run_id
        ),
        Some(problem) => format!(
            "the leftover test file of run {} in {folder} cannot be removed: {problem}",
            leftover.run_id
        ),
    };
    LoadNote {
        weight: NoteWeight::Info,
        text,
    }
}
