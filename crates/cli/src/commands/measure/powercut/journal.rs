//! Journal of the writer's messages on the host: they survive if the host process is killed.

use crate::exit::Failure;
use assay_model::act::powercut::{KnownWrites, Word};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Cycle that is to be carried out.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// Number of the cycle, from 1.
    pub number: u32,
    /// Seed of offsets and contents.
    pub seed: u64,
    /// Time from the start of the writes to the cut.
    pub delay: Duration,
}

/// Journal of the cycle under way. Each message is written as a line before it is processed:
/// `cycle NUMBER SEED`, `ready BOOT` (the writes begin; boot id of the board, or `-`),
/// `b STREAM SEQUENCE` (begun), `a STREAM SEQUENCE` (acknowledged), `cut NANOSECONDS UNIX_MS` (the
/// power is about to be cut, NANOSECONDS after the writes began), `look` (the data is about to be
/// checked and removed).
pub struct Journal {
    path: PathBuf,
    file: File,
    known: Vec<KnownWrites>,
}

/// Cycle that a killed host left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedCycle {
    /// Number of the cycle, from 1.
    pub number: u32,
    /// Boot id of the board that wrote; `None` if it is not known.
    pub boot_id: Option<String>,
    /// Moment of the cut; `None` if the power was not cut.
    pub cut: Option<Moment>,
    /// `true` if the check of the data had begun: it removes the data and cannot be repeated.
    pub check_began: bool,
}

/// Time just before the power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time since the writes began, in nanoseconds.
    pub after_ns: u64,
    /// Time on the host's clock, in milliseconds since 1970.
    pub unix_ms: u64,
}

impl Journal {
    /// Creates a journal beside the store, for that number of streams.
    pub fn create(store: &Path, run_id: &str, streams: usize) -> Result<Self, Failure> {
        let path = beside(store, run_id);
        let opened = OpenOptions::new().create_new(true).append(true).open(&path);
        Self::of(path, opened, streams)
    }

    /// Opens the journal that a killed host of this run left, with its unfinished cycle, if any. Creates
    /// a missing journal.
    pub fn reopen(
        store: &Path,
        run_id: &str,
        streams: usize,
    ) -> Result<(Self, Option<UnfinishedCycle>), Failure> {
        let path = beside(store, run_id);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| {
                Failure::failed(format!("cannot read {}: {error}", path.display()))
            })?,
        };
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let mut journal = Self::of(path, opened, streams)?;
        let left = journal.replay(&text);
        // Remove an unfinished last line: the next one must start a new line.
        let finished = text.rfind('\n').map_or(0, |end| end + 1);
        let truncated = journal.file.set_len(finished as u64);
        truncated.map_err(|error| journal.failed(&error))?;
        Ok((journal, left))
    }

    fn of(path: PathBuf, opened: std::io::Result<File>, streams: usize) -> Result<Self, Failure> {
        let file = opened
            .map_err(|error| Failure::failed(format!("cannot make {}: {error}", path.display())))?;
        Ok(Self {
            path,
            file,
            known: vec![KnownWrites::default(); streams],
        })
    }

    /// Starts a cycle, and empties the journal: the one before is in the store.
    pub fn cycle(&mut self, planned: &Planned) -> Result<(), Failure> {
        self.known.fill(KnownWrites::default());
        let emptied = self.file.set_len(0);
        emptied.map_err(|error| self.failed(&error))?;
        let Planned { number, seed, .. } = planned;
        self.line(&format!("cycle {number} {seed}\n"))
    }

    /// Records that the writes begin.
    pub fn ready(&mut self, boot_id: Option<&str>) -> Result<(), Failure> {
        self.line(&format!("ready {}\n", boot_id.unwrap_or("-")))
    }

    /// Records a message of the writer.
    pub fn received(&mut self, word: &Word) -> Result<(), Failure> {
        let (letter, stream, sequence) = match *word {
            Word::Ready { .. } => return Ok(()),
            Word::Begun { stream, sequence } => ('b', stream, sequence),
            Word::Acknowledged { stream, sequence } => ('a', stream, sequence),
        };
        self.line(&format!("{letter} {stream} {sequence}\n"))?;
        match self.update(letter, stream, sequence) {
            Some(()) => Ok(()),
            None => Err(Failure::lost(
                "the agent reported a stream that does not exist",
            )),
        }
    }

    /// Records that the data is being checked, and then removed.
    pub fn check_begins(&mut self) -> Result<(), Failure> {
        self.line("look\n")
    }

    /// Returns a marker that records, from another thread, that the power is about to be cut.
    pub fn marker(&self) -> Result<Marker, Failure> {
        // Both handles append (O_APPEND), so that neither overwrites a line of the other.
        let file = self.file.try_clone();
        file.map(Marker).map_err(|error| self.failed(&error))
    }

    /// Returns the known writes of each stream.
    pub fn known(&self) -> &[KnownWrites] {
        &self.known
    }

    /// Removes the journal of a run that is completely stored.
    pub fn remove(self) {
        // A remaining file does no harm: its name has the id of this run.
        let _ = fs::remove_file(&self.path);
    }

    fn update(&mut self, letter: char, stream: u32, sequence: u64) -> Option<()> {
        let known = self.known.get_mut(stream as usize)?;
        match letter {
            'b' => known.begun = sequence,
            _ => known.acknowledged = sequence,
        }
        Some(())
    }

    /// Parses the lines of a killed host; ignores an unfinished last line. Returns `None` if there
    /// is no cycle or a line is malformed.
    fn replay(&mut self, text: &str) -> Option<UnfinishedCycle> {
        let mut left: Option<UnfinishedCycle> = None;
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["cycle", number, _] => {
                    left = Some(UnfinishedCycle {
                        number: number.parse().ok()?,
                        boot_id: None,
                        cut: None,
                        check_began: false,
                    });
                }
                ["look"] => left.as_mut()?.check_began = true,
                ["ready", boot] => left.as_mut()?.boot_id = (boot != "-").then(|| boot.to_owned()),
                ["cut", after, at] => {
                    left.as_mut()?.cut = Some(Moment {
                        after_ns: after.parse().ok()?,
                        unix_ms: at.parse().ok()?,
                    });
                }
                [letter @ ("a" | "b"), stream, sequence] => {
                    let letter = letter.chars().next()?;
                    self.update(letter, stream.parse().ok()?, sequence.parse().ok()?)?;
                }
                _ => return None,
            }
        }
        left
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        // Not synced: the journal must survive a killed process, not a crash of the host.
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::failed(format!("cannot write {}: {error}", self.path.display()))
    }
}

