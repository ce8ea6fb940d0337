//! The evidence around the waves of a load, and what the host is told
//! meanwhile.

use super::disks::Disks;
use super::send_report;
use crate::frame::FrameError;
use crate::outbox::Outbox;
use assay_engine::load::{LoadObserver, Note};
use assay_engine::page_cache;
use assay_model::evidence::{CacheSource, Evidence, FileCache, Snapshot};
use assay_model::load::Load;
use assay_model::load::report::{LoadProgress, LoadReport, WaveEvidence};
use assay_model::storage::{Backing, Storage};
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::snapshot;
use assay_probe::stack;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;

/// Looks at the system when a wave starts and ends, and passes on what the
/// engine says.
pub(super) struct Watch<'a> {
    roots: &'a Roots,
    outbox: &'a Outbox,
    load: &'a Load,
    disks: Disks,
    under_way: Option<Wave>,
    /// Of the waves that have ended.
    evidence: Vec<WaveEvidence>,
    /// The first message that could not be sent.
    unsent: Option<FrameError>,
}

/// A wave under way.
struct Wave {
    number: u32,
    places: Vec<Place>,
    processes: ProcessIoTable,
}

/// One storage that a wave works on.
struct Place {
    storage: Storage,
    /// The wave's files there.
    files: Vec<PathBuf>,
    streams: Vec<u32>,
    before: Snapshot,
}

impl<'a> Watch<'a> {
    pub(super) fn new(roots: &'a Roots, outbox: &'a Outbox, load: &'a Load) -> Self {
        Self {
            roots,
            outbox,
            load,
            disks: Disks::default(),
            under_way: None,
            evidence: Vec::new(),
            unsent: None,
        }
    }

    /// Sends the last report, with all evidence.
    pub(super) fn close(mut self, mut report: LoadReport) -> Result<(), FrameError> {
        if let Some(error) = self.unsent {
            return Err(error);
        }
        report.evidence = std::mem::take(&mut self.evidence);
        report.disks = self.disks.uses(self.roots);
        send_report(self.outbox, report)
    }

    fn send(&mut self, message: &FromAgent) {
        let sent = self.outbox.send(message);
        self.keep(sent);
    }

    fn keep(&mut self, sent: Result<(), FrameError>) {
        if let Err(error) = sent {
            self.unsent.get_or_insert(error);
        }
    }

    /// The storages of a wave with the streams and files on each.
    fn places(&self, files: &[(u32, Vec<PathBuf>)]) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (stream, paths) in files {
            // Regular files side by side are on the same storage.
            let mut last: Option<(&Path, usize)> = None;
            for path in paths {
                let folder = path.parent().filter(|_| !is_node(path));
                let at = match (last, folder) {
                    (Some((known, at)), Some(folder)) if known == folder => at,
                    _ => place_of(&mut places, self.storage_of(path)),
                };
                last = folder.map(|folder| (folder, at));
                places[at].add(*stream, path);
            }
        }
        for place in &mut places {
            place.files.sort();
            place.files.dedup();
        }
        places
    }

    /// The storage of a file, or of the folder it will be made in.
    fn storage_of(&self, path: &Path) -> Storage {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let found = match stack::resolve(self.roots, path) {
            Err(stack::ResolveError::NotFound(_)) => stack::resolve(self.roots, folder),
            found => found,
        };
        found.unwrap_or_else(|error| Storage {
            path: path.to_owned(),
            mount: None,
            backing: Backing::Unknown {
                why: error.to_string(),
            },
            layers: Vec::new(),
            total: None,
            available: None,
        })
    }

    /// Whether a stream on this storage wants its disks shown.
    fn shows_disks(&self, place: &Place) -> bool {
        let streams = place.streams.iter();
        let mut streams = streams.filter_map(|&index| self.load.streams.get(index as usize));
        streams.any(|stream| stream.stats.disk_util)
    }

    /// The evidence of a wave, if it ended now. The counters are read first:
    /// what takes long comes after them.
    fn evidence_of(&self, wave: &Wave) -> Vec<WaveEvidence> {
        let places = wave.places.iter();
        let mut after: Vec<Snapshot> = places
            .map(|place| snapshot(self.roots, &place.storage))
            .collect();
        for (place, after) in wave.places.iter().zip(&mut after) {
            after.file_cache = pages(&place.files);
        }
        let processes = processes(self.roots);
        let others = busiest(&wave.processes, &processes, PROCESSES_KEPT);
        wave.places
            .iter()
            .zip(after)
            .map(|(place, after)| WaveEvidence {
                wave: wave.number,
                streams: place.streams.clone(),
                evidence: Evidence {
                    storage: place.storage.clone(),
                    queues: counters::queues(self.roots, &place.storage),
                    before: place.before.clone(),
                    after,
                    other_processes: others.clone(),
                },
            })
            .collect()
    }
}

