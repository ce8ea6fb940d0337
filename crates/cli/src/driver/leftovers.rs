//! Leftovers of killed runs: the next start reports and cleans them up.

use crate::driver::host::Host;
use crate::driver::notes;
use crate::exit::Failure;
use crate::output::say;
use crate::stored;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::wire::Leftover;
use assay_store::{RunSummary, Store};
use assay_target::Target;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit for the agent of a killed host to end.
const ENDING: Duration = Duration::from_secs(30);
const LOOKS: Duration = Duration::from_millis(50);

/// Removes leftover test files where this run and the unfinished ones worked, and marks unfinished
/// runs as interrupted.
pub fn clear(host: &mut Host, store: &mut Store, place: &Place) -> Result<(), Failure> {
    let abandoned = store.abandoned_runs(stored::is_alive)?;
    let mut leftovers: Vec<Leftover> = Vec::new();
    let is_here = |run: &&RunSummary| run.target.as_deref() == host.target();
    let here: Vec<&RunSummary> = abandoned.iter().filter(is_here).collect();
    // Runs on other targets are left to a later start there.
    let is_ours = |leftover: &Leftover| here.iter().any(|run| run.id == leftover.run_id);
    let since = Instant::now();
    loop {
        // The search below finds these again if they are still there.
        leftovers.retain(|leftover| !leftover.locked && leftover.problem.is_none());
        for directory in directories(place, &here) {
            leftovers.extend(host.sweep(&directory)?);
        }
        // An agent survives its killed host until its current operation ends.
        let is_ending = |leftover: &Leftover| leftover.locked && is_ours(leftover);
        if !leftovers.iter().any(is_ending) || since.elapsed() > ENDING {
            break;
        }
        sleep(LOOKS);
    }
    leftovers.retain(|leftover| !leftover.locked || is_ours(leftover));
    for run in &abandoned {
        let locked = |leftover: &Leftover| leftover.locked && leftover.run_id == run.id;
        // The next start tries again what this one could not remove.
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
        say(&notes::note_in_words(&notes::of_leftover(leftover)));
    }
    Ok(())
}

/// Removes the test files of an agent that was lost, by means of a new one. Failures are left to the
/// next start. Returns the leftovers that were found, except test files in use by other runs.
pub fn clear_after_loss(target: &mut dyn Target, place: &Place, run_id: &str) -> Vec<Leftover> {
    // Starting an agent also undoes the settings of the lost one.
    let host = Host::start(target);
    let Place::Directory { path } = place else {
        return Vec::new();
    };
    let swept = host.and_then(|mut host| host.sweep(path));
    let mut swept = swept.unwrap_or_default();
    swept.retain(|leftover| !leftover.locked || leftover.run_id == run_id);
    swept
}

/// Returns the directories in which test files may be.
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
