//! What a writer said, on a file of the host's: a host that is killed loses none of it.

use crate::exit::Failure;
use assay_model::work::powercut::{Known, Word};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The journal of a run. A line is written as a word comes, before anything else is done
/// with it: `cycle NUMBER SEED`, `b STREAM SEQUENCE` (begun), `a STREAM SEQUENCE`
/// (acknowledged).
pub struct Journal {
    path: PathBuf,
    file: File,
    known: Vec<Known>,
}

impl Journal {
    /// A new one beside the store, for so many streams.
    pub fn create(store: &Path, run_id: &str, streams: usize) -> Result<Self, Failure> {
        let mut name = store.as_os_str().to_owned();
        name.push(format!("-powercut-{run_id}"));
        let path = PathBuf::from(name);
        let opened = OpenOptions::new().create_new(true).append(true).open(&path);
        let file = opened
            .map_err(|error| Failure::failed(format!("cannot make {}: {error}", path.display())))?;
        Ok(Self {
            path,
            file,
            known: vec![Known::default(); streams],
        })
    }

    /// A cycle begins.
    pub fn cycle(&mut self, number: u32, seed: u64) -> Result<(), Failure> {
        self.known.fill(Known::default());
        self.line(&format!("cycle {number} {seed}\n"))
    }

    /// The writer said something.
    pub fn heard(&mut self, word: &Word) -> Result<(), Failure> {
        let (letter, stream, sequence) = match *word {
            Word::Ready { .. } => return Ok(()),
            Word::Begun { stream, sequence } => ('b', stream, sequence),
            Word::Acknowledged { stream, sequence } => ('a', stream, sequence),
        };
        self.line(&format!("{letter} {stream} {sequence}\n"))?;
        let known = self.known.get_mut(stream as usize);
        let known =
            known.ok_or_else(|| Failure::lost("the agent tells of a stream that there is not"))?;
        match letter {
            'b' => known.begun = sequence,
            _ => known.acknowledged = sequence,
        }
        Ok(())
    }

    /// What is known of each stream.
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// The run is in the store: the journal is not needed any more.
    pub fn remove(self) {
        // A file that stays does no harm.
        let _ = fs::remove_file(&self.path);
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| {
            Failure::failed(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_on_the_file_as_they_come_and_counted_for_each_cycle() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let store = folder.join("runs.sqlite");
        let mut journal = Journal::create(&store, "abc", 2).unwrap();
        journal.cycle(1, 9).unwrap();
        let (stream, sequence) = (1, 3);
        journal.heard(&Word::Begun { stream, sequence }).unwrap();
        journal
            .heard(&Word::Acknowledged {
                stream,
                sequence: 2,
            })
            .unwrap();
        assert_eq!(
            journal.known()[1],
            Known {
                begun: 3,
                acknowledged: 2
            }
        );
        let stranger = Word::Begun {
            stream: 2,
            sequence,
        };
        assert!(journal.heard(&stranger).is_err());
        journal.cycle(2, 8).unwrap();
        assert_eq!(journal.known()[1], Known::default());
        let text = fs::read_to_string(folder.join("runs.sqlite-powercut-abc")).unwrap();
        assert_eq!(text, "cycle 1 9\nb 1 3\na 1 2\nb 2 3\ncycle 2 8\n");
        journal.remove();
        assert!(!folder.join("runs.sqlite-powercut-abc").exists());
    }
}