impl LoadObserver for Watch<'_> {
    fn note(&mut self, note: &Note) {
        let (weight, text) = match note {
            Note::Info(text) => (NoteWeight::Info, text),
            Note::Warning(text) => (NoteWeight::Warning, text),
            Note::Error(text) => (NoteWeight::Error, text),
        };
        let text = text.clone();
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }));
    }

    /// The counters are read last: the clocks start right after them.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<PathBuf>)]) {
        let mut places = self.places(files);
        for place in &places {
            if self.shows_disks(place) {
                self.disks.add(self.roots, &place.storage);
            }
        }
        let processes = processes(self.roots);
        let cached: Vec<_> = places.iter().map(|place| pages(&place.files)).collect();
        for (place, file_cache) in places.iter_mut().zip(cached) {
            place.before = Snapshot {
                file_cache,
                ..snapshot(self.roots, &place.storage)
            };
        }
        self.under_way = Some(Wave {
            number: wave,
            places,
            processes,
        });
    }

    fn wave_ended(&mut self, _wave: u32) {
        if let Some(wave) = self.under_way.take() {
            let evidence = self.evidence_of(&wave);
            self.evidence.extend(evidence);
        }
    }

    fn progress(&mut self, progress: &LoadProgress) {
        self.outbox.tell(&FromAgent::LoadProgress(progress.clone()));
    }

    fn interim(&mut self, mut report: LoadReport) {
        report.interim = true;
        report.evidence.clone_from(&self.evidence);
        if let Some(wave) = &self.under_way {
            report.evidence.extend(self.evidence_of(wave));
        }
        report.disks = self.disks.uses(self.roots);
        let sent = send_report(self.outbox, report);
        self.keep(sent);
    }
}

impl Place {
    fn add(&mut self, stream: u32, path: &Path) {
        if self.streams.last() != Some(&stream) {
            self.streams.push(stream);
        }
        self.files.push(path.to_owned());
    }
}

/// The index of the place with this storage, which is added if need be. Two
/// paths are on the same storage when their mount and their devices are the
/// same.
fn place_of(places: &mut Vec<Place>, storage: Storage) -> usize {
    let same = |known: &Storage| {
        known.mount == storage.mount
            && known.backing == storage.backing
            && known.layers == storage.layers
    };
    if let Some(at) = places.iter().position(|place| same(&place.storage)) {
        return at;
    }
    places.push(Place {
        storage,
        files: Vec::new(),
        streams: Vec::new(),
        before: Snapshot::default(),
    });
    places.len() - 1
}

/// Whether a path may lead away from its folder's storage: anything but a
/// regular file does.
fn is_node(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

fn processes(roots: &Roots) -> ProcessIoTable {
    ProcessIoTable::take(roots, &[std::process::id()])
}

/// The cached pages of all files together; `None` when one of them cannot be
/// looked at. A file that is not there has none.
fn pages(files: &[PathBuf]) -> Option<FileCache> {
    let mut sum = FileCache {
        source: CacheSource::Cachestat,
        cached_bytes: 0,
        dirty_bytes: Some(0),
        writeback_bytes: Some(0),
    };
    // One that has become a pipe since it was looked at does not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for path in files.iter().filter(|path| may_be_cached(path)) {
        let file = match open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => continue,
            Err(_) => return None,
        };
        let pages = page_cache::look(&file)?;
        let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        sum.cached_bytes += pages.cached_bytes;
        sum.dirty_bytes = both(sum.dirty_bytes, pages.dirty_bytes);
        sum.writeback_bytes = both(sum.writeback_bytes, pages.writeback_bytes);
        if pages.source == CacheSource::Mincore {
            sum.source = CacheSource::Mincore;
        }
    }
    Some(sum)
}

/// Whether a path has pages in the page cache, or hides whether it has.
/// Directories, pipes and character devices have none.
fn may_be_cached(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(meta) => meta.is_file() || meta.file_type().is_block_device(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;

    #[test]
    fn pages_of_files_add_up_and_missing_files_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, missing] = ["one", "two", "missing"].map(|name| folder.path().join(name));
        fs::write(&one, vec![1; 1 << 20]).unwrap();
        fs::write(&two, vec![1; 2 << 20]).unwrap();
        let cached = |files: &[PathBuf]| pages(files).map(|pages| pages.cached_bytes);
        let Some(first) = cached(std::slice::from_ref(&one)) else {
            eprintln!("skipped: this kernel does not tell what is cached");
            return;
        };
        let second = cached(std::slice::from_ref(&two)).unwrap();
        assert!(first > 0 && second > 0);
        assert_eq!(cached(&[one, two, missing]), Some(first + second));
        assert_eq!(cached(&[folder.path().join("none")]), Some(0));
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let rest = [pipe, folder.path().to_owned(), PathBuf::from("/dev/null")];
        assert_eq!(cached(&rest), Some(0));
    }

    #[test]
    fn storages_are_told_apart_and_found_again() {
        let roots = Roots::default();
        let storage = |path: &str| stack::resolve(&roots, Path::new(path)).unwrap();
        let mut places = Vec::new();
        let first = place_of(&mut places, storage("/"));
        let mut other = storage("/");
        other.backing = Backing::Unknown {
            why: "another".to_owned(),
        };
        assert_ne!(place_of(&mut places, other), first);
        assert_eq!(place_of(&mut places, storage("/")), first);
        assert_eq!(places.len(), 2);
    }
}
