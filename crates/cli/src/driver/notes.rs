//! Notes of a session as lines on standard error.

use assay_model::condition::Undone;
use assay_model::text::clean;
use assay_model::wire::{Leftover, LoadNote, NoteWeight};
use std::collections::BTreeMap;

/// Filter of repeated notes: notes that copies of a job have in common are printed once.
#[derive(Debug, Default)]
pub struct Repeats(BTreeMap<String, (NoteWeight, u64)>);

impl Repeats {
    /// Returns the line to print for a note; `None` for a repeated one.
    pub fn receive(&mut self, note: &LoadNote) -> Option<String> {
        let line = note_in_words(note);
        if let Some((_, more)) = self.0.get_mut(&line) {
            *more += 1;
            return None;
        }
        self.0.insert(line.clone(), (note.weight, 0));
        Some(line)
    }

    /// Returns the repeated notes with their counts, and forgets all notes.
    pub fn close(&mut self) -> Vec<(NoteWeight, String)> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.filter_map(|(line, (weight, more))| match more {
            0 => None,
            1 => Some((weight, format!("{line} (and once more)"))),
            _ => Some((weight, format!("{line} (and {more} more times)"))),
        })
        .collect()
    }
}

/// Formats a note as a message.
pub fn note_in_words(note: &LoadNote) -> String {
    let weight = match note.weight {
        NoteWeight::Info => "",
        NoteWeight::Warning => "warning: ",
        NoteWeight::Error => "error: ",
    };
    format!("assay: {weight}{}", clean(&note.text))
}

/// Formats a message about a setting that a killed run left in force.
pub fn of_undone(undone: &Undone) -> String {
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

/// Note about a test file that was left behind.
pub fn of_leftover(leftover: &Leftover) -> LoadNote {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_is_counted() {
        let mut repeats = Repeats::default();
        let mut received = |text: &str| {
            repeats.receive(&LoadNote {
                weight: NoteWeight::Error,
                text: text.to_owned(),
            })
        };
        let lines = ["b", "a", "b", "c", "b", "c"].map(&mut received);
        let said = |text: &str| Some(format!("assay: error: {text}"));
        assert_eq!(lines, [said("b"), said("a"), None, said("c"), None, None]);
        let again = ["b (and 2 more times)", "c (and once more)"];
        let again = again.map(|text| (NoteWeight::Error, format!("assay: error: {text}")));
        assert_eq!(repeats.close(), again);
        assert!(repeats.close().is_empty());
    }

    #[test]
    fn a_note_cannot_steer_a_terminal() {
        let note = LoadNote {
            weight: NoteWeight::Warning,
            text: "job \u{1b}[31m".to_owned(),
        };
        assert_eq!(note_in_words(&note), "assay: warning: job \\u{1b}[31m");
    }
}