/// Writer of the `cut` line, usable from another thread.
pub struct Marker(File);

impl Marker {
    /// Records that the power is about to be cut.
    pub fn cut(&mut self, moment: Moment) -> std::io::Result<()> {
        let Moment { after_ns, unix_ms } = moment;
        self.0
            .write_all(format!("cut {after_ns} {unix_ms}\n").as_bytes())
    }
}

fn beside(store: &Path, run_id: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(format!("-powercut-{run_id}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ACKNOWLEDGED: KnownWrites = KnownWrites {
        begun: 3,
        acknowledged: 2,
    };

    fn planned(number: u32) -> Planned {
        Planned {
            number,
            seed: 9,
            delay: Duration::ZERO,
        }
    }

    fn written(store: &Path) -> Journal {
        let mut journal = Journal::create(store, "abc", 2).unwrap();
        journal.cycle(&planned(1)).unwrap();
        journal.ready(Some("x-y")).unwrap();
        let word = |sequence| (1, sequence);
        let (stream, sequence) = word(3);
        journal.received(&Word::Begun { stream, sequence }).unwrap();
        let (stream, sequence) = word(2);
        journal
            .received(&Word::Acknowledged { stream, sequence })
            .unwrap();
        journal
    }

    #[test]
    fn each_message_is_written_at_once_and_counts_restart_with_each_cycle() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let store = folder.join("runs.sqlite");
        let file = folder.join("runs.sqlite-powercut-abc");
        let mut journal = written(&store);
        assert_eq!(journal.known()[1], ACKNOWLEDGED);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, "cycle 1 9\nready x-y\nb 1 3\na 1 2\n");
        let stranger = Word::Begun {
            stream: 2,
            sequence: 1,
        };
        assert!(journal.received(&stranger).is_err());
        journal.cycle(&planned(2)).unwrap();
        assert_eq!(journal.known()[1], KnownWrites::default());
        assert_eq!(fs::read_to_string(&file).unwrap(), "cycle 2 9\n");
        journal.remove();
        assert!(!file.exists());
    }

    #[test]
    fn a_reopened_journal_has_the_unfinished_cycle() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let store = folder.join("runs.sqlite");
        let reopened = || Journal::reopen(&store, "abc", 2).unwrap();
        assert_eq!(reopened().1, None);
        reopened().0.remove();

        let journal = written(&store);
        let (_, left) = reopened();
        assert_eq!(left.unwrap().cut, None);
        let moment = Moment {
            after_ns: 5,
            unix_ms: 77,
        };
        journal.marker().unwrap().cut(moment).unwrap();
        let mut half = journal.file.try_clone().unwrap();
        half.write_all(b"a 1 2").unwrap();
        let (journal, left) = reopened();
        assert_eq!(journal.known()[1], ACKNOWLEDGED);
        let expected = UnfinishedCycle {
            number: 1,
            boot_id: Some("x-y".to_owned()),
            cut: Some(moment),
            check_began: false,
        };
        assert_eq!(left, Some(expected));
        let (mut journal, _) = reopened();
        journal.check_begins().unwrap();
        let (_, left) = reopened();
        assert!(left.unwrap().check_began, "after half a line");
    }
}
