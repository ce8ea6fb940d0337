//! A load on the host's side: asking for it, and listening until it has ended.

use crate::driver::host::Host;
use crate::exit::Failure;
use assay_model::load::Load;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::text::clean;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use std::collections::BTreeMap;

/// Whoever follows a load.
pub trait Listener {
    /// The load has something to tell.
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure>;
    /// How far it is, a few times a second.
    fn progress(&mut self, progress: &LoadProgress) -> Result<(), Failure>;
    /// How it stands; more follows.
    fn interim(&mut self, report: &LoadReport) -> Result<(), Failure>;
}

/// The load of a job file. That it names a device is its user's word that the
/// data on it may go, as in fio; one that is in use is refused nevertheless.
pub fn at_its_word(load: Load) -> Load {
    Load {
        destroy_data: true,
        ..load
    }
}

/// Runs a load; its last report.
pub fn execute(
    host: &mut Host,
    load: &Load,
    listener: &mut dyn Listener,
) -> Result<LoadReport, Failure> {
    host.run_load(load)?;
    let mut streams = Vec::new();
    loop {
        match host.hear()? {
            FromAgent::LoadNote(note) => listener.note(&note)?,
            FromAgent::LoadProgress(progress) => listener.progress(&progress)?,
            FromAgent::LoadStream(_) if streams.len() >= load.streams.len() => {
                return Err(Failure::lost(
                    "the agent reports more streams than it was given",
                ));
            }
            FromAgent::LoadStream(stream) => streams.push(*stream),
            FromAgent::LoadReport(rest) => {
                let report = LoadReport {
                    streams: std::mem::take(&mut streams),
                    ..*rest
                };
                if !report.interim {
                    return Ok(report);
                }
                listener.interim(&report)?;
            }
            stray => host.pass_over(&stray)?,
        }
    }
}

/// Notes that copies of a job have in common are said once.
#[derive(Debug, Default)]
pub struct Repeats(BTreeMap<String, (NoteWeight, u64)>);

impl Repeats {
    /// The line to say for a note; `None` when it was said before.
    pub fn hear(&mut self, note: &LoadNote) -> Option<String> {
        let line = in_words(note);
        if let Some((_, more)) = self.0.get_mut(&line) {
            *more += 1;
            return None;
        }
        self.0.insert(line.clone(), (note.weight, 0));
        Some(line)
    }

    /// What came again, and how often; from here on all is new.
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

/// A note as a line of talk.
pub fn in_words(note: &LoadNote) -> String {
    let weight = match note.weight {
        NoteWeight::Info => "",
        NoteWeight::Warning => "warning: ",
        NoteWeight::Error => "error: ",
    };
    format!("assay: {weight}{}", clean(&note.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_is_counted() {
        let mut repeats = Repeats::default();
        let mut heard = |text: &str| {
            repeats.hear(&LoadNote {
                weight: NoteWeight::Error,
                text: text.to_owned(),
            })
        };
        let lines = ["b", "a", "b", "c", "b", "c"].map(&mut heard);
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
        assert_eq!(in_words(&note), "assay: warning: job \\u{1b}[31m");
    }
}
