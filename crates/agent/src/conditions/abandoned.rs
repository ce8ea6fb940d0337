//! Restores settings that killed runs left.

use super::Turned;
use super::journal::{JournalLine, abandoned, boot_id, lines, orphaned};
use super::put_back::put_one_back;
use assay_model::condition::{Knob, Undone};
use assay_probe::conditions::{holds, read};
use assay_probe::roots::Roots;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A knob in a journal, with all values that the run set.
struct Left {
    turned: Turned,
    all: Vec<String>,
    with: Option<Knob>,
}

/// Time limit for an agent whose host was killed to undo its own settings.
pub(crate) const ENDING: Duration = Duration::from_secs(30);
/// Interval between two checks of the journals of such agents.
const LOOKS: Duration = Duration::from_millis(50);

/// Undoes the settings of killed runs, newest change first, and removes their journals. An agent
/// whose host was killed undoes its own settings; those still in force after `limit` are
/// reported. Settings that other programs have changed meanwhile remain. After a reboot there is
/// nothing to undo.
pub(crate) fn undo_abandoned(roots: &Roots, folder: &Path, limit: Duration) -> Vec<Undone> {
    let since = Instant::now();
    let mut held = orphaned(roots, folder);
    while !held.is_empty() && since.elapsed() < limit {
        sleep(LOOKS);
        held = orphaned(roots, folder);
    }
    let mut all: Vec<Undone> = held
        .into_iter()
        .flat_map(|lines| undo(roots, lines, true))
        .collect();
    let boot = boot_id();
    for (path, file) in abandoned(folder) {
        let lines = lines(&file);
        if lines.iter().all(|line| line.boot_id == boot) {
            all.extend(undo(roots, lines, false));
        }
        // Each problem is reported once.
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
        // The last entry counts: after a rehearsal everything was restored.
        left.turned.old = entry.old;
        left.turned.last.clone_from(&entry.new);
        left.all.extend(entry.new);
    }
    all
}

/// Undoes the changes of a journal. If a process still holds it, that process has to.
fn undo(roots: &Roots, lines: Vec<JournalLine>, is_held: bool) -> Vec<Undone> {
    let Some((run_id, pid)) = lines.first().map(|line| (line.run_id.clone(), line.pid)) else {
        return Vec::new();
    };
    let knobs = knobs(lines);
    let mut undone = Vec::new();
    let mut kept: Vec<&Knob> = Vec::new();
    for left in knobs.iter().rev() {
        let knob = &left.turned.knob;
        // If another program has changed a knob, it also owns the knobs that change with it.
        if left.with.as_ref().is_some_and(|with| kept.contains(&with)) {
            continue;
        }
        let problem = match state(roots, left) {
            KnobState::AsBefore | KnobState::Gone => continue,
            KnobState::AsSet if is_held => Some(format!(
                "its agent, process {pid}, has set it and does not end: end it, then measure again"
            )),
            KnobState::AsSet => put_one_back(roots, &left.turned).err(),
            KnobState::Changed(now) => {
                kept.push(knob);
                Some(format!("it is '{now}' now, which assay had not set"))
            }
        };
        undone.push(Undone {
            run_id: run_id.clone(),
            knob: knob.to_string(),
            old: left.turned.old.clone(),
            problem,
        });
    }
    // A value may be accepted only after another one was restored.
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

/// State of a knob.
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
        // The file system may exist, mounted or not; any file system mounted there is assay's.
        Knob::FileSystem { point, .. } if point.exists() => return KnobState::AsSet,
        _ => {}
    }
    let Ok(Some(now)) = read(roots, knob) else {
        return KnobState::Gone;
    };
    // A plain file is empty for a moment before its new value is written.
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
