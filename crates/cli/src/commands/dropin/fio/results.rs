//! Writes the results of a load, in every requested format.

use super::Talk;
use super::live::LiveLine;
use crate::driver::notes::Repeats;
use crate::driver::runs::unix_ms;
use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::output::{admit_output, print, say, talks_to_terminal};
use assay_dialects::fio::output::{
    Presentation, TerseVersion, opening, write_json, write_normal, write_terse,
};
use assay_dialects::fio::{Formats, JobText, VERSION};
use assay_judge::judge_load;
use assay_model::load::Load;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::text::clean;
use assay_model::wire::{LoadNote, NoteWeight};
use jiff::Zoned;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Texts in the output besides the results.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The options of each stream.
    pub jobs: &'a [JobText],
    /// Options of the global sections.
    pub global: &'a [(String, Option<String>)],
    /// Notes on options without effect, in the command line and the job files.
    pub remarks: &'a [String],
}

/// Writer of results while a load runs.
pub struct Results<'a> {
    /// Load that runs.
    pub load: &'a Load,
    /// Texts beside the results.
    pub words: Words<'a>,
    /// Formats of the results.
    pub formats: Formats,
    /// Version of the terse format, if that is requested.
    pub terse: Option<TerseVersion>,
    /// Destination of the results.
    pub sink: Sink,
    /// Live line that is shown while the load runs.
    pub live: LiveLine<'a>,
    /// `true` if the seed of each stream is shown.
    pub random_seeds: bool,
    /// `true` once the first lines are written.
    pub opened: bool,
    /// Function that prints messages that are neither results nor failures.
    pub talk: Talk,
    /// Notes on the load so far.
    pub repeats: Repeats,
}

impl Results<'_> {
    /// Writes the start of the normal output, once it is known that the load runs: a refused load
    /// writes nothing.
    fn open(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.opened, true) {
            return Ok(());
        }
        if self.random_seeds {
            self.write(|this, text| random_seeds(this.load, text))?;
        }
        if self.formats.normal {
            self.write(|this, text| cleaned(text, |raw| opening(this.load, VERSION, raw)))?;
        }
        let mut remarks = self.words.remarks.iter();
        remarks.try_for_each(|remark| self.remark(remark))
    }

    /// Writes a note to the normal output, as fio does. Without that format, prints it as a message,
    /// unless the results go to standard output and standard error is no terminal: programs that run
    /// fio take such text for a failure. The JSON never contains notes.
    fn remark(&mut self, remark: &str) -> Result<(), Failure> {
        if self.formats.normal {
            return self.write(|_, text| writeln!(text, "{}", clean(remark)));
        }
        if !self.sink.is_stdout() || talks_to_terminal() {
            (self.talk)(&format!("assay: {}", clean(remark)));
        }
        Ok(())
    }

    fn say(&self, weight: NoteWeight, line: &str) {
        match weight {
            NoteWeight::Info | NoteWeight::Warning => (self.talk)(line),
            NoteWeight::Error => say(line),
        }
    }

    /// Prints a summary of the notes that occurred more than once.
    pub fn close_notes(&mut self) {
        for (weight, line) in self.repeats.close() {
            self.say(weight, &line);
        }
    }

    /// Writes the results, in fio's order of formats.
    pub fn present(&mut self, report: &LoadReport) -> Result<(), Failure> {
        self.open()?;
        self.live.close();
        let judgements = judge_load(self.load, report);
        let now = Zoned::now();
        let shown = Presentation {
            load: self.load,
            report,
            jobs: self.words.jobs,
            global_options: self.words.global,
            judgements: &judgements,
            version: VERSION,
            timestamp_ms: unix_ms(),
            time_text: now.strftime("%a %b %e %H:%M:%S %Y").to_string(),
            eta_s: if report.interim {
                self.live.seconds_left()
            } else {
                0
            },
        };
        let (formats, terse) = (self.formats, self.terse);
        self.write(|_, text| {
            if let Some(version) = terse {
                cleaned(text, |raw| write_terse(&shown, version, raw))?;
            }
            if formats.json {
                write_json(&shown, formats.json_plus, text)?;
            }
            if formats.normal {
                cleaned(text, |raw| write_normal(&shown, raw))?;
            }
            Ok(())
        })
    }

    /// Writes text as one piece: a reader of the file never sees half a document.
    fn write(
        &mut self,
        make: impl FnOnce(&Self, &mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut text = Vec::new();
        make(self, &mut text)
            .map_err(|error| Failure::failed(format!("cannot write the results: {error}")))?;
        self.sink.write(&text)
    }
}

/// Appends what `make` writes, without control characters that could steer a terminal.
fn cleaned(
    text: &mut Vec<u8>,
    make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut raw = Vec::new();
    make(&mut raw)?;
    let raw = String::from_utf8_lossy(&raw);
    for piece in raw.split_inclusive(['\n', '\t']) {
        let words = piece.trim_end_matches(['\n', '\t']);
        text.extend_from_slice(clean(words).as_bytes());
        text.extend_from_slice(&piece.as_bytes()[words.len()..]);
    }
    Ok(())
}

/// Appends the seeds in the form of fio's `--debug=random`: all generators of a job start from one
/// seed.
fn random_seeds(load: &Load, text: &mut Vec<u8>) -> io::Result<()> {
    for stream in &load.streams {
        let number = stream.number;
        let seed = load.seed_of(stream);
        writeln!(text, "random   {number:<5} FIO_RAND_NR_OFFS=1")?;
        writeln!(text, "random   {number:<5} rand_seeds[0]={seed}")?;
    }
    Ok(())
}

impl Listener for Results<'_> {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.open()?;
        self.live.close();
        if note.weight == NoteWeight::Info {
            return self.remark(&note.text);
        }
        if let Some(line) = self.repeats.hear(note) {
            self.say(note.weight, &line);
        }
        Ok(())
    }

    fn load_progress(&mut self, progress: &LoadProgress) -> Result<(), Failure> {
        self.open()?;
        self.live.update(progress);
        Ok(())
    }

    fn interim(&mut self, report: &LoadReport) -> Result<(), Failure> {
        self.present(report)
    }
}

/// Destination of results.
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file, opened before the load runs: an error is found before hours of work, not after.
    File {
        /// The file.
        file: File,
        /// Path of the file.
        path: PathBuf,
    },
}

impl Sink {
    /// Opens and empties a file, or returns standard output.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout);
        };
        admit_output(path)?;
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self::File {
            file,
            path: path.to_owned(),
        })
    }

    /// Writes the whole text.
    pub fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => print(|out| out.write_all(text)),
            Self::File { file, path } => file.write_all(text).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            }),
        }
    }

    /// `true` if the destination is standard output.
    pub const fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_stay_and_control_characters_do_not() {
        let mut text = b"{".to_vec();
        cleaned(&mut text, |raw| {
            raw.write_all("\ta \u{1b}[2J:\n\n b\t\tc".as_bytes())
        })
        .unwrap();
        assert_eq!(text, b"{\ta \\u{1b}[2J:\n\n b\t\tc");
    }
}
