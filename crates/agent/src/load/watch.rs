//! Evidence for the waves of a load, and the messages to the host meanwhile.

use super::disks::Disks;
use super::send_report;
use super::stops::Stops;
use crate::frame::FrameError;
use crate::inspect::storage_of;
use crate::outbox::Outbox;
use crate::window::{FileReads, Files, Machine, Sampler, Window};
use assay_engine::load::{LoadObserver, Note, Turn};
use assay_model::evidence::Snapshot;
use assay_model::load::report::{FilePart, LoadProgress, LoadReport, WaveEvidence};
use assay_model::load::{Load, Stream};
use assay_model::storage::Storage;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::roots::Roots;
use assay_probe::snapshot::glance;
use assay_probe::stack::device_gone;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Opens and closes an evidence window for each storage of a wave, and forwards messages of the
/// engine.
pub(super) struct LoadWatch<'a> {
    roots: &'a Roots,
    outbox: &'a Outbox,
    load: &'a Load,
    disks: Disks,
    under_way: Option<Wave<'a>>,
    /// Evidence of the waves that have ended.
    evidence: Vec<WaveEvidence>,
    /// Description of a device that disappeared.
    lost: Option<String>,
    /// Error of the first message that could not be sent.
    unsent: Option<FrameError>,
}

/// A wave in progress.
struct Wave<'a> {
    number: u32,
    machine: Machine<'a>,
    places: Vec<WatchedStorage>,
    began: Instant,
    sampler: Sampler,
}

/// One storage that a wave works on.
struct WatchedStorage {
    window: Window,
    streams: Vec<u32>,
    stops: Stops,
}

/// Files of a wave on one storage.
struct Place {
    storage: Storage,
    /// Files, each with the begin and end of its part.
    files: BTreeMap<PathBuf, (u64, u64)>,
    streams: Vec<u32>,
}

impl<'a> LoadWatch<'a> {
    pub(super) fn new(roots: &'a Roots, outbox: &'a Outbox, load: &'a Load) -> Self {
        Self {
            roots,
            outbox,
            load,
            disks: Disks::default(),
            under_way: None,
            evidence: Vec::new(),
            lost: None,
            unsent: None,
        }
    }

    /// The device that went away.
    pub(super) fn lost(&self) -> Option<String> {
        self.lost.clone()
    }

    /// Sends the last report, with all evidence.
    pub(super) fn close(mut self, mut report: LoadReport) -> Result<(), FrameError> {
        if let Some(error) = self.unsent {
            return Err(error);
        }
        report.evidence = std::mem::take(&mut self.evidence);
        report.lost = self.lost.take();
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

    /// Returns the storages of a wave with the streams and files on each.
    fn places(&self, files: &[(u32, Vec<(PathBuf, FilePart)>)]) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (stream, paths) in files {
            // Regular files in one folder are on the same storage.
            let mut last: Option<(&Path, usize)> = None;
            for (path, part) in paths {
                let folder = path.parent().filter(|_| !is_node(path));
                let at = match (last, folder) {
                    (Some((known, at)), Some(folder)) if known == folder => at,
                    _ => place_of(&mut places, storage_of(self.roots, path)),
                };
                last = folder.map(|folder| (folder, at));
                places[at].add(*stream, path, *part);
            }
        }
        places
    }

    /// Returns true if one of the streams has a property.
    fn any_stream(&self, streams: &[u32], has: impl Fn(&Stream) -> bool) -> bool {
        let streams = streams.iter();
        let mut streams = streams.filter_map(|&index| self.load.streams.get(index as usize));
        streams.any(has)
    }

    /// Returns what the window of a storage reads of its files.
    fn files_of(&self, place: &Place) -> Files {
        let mut files = Files::new(FileReads {
            parts: true,
            holes: true,
            no_changes: self.any_stream(&place.streams, |stream| stream.blocks.rw.trim),
        });
        for (path, (begin, end)) in &place.files {
            files.add(path, (*begin, end - begin));
        }
        // Holding a file would keep its blocks allocated after its removal.
        let removes = |stream: &Stream| {
            let files = &stream.files;
            files.unlink || files.unlink_each_loop || !stream.engine.kind.moves_data()
        };
        if !self.any_stream(&place.streams, removes) {
            files.hold();
        }
        files.hold_devices();
        files
    }
}

