//! Undoing what killed runs had set.

use super::Turned;
use super::journal::{JournalLine, abandoned, boot_id, lines};
use super::put_back::put_one_back;
use assay_model::condition::{Knob, Undone};
use assay_probe::conditions::{holds, read};
use assay_probe::roots::Roots;
use std::fs;
use std::path::Path;

/// A knob of a journal, with everything it may have been set to.
struct Left {
    turned: Turned,
    all: Vec<String>,
    with: Option<Knob>,
}

/// Undoes what killed runs left, newest change first, and removes their journals.
/// What somebody else has changed meanwhile stays as it is. After a reboot nothing
/// is left to undo.
pub(crate) fn undo_abandoned(roots: &Roots, folder: &Path) -> Vec<Undone> {
    let mut all = Vec::new();
    let boot = boot_id();
    for (path, file) in abandoned(folder) {
        let lines = lines(&file);
        if lines.iter().all(|line| line.boot_id == boot)
            && let Some(first) = lines.first()
        {
            let run_id = first.run_id.clone();
            all.extend(undo(roots, &run_id, &knobs(lines)));
        }
        // Told once, whatever became of it.
        let _ = fs::remove_file(path);
    }
    all
}

fn knobs(lines: Vec<JournalLine>) -> Vec<Left> {
    let mut all: Vec<Left> = Vec::new();
    for entry in lines.into_iter().map(|line| line.entry) {
        let index = match all.iter().position(|left| left.turned.knob == entry.knob) {
            Some(index) => index,
            None => {
                all.push(Left {
                    turned: Turned::new(entry.knob, None),
                    all: Vec::new(),
                    with: entry.with,
                });
                all.len() - 1
            }
        };
        let left = &mut all[index];
        // The last one: after a rehearsal all was put back.
        left.turned.old = entry.old;
        left.turned.last.clone_from(&entry.new);
        left.all.extend(entry.new);
    }
    all
}

fn undo(roots: &Roots, run_id: &str, knobs: &[Left]) -> Vec<Undone> {
    let mut undone = Vec::new();
    let mut kept: Vec<&Knob> = Vec::new();
    for left in knobs.iter().rev() {
        let knob = &left.turned.knob;
        // What changed with a knob that is somebody else's now is theirs too.
        if left.with.as_ref().is_some_and(|with| kept.contains(&with)) {
            continue;
        }
        let problem = match state(roots, left) {
            KnobState::AsBefore | KnobState::Gone => continue,
            KnobState::AsSet => put_one_back(roots, &left.turned).err(),
            KnobState::Changed(now) => {
                kept.push(knob);
                Some(format!("it is '{now}' now, which assay had not set"))
            }
        };
        undone.push(Undone {
            run_id: run_id.to_owned(),
            knob: knob.to_string(),
            old: left.turned.old.clone(),
            problem,
        });
    }
    // One may have been taken only after another.
    let is_back = |undone: &Undone| {
        let left = knobs
            .iter()
            .find(|left| left.turned.knob.to_string() == undone.knob);
        left.is_some_and(|left| matches!(state(roots, left), KnobState::AsBefore))
    };
    for undone in undone.iter_mut().filter(|undone| undone.problem.is_some()) {
        if is_back(undone) {
            undone.problem = None;
        }
    }
    undone
}

/// State in which a knob is found.
enum KnobState {
    AsBefore,
    AsSet,
    Changed(String),
    /// The knob no longer exists, for example because its device is gone.
    Gone,
}

fn state(roots: &Roots, left: &Left) -> KnobState {
    let Turned { knob, old, .. } = &left.turned;
    match knob {
        Knob::Command { .. } => return KnobState::AsSet,
        // It may be there, mounted or not; whatever is mounted is assay's.
        Knob::FileSystem { point, .. } if point.exists() => return KnobState::AsSet,
        _ => {}
    }
    let Ok(Some(now)) = read(roots, knob) else {
        return KnobState::Gone;
    };
    // A plain file is empty for a moment before it gets its new value.
    let being_set = now.is_empty();
    if old.as_ref() == Some(&now) {
        KnobState::AsBefore
    } else if left.with.is_some() || being_set || left.all.iter().any(|set| holds(knob, set, &now))
    {
        KnobState::AsSet
    } else {
        KnobState::Changed(now)
    }
}