impl Wave<'_> {
    /// Returns the evidence of the wave up to now. The counters are read first, before slow
    /// operations.
    fn evidence(&mut self) -> Vec<WaveEvidence> {
        let machine = &mut self.machine;
        let places = self.places.iter();
        let counters = places.map(|place| place.window.counters_after(machine));
        let counters: Vec<Snapshot> = counters.collect();
        let places = self.places.iter().zip(counters);
        let after = places.map(|(place, counters)| place.window.files_after(counters));
        let after: Vec<Snapshot> = after.collect();
        let others = machine.others(self.began);
        let places = self.places.iter().zip(after);
        let evidence = places.map(|(place, after)| WaveEvidence {
            wave: self.number,
            streams: place.streams.clone(),
            evidence: place
                .window
                .evidence(machine, after, others.clone(), self.sampler.taken()),
            stops: place.stops.to_vec(),
        });
        evidence.collect()
    }
}

impl LoadObserver for LoadWatch<'_> {
    fn note(&mut self, note: &Note) {
        let (weight, text) = match note {
            Note::Info(text) => (NoteWeight::Info, text),
            Note::Warning(text) => (NoteWeight::Warning, text),
            Note::Error(text) => (NoteWeight::Error, text),
        };
        let text = text.clone();
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }));
    }

    /// Reads the counters last, because the clocks start right afterwards.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<(PathBuf, FilePart)>)]) {
        let mut machine = Machine::new(self.roots);
        machine.read_processes();
        let mut places = Vec::new();
        for place in self.places(files) {
            if self.any_stream(&place.streams, |stream| stream.stats.disk_util) {
                self.disks.add(self.roots, &place.storage);
            }
            let files = self.files_of(&place);
            places.push(WatchedStorage {
                window: Window::new(place.storage, files),
                streams: place.streams,
                stops: Stops::default(),
            });
        }
        for place in &mut places {
            place.window.read_files(&mut machine);
        }
        for place in &mut places {
            place.window.read_counters(&mut machine);
        }
        self.under_way = Some(Wave {
            number: wave,
            machine,
            places,
            began: Instant::now(),
            sampler: Sampler::default(),
        });
    }

    fn clocks_turn(&mut self, _wave: u32, turn: Turn, streams: &[u32]) {
        let roots = self.roots;
        for place in self.under_way.iter_mut().flat_map(|wave| &mut wave.places) {
            place.turn(roots, turn, streams);
        }
    }

    fn wave_ended(&mut self, _wave: u32) {
        if let Some(mut wave) = self.under_way.take() {
            self.evidence.extend(wave.evidence());
            let mut places = wave.places.iter().map(|place| &place.window.storage);
            if let Some(gone) = places.find(|storage| device_gone(self.roots, storage)) {
                let lost = || format!("{} went away", gone.words());
                self.lost.get_or_insert_with(lost);
            }
        }
    }

    fn progress(&mut self, progress: &LoadProgress) {
        if let Some(wave) = &mut self.under_way {
            let elapsed_ns = u64::try_from(wave.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let roots = self.roots;
            wave.sampler.look(elapsed_ns, || glance(roots));
        }
        self.outbox.tell(&FromAgent::LoadProgress(progress.clone()));
    }

    fn interim(&mut self, mut report: LoadReport) {
        report.interim = true;
        report.evidence.clone_from(&self.evidence);
        if let Some(wave) = &mut self.under_way {
            report.evidence.extend(wave.evidence());
        }
        report.disks = self.disks.uses(self.roots);
        let sent = send_report(self.outbox, report);
        self.keep(sent);
    }
}

impl Place {
    fn add(&mut self, stream: u32, path: &Path, part: FilePart) {
        if self.streams.last() != Some(&stream) {
            self.streams.push(stream);
        }
        let end = part.offset.saturating_add(part.length);
        let known = self.files.entry(path.to_owned());
        let known = known.or_insert((part.offset, end));
        *known = (known.0.min(part.offset), known.1.max(end));
    }
}

impl WatchedStorage {
    /// Records that clocks of streams stop or continue, unless none of the streams uses this
    /// storage.
    fn turn(&mut self, roots: &Roots, turn: Turn, streams: &[u32]) {
        let here = self.streams.iter().filter(|s| streams.contains(s));
        let here: Vec<u32> = here.copied().collect();
        if here.is_empty() {
            return;
        }
        let now = self.window.meanwhile(roots);
        match turn {
            Turn::Stops => self.stops.stopped(here, now),
            Turn::GoesOn => self.stops.go_on(&here, &now),
        }
    }
}

/// Returns the index of the entry with this storage, which is added if necessary. Two paths are on
/// the same storage if their mounts and their devices are the same.
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
        files: BTreeMap::new(),
        streams: Vec::new(),
    });
    places.len() - 1
}

/// Returns `true` if a path may be on another storage than its folder: anything except a regular
/// file.
fn is_node(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::storage::Backing;
    use assay_probe::stack;

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
